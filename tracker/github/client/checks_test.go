package client_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// outputs returns the checks of a commit, and reads what the failed ones say.
func outputs(t *testing.T, c *client.Client, commit string) (client.Checks, []client.Lack) {
	t.Helper()
	checks, err := c.Checks.Failed(t.Context(), commit, "")
	if err != nil {
		t.Fatal(err)
	}
	lacks, err := c.Checks.ReadOutputs(t.Context(), checks.Failed)
	if err != nil {
		t.Fatal(err)
	}
	return checks, lacks
}

// names returns what failed as "workflow/name verdict".
func names(checks client.Checks) []string {
	var list []string
	for _, f := range checks.Failed {
		list = append(list, f.Workflow+"/"+f.Name+" "+f.Verdict)
	}
	return list
}

// jobLog returns a log as GitHub gives it.
func jobLog(lines ...string) string {
	var text strings.Builder
	text.WriteString("\uFEFF")
	for _, line := range lines {
		text.WriteString("2026-03-01T12:00:00.1234567Z " + line + "\r\n")
	}
	return text.String()
}

func TestAFailedJobTellsItsStepsItsAnnotationsAndTheEndOfItsLog(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	head := g.Head("main")
	all := []string{}
	for n := range 300 {
		all = append(all, fmt.Sprintf("at %d", n))
	}
	all = append(all, "##[error]Process completed with exit code 1.", "Post job cleanup.", "Cleaning up orphan processes")
	annotations := []githubtest.Annotation{{Level: "WARNING", Path: ".github", Line: 1, Message: "Node 16 is old"}}
	for n := range 30 {
		annotations = append(annotations, githubtest.Annotation{Level: "FAILURE", Path: "cart.go", Line: n + 1, Title: "vet", Message: "unused"})
	}
	id := g.SetCheck(head, githubtest.Check{
		Name: "test", State: "FAILURE", Log: jobLog(all...), Annotations: annotations,
		Steps: []githubtest.Step{{Name: "Set up job", Conclusion: "SUCCESS"}, {Name: "Run go test", Conclusion: "FAILURE"}, {Name: "Upload", Conclusion: "SKIPPED"}},
	})
	g.SetCheck(head, githubtest.Check{Name: "lint", State: "ACTION_REQUIRED", App: "linter", Title: "3 problems", Summary: "Please **look**."})
	g.SetCheck(head, githubtest.Check{Status: true, Name: "ci/build", State: "ERROR", Summary: "The machine is on fire"})
	g.SetCheck(head, githubtest.Check{Name: "docs", State: "SUCCESS"})
	g.SetCheck(head, githubtest.Check{Name: "e2e", State: "SKIPPED"})
	g.Asked()
	checks, lacks := outputs(t, c, head)
	if lacks != nil || checks.Lacks != nil || checks.Running != 0 {
		t.Errorf("%d run; lacks %v and %v", checks.Running, checks.Lacks, lacks)
	}
	want := []client.FailedCheck{
		{Name: "ci/build", URL: "https://ci.example.org/3", Verdict: "error", At: at(3), Summary: "The machine is on fire", Read: true},
		{Name: "lint", App: "linter", Bot: "linter", URL: g.CloneURL() + "/runs/2", Verdict: "action_required", At: at(2), Summary: "3 problems\nPlease **look**.", Read: true},
		{
			Name: "test", Workflow: "CI", App: "github-actions", URL: fmt.Sprintf("%s/actions/runs/%d/job/%d", g.CloneURL(), 1000+id, id), Verdict: "failure", At: at(1),
			Steps: []string{"Run go test"}, Log: strings.Join(all[101:301], "\n"), Read: true,
		},
	}
	for n := range 20 {
		want[2].Annotations = append(want[2].Annotations, client.Annotation{Level: "FAILURE", Path: "cart.go", Line: n + 1, Title: "vet", Message: "unused"})
	}
	if diff := cmp.Diff(want, checks.Failed, cmpopts.IgnoreUnexported(client.FailedCheck{}), cmpopts.IgnoreFields(client.FailedCheck{}, "Node")); diff != "" {
		t.Error(diff)
	}
	if asked := g.Asked(); asked[githubtest.GraphQL] != 2 || len(asked) != 2 || !slices.Equal(g.LogReads(), []string{"/logs/1"}) {
		t.Errorf("asked %v and the host of the logs %v", asked, g.LogReads())
	}
}

