package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/validation"
)

// TestAServerThatNeverAnswersHidesNothing validates a workflow whose tracker takes every
// request and answers none: the check ends, and those after it are made.
func TestAServerThatNeverAnswersHidesNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // to its end, or the server does not notice a client that gives up
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	p := emptyProject(t)
	p.write("WORKFLOW.md", "---\ntracker: {kind: linear, project_slug: abc, api_key: $KEY, endpoint: "+server.URL+"}\ncodex: {command: no-such-codex}\n---\n{{ nothing }}\n")
	var stdout, stderr bytes.Buffer
	a := &app{Process: wiring.Process{Environ: []string{"KEY=lin_hunter2", "HOME=" + p.dir, "TMPDIR=" + p.dir, "PATH=/usr/bin:/bin"}, Stdout: &stdout, Stderr: &stderr}, logFormat: "json"}
	a.DetectActions()
	a.redactor = a.EnvironmentSecrets()
	err := (&validateCommand{app: a}).validate(t.Context(), filepath.Join(p.dir, "WORKFLOW.md"), 200*time.Millisecond)
	if !errors.Is(err, errProblems) {
		t.Fatal(err)
	}
	var got validation.Report
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	results := map[string]string{}
	for _, c := range got.Checks {
		results[c.Name] = c.Result
	}
	for name, want := range map[string]string{"workflow": "ok", "prompt": "problem", "tracker": "problem", "state": "ok", "codex": "problem"} {
		if results[name] != want {
			t.Errorf("%s: %q, want %q", name, results[name], want)
		}
	}
	i := slices.IndexFunc(got.Findings, func(f validation.Finding) bool { return f.Check == "tracker" })
	if i < 0 || !strings.Contains(got.Findings[i].Message, "it took longer than 200ms: check the network") {
		t.Errorf("the timeout is not named:\n%s", &stdout)
	}
	if strings.Contains(stdout.String(), "hunter2") {
		t.Error("the key is shown")
	}
}

// TestWhatAFileHoldsCannotControlATerminal validates files with escape sequences in every
// place that is quoted.
func TestWhatAFileHoldsCannotControlATerminal(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;owned\x07\u202e\u009b31m"
	p := emptyProject(t)
	p.write("WORKFLOW.md", "---\ntracker:\n  kind: file\n  \"knd\\e]0;owned\\a\\u202e\": 1\n  active_states: [\"\\e[31mTodo\"]\nagent: {max_turns: \"\\e[2J\"}\n"+
		"codex: {command: \"no-such-codex '\\e[31m'\"}\ndelivery: {kind: none, protected: {\"\\e[1m\": \"\\e[31m\"}}\n---\n{{ issue."+evil+" }} {% "+evil+" %} {{ 'a' | x"+evil+" }}\n")
	p.write("issues/A"+evil+".md", "---\ntitle: x\nstate: Todo\n---\n")
	p.write("issues/B-1.md", "---\ntitle: "+evil+"\n---\n")
	for _, format := range []string{"text", "json"} {
		r := p.run("validate", "--log-format", format)
		if r.code != exitUsage {
			t.Errorf("exit status %d\n%s", r.code, r.stderr)
		}
		if s := r.stdout + r.stderr; text.Lines(s) != s {
			t.Errorf("the %s controls a terminal:\n%q", format, s)
		}
	}
}

// TestValidateOnlyReads validates with a token that may read everything and write nothing.
func TestValidateOnlyReads(t *testing.T) {
	t.Parallel()
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: "ghs_0123456789abcdefTOKEN"})
	g.Commit("main", map[string]string{"README.md": "# Shop\n"})
	g.AddIssue(githubtest.Issue{Title: "Carts forget", Labels: []string{"symphony"}})
	p := newProject(t, scripted(t, t.TempDir()), nil)
	p.replace("kind: file", "kind: github\n  required_labels: [symphony]\ndelivery:\n  hand_over: {remove_label: symphony}")
	p.env = append(p.env, g.Env()...)
	g.Archive(true)
	before := len(g.Log())
	r := p.ok("validate", "--state", "branch:symphony-state")
	if want := "github acme/shop, 1 candidate in open\n"; !strings.Contains(r.stdout, want) {
		t.Errorf("want %q in:\n%s", want, r.stdout)
	}
	reads := 0
	for _, request := range g.Log()[before:] {
		if !strings.HasPrefix(request, "GET ") && !strings.HasSuffix(request, "/graphql") && !strings.Contains(request, "git-upload-pack") {
			t.Errorf("validate sends %s", request)
		}
		reads++
	}
	if reads < 3 {
		t.Errorf("%d requests: %q", reads, g.Log()[before:])
	}
}

// What a session would be refused by is said before the first one, in the same words.
func TestValidateNamesTheRulesThatRefuseWork(t *testing.T) {
	t.Parallel()
	for want, rule := range map[string]githubtest.Rule{
		"problem repository .*takes signed commits alone: set delivery.commits to verified": {Type: "required_signatures"},
		"warning repository .*lets nobody push to a branch that exists":                     {Type: "update"},
		"ok repository ": {Type: "update", Bypassed: true},
	} {
		s := newShop(t, sameWork)
		s.hub.AddRule(rule)
		if said := oneSpaced(s.project.run("validate").stdout); !regexp.MustCompile(want).MatchString(said) || strings.HasPrefix(want, "ok") && regexp.MustCompile("(problem|warning) repository").MatchString(said) {
			t.Errorf("of %+v it says\n%s", rule, said)
		}
	}
}

func TestValidateNamesEveryFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Hang")})
	folders := []string{p.dir, filepath.Join(p.dir, "issues")}
	for _, folder := range folders {
		if err := os.Chmod(folder, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(folder, 0o755)
	}
	r := p.run("validate")
	for _, check := range []string{"tracker", "state", "workspace"} {
		if !regexp.MustCompile(`(?m)^problem +` + check + ` .*permission denied`).MatchString(r.stdout) {
			t.Errorf("no problem of %s in:\n%s", check, r.stdout)
		}
	}
}

func TestALineOfValidateCanBeReadOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	const lead, text = "problem   prompt      ", "WORKFLOW.md:4: template_parse_error: {% if %} has no condition"
	for columns, want := range map[int]string{
		80: "problem   prompt      WORKFLOW.md:4: template_parse_error: {% if %} has no\n                      condition\n",
		40: "problem   prompt\n  WORKFLOW.md:4: template_parse_error:\n  {% if %} has no condition\n",
	} {
		if diff := cmp.Diff(want, wrapItem(lead, text, columns)); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, diff)
		}
	}
}

// TestTheReadmeNamesEveryCheckOfValidate compares the checks in the source, in their order,
// with the table for users.
func TestTheReadmeNamesEveryCheckOfValidate(t *testing.T) {
	t.Parallel()
	names := func(form, text string) (list []string) {
		for _, match := range regexp.MustCompile(form).FindAllStringSubmatch(text, -1) {
			list = append(list, match[1])
		}
		return slices.Compact(list)
	}
	_, checks, _ := strings.Cut(readText(t, "validate.go"), "// check runs a check")
	_, table, _ := strings.Cut(readText(t, "README.md"), "## What validate checks")
	table, _, _ = strings.Cut(table, "\n\nA line begins")
	want := names(`\t(?:check|found\.Run)\("(\w+)"`, checks)
	if diff := cmp.Diff(want, names(`\n\| (\w+) \|`, table)[1:]); diff != "" || len(want) < 8 {
		t.Errorf("checks in the table of README.md (-want +got):\n%s", diff)
	}
}
