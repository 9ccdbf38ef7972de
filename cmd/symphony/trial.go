package main

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

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// trialCommand plays the path of one issue in the repository of this job, with the scripted
// agent and without a key of a model, and says for each behavior of GitHub that the program
// relies on whether it is so here. What a person does takes the token of one, since nobody
// talks to the program with the program's own account. What the trial makes has a name of its
// own, also the branch that the work is for, and is removed at the end.
type trialCommand struct {
	*app
	github      *client.Client // with the job's token, as the program
	person      *client.Client // nil if there is no token of a person
	owner, name string         // of the repository's owner; of all that the trial makes
	cached      string         // the flag --cached
	folder      string
	issue, pull int
	head        string // of the pull request, when it was looked at last
	failed      int
}

func (t *trialCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "trial",
		Short:             "Play the path of an issue in the repository of this job, and say what GitHub does",
		Long:              "Play the path of an issue in the repository of this job, with the scripted agent, and say for each behavior of GitHub that the program relies on whether it is so here.",
		Example:           "symphony trial # in a job of GitHub Actions",
		Hidden:            true,
		Args:              argumentsUpTo(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return t.Run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&t.cached, "cached", "", "whether the workflow found again what it saved in the cache: `true` or false")
	return cmd
}

// trialPart is one thing that GitHub is expected to do.
type trialPart struct {
	expected string
	try      func(context.Context) error
	path     bool // it is a part of the issue's path, and is not tried after one that failed
	aside    bool // the path goes on where it fails
	person   bool // it takes the token of a person
}

// personVariable is the environment variable with the token of a person.
const personVariable = "SYMPHONY_TRIAL_TOKEN"

// untried lists what the trial cannot make happen with the token of a job.
var untried = []string{
	"what the runs of comments, reviews and labels may save: this is one run, and somebody started it by hand",
	"members whose membership is private: they have to start a run themselves",
	"rules that refuse a branch: to make one takes an administrator",
	"limits of content: to reach them takes 80 requests in a minute",
}

// Run plays all parts and removes what they made.
func (t *trialCommand) Run(ctx context.Context) error {
	if !t.actions.InActions() {
		return fmt.Errorf("%w: trial: it writes to the repository of a job: run it by a workflow that symphony init --trial writes", errUsage)
	}
	if err := t.prepare(ctx); err != nil {
		return err
	}
	going := true
	for _, p := range []trialPart{
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
		if p.person && t.person == nil {
			t.say("not tried", p.expected, "it takes a person: let the secret "+personVariable+" be a token of one, with write access")
			continue
		}
		if p.path && !going {
			t.say("not tried", p.expected, "an earlier part failed")
			continue
		}
		err := p.try(ctx)
		if err == nil {
			t.say("yes", p.expected, "")
			continue
		}
		t.failed++
		going = going && (!p.path || p.aside)
		t.say("NO", p.expected, err.Error())
	}
	for _, text := range untried {
		subject, why, _ := strings.Cut(text, ": ")
		t.say("not tried", subject, why)
	}
	if err := t.clean(context.WithoutCancel(ctx)); err != nil {
		t.failed++
		t.say("NO", "what the trial made can be removed", err.Error())
	}
	fmt.Fprintf(t.stdout, "The issue and the pull request of the trial stay, closed: nobody but an administrator can delete an issue.\n")
	if t.failed > 0 {
		return fmt.Errorf("GitHub did not do here what the program relies on, in %d parts of the trial: the list above says which", t.failed)
	}
	return nil
}

// say prints and publishes what became of a part.
func (t *trialCommand) say(verdict, expected, why string) {
	line := fmt.Sprintf("%-9s  %s", verdict, expected)
	if why != "" {
		line += ": " + strings.Join(strings.Fields(t.redactor.String(why)), " ")
	}
	fmt.Fprintln(t.stdout, line)
	if verdict == "NO" {
		t.actions.Warning("The trial found a difference", expected+": "+t.redactor.String(why))
	}
}

// trialParts are what the agent does in the sessions of the trial. Those of the comment, the
// question and the answer take a person.
var trialParts = []struct {
	person bool
	steps  string
}{
	{false, "- [ ] Create `symphony-trial/one.txt` containing `one`\n- [ ] Call `deliver` with `{\"title\": \"Try Symphony\", \"body\": \"A trial.\"}`\n"},
	{true, "- [ ] Create `symphony-trial/two.txt` containing `two`\n- [ ] Call `reply` with `{\"to\": \"1\", \"text\": \"Done.\", \"resolve\": true}`\n"},
	{false, "- [ ] Create `symphony-trial/three.txt` containing `three`\n"},
	{true, "- [ ] Call `ask` with `{\"question\": \"Which colour?\", \"choices\": [\"red\", \"green\"]}`\n"},
	{true, "- [ ] Create `symphony-trial/four.txt` containing `red`\n"},
}