func TestTheLatestRunOfACheckCounts(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	for _, tt := range []struct {
		name    string
		checks  []githubtest.Check
		want    []string
		running int
	}{
		{"nothing", nil, nil, 0},
		{"run again", []githubtest.Check{{Name: "test", State: "FAILURE"}, {Name: "test", State: "SUCCESS"}}, nil, 0},
		{"fails now", []githubtest.Check{{Name: "test", State: "SUCCESS"}, {Name: "test", State: "TIMED_OUT"}}, []string{"CI/test timed_out"}, 0},
		{"runs again", []githubtest.Check{{Name: "test", State: "FAILURE"}, {Name: "test", State: "IN_PROGRESS"}}, nil, 1},
		{"waits again", []githubtest.Check{{Name: "test", State: "FAILURE"}, {Name: "test", State: "QUEUED"}}, nil, 1},
		{"one job name in two workflows", []githubtest.Check{{Name: "test", State: "FAILURE"}, {Name: "test", Workflow: "Nightly", State: "SUCCESS"}}, []string{"CI/test failure"}, 0},
		{"for a push and for the pull request", []githubtest.Check{{Name: "test", Event: "push", State: "FAILURE"}, {Name: "test", State: "SUCCESS"}}, []string{"CI/test failure"}, 0},
		{"one name of two Apps", []githubtest.Check{{Name: "test", App: "a", State: "FAILURE"}, {Name: "test", App: "b", State: "SUCCESS"}}, []string{"/test failure"}, 0},
		{"a status that was replaced", []githubtest.Check{{Status: true, Name: "ci", State: "FAILURE"}, {Status: true, Name: "ci", State: "PENDING"}}, nil, 1},
		{"stale", []githubtest.Check{{Name: "test", State: "STALE"}, {Name: "lint", State: "NEUTRAL"}}, nil, 0},
		{"by name", []githubtest.Check{{Name: "b", State: "FAILURE"}, {Name: "a", State: "TIMED_OUT"}, {Name: "c", State: "STARTUP_FAILURE"}}, []string{"CI/a timed_out", "CI/b failure", "CI/c startup_failure"}, 0},
		{"replaced in the queue", []githubtest.Check{{Name: "test", State: "CANCELLED"}, {Name: "test", State: "CANCELLED", Event: "push"}}, nil, 0},
		{"cancelled after a failure", []githubtest.Check{{Name: "test", State: "FAILURE"}, {Name: "test", State: "CANCELLED"}}, []string{"CI/test failure"}, 0},
		{"of the own workflow", []githubtest.Check{
			{Name: "wake", Workflow: "symphony", File: "symphony.yml", Event: "pull_request_review", State: "FAILURE"},
			{Name: "tick", Workflow: "symphony", File: "symphony.yml", Event: "pull_request_review", State: "IN_PROGRESS"},
			{Name: "test", Workflow: "symphony", State: "FAILURE"},
		}, []string{"symphony/test failure"}, 0},
	} {
		head := g.ForcePush("work", map[string]string{"test": tt.name})
		for _, check := range tt.checks {
			g.SetCheck(head, check)
		}
		checks, err := c.Checks.Failed(t.Context(), head, "symphony.yml")
		if err != nil || checks.Running != tt.running || !slices.Equal(names(checks), tt.want) {
			t.Errorf("%s: %v, %d run, %v", tt.name, names(checks), checks.Running, err)
		}
	}
}

// Whoever may write checks or commit statuses is an author of what the agent is told.
func TestAFailedCheckNamesTheBotThatReportsIt(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	head := g.Head("main")
	for _, check := range []githubtest.Check{
		{Name: "a job", State: "FAILURE"}, {Name: "an App's", App: "linter", State: "FAILURE"},
		{Status: true, Name: "status by a person", By: "kim", State: "FAILURE"}, {Status: true, Name: "status by a bot", By: "linter[bot]", State: "FAILURE"},
		{Status: true, Name: "status by a job", By: "github-actions", State: "FAILURE"},
	} {
		g.SetCheck(head, check)
	}
	checks, err := c.Checks.Failed(t.Context(), head, "")
	got := map[string]string{}
	for _, f := range checks.Failed {
		got[f.Name] = f.Bot
	}
	want := map[string]string{"a job": "", "an App's": "linter", "status by a person": "", "status by a bot": "linter", "status by a job": ""}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: (-want +got)\n%s", err, diff)
	}
}

