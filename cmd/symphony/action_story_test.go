package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/internal/githubtest"
)

// storyOfACart is what the scripted agent does in the sessions of the story, one part in
// each.
const storyOfACart = "- [ ] Create `cart.go` containing `package shop`\n- [ ] Call `deliver` with `{\"title\": \"Keep the cart\", \"body\": \"It has wheels.\"}`\n" +
	"\n## Next turn\n\n- [ ] Create `brake.go` containing `package shop`\n- [ ] Call `reply` with `{\"to\": \"1\", \"text\": \"There is a brake now.\", \"resolve\": true}`\n" +
	"\n## Next turn\n\n- [ ] Create `lint.txt` containing `clean`\n" +
	"\n## Next turn\n\n- [ ] Call `ask` with `{\"question\": \"Which colour?\", \"choices\": [\"red\", \"green\"]}`\n" +
	"\n## Next turn\n\n- [ ] Create `colour.txt` containing `red`\n"

// actionStory is a repository whose job is the sample workflow, as it stands, and what happens
// to its first issue.
type actionStory struct {
	*deliveries
	sample  string
	secrets []string // arguments of act
	issue   string   // its name
	pull    int      // number of its pull request
	model   *codextest.Model
}

// newActionStory returns a story of which nothing has happened. Its agent is the program
// codex with a scripted model, or without one the scripted agent.
func newActionStory(t *testing.T, codex string) *actionStory {
	t.Helper()
	s := &actionStory{deliveries: newDeliveries(t, "github.md"), sample: workflowOfSample(t, "github.yml"), issue: "GH-1", pull: 2}
	if codex != "" {
		s.model = codextest.NewModel(codextest.Lane{Match: regexp.MustCompile("Carts forget"), Replies: repliesTo(t, storyOfACart)})
		t.Cleanup(s.model.Close)
		s.pin("0.169.0", s.releases.publishAs("0.169.0", "exec "+shellQuote(codex)+` -c model=gpt-5.5 "$@"`))
		s.jobEnv = append(s.jobEnv, "OPENAI_BASE_URL="+s.model.URL())
		s.secrets = append(s.secrets, "-s", "OPENAI_API_KEY=sk-0123456789abcdefghij")
	}
	s.replace("max_turns: 10", "max_turns: 1") // a part of the story in each session
	s.github.SetClock(time.Now)
	s.github.KeepBranches()
	return s
}

// run performs the job that a schedule or a person starts; pairs are outputs and their
// values.
func (s *actionStory) run(event, payload string, outputs ...string) outcome {
	s.t.Helper()
	j := s.job()
	j.start, j.workflow = append([]string{event, "--eventpath", s.event}, s.secrets...), s.sample
	s.writeFile(s.event, strings.Replace(`{"repository":{"private":true},`+payload[1:], ",}", "}", 1))
	o := j.perform()
	o.want(s.t, "success", outputs...)
	if !strings.Contains(o.summary, "Started by "+strings.ReplaceAll(event, "_", `\_`)) {
		s.t.Errorf("the summary does not say that %s started the run:\n%s", event, o.summary)
	}
	return o
}

// wake performs the job that another event starts, as
// [TestAnEventStartsARunOfTheDefaultBranch] shows it.
func (s *actionStory) wake(outputs ...string) outcome {
	s.t.Helper()
	return s.run("workflow_dispatch", `{"inputs":{}}`, outputs...)
}

// command performs the job that somebody starts by hand for a command on the issue.
func (s *actionStory) command(word string) outcome {
	s.t.Helper()
	return s.run("workflow_dispatch", fmt.Sprintf(`{"inputs":{"command":%q,"issue":%q}}`, word, s.issue), "dispatched", "0", "parked", "1")
}

// wantFiles fails the test unless the commits of the branch change these files, in this
// order.
func (s *actionStory) wantFiles(files ...string) {
	s.t.Helper()
	changed := strings.Fields(s.github.Git("log", "--reverse", "--format=", "--name-only", "main..symphony/"+s.issue))
	if !slices.Equal(changed, files) {
		s.t.Fatalf("the commits of the branch change %q, want %q", changed, files)
	}
}

