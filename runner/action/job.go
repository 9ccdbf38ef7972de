package action

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// defaultJobTimeout is the limit of GitHub for a job that names no timeout-minutes.
const defaultJobTimeout = 6 * time.Hour

// maxWorkflowFile limits the workflow file, in bytes.
const maxWorkflowFile = 1 << 20

// Job holds the settings of one job in a workflow file of GitHub Actions.
type Job struct {
	Timeout            time.Duration // timeout-minutes; 0 when only GitHub can work it out
	InConcurrencyGroup bool          // the job, or all of its workflow, is in a concurrency group with every other run
}

// The part of a job's time that is kept for the steps after ours: a tenth, within these bounds.
const minReserve, maxReserve = 30 * time.Second, 5 * time.Minute

// TimeLeft returns the time that a step may take in a job with a timeout. The clock of the job
// began some time before the step's.
func (j Job) TimeLeft(began, now time.Time) time.Duration {
	left := j.Timeout - min(max(j.Timeout/10, minReserve), maxReserve)
	if gone := now.Sub(began); !began.IsZero() && gone > 0 && gone < j.Timeout {
		left -= gone
	}
	return max(left, time.Second)
}

// Job reads the settings of the job that e is about from the workflow file in the
// checkout. It fails with [ErrJob].
func (r *Runtime) Job(e Event) (Job, error) {
	fail := func(err error) (Job, error) {
		return Job{}, fmt.Errorf("read job %.80q of the workflow file: %w: %w", e.Job, ErrJob, err)
	}
	folder := r.getenv("GITHUB_WORKSPACE")
	switch {
	case r.getenv("GITHUB_WORKFLOW_REF") == "":
		return fail(errors.New("this server does not say which file it is"))
	case e.File == "" || folder == "":
		return fail(errors.New("the file is not of this repository"))
	}
	file, err := os.OpenInRoot(folder, e.File)
	if err != nil {
		return fail(fmt.Errorf("%w; check out the repository first", err))
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxWorkflowFile+1))
	if err != nil {
		return fail(err)
	}
	job, err := parseJob(content, e.Job)
	if err != nil {
		return fail(err)
	}
	return job, nil
}

func parseJob(content []byte, id string) (Job, error) {
	type limits struct {
		Timeout     yaml.Node `yaml:"timeout-minutes"`
		Concurrency any
	}
	var file struct {
		Concurrency any
		Jobs        map[string]limits
	}
	if len(content) > maxWorkflowFile {
		return Job{}, fmt.Errorf("the file is larger than %d bytes; shorten it", maxWorkflowFile)
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return Job{}, fmt.Errorf("%w; correct the file", err)
	}
	found, ok := file.Jobs[id]
	if !ok {
		return Job{}, errors.New("the file has no such job")
	}
	job := Job{Timeout: defaultJobTimeout, InConcurrencyGroup: isShared(file.Concurrency) || isShared(found.Concurrency)}
	if !found.Timeout.IsZero() {
		var minutes float64
		if err := found.Timeout.Decode(&minutes); err != nil || !(minutes > 0 && minutes <= 1e6) {
			minutes = 0 // an expression, or a mistake that GitHub reports
		}
		job.Timeout = time.Duration(minutes * float64(time.Minute))
	}
	return job, nil
}

// isShared reports whether all runs have the concurrency group of a workflow or a job. The id of
// a run makes a group of its own, as the samples have it for commands.
func isShared(concurrency any) bool {
	return concurrency != nil && !strings.Contains(fmt.Sprint(concurrency), "github.run_")
}
