package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// sampleFile is what the tests read of a sample of a user's workflow file.
type sampleFile struct {
	On   map[string]any
	Jobs struct {
		Wake, Tick struct {
			If          string
			Concurrency string
			Permissions map[string]string
			Steps       []step
		}
	}
}

func readSample(t *testing.T, name string) sampleFile {
	t.Helper()
	var f sampleFile
	if err := yaml.Unmarshal([]byte(readText(t, samplePath(name))), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTheSamplesRunTheFilesOfTheDefaultBranch holds them to what makes events safe: the
// files of a pull request would otherwise be the program's settings and hooks.
func TestTheSamplesRunTheFilesOfTheDefaultBranch(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github.yml", "linear.yml"} {
		f := readSample(t, name)
		for _, event := range []string{"pull_request_target", "push"} {
			if _, listens := f.On[event]; listens {
				t.Errorf("%s is started by %s", name, event)
			}
		}
		if types := fmt.Sprint(f.On["pull_request"]); types != "map[types:[closed]]" { // not by what is pushed to one
			t.Errorf("%s is started by pull requests: %s", name, types)
		}
		for _, s := range f.Jobs.Tick.Steps {
			if ref := s.With["ref"]; ref != "" {
				t.Errorf("%s checks out %s", name, ref)
			}
		}
		// It is contested whether a job that its condition leaves out takes the one waiting place of its group.
		const group = "${{ (github.event_name != 'schedule' && github.event_name != 'workflow_dispatch' || inputs.command && inputs.command != 'tick') && github.run_id || 'symphony' }}"
		if got := f.Jobs.Tick.Concurrency; got != group || f.Jobs.Wake.Concurrency != "" {
			t.Errorf("%s: the groups are %q and %q", name, got, f.Jobs.Wake.Concurrency)
		}
		// What the job of an event may do is to start a run. Its text comes from the branch of a pull request.
		if diff := cmp.Diff(map[string]string{"actions": "write"}, f.Jobs.Wake.Permissions); diff != "" {
			t.Errorf("%s: permissions of the job that an event starts: %s", name, diff)
		}
		if steps := f.Jobs.Wake.Steps; len(steps) != 1 || steps[0].Uses != "" {
			t.Errorf("%s: steps of the job that an event starts: %+v", name, steps)
		}
		for event := range f.On {
			trusted := event == "schedule" || event == "workflow_dispatch"
			if is := "github.event_name == '" + event + "'"; strings.Contains(f.Jobs.Tick.If, is) != trusted || strings.Contains(f.Jobs.Wake.If, is) == trusted {
				t.Errorf("%s: %s has a condition in the wrong job, or none", name, event)
			}
		}
	}
}

// The events of the table, which differ from one that starts a tick in one thing each.
const (
	ourComment = `{"action":"created","sender":{"type":"User"},"issue":{"number":7,"user":{"type":"User"},"labels":[{"name":"symphony"}]},
		"comment":{"author_association":"COLLABORATOR","body":"Use blue."}}`
	pullComment = `{"action":"created","sender":{"type":"User"},"issue":{"number":9,"user":{"type":"Bot"},"labels":[],"pull_request":{"url":"x"}},
		"comment":{"author_association":"MEMBER","body":"Use blue."}}`
	ourReview = `{"action":"submitted","sender":{"type":"User"},"review":{"author_association":"OWNER","state":"changes_requested"},
		"pull_request":{"head":{"ref":"symphony/GH-7","repo":{"full_name":"acme/shop"}},"base":{"repo":{"default_branch":"main"}}}}`
	ourMerge = `{"action":"closed","sender":{"type":"User"},
		"pull_request":{"merged":true,"head":{"ref":"symphony/GH-7","repo":{"full_name":"acme/shop"}},"base":{"repo":{"default_branch":"main"}}}}`
	ourRun   = `{"action":"completed","workflow_run":{"head_branch":"symphony/GH-7","conclusion":"failure","head_repository":{"full_name":"acme/shop"}}}`
	ourLabel = `{"action":"labeled","label":{"name":"symphony"},"issue":{"number":7}}`
)

// TestOnlyEventsThatMayBeWorkCostAJob has act evaluate the conditions of the samples.
func TestOnlyEventsThatMayBeWorkCostAJob(t *testing.T) {
	t.Parallel()
	act := os.Getenv("SYMPHONY_TEST_ACT")
	if act == "" {
		t.Skip("no act: go install github.com/nektos/act@v0.2.89, and set SYMPHONY_TEST_ACT to its absolute path")
	}
	dir := conditionsRepository(t)
	for name, row := range map[string]struct {
		event, payload, old, new string
		want                     string // the samples that start a tick
	}{
		"the schedule":                         {"schedule", `{}`, "", "", "github linear"},
		"somebody starts it":                   {"workflow_dispatch", `{"inputs":{}}`, "", "", "github linear"},
		"the label":                            {"issues", ourLabel, "", "", "github"},
		"another label":                        {"issues", ourLabel, `"name":"symphony"`, `"name":"bug"`, ""},
		"a comment":                            {"issue_comment", ourComment, "", "", "github"},
		"a private member who has merged":      {"issue_comment", ourComment, "COLLABORATOR", "CONTRIBUTOR", "github"},
		"a private member":                     {"issue_comment", ourComment, "COLLABORATOR", "NONE", "github"},
		"a comment of a bot":                   {"issue_comment", ourComment, `"sender":{"type":"User"}`, `"sender":{"type":"Bot"}`, ""},
		"a comment that the program wrote":     {"issue_comment", ourComment, "Use blue.", `Waits.\n<!-- symphony-comment:waiting -->`, ""},
		"a comment on another issue":           {"issue_comment", ourComment, `"name":"symphony"`, `"name":"symphony-docs"`, ""},
		"a comment on a parked issue":          {"issue_comment", ourComment, `"name":"symphony"`, `"name":"needs-human"`, "github"},
		"a command on any issue":               {"issue_comment", strings.Replace(ourComment, "Use blue.", "/symphony retry", 1), `[{"name":"symphony"}]`, `[]`, "github linear"},
		"a command of a private member":        {"issue_comment", strings.Replace(ourComment, "Use blue.", "/symphony retry", 1), "COLLABORATOR", "NONE", "github linear"},
		"a comment on a pull request of ours":  {"issue_comment", pullComment, "", "", "github linear"},
		"a comment on one of a person":         {"issue_comment", pullComment, `"user":{"type":"Bot"}`, `"user":{"type":"User"}`, ""},
		"a review":                             {"pull_request_review", ourReview, "", "", "github linear"},
		"a review without a verdict":           {"pull_request_review", ourReview, "changes_requested", "commented", "github linear"},
		"an approval":                          {"pull_request_review", ourReview, "changes_requested", "approved", ""},
		"a review that the agent wrote":        {"pull_request_review", ourReview, `"state"`, `"body":"Done.\n\n<!-- symphony-comment: agent -->","state"`, ""},
		"a review of a private member":         {"pull_request_review", ourReview, "OWNER", "NONE", "github linear"},
		"a review of a bot":                    {"pull_request_review", ourReview, `"type":"User"`, `"type":"Bot"`, ""},
		"a review of a fork":                   {"pull_request_review", ourReview, "acme/shop", "mallory/shop", ""},
		"a review of another branch":           {"pull_request_review", ourReview, "symphony/GH-7", "fix", ""},
		"a merge":                              {"pull_request", ourMerge, "", "", "github linear"},
		"a pull request that is closed":        {"pull_request", ourMerge, `"merged":true`, `"merged":false`, "github linear"},
		"a push to a pull request":             {"pull_request", ourMerge, `"closed"`, `"synchronize"`, ""},
		"a merge of another branch":            {"pull_request", ourMerge, "symphony/GH-7", "fix", ""},
		"a merge of a fork":                    {"pull_request", ourMerge, "acme/shop", "mallory/shop", ""},
		"a merge of a fork that is gone":       {"pull_request", ourMerge, `{"full_name":"acme/shop"}`, "null", ""},
		"a failed workflow":                    {"workflow_run", ourRun, "", "", "github linear"},
		"a workflow that ran out of time":      {"workflow_run", ourRun, `"failure"`, `"timed_out"`, "github linear"},
		"a green workflow":                     {"workflow_run", ourRun, `"failure"`, `"success"`, ""},
		"a cancelled workflow":                 {"workflow_run", ourRun, `"failure"`, `"cancelled"`, ""},
		"a failed workflow of another branch":  {"workflow_run", ourRun, "symphony/GH-7", "main", ""},
		"a failed workflow of a fork's branch": {"workflow_run", ourRun, "acme/shop", "mallory/shop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.old != "" && !strings.Contains(row.payload, row.old) {
				t.Fatalf("the payload has no %q", row.old)
			}
			payload := strings.Replace(row.payload, row.old, row.new, 1)
			if got := startedBy(t, act, dir, row.event, payload); got != row.want {
				t.Errorf("starts the jobs of %q, not of %q", got, row.want)
			}
		})
	}
}