// issueText returns the description of the issue.
func (t *trialCommand) issueText() string {
	var parts []string
	for _, p := range trialParts {
		if !p.person || t.person != nil {
			parts = append(parts, p.steps)
		}
	}
	return "A trial of Symphony: it is closed at the end.\n\n" + strings.Join(parts, "\n## Next turn\n\n")
}

// trialWorkflow is the WORKFLOW.md of the trial; the values are its name, the agent, and
// whose issues count.
const trialWorkflow = `---
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
---
{{ issue.description }}
`

// prepare makes the folder, the label and the branch that the work is for.
func (t *trialCommand) prepare(ctx context.Context) error {
	run, _ := t.getenv("GITHUB_RUN_ID")
	attempt, _ := t.getenv("GITHUB_RUN_ATTEMPT")
	t.name = "symphony-trial-" + run + "-" + attempt
	repository, _ := t.getenv("GITHUB_REPOSITORY")
	t.owner, _, _ = strings.Cut(repository, "/")
	token, _ := t.getenv("GITHUB_TOKEN")
	api, _ := t.getenv("GITHUB_API_URL")
	var err error
	if t.github, err = client.New(client.Config{Repo: repository, APIURL: api, Token: token}, nil); err != nil {
		return fmt.Errorf("%w: trial: %w", errUsage, err)
	}
	temp, _ := t.getenv("RUNNER_TEMP")
	if t.folder, err = os.MkdirTemp(cmp.Or(temp, t.tempDir()), "symphony-trial-"); err != nil {
		return err
	}
	program, err := lastingProgram(t.folder)
	if err != nil {
		return err
	}
	trust := "anyone" // who puts on the label of the trial
	if token, _ := t.getenv(personVariable); token != "" {
		trust = "members"
		if t.person, err = client.New(client.Config{Repo: repository, APIURL: api, Token: token, Names: client.Names{Token: personVariable}}, nil); err != nil {
			return fmt.Errorf("%w: trial: %w", errUsage, err)
		}
	}
	agent := fmt.Sprintf("exec %s scripted-agent app-server --home %s", shellQuote(program), shellQuote(filepath.Join(t.folder, "agent")))
	if err := os.WriteFile(filepath.Join(t.folder, "WORKFLOW.md"), fmt.Appendf(nil, trialWorkflow, t.name, agent, trust), 0o600); err != nil {
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
	if err := t.request(ctx, http.MethodPost, "/git/refs", map[string]string{"ref": "refs/heads/" + t.name + "-base", "sha": ref.Object.SHA}, nil); err != nil {
		return err
	}
	return t.request(ctx, http.MethodPost, "/labels", map[string]string{"name": t.name, "color": "ededed"}, nil)
}

// request sends a request about the repository and reads its answer into v, nil for none.
func (t *trialCommand) request(ctx context.Context, method, path string, body, v any) error {
	return requestOf(ctx, t.github, method, path, body, v)
}

// act sends a request as the person, or as the job where there is none.
func (t *trialCommand) act(ctx context.Context, method, path string, body, v any) error {
	return requestOf(ctx, cmp.Or(t.person, t.github), method, path, body, v)
}

func requestOf(ctx context.Context, as *client.Client, method, path string, body, v any) error {
	answer, err := as.Do(ctx, client.Request{Method: method, Path: as.Path("%s", path), Body: body})
	if err != nil || v == nil {
		return err
	}
	return as.Decode(answer, v)
}

// clean removes all that the trial made, as far as it can be removed. What is gone already
// is no error.
func (t *trialCommand) clean(ctx context.Context) error {
	var problems []error
	for _, number := range []int{t.pull, t.issue} {
		if number > 0 {
			problems = append(problems, t.request(ctx, http.MethodPatch, fmt.Sprintf("/issues/%d", number), map[string]string{"state": "closed"}, nil))
		}
	}
	problems = append(problems, t.request(ctx, http.MethodDelete, "/labels/"+t.name, nil, nil))
	for _, branch := range []string{t.branch(), t.name + "-state", t.name + "-base"} {
		problems = append(problems, t.removeBranch(ctx, branch))
	}
	return errors.Join(append(problems, os.RemoveAll(t.folder))...)
}

// removeBranch removes a branch, if it is there.
func (t *trialCommand) removeBranch(ctx context.Context, branch string) error {
	err := t.request(ctx, http.MethodGet, "/git/ref/heads/"+branch, nil, nil)
	switch {
	case err == nil:
		return t.request(ctx, http.MethodDelete, "/git/refs/heads/"+branch, nil, nil)
	case client.HasStatus(err, http.StatusNotFound):
		return nil
	}
	return err
}
