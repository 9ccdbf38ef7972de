package action_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/action"
)

// jobIn reads the job tick from a workflow file with this content.
func jobIn(t *testing.T, content string) (action.Job, error) {
	t.Helper()
	checkout := t.TempDir()
	if err := os.WriteFile(filepath.Join(checkout, "tick.yml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GITHUB_WORKSPACE": checkout, "GITHUB_WORKFLOW_REF": "acme/shop/tick.yml@refs/heads/main"}
	return action.New(io.Discard, func(name string) string { return env[name] }).Job(action.Event{Job: "tick", File: "tick.yml"})
}

func TestAJobIsWhatItsWorkflowFileSays(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		content string
		want    action.Job
	}{
		"nothing said":                {"jobs: {tick: {}}", action.Job{Timeout: 6 * time.Hour}},
		"minutes":                     {"jobs: {tick: {timeout-minutes: 45}}", action.Job{Timeout: 45 * time.Minute}},
		"half a minute":               {"jobs: {tick: {timeout-minutes: 0.5}}", action.Job{Timeout: 30 * time.Second}},
		"an expression":               {"jobs: {tick: {timeout-minutes: '${{ inputs.minutes }}'}}", action.Job{}},
		"nonsense":                    {"jobs: {tick: {timeout-minutes: -3}}", action.Job{}},
		"more than there is":          {"jobs: {tick: {timeout-minutes: .inf}}", action.Job{}},
		"no number":                   {"jobs: {tick: {timeout-minutes: .nan}}", action.Job{}},
		"the workflow has a group":    {"concurrency: symphony\njobs: {tick: {}}", action.Job{Timeout: 6 * time.Hour, InConcurrencyGroup: true}},
		"a command has its own group": {"jobs: {tick: {concurrency: \"${{ inputs.command && github.run_id || 'symphony' }}\"}}", action.Job{Timeout: 6 * time.Hour}},
		"both have a group":           {"concurrency: symphony\njobs: {tick: {concurrency: {group: \"${{ github.run_id }}\"}}}", action.Job{Timeout: 6 * time.Hour, InConcurrencyGroup: true}},
		"the job has a group":         {"jobs: {tick: {concurrency: {group: symphony}}}", action.Job{Timeout: 6 * time.Hour, InConcurrencyGroup: true}},
		"another job's is not ours":   {"jobs: {other: {concurrency: x, timeout-minutes: 1}, tick: {}}", action.Job{Timeout: 6 * time.Hour}},
		"the rest does not matter":    {"on: {schedule: [{cron: '7 * * * *'}]}\njobs: {tick: {runs-on: ubuntu-latest, steps: [{uses: ./}]}}", action.Job{Timeout: 6 * time.Hour}},
		"on is a word YAML may read":  {"on: push\njobs: {tick: {}}", action.Job{Timeout: 6 * time.Hour}},
	} {
		got, err := jobIn(t, row.content)
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestAJobThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"no YAML":     "jobs: [",
		"no map":      "text",
		"no jobs":     "name: x",
		"another job": "jobs: {other: {}}",
		"too large":   "jobs: {tick: {}}\n" + strings.Repeat("# x\n", 1<<18),
	} {
		if job, err := jobIn(t, content); !errors.Is(err, action.ErrJob) || job != (action.Job{}) {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
	}
}

func TestAJobWhoseFileIsNotKnownIsAnError(t *testing.T) {
	t.Parallel()
	checkout := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(checkout, "link.yml")); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		env  map[string]string
		file string
		want string
	}{
		"an older server":                 {map[string]string{"GITHUB_WORKSPACE": checkout}, "", "does not say which file"},
		"a workflow of another one":       {map[string]string{"GITHUB_WORKSPACE": checkout, "GITHUB_WORKFLOW_REF": "other/repo/x.yml@main"}, "", "is not of this repository"},
		"no checkout":                     {map[string]string{"GITHUB_WORKSPACE": checkout, "GITHUB_WORKFLOW_REF": "a/b/x.yml@main"}, "x.yml", "check out the repository"},
		"a link that leaves the checkout": {map[string]string{"GITHUB_WORKSPACE": checkout, "GITHUB_WORKFLOW_REF": "a/b/link.yml@main"}, "link.yml", "escapes"},
	} {
		r := action.New(io.Discard, func(name string) string { return row.env[name] })
		if job, err := r.Job(action.Event{Job: "tick", File: row.file}); !errors.Is(err, action.ErrJob) || !strings.Contains(err.Error(), row.want) || job != (action.Job{}) {
			t.Errorf("%s: %+v, %v, want %q", name, job, err, row.want)
		}
	}
}

func TestTheTimeOfAStepIsWhatIsLeftOfTheJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		timeout time.Duration
		began   time.Time
		want    time.Duration
	}{
		"a tenth is kept":              {30 * time.Minute, now, 27 * time.Minute},
		"five minutes at most":         {6 * time.Hour, now, 6*time.Hour - 5*time.Minute},
		"half a minute at least":       {3 * time.Minute, now, 150 * time.Second},
		"what is gone is gone":         {30 * time.Minute, now.Add(-7 * time.Minute), 20 * time.Minute},
		"nobody knows when it began":   {30 * time.Minute, time.Time{}, 27 * time.Minute},
		"a clock that was set back":    {30 * time.Minute, now.Add(time.Hour), 27 * time.Minute},
		"a payload of another job":     {30 * time.Minute, now.Add(-time.Hour), 27 * time.Minute},
		"the job is over all but":      {30 * time.Minute, now.Add(-29 * time.Minute), time.Second},
		"shorter than what is kept of": {20 * time.Second, now, time.Second},
	} {
		if got := (action.Job{Timeout: row.timeout}).TimeLeft(row.began, now); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
