// Package githubtest provides a GitHub with one repository for tests of whole runs: its
// issues, its pull requests and its git, on one loopback address. It adds them to the
// server of package storetest, which has the state branch and the workflow runs.
//
//	g := githubtest.New(t, storetest.Config{Repo: "acme/shop"})
//	n := g.AddIssue(githubtest.Issue{Title: "Carts forget", Labels: []string{"symphony"}})
//	cmd.Env = append(cmd.Env, g.Env()...) // GITHUB_SERVER_URL, GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN
//	…
//	pulls := g.Pulls()       // in the order in which they were opened
//	issue := g.Issue(n)      // with the labels and the comments that it has now
//	refs := g.Branches()     // commits by branch
//	asked := g.Log()         // every request, REST and git's
//
// The repository is a real one, and git's own program serves it below
// [GitHub.ServerURL]; what is a branch, a fast-forward or a difference, git decides. As
// at GitHub, a pull request needs a branch that has commits which its base does not
// have, there is one open pull request for a branch, issues and pull requests share
// their numbers, and answers have an ETag.
//
// People say and do what people do there, and checks run:
//
//	c := g.AddComment(2, "kim", "Why?")       // on an issue or a pull request; EditComment, DeleteComment
//	g.AddReview(2, githubtest.Review{By: "lee", Verdict: "CHANGES_REQUESTED", Lines: …})
//	g.ReplyInThread(g.Threads(2)[0].ID, "kim", "Yes.")
//	id := g.SetCheck(head, githubtest.Check{Name: "test", State: "IN_PROGRESS", Log: "no\n"})
//	g.FinishCheck(id, "FAILURE")              // the log is on another host
//	g.ForcePush("symphony/GH-1", files)       // threads follow their lines, or are outdated
//	g.Retarget(2, "next")                     // ConvertToDraft, ClosePull, ReopenPull, Merge, Delete of its branch
//	g.SetPermission("mallory", "none")        // people may read, [Member] may write
//	g.ShowMembership(githubtest.Member)       // who is NONE or CONTRIBUTOR otherwise, like a stranger
//	seen := g.Reactions(c)
//	address := g.AddPicture(png)              // to be shown as ![](address); see ExpirePictures
//
// A push of a commit with other workflow files than every branch is refused, as GitHub
// refuses it for the token of a job; see [GitHub.AllowWorkflows].
//
// Rules of the repository hold for pushes too: g.AddRule(githubtest.Rule{Type: "required_signatures"}).
//
// The time of a pull request moves with all of this except edits, deletions, resolved
// threads and checks: a program must not rely on more. Times come from a clock of the
// server that begins in March 2026 unless [GitHub.SetClock] gives another one.
//
// Any request can be made to fail, to lose its answer, or to wait: by its kind with
// [storetest.Hub.Fail], by its place among all of them with [storetest.Hub.FailNth].
// Fault.Before and Fault.After run while the request does, so a test can kill the
// program in them. A token without a permission: [storetest.Hub.Deny], with "issues:
// write" or "pull-requests: write" as well; without "checks: read", "statuses: read" or
// "actions: read" GraphQL leaves out a part of its answer and says so.
//
// The tests of tracker/github compare what the server says with GitHub's description of
// its API. Only tests import this package.
package githubtest
