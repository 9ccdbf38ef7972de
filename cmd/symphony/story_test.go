package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// story is what happens to the repository acme/shop in a script: its GitHub, its Linear if
// there is one, and the model if the agent is the real Codex.
type story struct {
	t      testing.TB
	hub    *githubtest.GitHub
	linear *linearProject
	model  *codextest.Model
	run    int64 // the latest run of the workflow
}

type storyKey struct{}

// setUpStory prepares the commands github, linear and workflow for a script.
func setUpStory(env *testscript.Env, model *codextest.Model) {
	env.Values[storyKey{}] = &story{t: env.T().(testing.TB), model: model}
}

// storyOf returns the story of a script. It begins with the first command.
func storyOf(ts *testscript.TestScript) *story {
	s := ts.Value(storyKey{}).(*story)
	if s.hub == nil {
		s.hub = githubtest.New(s.t, storetest.Config{Repo: "acme/shop", Token: "ghs_0123456789abcdefTOKEN"})
		s.hub.SetClock(time.Now)
		s.hub.KeepBranches()
		s.hub.Commit("main", map[string]string{"README.md": "# Shop\n"})
		ts.Setenv("CLONE_URL", s.hub.CloneURL())
	}
	return s
}

// storyUsage is the first line of the commands of stories.
const storyUsage = `usage:
github label NAME
github issue FILE LABEL...             FILE begins with "# Title"
github review PULL WHO PATH:LINE TEXT  a comment on a line
github comment NUMBER WHO TEXT         on an issue or a pull request
github check BRANCH NAME STATE LOG [FILE]  a job on the head of a branch, of the workflow in a file
github approve|merge PULL WHO
github show issue|comments|threads NUMBER
github show pulls|branches
github show page                       the README.md of the branch symphony-state
github show commits BRANCH
linear start                           sets LINEAR_URL and LINEAR_API_KEY
linear issue FILE                      as in github issue; the title is "Work 1"
linear comment NUMBER WHO TEXT
linear move NUMBER STATE
linear show NUMBER                     the state of an issue
workflow FILE                          a file of the repository's default branch, with ${NAME} of the environment
workflow run EVENT                     the job begins; what follows runs in it`

// githubCommand has people and checks act on GitHub, or shows what is there.
func githubCommand(ts *testscript.TestScript, neg bool, args []string) {
	s := storyOf(ts)
	if neg || len(args) < 2 {
		ts.Fatalf("%s", storyUsage)
	}
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		return n
	}
	switch verb := args[0] + strconv.Itoa(len(args)); {
	case args[0] == "issue":
		title, body := s.readIssue(ts, args[1])
		fmt.Fprintf(ts.Stdout(), "#%d\n", s.hub.AddIssue(githubtest.Issue{Title: title, Body: body, Labels: args[2:]}))
	case verb == "label2":
		s.hub.AddLabel(args[1])
	case verb == "review5":
		path, line, _ := strings.Cut(args[3], ":")
		at, err := strconv.Atoi(line)
		ts.Check(err)
		s.hub.AddReview(number(1), githubtest.Review{By: args[2], Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: path, Line: at, Body: args[4]}}})
	case verb == "comment4":
		s.hub.AddComment(number(1), args[2], args[3])
	case verb == "check5", verb == "check6":
		s.hub.SetCheck(s.hub.Head(args[1]), githubtest.Check{Name: args[2], State: args[3], Log: args[4] + "\n", File: strings.Join(args[5:], ""),
			Steps: []githubtest.Step{{Name: "Run " + args[2], Conclusion: args[3]}}})
	case verb == "approve3":
		s.hub.Approve(number(1), args[2])
	case verb == "merge3":
		s.hub.Merge(number(1), args[2])
	case verb == "show3" && args[1] == "commits":
		fmt.Fprintln(ts.Stdout(), s.hub.Git("log", "--reverse", "--stat", "--format=%s", "main.."+args[2]))
	case verb == "show3" && args[1] == "issue":
		i := s.hub.Issue(number(2))
		fmt.Fprintf(ts.Stdout(), "#%d %s, labels %q: %s\n", i.Number, i.State, i.Labels, i.Title)
	case verb == "show3" && args[1] == "comments":
		printComments(ts.Stdout(), s.hub.Issue(number(2)).Comments)
	case verb == "show3" && args[1] == "threads":
		for _, t := range s.hub.Threads(number(2)) {
			fmt.Fprintf(ts.Stdout(), "%s:%d, resolved: %t\n", t.Path, t.Line, t.Resolved)
			printComments(ts.Stdout(), t.Comments)
		}
	case verb == "show2" && args[1] == "pulls":
		for _, p := range s.hub.Pulls() {
			state := p.State
			if p.Draft {
				state += ", a draft"
			}
			fmt.Fprintf(ts.Stdout(), "#%d %s, merged: %t, from %s to %s: %s\n", p.Number, state, p.Merged, p.Head, p.Base, p.Title)
		}
	case verb == "show2" && args[1] == "page":
		page, _ := s.hub.File("symphony-state", "README.md")
		fmt.Fprintln(ts.Stdout(), page)
	case verb == "show2" && args[1] == "branches":
		for _, name := range slices.Sorted(maps.Keys(s.hub.Branches())) {
			fmt.Fprintln(ts.Stdout(), name)
		}
	default:
		ts.Fatalf("%s", storyUsage)
	}
}

