package action

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// maxEvent limits the payload, in bytes; the payload of a pull request is far shorter.
const maxEvent = 8 << 20

// Event describes the event that started this run, as the runner reports it.
type Event struct {
	Name       string // such as schedule
	Action     string // change, such as created; empty if the event has none
	Subject    string // object of the change, such as #7 or a branch; empty if the event has none
	Actor      string
	Ref        string // such as refs/heads/main
	Repository string // owner/name
	RunID      string
	RunAttempt int // attempt from 1; 0 if unknown
	Job        string
	RunnerOS   string // Linux, macOS or Windows
	Fork       bool   // a pull request whose code is not of this repository
	Visibility string // visibility of the repository: public or private; empty if the event does not say

	File  string    // path of the workflow in the repository; empty if it is in another one
	Began time.Time // about the time when the job began: the runner writes the payload first; zero if unknown
}

// Event reads the environment and the payload. With an [ErrEvent] everything that
// could be read is filled in. Code counts as a fork's unless the event shows
// that it is not.
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
	e.File = r.WorkflowFile(e.Repository)
	if info, err := os.Stat(r.getenv("GITHUB_EVENT_PATH")); err == nil {
		e.Began = info.ModTime()
	}
	payload, err := readPayload(r.getenv("GITHUB_EVENT_PATH"))
	if err == nil {
		e.Visibility = payload.visibility()
		e.Action, e.Subject = text.OneLine(payload.Action, maxWord), payload.subject()
	}
	if !strings.HasPrefix(e.Name, "pull_request") {
		return e, nil
	}
	head := payload.PullRequest.Head.Repo.FullName
	e.Fork = head == "" || !strings.EqualFold(head, e.Repository)
	if err != nil {
		return e, fmt.Errorf("read the event: %w: %w; start it by schedule or workflow_dispatch", ErrEvent, err)
	}
	return e, nil
}

// WorkflowFile returns the file of the workflow of this run in a repository, such as
// .github/workflows/tick.yml; empty if it is in another one.
func (r *Runtime) WorkflowFile(repository string) string {
	file, _, _ := strings.Cut(r.getenv("GITHUB_WORKFLOW_REF"), "@")
	if !r.inActions || len(file) <= len(repository) || !strings.EqualFold(file[:len(repository)], repository) || file[len(repository)] != '/' {
		return ""
	}
	return file[len(repository)+1:]
}

// maxWord bounds a word of an event, in characters.
const maxWord = 60

// Cause returns the event that started the run, for people: "issue_comment created on #7 by kim".
// It is empty outside Actions.
func (e Event) Cause() string {
	s := text.OneLine(e.Name, maxWord)
	if s == "" {
		return ""
	}
	for _, part := range [][2]string{{" ", e.Action}, {" on ", e.Subject}, {" by ", text.OneLine(e.Actor, maxWord)}} {
		if part[1] != "" {
			s += part[0] + part[1]
		}
	}
	return s
}

// payload holds the parts of an event that we read.
type payload struct {
	Action string `json:"action"`
	Issue  struct {
		Number int `json:"number"`
	} `json:"issue"`
	CheckSuite  run `json:"check_suite"`
	WorkflowRun run `json:"workflow_run"`
	Repository  struct {
		Private    *bool  `json:"private"`
		Visibility string `json:"visibility"`
	} `json:"repository"`
	PullRequest struct {
		Number int `json:"number"`
		Head   struct {
			Repo struct {
				FullName string `json:"full_name"` // source of the code; empty if that repository is gone
			} `json:"repo"`
		} `json:"head"`
	} `json:"pull_request"`
}

// run holds the branch that checks ran on. Anybody may name a branch in a fork.
type run struct {
	Branch string `json:"head_branch"`
}

// subject returns the subject of the event; empty if it has none that we know.
func (p payload) subject() string {
	switch {
	case p.Issue.Number > 0:
		return "#" + strconv.Itoa(p.Issue.Number)
	case p.PullRequest.Number > 0:
		return "#" + strconv.Itoa(p.PullRequest.Number)
	}
	return text.OneLine(cmp.Or(p.CheckSuite.Branch, p.WorkflowRun.Branch), maxWord)
}

// readPayload reads the file of the event. With an error it returns the part that could
// be read.
func readPayload(path string) (payload, error) {
	var p payload
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	err = json.NewDecoder(io.LimitReader(f, maxEvent)).Decode(&p)
	return p, err
}

// visibility returns public or private, which internal repositories count as;
// empty if the event has no repository, as scheduled ones may.
func (p payload) visibility() string {
	switch {
	case p.Repository.Visibility == "public", p.Repository.Private != nil && !*p.Repository.Private && p.Repository.Visibility == "":
		return "public"
	case p.Repository.Private != nil && *p.Repository.Private:
		return "private" // internal ones too
	}
	return ""
}

// Refuse returns an [ErrRefused] if the program must not run for this event on this
// runner.
func Refuse(e Event) error {
	switch {
	case strings.EqualFold(e.RunnerOS, "Windows"):
		return fmt.Errorf("start on a runner: %w: Windows has no sandbox for the agent; use runs-on: ubuntu-latest", ErrRefused)
	case e.Fork:
		return fmt.Errorf("start on %s: %w: its code comes from a fork, whose author must not steer an agent that holds your keys; use on: schedule or workflow_dispatch", e.Name, ErrRefused)
	}
	return nil
}
