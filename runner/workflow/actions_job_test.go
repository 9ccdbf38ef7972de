package workflow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestAJobIsWhatItsWorkflowFileSays(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		content string
		want    workflow.Job
	}{
		"nothing said":               {"jobs: {tick: {}}", workflow.Job{Timeout: 6 * time.Hour}},
		"minutes":                    {"jobs: {tick: {timeout-minutes: 45}}", workflow.Job{Timeout: 45 * time.Minute}},
		"half a minute":              {"jobs: {tick: {timeout-minutes: 0.5}}", workflow.Job{Timeout: 30 * time.Second}},
		"an expression":              {"jobs: {tick: {timeout-minutes: '${{ inputs.minutes }}'}}", workflow.Job{}},
		"nonsense":                   {"jobs: {tick: {timeout-minutes: -3}}", workflow.Job{}},
		"more than there is":         {"jobs: {tick: {timeout-minutes: .inf}}", workflow.Job{}},
		"no number":                  {"jobs: {tick: {timeout-minutes: .nan}}", workflow.Job{}},
		"the workflow has a group":   {"concurrency: symphony\njobs: {tick: {}}", workflow.Job{Timeout: 6 * time.Hour, InConcurrencyGroup: true}},
		"the job has a group":        {"jobs: {tick: {concurrency: {group: symphony}}}", workflow.Job{Timeout: 6 * time.Hour, InConcurrencyGroup: true}},
		"another job's is not ours":  {"jobs: {other: {concurrency: x, timeout-minutes: 1}, tick: {}}", workflow.Job{Timeout: 6 * time.Hour}},
		"the rest does not matter":   {"on: {schedule: [{cron: '7 * * * *'}]}\njobs: {tick: {runs-on: ubuntu-latest, steps: [{uses: ./}]}}", workflow.Job{Timeout: 6 * time.Hour}},
		"on is a word YAML may read": {"on: push\njobs: {tick: {}}", workflow.Job{Timeout: 6 * time.Hour}},
	} {
		got, err := workflow.ParseJob([]byte(row.content), "tick")
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
		if job, err := workflow.ParseJob([]byte(content), "tick"); !errors.Is(err, workflow.ErrParse) || job != (workflow.Job{}) {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
	}
}