// linearCommand has people act on Linear, or shows what is there. It begins with
// the verb start.
func linearCommand(ts *testscript.TestScript, neg bool, args []string) {
	s := storyOf(ts)
	if neg || len(args) == 0 || (args[0] == "start") != (s.linear == nil) {
		ts.Fatalf("%s", storyUsage)
	}
	number := 0
	if len(args) > 1 && args[0] != "issue" {
		var err error
		number, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	switch verb := args[0] + strconv.Itoa(len(args)); {
	case verb == "start1":
		s.linear = newLinear(s.t)
		ts.Setenv("LINEAR_URL", s.linear.URL)
		ts.Setenv("LINEAR_API_KEY", linearKey)
	case verb == "issue2":
		_, body := s.readIssue(ts, args[1])
		s.linear.add(body)
	case verb == "comment4":
		s.linear.comment(number, args[2], args[3])
	case verb == "move3":
		s.linear.move(number, args[2])
	case verb == "show2":
		fmt.Fprintf(ts.Stdout(), "ENG-%d is in %s\n", number, s.linear.stateOf(number))
	default:
		ts.Fatalf("%s", storyUsage)
	}
}

// printComments prints comments as people see them: without what HTML hides.
func printComments(w io.Writer, comments []githubtest.Comment) {
	for _, c := range comments {
		text := strings.TrimSpace(regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(c.Body, ""))
		fmt.Fprintf(w, "%s: %s\n", cmp.Or(c.Author, "a deleted account"), text)
	}
}

// readIssue returns the title and the text of an issue in a file. A scripted model is given
// replies for what the text asks for.
func (s *story) readIssue(ts *testscript.TestScript, file string) (title, body string) {
	title, body, _ = strings.Cut(strings.TrimPrefix(ts.ReadFile(file), "# "), "\n")
	if s.model != nil {
		s.model.Add(codextest.Lane{Match: regexp.MustCompile(regexp.QuoteMeta(title)), Replies: repliesTo(s.t, body)})
	}
	return title, body
}

// repliesTo returns the replies of a model that works on the task list of an issue as the
// scripted agent does: a part of it, divided by the heading "Next turn", in each turn.
func repliesTo(t testing.TB, body string) (replies []codextest.Reply) {
	t.Helper()
	run := regexp.MustCompile("^- \\[ \\] Run `(.*)`$")
	create, use := regexp.MustCompile("^- \\[ \\] Create `(.*)` containing `(.*)`$"), regexp.MustCompile("^- \\[ \\] Call `(.*)` with `(.*)`$")
	for n, part := range strings.Split(body, "## Next turn") {
		for line := range strings.Lines(part) {
			line = strings.TrimSpace(line)
			if m := create.FindStringSubmatch(line); m != nil {
				replies = append(replies, call("exec_command", map[string]string{"cmd": "echo " + shellQuote(m[2]) + " > " + shellQuote(m[1])}))
			} else if m := run.FindStringSubmatch(line); m != nil {
				replies = append(replies, call("exec_command", map[string]string{"cmd": m[1]}))
			} else if m := use.FindStringSubmatch(line); m != nil {
				replies = append(replies, codextest.Reply{Items: []codextest.Item{codextest.Call{Name: m[1], Arguments: m[2]}}})
			} else if strings.HasPrefix(line, "- ") {
				t.Fatalf("the model does not know how to do %q", line)
			}
		}
		replies = append(replies, say(fmt.Sprintf("Part %d is done.", n+1)))
	}
	return replies
}

// workflowCommand publishes WORKFLOW.md on GitHub and checks it out, or begins a run of the
// workflow: the environment is that of its job.
func workflowCommand(ts *testscript.TestScript, neg bool, args []string) {
	s := storyOf(ts)
	switch {
	case !neg && len(args) == 1:
		vars := regexp.MustCompile(`\$\{(\w+)\}`)
		text := vars.ReplaceAllStringFunc(ts.ReadFile(args[0]), func(name string) string { return ts.Getenv(name[2 : len(name)-1]) })
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
	case !neg && len(args) == 2 && args[0] == "run":
		if s.run != 0 {
			s.hub.SetRun(storetest.Run{ID: s.run, Status: "completed", Conclusion: "success"})
		}
		s.run++
		s.hub.SetRun(storetest.Run{ID: s.run, Status: "in_progress"})
		for _, entry := range s.jobEnv(ts, args[1]) {
			name, value, _ := strings.Cut(entry, "=")
			ts.Setenv(name, value)
		}
	default:
		ts.Fatalf("%s", storyUsage)
	}
}

// jobEnv returns the environment of the job of the latest run, which an event started.
func (s *story) jobEnv(ts *testscript.TestScript, event string) []string {
	temp := ts.MkAbs("runner")
	ts.Check(os.MkdirAll(temp, 0o755))
	files := filepath.Join(temp, fmt.Sprintf("run-%d-", s.run))
	payload := `{"repository": {"private": true}, "pull_request": {"head": {"repo": {"full_name": "acme/shop"}}}}` // no fork
	ts.Check(os.WriteFile(files+"event.json", []byte(payload), 0o644))
	return append(s.hub.Env(), "GITHUB_ACTIONS=true", "GITHUB_RUN_ATTEMPT=1", "GITHUB_WORKFLOW_REF=acme/shop/.github/workflows/symphony.yml@refs/heads/main",
		fmt.Sprintf("GITHUB_RUN_ID=%d", s.run), "GITHUB_JOB=tick",
		"GITHUB_EVENT_NAME="+event, "GITHUB_EVENT_PATH="+files+"event.json", "GITHUB_OUTPUT="+files+"outputs", "GITHUB_STEP_SUMMARY="+files+"summary",
		"GITHUB_WORKSPACE="+ts.MkAbs("."), "RUNNER_OS=Linux", "RUNNER_TEMP="+temp)
}