func TestACheckThatNeverEndsLeavesTheOthersToBeRead(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	head := g.Head("main")
	endless := g.SetCheck(head, githubtest.Check{Name: "endless", State: "IN_PROGRESS"})
	g.SetCheck(head, githubtest.Check{Name: "queued", State: "QUEUED"})
	g.SetCheck(head, githubtest.Check{Name: "test", State: "FAILURE"})
	if checks, err := c.Checks.Failed(t.Context(), head, "symphony.yml"); err != nil || checks.Running != 2 || len(checks.Failed) != 1 || !checks.Failed[0].At.Equal(at(3)) {
		t.Errorf("%+v, %v", checks, err)
	}
	g.FinishCheck(endless, "TIMED_OUT")
	if checks, err := c.Checks.Failed(t.Context(), head, "symphony.yml"); err != nil || checks.Running != 1 || len(checks.Failed) != 2 || !checks.Failed[0].At.Equal(at(4)) {
		t.Errorf("%+v, %v", checks, err)
	}
}

func TestManyChecksAreReadInPagesAndTheirLogsAreBounded(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	head := g.Head("main")
	for n := range 250 {
		g.SetCheck(head, githubtest.Check{Name: fmt.Sprintf("green %03d", n), State: "SUCCESS"})
	}
	for n := range 12 {
		g.SetCheck(head, githubtest.Check{Name: fmt.Sprintf("red %02d", n), State: "FAILURE", Log: jobLog("no")})
	}
	g.Asked()
	checks, _ := outputs(t, c, head)
	if asked := g.Asked(); len(checks.Failed) != 12 || asked[githubtest.GraphQL] != 4 || len(g.LogReads()) != 10 {
		t.Errorf("%d failed, asked %v, read %d logs", len(checks.Failed), asked, len(g.LogReads()))
	}
	for i, f := range checks.Failed {
		want := map[bool]string{true: "no"}[i < 10]
		if f.Log != want || (f.NoLog == "") != (want != "") {
			t.Errorf("%s: log %q, none because %q", f.Name, f.Log, f.NoLog)
		}
	}
}

