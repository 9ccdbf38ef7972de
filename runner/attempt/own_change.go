package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// OwnChange tells the runner whether a session itself has moved its issue on. Such a session
// ends after its turn, and its work is published, so no poll should stop it before. The zero
// value stands for a session that has changed nothing. It is safe for concurrent use.
type OwnChange struct {
	mu    sync.Mutex
	calls int            // tools of the tracker that run now
	issue *tracker.Issue // issue as the session has left it; nil if the session has changed nothing
}

// Issue returns the issue as the session has left it. It is nil while a call may be changing
// it. ok says whether the session may have changed the issue at all.
func (o *OwnChange) Issue() (issue *tracker.Issue, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls > 0 {
		return nil, true
	}
	return o.issue, o.issue != nil
}

// During makes a call that may change the issue. The call returns the issue as it has left it,
// and nil if that is not known; and whether it may have changed it.
func (o *OwnChange) During(call func() (left *tracker.Issue, changed bool)) {
	o.mu.Lock()
	o.calls++
	o.mu.Unlock()
	left, changed := call()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls--
	if changed {
		o.issue = left
	}
}

// SessionIssue is the issue of a session, as it was given and as the session reads it again. Its
// methods must not be used concurrently, except Call.
type SessionIssue struct {
	given    tracker.Issue
	tracker  tracker.Adapter
	anyState bool       // Job.Policy has sessions on issues in every state
	own      *OwnChange // never nil
	redact   func(string) string

	now  *tracker.Issue // issue as read after the latest turn; nil when it could not be read
	gone bool           // the latest read found that the issue is not visible any more
}

// IssueOf returns the issue of a job.
func IssueOf(job Job) *SessionIssue {
	s := &SessionIssue{given: job.Issue, tracker: job.Tracker, anyState: job.Policy.AnyState, own: cmp.Or(job.Own, new(OwnChange)), redact: job.Redact}
	if s.redact == nil {
		s.redact = func(text string) string { return text }
	}
	return s
}

// Reread reads the issue after a turn, and returns it; nil if the tracker no longer shows it. It fails
// with the errors of the tracker.
func (s *SessionIssue) Reread(ctx context.Context) (*tracker.Issue, error) {
	err := s.reread(ctx)
	return s.now, err
}

// Latest returns the issue as it was read last; nil if it was not read, or could not be. gone says that
// the tracker no longer shows it.
func (s *SessionIssue) Latest() (issue *tracker.Issue, gone bool) { return s.now, s.gone }

// Call returns the result of the tracker's tool of that name.
func (s *SessionIssue) Call(ctx context.Context, name string, arguments json.RawMessage) tracker.ToolResult {
	for _, tool := range s.tracker.Tools {
		if tool.Name == name {
			return s.call(ctx, tool, arguments)
		}
	}
	return tracker.ToolResult{Text: "there is no tool " + strconv.Quote(name)}
}

func (s *SessionIssue) reread(ctx context.Context) error {
	var err error
	s.own.During(func() (*tracker.Issue, bool) { // the session ends by itself if the issue has moved on
		s.now, err = s.read(ctx)
		return s.now, s.now != nil
	})
	s.gone = err == nil && s.now == nil
	return err
}

func (s *SessionIssue) hasMoved() bool {
	return s.now != nil && (s.now.State != s.given.State || !s.now.UpdatedAt.Equal(s.given.UpdatedAt))
}

// call returns the result of a tool of the tracker, which is not called with arguments that hold a
// secret. If it may have changed the issue, call reads that again. After a failed read a poll can
// stop the session.
func (s *SessionIssue) call(ctx context.Context, tool tracker.Tool, arguments json.RawMessage) (result tracker.ToolResult) {
	if holdsSecret(arguments, s.redact) {
		return tracker.ToolResult{Text: "the arguments hold a secret of this run, or what looks like one: nothing was sent. Leave it out"}
	}
	s.own.During(func() (*tracker.Issue, bool) {
		if result = tool.Call(ctx, s.given, arguments); !result.Wrote {
			return nil, false
		}
		left, _ := s.read(ctx)
		return left, true
	})
	result.Text = s.redact(result.Text)
	return result
}

// read returns the issue as it is now; nil if the tracker no longer shows it.
func (s *SessionIssue) read(ctx context.Context) (*tracker.Issue, error) {
	ctx, cancel := context.WithTimeout(ctx, rereadTime)
	defer cancel()
	if s.anyState {
		ctx = tracker.WithFeedback(ctx)
	}
	issues, err := s.tracker.IssuesByID(ctx, []tracker.ID{s.given.ID})
	if err != nil || len(issues) == 0 {
		return nil, err
	}
	return &issues[0], nil
}

func (s *SessionIssue) tools() []codex.Tool {
	tools := make([]codex.Tool, 0, len(s.tracker.Tools))
	for _, tool := range s.tracker.Tools {
		tools = append(tools, codex.Tool{
			Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema, Timeout: tool.Timeout,
			Call: func(ctx context.Context, arguments json.RawMessage) (string, bool) {
				result := s.call(ctx, tool, arguments)
				return result.Text, result.OK
			},
		})
	}
	return tools
}

// holdsSecret reports whether a text in the arguments of a tool holds a secret, before or
// after it is made harmless. The second check is needed because that removes characters
// that may be inside a secret.
func holdsSecret(arguments json.RawMessage, redact func(string) string) bool {
	var value any
	if json.Unmarshal(arguments, &value) != nil {
		return false // the tool refuses it
	}
	return anyText(value, func(s string) bool {
		for _, sent := range []string{s, defuse.Body(s), text.Lines(s)} {
			if redact(sent) != sent {
				return true
			}
		}
		return false
	})
}

// anyText reports whether is does so for a text in a value of JSON, names included.
func anyText(value any, is func(string) bool) bool {
	switch v := value.(type) {
	case string:
		return is(v)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return anyText(one, is) })
	case map[string]any:
		for name, one := range v {
			if is(name) || anyText(one, is) {
				return true
			}
		}
	}
	return false
}
