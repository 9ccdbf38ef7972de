package statuspage

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Control lets the operator of the machine give commands on the pages and by the API. In the
// zero value the server takes none.
type Control struct {
	// Token is what a request has to know. It is in the address that is printed when the server
	// starts, behind a #, so that no server and no link is told it.
	Token    string
	Requests chan<- progress.Request
}

const (
	// maxAnswer bounds an answer to the agent, in bytes.
	maxAnswer = 4000
	// maxCommandBody bounds the body of a command, in bytes.
	maxCommandBody = 8 * maxAnswer
	// commandTime is how long the run may take to note a command.
	commandTime = 20 * time.Second
)

// commandJSON is the body of POST /api/v1/ID/command.
type commandJSON struct {
	Command string `json:"command"`
	Answer  string `json:"answer"` // to the agent; only for the command answer
	AsOf    string `json:"as_of"`  // of the issue, as it was shown
}

// commandedJSON answers it.
type commandedJSON struct {
	Command string `json:"command"`
	Noted   bool   `json:"noted"`
}

// command is what people can do about an issue.
type command struct {
	Word, Label, Explained string
}

// commandAnswer is the word of an answer to the agent; the others are those of comments.
const commandAnswer = "answer"

// Commands returns the commands that people can give about the issue, besides answering it.
func (i *issue) Commands() []command {
	var (
		retry  = command{string(schedule.CommandRetry), "Retry", "begin again, in a new thread"}
		resume = command{string(schedule.CommandResume), "Resume", "go on where it stopped; a pause of everything ends"}
		park   = command{string(schedule.CommandPark), "Park", "keep it until a person lets it go on"}
		stop   = command{string(schedule.CommandStop), "Stop", "end its session, and park it"}
	)
	switch i.claim.Phase {
	case schedule.Running:
		return []command{stop}
	case schedule.Waiting:
		return []command{resume, retry, park}
	case schedule.Parked:
		return []command{resume, retry}
	}
	return nil
}

// AsOf returns a digest of how the issue stands. A command is obeyed only as long as the issue
// stands as it was shown, so that one that is sent again, or too late, changes nothing.
func (i *issue) AsOf() string {
	c := i.claim
	if i.Running() {
		c.Since = i.session.Started // that of the claim moves as its time is counted
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d", c.ID, c.Phase, c.Since.UnixNano(), c.Sessions))
	return hex.EncodeToString(sum[:8])
}

// CommandPath returns the path to which a command on the issue is sent.
func (i *issue) CommandPath() string {
	return "/api/v1/" + strings.TrimPrefix(i.Path, "/issues/") + "/command"
}

func (s *Server) serveCommand(w http.ResponseWriter, r *http.Request, snap *snapshot) {
	refuse := func(status int, code, message string) { explain(w, status, code, message, false) }
	if s.control.Requests == nil || s.control.Token == "" {
		refuse(http.StatusForbidden, "forbidden", "this server takes no commands")
		return
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.control.Token)) != 1 {
		refuse(http.StatusForbidden, "wrong_token", "commands need the token of this run: open the address with #token= that it printed when it started")
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(http.StatusUnsupportedMediaType, "bad_request", "want a body of the type application/json")
		return
	}
	var body commandJSON
	read := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommandBody))
	read.DisallowUnknownFields()
	if err := read.Decode(&body); err != nil {
		refuse(http.StatusBadRequest, "bad_request", `want {"command": "retry", "as_of": "..."}, with as_of from /api/v1/ID`)
		return
	}
	i := snap.view().find(r.PathValue("issue"))
	if i == nil {
		refuse(http.StatusNotFound, "issue_not_found", unknownIssue(clean(s.redactor, r.PathValue("issue"), maxName)))
		return
	}
	order, err := i.order(body)
	switch {
	case err != nil:
		refuse(http.StatusBadRequest, "bad_request", err.Error())
		return
	case subtle.ConstantTimeCompare([]byte(body.AsOf), []byte(i.AsOf())) != 1:
		refuse(http.StatusConflict, "changed", "the issue stands otherwise by now: load its page again, and look at it first")
		return
	}
	switch err := s.request(r, progress.Request{ID: i.claim.ID, Order: order}); {
	case errors.Is(err, progress.ErrNoClaim):
		refuse(http.StatusConflict, "changed", err.Error())
	case err != nil:
		refuse(http.StatusServiceUnavailable, "unavailable", err.Error())
	default:
		writeJSON(w, http.StatusAccepted, commandedJSON{body.Command, true})
	}
}

func (i *issue) order(body commandJSON) (schedule.Order, error) {
	answer := strings.TrimSpace(text.Lines(body.Answer))
	if body.Command == commandAnswer {
		switch {
		case !i.IsParked():
			return schedule.Order{}, errors.New("it waits for nobody, so there is nothing to answer")
		case answer == "":
			return schedule.Order{}, errors.New("the answer is empty: write one")
		case len(answer) > maxAnswer:
			return schedule.Order{}, fmt.Errorf("the answer has %d bytes: shorten it to %d", len(answer), maxAnswer)
		}
		return schedule.Order{Command: schedule.CommandResume, By: progress.Operator, Answer: answer}, nil
	}
	var words []string
	for _, c := range i.Commands() {
		if c.Word == body.Command && answer == "" {
			return schedule.Order{Command: schedule.Command(c.Word), By: progress.Operator}, nil
		}
		words = append(words, c.Word)
	}
	if words == nil {
		return schedule.Order{}, errors.New("there is nothing to do about it now")
	}
	return schedule.Order{}, fmt.Errorf("%q is no command for it now: write one of %s, without an answer", text.OneLine(body.Command, maxName), strings.Join(words, ", "))
}

func (s *Server) request(r *http.Request, request progress.Request) error {
	done := make(chan error, 1)
	request.Done = done
	late := time.After(commandTime)
	select {
	case s.control.Requests <- request:
	case <-late:
		return fmt.Errorf("the run took no command within %v: try it again", commandTime)
	case <-r.Context().Done():
		return r.Context().Err()
	}
	select {
	case err := <-done:
		return err
	case <-late:
		return fmt.Errorf("the run has not answered within %v: see on the page whether it obeyed", commandTime)
	}
}
