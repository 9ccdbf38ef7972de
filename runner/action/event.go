package action

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxEvent is far more than a pull request's event has, in bytes.
const maxEvent = 8 << 20

// Event is what started this run, by the runner's own word.
type Event struct {
	Name       string // such as schedule
	Actor      string
	Ref        string // such as refs/heads/main
	Repository string // owner/name
	RunID      string
	RunAttempt int // from 1; 0 if unknown
	Job        string
	RunnerOS   string // Linux, macOS or Windows
	Fork       bool   // a pull request whose code is not of this repository

	File  string    // of the workflow, in the repository; empty if it is of another one
	Began time.Time // when the job did, about: the runner writes the payload first; zero if unknown
}

// Event reads the environment, and of a pull request's event the payload. With
// an [ErrEvent] everything else is still filled in; what cannot be known not to
// be a fork counts as one.
func (r *Runtime) Event() (Event, error) {
	e := Event{
		Name:       r.getenv("GITHUB_EVENT_NAME"),
		Actor:      r.getenv("GITHUB_ACTOR"),
		Ref:        r.getenv("GITHUB_REF"),
		Repository: r.getenv("GITHUB_REPOSITORY"),
		RunID:      r.getenv("GITHUB_RUN_ID"),
		Job:        r.getenv("GITHUB_JOB"),
		RunnerOS:   r.getenv("RUNNER_OS"),
	}
	e.RunAttempt, _ = strconv.Atoi(r.getenv("GITHUB_RUN_ATTEMPT"))
	file, _, _ := strings.Cut(r.getenv("GITHUB_WORKFLOW_REF"), "@")
	if name, ours := strings.CutPrefix(file, e.Repository+"/"); ours {
		e.File = name
	}
	if info, err := os.Stat(r.getenv("GITHUB_EVENT_PATH")); err == nil {
		e.Began = info.ModTime()
	}
	if !strings.HasPrefix(e.Name, "pull_request") {
		return e, nil
	}
	head, err := headRepository(r.getenv("GITHUB_EVENT_PATH"))
	e.Fork = head == "" || !strings.EqualFold(head, e.Repository)
	if err != nil {
		return e, fmt.Errorf("read the event: %w: %w; start it by schedule or workflow_dispatch", ErrEvent, err)
	}
	return e, nil
}

// headRepository is where the code of a pull request comes from; empty if that
// repository is gone.
func headRepository(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var payload struct {
		PullRequest struct {
			Head struct {
				Repo struct {
					FullName string `json:"full_name"`
				} `json:"repo"`
			} `json:"head"`
		} `json:"pull_request"`
	}
	err = json.NewDecoder(io.LimitReader(f, maxEvent)).Decode(&payload)
	return payload.PullRequest.Head.Repo.FullName, err
}

// Refuse is the [ErrRefused] why the program must not run for this event on this
// runner, nil if it may.
func Refuse(e Event) error {
	switch {
	case e.RunnerOS == "Windows":
		return fmt.Errorf("start on a runner: %w: Windows has no sandbox for the agent; use runs-on: ubuntu-latest", ErrRefused)
	case e.Fork:
		return fmt.Errorf("start on %s: %w: its code comes from a fork, whose author must not steer an agent that holds your keys; use on: schedule or workflow_dispatch", e.Name, ErrRefused)
	}
	return nil
}