// conditionsRepository returns a repository of the name acme/shop with the conditions of both
// samples: a job has one step, which names its sample.
func conditionsRepository(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{"act/actrc": ""}
	for _, sample := range []string{"github", "linear"} {
		f := readSample(t, sample+".yml")
		jobs := map[string]any{}
		for id, condition := range map[string]string{"wake": f.Jobs.Wake.If, "tick": f.Jobs.Tick.If} {
			jobs[id] = map[string]any{"if": condition, "runs-on": "ubuntu-latest", "steps": []map[string]string{{"name": "reached " + sample, "run": "true"}}}
		}
		files["workflows/"+sample+".yml"] = mustJSON(t, map[string]any{"on": slices.Sorted(maps.Keys(f.On)), "jobs": jobs})
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, dir, "init", "--quiet", "--initial-branch=main")
	runGit(t, dir, "add", "workflows")
	runGit(t, dir, "commit", "--quiet", "--message", "All")
	runGit(t, dir, "remote", "add", "origin", "https://github.com/acme/shop")
	return dir
}

// startedBy returns the samples whose jobs an event starts, by act.
func startedBy(t *testing.T, act, dir, event, payload string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), act, event, "--dryrun", "--json", "-P", "ubuntu-latest=-self-hosted", "--eventpath", file, "--workflows", "workflows")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("act: %v\n%s", err, out)
	}
	var started []string
	for _, sample := range []string{"github", "linear"} {
		if strings.Contains(string(out), "reached "+sample) {
			started = append(started, sample)
		}
	}
	return strings.Join(started, " ")
}

