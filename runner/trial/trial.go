// Package trial plays the path of one issue in a repository on GitHub, and says for each behavior
// of GitHub that the program relies on whether it is so there. Parts that only a person can play
// take the token of a person, since nobody talks to the program with the program's own account;
// without it these parts are not tried. Everything that a trial makes has a name of its own, also
// the branch that the work is for, and is removed at the end, except the issue and the pull
// request, which stay closed.
//
// [Trial.Prepare] makes the things that the trial needs, [Trial.Play] tries all parts (parts.go),
// and [Trial.Clean] removes everything that they made. The command performs the ticks.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// ErrWaits is the error of a tick in which an issue waits for a person.
var ErrWaits = errors.New("an issue waits for a person")

// PersonVariable is the environment variable with the token of a person.
const PersonVariable = "SYMPHONY_TRIAL_TOKEN"

// WorkflowFile is the name of the WORKFLOW.md in the folder of a trial.
const WorkflowFile = "WORKFLOW.md"

// Trial is a trial in one repository.
type Trial struct {
	GitHub *client.Client // client with the job's token, as the program has it
	Person *client.Client // nil if there is no token of a person
	Owner  string         // owner of the repository
	Name   string         // name of everything that the trial makes
	Folder string         // folder of its WORKFLOW.md
	Agent  string         // the command of the agent
	Actor  string         // account that started the run
	Job    string         // the name of the job
	Cached bool           // the workflow found its entry in the cache again

	Tick func(context.Context) error                 // performs one tick; see [ErrWaits]
	Say  func(verdict Verdict, expected, why string) // reports the result of a part

	issue, pull int
	head        string // commit of the pull request, when it was read last
}

// Verdict is the result of a part of a trial.
type Verdict string

// The verdicts.
const (
	Yes      Verdict = "yes"
	No       Verdict = "NO"
	NotTried Verdict = "not tried"
)

// part is one thing that GitHub is expected to do.
type part struct {
	expected string
	try      func(context.Context) error
	path     bool // it is a part of the issue's path, and is not tried after one that failed
	aside    bool // the path goes on where it fails
	person   bool // it takes the token of a person
}

// untried lists the events that the trial cannot cause with the token of a job.
var untried = []string{
	"what the runs of comments, reviews and labels may save: this is one run, and somebody started it by hand",
	"members whose membership is private: they have to start a run themselves",
	"rules that refuse a branch: to make one takes an administrator",
	"limits of content: to reach them takes 80 requests in a minute",
}

// Prepare makes the WORKFLOW.md, the label, and the branch that the work is for.
func (t *Trial) Prepare(ctx context.Context) error {
	trust := "anyone" // who puts on the label of the trial
	if t.Person != nil {
		trust = "members"
	}
	if err := os.WriteFile(filepath.Join(t.Folder, WorkflowFile), fmt.Appendf(nil, workflow, t.Name, t.Agent, trust), 0o600); err != nil {
		return err
	}
	var about struct {
		Branch string `json:"default_branch"`
	}
	if err := t.request(ctx, http.MethodGet, "", nil, &about); err != nil {
		return err
	}
	var ref struct{ Object struct{ SHA string } }
	if err := t.request(ctx, http.MethodGet, "/git/ref/heads/"+url.PathEscape(about.Branch), nil, &ref); err != nil {
		return err
	}
	if err := t.request(ctx, http.MethodPost, "/git/refs", map[string]string{"ref": "refs/heads/" + t.Name + "-base", "sha": ref.Object.SHA}, nil); err != nil {
		return err
	}
	return t.request(ctx, http.MethodPost, "/labels", map[string]string{"name": t.Name, "color": "ededed"}, nil)
}

// Play tries all parts, and returns the number of those that failed.
func (t *Trial) Play(ctx context.Context) (failed int) {
	going := true
	for _, p := range []part{
		{expected: "what this run saves in the cache is there", try: t.findCache},
		{expected: "the permission of a person can be read", try: t.readPermission},
		{expected: "the job's token cannot change a workflow file", try: t.changeWorkflow},
		{expected: "an issue with the label becomes a pull request", try: t.label, path: true},
		{expected: "this run is no check of the pull request", try: t.listChecks, path: true, aside: true},
		{expected: "a comment on a line is answered by a commit", try: t.comment, path: true, person: true},
		{expected: "a red check is answered by a commit", try: t.reportCheck, path: true},
		{expected: "a question is asked on the pull request", try: t.ask, path: true, person: true},
		{expected: "a command in a comment is obeyed", try: t.order, path: true, person: true},
		{expected: "an answer lets the work go on", try: t.answer, path: true, person: true},
		{expected: "after the merge nothing is left of the work", try: t.merge, path: true},
	} {
		if p.person && t.Person == nil {
			t.Say(NotTried, p.expected, "it takes a person: let the secret "+PersonVariable+" be a token of one, with write access")
			continue
		}
		if p.path && !going {
			t.Say(NotTried, p.expected, "an earlier part failed")
			continue
		}
		err := p.try(ctx)
		if err == nil {
			t.Say(Yes, p.expected, "")
			continue
		}
		failed++
		going = going && (!p.path || p.aside)
		t.Say(No, p.expected, err.Error())
	}
	for _, text := range untried {
		subject, why, _ := strings.Cut(text, ": ")
		t.Say(NotTried, subject, why)
	}
	return failed
}

