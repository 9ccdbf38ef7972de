// Package storetest provides the part of GitHub that a state branch needs: a real
// server on loopback over a real git repository, for the tests of every package.
// git decides what is a fast-forward; the test sets which workflow runs are alive.
//
//	hub := storetest.New(t, storetest.Config{})
//	cmd.Env = append(cmd.Env, hub.Env()...) // GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN
//	…
//	state, ok := hub.File("symphony-state", "state.json")
//	asked := hub.Asked() // map[storetest.Move:1 storetest.Tree:1 …]
//
// The server answers, below [Hub.URL], what GitHub Enterprise Server does below
// /api/v3: the repository, refs, trees, commits, contents (raw or as JSON),
// history, and workflow runs with their attempts and jobs. To all else it says
// 404, unless a test adds it with [Hub.Handle] or [Hub.HandleFor]. Package githubtest
// adds issues, pull requests and git over HTTP.
//
// A test can set up:
//
//   - the content of the repository: [Hub.Commit], [Hub.Delete], [Hub.SetTrunk], and
//     for anything else [Hub.Git];
//   - workflow runs: [Hub.SetRun], [Hub.DeleteRun];
//   - lasting faults: [Hub.Archive], [Hub.Protect], [Hub.Deny], [Hub.Hide],
//     [Hub.Rename], [Hub.LimitRate], [Hub.SignNothing];
//   - passing faults of one kind of request: [Hub.Fail]; of one request by its place
//     among all: [Hub.FailNth];
//   - a handler around every request: Config.Wrap.
//
// Two things are stricter than GitHub: a ref is never moved by force over REST,
// and when the test ends, git checks the whole repository. Any token is valid
// unless Config.Token is set. Any goroutine may call any method at any time. Only
// tests import this package.
package storetest