func TestALackOfAPermissionIsNamedAndTheRestIsRead(t *testing.T) {
	t.Parallel()
	for denied, want := range map[string]struct {
		failed []string
		lack   string // of the checks
		log    string // lack
	}{
		"":               {[]string{"/ci failure", "CI/test failure"}, "", ""},
		"checks: read":   {[]string{"/ci failure"}, "may not read checks: write `permissions: {checks: read}`", ""},
		"statuses: read": {[]string{"CI/test failure"}, "may not read commit statuses: write `permissions: {statuses: read}`", ""},
		"actions: read":  {[]string{"/ci failure", "/test failure"}, "may not read which workflow a check belongs to: write `permissions: {actions: read}`", "may not read the logs of jobs: write `permissions: {actions: read}`"},
	} {
		t.Run(denied, func(t *testing.T) {
			t.Parallel()
			g, c := newPulls(t)
			head := g.Head("main")
			g.SetCheck(head, githubtest.Check{Name: "test", State: "FAILURE", Log: jobLog("no"), Steps: []githubtest.Step{{Name: "Run go test", Conclusion: "FAILURE"}}})
			g.SetCheck(head, githubtest.Check{Status: true, Name: "ci", State: "FAILURE"})
			if denied != "" {
				g.Deny(denied)
			}
			checks, lacks := outputs(t, c, head)
			said := func(lacks []client.Lack, want string) bool {
				return want == "" && len(lacks) == 0 || len(lacks) == 1 && want != "" && strings.Contains(lacks[0].Error(), want)
			}
			if !slices.Equal(names(checks), want.failed) || !said(checks.Lacks, want.lack) || !said(lacks, want.log) {
				t.Errorf("%v; lacks %v and %v", names(checks), checks.Lacks, lacks)
			}
			for _, f := range checks.Failed {
				if f.Name == "test" && (len(f.Steps) != 1 || (f.Log == "no") != (want.log == "")) {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestTheEndOfALogIsReadWhateverItsHostDoes has hosts that send a long log, or that send
// what is not a log.
func TestTheEndOfALogIsReadWhateverItsHostDoes(t *testing.T) {
	t.Parallel()
	end := jobLog("the end", "##[error]no") + strings.Repeat("2026-03-01T12:00:00.1234567Z Post job cleanup.\n", 9)
	long := filepath.Join(t.TempDir(), "log.txt")
	file, err := os.Create(long)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("\n"+end), 101<<20-1-int64(len(end))); err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	count := func(w http.ResponseWriter) http.ResponseWriter { return countingWriter{w, &sent} }
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		log  string // the end of it
		none string // why there is none
		sent int64  // at most; 0 for any number of bytes
	}{
		{"100 MB", func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(count(w), r, "log.txt", time.Time{}, io.NewSectionReader(file, 0, 101<<20))
		}, "the end\n##[error]no", "", 50 << 20},
		{"100 MB without parts and without a length", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(count(w), io.NewSectionReader(file, 0, 101<<20))
		}, "the end\n##[error]no", "", 0},
		{"a body without an end", func(w http.ResponseWriter, _ *http.Request) {
			for line := []byte(strings.Repeat("more\n", 1<<16)); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}, "", "more than 134217728 bytes", 0},
		{"another redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "", "the host of the file answers 302 Found", 0},
		{"an expired address", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "", "the host of the file answers 403 Forbidden", 0},
		{"a broken connection", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}, "", "unexpected EOF", 0},
		{"a part that is too long", func(w http.ResponseWriter, r *http.Request) {
			if part := r.Header.Get("Range"); part != "" {
				w.Header().Set("Content-Range", "bytes "+strings.TrimPrefix(part, "bytes=")+"104857600/104857600")
				w.WriteHeader(http.StatusPartialContent)
			} else {
				w.Header().Set("Content-Length", "104857600")
			}
			_, _ = io.WriteString(w, strings.Repeat("more\n", 1<<16))
		}, "", "more than 65536 bytes", 0},
		{"the token", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, jobLog("token: "+pullToken)) }, "token: [secret]", "", 0},
		{"bytes that are no text", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a\xff\nb") }, "a\uFFFD\nb", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, c := newPulls(t)
			head := g.Head("main")
			sent.Store(0)
			g.SetCheck(head, githubtest.Check{Name: "test", State: "FAILURE", LogHost: tt.host})
			checks, lacks := outputs(t, c, head)
			f := checks.Failed[0]
			if len(lacks) > 0 || !strings.HasSuffix(f.Log, tt.log) || (f.Log == "") != (tt.log == "") || len(f.Log) > 64<<10 {
				t.Errorf("lacks %v, log %.200q", lacks, f.Log)
			}
			if !strings.Contains(f.NoLog, tt.none) || (f.NoLog == "") != (tt.none == "") || strings.Contains(f.NoLog, "sig=") {
				t.Errorf("no log because %q", f.NoLog)
			}
			if tt.sent > 0 && sent.Load() > tt.sent {
				t.Errorf("%d bytes were sent", sent.Load())
			}
		})
	}
}

// countingWriter counts what it writes.
type countingWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (w countingWriter) Write(p []byte) (int, error) {
	w.sent.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

func TestALogThatIsGoneIsNoError(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	head := g.Head("main")
	g.SetCheck(head, githubtest.Check{Name: "test", State: "FAILURE"})
	checks, lacks := outputs(t, c, head)
	if f := checks.Failed[0]; len(lacks) > 0 || f.Log != "" || !strings.Contains(f.NoLog, "does not have it") {
		t.Errorf("%+v, %v", f, lacks)
	}
}

func TestLogsThatDoNotComeTakeTheTimeOfOneTryTogether(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	head := g.Head("main")
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, name := range []string{"a", "b", "c"} {
		g.SetCheck(head, githubtest.Check{Name: name, State: "FAILURE", LogHost: hang})
	}
	c.Transport.Timeout = 8 * time.Second // all other answers come within it, also on a busy machine
	checks, _ := outputs(t, c, head)
	for _, f := range checks.Failed {
		if !strings.Contains(f.NoLog, "did not come within 8s") {
			t.Errorf("%s: %q", f.Name, f.NoLog)
		}
	}
	if asked := g.LogReads(); len(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
}