// sessions holds the agent's steps in each session of the trial. The sessions on the comment,
// the question and the answer take a person.
var sessions = []struct {
	person bool
	steps  string
}{
	{false, "- [ ] Create `symphony-trial/one.txt` containing `one`\n- [ ] Call `deliver` with `{\"title\": \"Try Symphony\", \"body\": \"A trial.\"}`\n"},
	{true, "- [ ] Create `symphony-trial/two.txt` containing `two`\n- [ ] Call `reply` with `{\"to\": \"1\", \"text\": \"Done.\", \"resolve\": true}`\n"},
	{false, "- [ ] Create `symphony-trial/three.txt` containing `three`\n"},
	{true, "- [ ] Call `ask` with `{\"question\": \"Which colour?\", \"choices\": [\"red\", \"green\"]}`\n"},
	{true, "- [ ] Create `symphony-trial/four.txt` containing `red`\n"},
}

func (t *Trial) issueText() string {
	var parts []string
	for _, p := range sessions {
		if !p.person || t.Person != nil {
			parts = append(parts, p.steps)
		}
	}
	return "A trial of Symphony: it is closed at the end.\n\n" + strings.Join(parts, "\n## Next turn\n\n")
}

// workflow is the WORKFLOW.md of the trial; the values are its name, the agent, and
// whose issues count.
const workflow = `---
tracker:
  kind: github
  required_labels: [%[1]s]
  provider: {trust: %[3]s}
repository: {base: %[1]s-base, branch_prefix: %[1]s/}
delivery:
  kind: pull_request
  hand_over: {remove_label: %[1]s}
feedback: {label: ""}
agent: {max_turns: 1}
codex:
  command: %[2]q
  read_timeout_ms: 60000
---
{{ issue.description }}
`

// request sends a request about the repository and reads its answer into v, nil for none.
func (t *Trial) request(ctx context.Context, method, path string, body, v any) error {
	return requestOf(ctx, t.GitHub, method, path, body, v)
}

// act sends a request as the person, or as the job where there is none.
func (t *Trial) act(ctx context.Context, method, path string, body, v any) error {
	return requestOf(ctx, cmp.Or(t.Person, t.GitHub), method, path, body, v)
}

func requestOf(ctx context.Context, as *client.Client, method, path string, body, v any) error {
	answer, err := as.Do(ctx, client.Request{Method: method, Path: as.Path("%s", path), Body: body})
	if err != nil || v == nil {
		return err
	}
	return as.Decode(answer, v)
}

// Clean removes everything that the trial made, as far as it can be removed. A thing that is
// gone already is no error.
func (t *Trial) Clean(ctx context.Context) error {
	var problems []error
	for _, number := range []int{t.pull, t.issue} {
		if number > 0 {
			problems = append(problems, t.request(ctx, http.MethodPatch, fmt.Sprintf("/issues/%d", number), map[string]string{"state": "closed"}, nil))
		}
	}
	problems = append(problems, t.request(ctx, http.MethodDelete, "/labels/"+t.Name, nil, nil))
	for _, branch := range []string{t.branch(), t.Name + "-state", t.Name + "-base"} {
		problems = append(problems, t.removeBranch(ctx, branch))
	}
	return errors.Join(append(problems, os.RemoveAll(t.Folder))...)
}

func (t *Trial) removeBranch(ctx context.Context, branch string) error {
	err := t.request(ctx, http.MethodGet, "/git/ref/heads/"+branch, nil, nil)
	switch {
	case err == nil:
		return t.request(ctx, http.MethodDelete, "/git/refs/heads/"+branch, nil, nil)
	case client.HasStatus(err, http.StatusNotFound):
		return nil
	}
	return err
}