// TestAnEventStartsARunOfTheDefaultBranch has act perform the job that hears of events. The
// run of a review belongs to the pull request, whose caches no other run reads. Whose word
// counts is what GitHub says of the permission: the event calls private members NONE.
func TestAnEventStartsARunOfTheDefaultBranch(t *testing.T) {
	t.Parallel()
	const (
		asks   = "GET /repos/acme/shop/collaborators/kim/permission "
		starts = "POST /repos/acme/shop/actions/workflows/symphony.yml/dispatches {\"ref\": \"trunk\"}"
	)
	for name, row := range map[string]struct {
		event, payload string
		permission     string
		want           []string // the requests
		status         string
	}{
		"a review of a private member": {"pull_request_review", ourReview, "write", []string{asks, asks, starts}, "success"},
		"a comment of a stranger":      {"issue_comment", ourComment, "read", []string{asks, asks}, "success"},
		"a label":                      {"issues", ourLabel, "", []string{starts, starts}, "success"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
				switch {
				case r.Header.Get("Authorization") != "Bearer "+m.token:
					w.WriteHeader(http.StatusUnauthorized)
				case len(asked) == 1:
					w.WriteHeader(http.StatusServiceUnavailable)
				case r.Method == http.MethodGet:
					fmt.Fprintf(w, `{"permission":%q,"role_name":"x","user":{"login":"kim","permissions":{"admin":true}}}`, row.permission)
				default:
					w.WriteHeader(http.StatusNoContent)
				}
			}))
			t.Cleanup(server.Close)
			m.api, m.repository = server.URL, "acme/shop"
			m.writeFile(filepath.Join(m.home, ".curlrc"), "noproxy = \"*\"\n") // in place of the one that leads to releases
			m.write(workflowFile, readText(t, samplePath("github.yml")))
			m.checkOut()
			payload := strings.Replace(row.payload, `"sender":{`, `"sender":{"login":"kim",`, 1)
			payload = strings.NewReplacer("OWNER", "NONE", "COLLABORATOR", "NONE").Replace(payload)
			m.writeFile(m.event, strings.Replace(payload, "{", `{"repository":{"default_branch":"trunk"},`, 1))
			j := m.job()
			j.start = []string{row.event, "--eventpath", m.event}
			o := readOutcome(t, j.act(t.TempDir()))
			if diff := cmp.Diff(row.want, asked); o.status != row.status || diff != "" {
				t.Errorf("the job ended with %s, requests (-want +got):\n%s\n%s", o.status, diff, o.log)
			}
		})
	}
}
