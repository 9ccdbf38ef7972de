package workflow

import (
	"fmt"
	"time"

	"gopkg.in/yaml.v3"
)

// defaultJobTimeout is the limit of GitHub for a job that names no timeout-minutes.
const defaultJobTimeout = 6 * time.Hour

// Job holds the settings of one job in a workflow file of GitHub Actions.
type Job struct {
	Timeout            time.Duration // timeout-minutes; 0 when only GitHub can work it out
	InConcurrencyGroup bool          // the job, or all of its workflow, is in a concurrency group
}

// ParseJob returns the settings of the job with this id in a workflow file of GitHub
// Actions (not in WORKFLOW.md). It fails with [ErrParse] when the file is not YAML
// or has no such job.
func ParseJob(content []byte, id string) (Job, error) {
	type limits struct {
		Timeout     yaml.Node `yaml:"timeout-minutes"`
		Concurrency any
	}
	var file struct {
		Concurrency any
		Jobs        map[string]limits
	}
	if len(content) > maxFile {
		return Job{}, fmt.Errorf("read job %.80q: %w: the workflow file is larger than %d bytes; shorten it", id, ErrParse, maxFile)
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return Job{}, fmt.Errorf("read job %.80q: %w: %w; correct the workflow file", id, ErrParse, err)
	}
	found, ok := file.Jobs[id]
	if !ok {
		return Job{}, fmt.Errorf("read job %.80q: %w: the workflow file has no such job; give the deadline yourself", id, ErrParse)
	}
	job := Job{Timeout: defaultJobTimeout, InConcurrencyGroup: file.Concurrency != nil || found.Concurrency != nil}
	if !found.Timeout.IsZero() {
		var minutes float64
		if err := found.Timeout.Decode(&minutes); err != nil || !(minutes > 0 && minutes <= 1e6) {
			minutes = 0 // an expression, or a mistake that GitHub reports
		}
		job.Timeout = time.Duration(minutes * float64(time.Minute))
	}
	return job, nil
}