// review has a person comment on a line of the pull request, which the agent answers with
// another commit.
func (s *actionStory) review() {
	s.t.Helper()
	s.wantFiles("cart.go")
	if pulls := s.github.Pulls(); len(pulls) != 1 || pulls[0].Number != s.pull || pulls[0].Title != "Keep the cart" {
		s.t.Fatalf("the pull requests are %+v", pulls)
	}
	s.github.AddReview(s.pull, githubtest.Review{By: "kim", Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "Where is the brake?"}}})
	s.wake(completed...)
	s.wantFiles("cart.go", "brake.go")
	if threads := s.github.Threads(s.pull); len(threads) != 1 || !threads[0].Resolved || !strings.Contains(threads[0].Comments[1].Body, "There is a brake now.") {
		s.t.Errorf("the threads of the review are %+v", threads)
	}
}

// failCheck has a check of the pull request fail, which the agent answers with another
// commit.
func (s *actionStory) failCheck() {
	s.t.Helper()
	s.github.SetCheck(s.github.Head("symphony/"+s.issue), githubtest.Check{
		Name: "lint", State: "FAILURE", Log: "lint.txt is missing\n", Steps: []githubtest.Step{{Name: "Run lint", Conclusion: "FAILURE"}},
	})
	s.wake(completed...)
	s.wantFiles("cart.go", "brake.go", "lint.txt")
}

// wantQuestion fails the test unless the pull request says what the agent asked last.
func (s *actionStory) wantQuestion() {
	s.t.Helper()
	comments := s.github.Issue(s.pull).Comments
	if len(comments) == 0 || !strings.Contains(comments[len(comments)-1].Body, "> Which colour?\n> - red\n> - green\n") {
		s.t.Fatalf("the pull request says %+v", comments)
	}
}

// merge has a person approve and merge the pull request, and fails the test unless the next
// run leaves nothing of the work.
func (s *actionStory) merge() {
	s.t.Helper()
	s.wantFiles("cart.go", "brake.go", "lint.txt", "colour.txt")
	if s.model != nil { // the answer went on with what was said before
		requests := s.model.Requests()
		if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "Red, please.") || !strings.Contains(last, "Where is the brake?") {
			s.t.Errorf("the last request to the model is not on the thread of the first:\n%s", last)
		}
	}
	s.github.Approve(s.pull, "kim")
	s.github.Merge(s.pull, "kim")
	s.wake("dispatched", "0", "completed", "0", "parked", "0")
	if s.github.Head("symphony/"+s.issue) != "" {
		s.t.Errorf("after the merge the branches are %v", s.github.Branches())
	}
	if state, ok := s.hub.File("symphony-state", "state.json"); !ok || strings.Contains(state, s.issue) {
		s.t.Errorf("the state still knows the issue:\n%s", state)
	}
}

// Outputs of the Action: of a run that did its work, and of one that an agent's question
// ended.
var (
	completed = []string{"dispatched", "1", "completed", "1", "failed", "0", "parked", "0"}
	asked     = []string{"dispatched", "1", "completed", "0", "parked", "1"}
)

// TestTheStoryOfAnIssueIsToldByRunsOfTheAction has act run the sample workflow once for each
// event of the story in testdata/script/conversation.txt. All that one run knows of the others
// is on the state branch and in the cache. The agent is the real Codex with a scripted model;
// where there is none, it is the scripted agent.
func TestTheStoryOfAnIssueIsToldByRunsOfTheAction(t *testing.T) {
	t.Parallel()
	s := newActionStory(t, os.Getenv("SYMPHONY_TEST_CODEX"))
	s.github.AddLabel("needs-human")
	s.publishCheckout()
	wantLabels := func(labels ...string) {
		t.Helper()
		if i := s.github.Issue(1); !slices.Equal(i.Labels, labels) {
			t.Errorf("the issue bears the labels %q, want %q", i.Labels, labels)
		}
	}

	s.github.AddIssue(githubtest.Issue{Title: "Carts forget", Body: storyOfACart, Labels: []string{"symphony"}})
	s.wake(completed...)
	wantLabels()
	s.review()
	s.run("schedule", "{}", "work", "false", "dispatched", "0")
	s.failCheck()
	s.github.AddComment(2, "kim", "Paint it.")
	s.wake(asked...)
	s.wantQuestion()
	wantLabels("needs-human")
	if o := s.command("status"); !strings.Contains(o.summary, "status GH-1") || !strings.Contains(o.summary, "Which colour?") {
		t.Errorf("the summary of the command is\n%s", o.summary)
	}
	s.github.AddComment(2, "kim", "Red, please.")
	s.wake(completed...)
	wantLabels()
	s.merge()
	if i := s.github.Issue(1); i.State != "closed" {
		t.Errorf("after the merge the issue is %s", i.State)
	}
}
