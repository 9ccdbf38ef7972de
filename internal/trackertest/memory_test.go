package trackertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	pageSize = 50
	secret   = "s3cr3t-t0k3n"
)

// memoryTracker is a tracker and its adapter in one, with every fault that a Harness
// can have and, for the tests of the suite itself, one defect.
type memoryTracker struct {
	defect string

	mu       sync.Mutex
	issues   []tracker.Issue // in the order of creation; no title is malformed
	requests int
	refused  bool
	limited  bool
	midway   bool
	loses    bool // the answer to the next comment
	comments map[tracker.ID][]memoryComment
	said     int             // comments so far
	hang     chan struct{}   // closed when a request waits
	stale    []tracker.Issue // the first answer, for a defect
}

func (m *memoryTracker) harness() Harness {
	return Harness{
		Adapter: tracker.Adapter{Reader: m, Writer: m, Conversation: m, Tools: []tracker.Tool{m.tool()}, Find: m.findNamed},
		HandOver: func(state string) tracker.Adapter {
			r := handOverReader{m, state}
			return tracker.Adapter{Reader: r, Check: r.check}
		},
		Active: "Todo",
		Done:   "Done",
		Label:  "Review",
		Put:    m.put,
		Delete: func(id tracker.ID) {
			m.issues = slices.DeleteFunc(m.issues, func(i tracker.Issue) bool { return i.ID == id })
		},
		Comments: func(id tracker.ID) []string {
			var texts []string
			for _, c := range m.comments[id] {
				texts = append(texts, c.text)
			}
			return texts
		},
		Discussion: m.discussion(),
		LoseAnswer: func() { m.loses = true },
		Corrupt:    func(id tracker.ID) { m.find(id).Title = "" },
		Refuse:     func() { m.refused = true },
		Limit:      func() { m.limited = true },
		FailMidway: func() { m.midway = true },
		Hang:       func() <-chan struct{} { m.hang = make(chan struct{}); return m.hang },
		Requests:   func() int { return m.requests },
		Calls:      map[string]string{"finish": `{"state": "Done"}`},
		Secret:     secret,
	}
}

// handOverReader reads a memoryTracker with a state of the hand-over.
type handOverReader struct {
	*memoryTracker
	handOver string
}

func (r handOverReader) check(context.Context) error {
	if state := tracker.NormalState(r.handOver); state == "todo" || state == "done" || r.defect == "hands over anywhere" {
		return nil
	}
	return fmt.Errorf("delivery.hand_over.state: %w", tracker.UnknownNameError("state", r.handOver, []string{"Todo", "Done"}))
}

func (r handOverReader) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	if err := r.check(ctx); err != nil && r.defect != "hands over unchecked" {
		return nil, err
	}
	return r.memoryTracker.IssuesByState(ctx, states)
}

func (m *memoryTracker) put(issue tracker.Issue) tracker.ID {
	for i, label := range issue.Labels {
		if m.defect != "raw labels" {
			issue.Labels[i] = tracker.NormalLabel(label)
		}
	}
	issue.Dispatchable = m.defect != "no consent"
	if old := m.find(issue.ID); old != nil {
		issue.Identifier = old.Identifier
		*old = issue
		return issue.ID
	}
	issue.ID = tracker.ID(fmt.Sprint(len(m.issues) + 1))
	issue.Identifier = "M-" + string(issue.ID)
	m.issues = append(m.issues, issue)
	return issue.ID
}

func (m *memoryTracker) find(id tracker.ID) *tracker.Issue {
	i := slices.IndexFunc(m.issues, func(i tracker.Issue) bool { return i.ID == id })
	if i < 0 {
		return nil
	}
	return &m.issues[i]
}

// findNamed is the Find of the adapter.
func (m *memoryTracker) findNamed(ctx context.Context, name string) (tracker.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request(ctx, 0); err != nil && m.defect != "finds nothing in an outage" {
		return "", err
	}
	for _, issue := range m.issues {
		name := strings.TrimSpace(name)
		named := string(issue.ID) == name || strings.EqualFold(issue.Identifier, name) && (m.defect != "finds exact names" || issue.Identifier == name)
		if named && (m.defect != "finds active issues" || issue.State == "Todo") && !m.refused {
			return issue.ID, nil
		}
	}
	return "", nil
}

// request counts one exchange, the nth of a read, and fails it as the test wants.
func (m *memoryTracker) request(ctx context.Context, nth int) error {
	m.requests++
	if m.hang != nil && ctx.Err() == nil {
		close(m.hang)
		m.hang = nil
		<-ctx.Done()
	}
	switch {
	case m.limited && m.defect == "hides the limit":
		return tracker.ErrRateLimited
	case m.limited:
		return &tracker.RateLimitError{Op: "read", RetryAfter: time.Minute}
	case m.refused && m.defect == "leaks":
		return fmt.Errorf("%w: token %s", tracker.ErrStatus, secret)
	case m.refused && m.defect == "no category":
		return errors.New("refused")
	case m.refused, m.midway && nth > 0:
		return tracker.ErrStatus
	case ctx.Err() != nil && m.defect == "no cause":
		return tracker.ErrRequest
	case ctx.Err() != nil && m.defect != "deaf":
		return fmt.Errorf("%w: %w", tracker.ErrRequest, context.Cause(ctx))
	}
	return nil
}

// answer sends the issues in pages. m.mu must be held.
func (m *memoryTracker) answer(ctx context.Context, found []tracker.Issue) ([]tracker.Issue, error) {
	if m.defect == "stale" {
		if m.stale == nil {
			m.stale = found
		}
		found = m.stale
	}
	var issues []tracker.Issue
	for nth, sent := 0, 0; nth == 0 || sent < len(found); nth, sent = nth+1, sent+pageSize {
		if err := m.request(ctx, nth); err != nil {
			if m.defect == "outage is empty" && m.refused || m.defect == "partial" && nth > 0 ||
				m.defect == "partial when canceled" && nth > 0 && ctx.Err() != nil {
				return issues, nil
			}
			return nil, err
		}
		page := slices.Clone(found[sent:min(sent+pageSize, len(found))])
		if m.defect == "disorder" && nth > 0 {
			slices.Reverse(page)
		}
		issues = append(issues, page...)
	}
	for i := range issues {
		if m.defect != "shared" {
			issues[i].Labels = slices.Clone(issues[i].Labels)
			if issues[i].Priority != nil {
				issues[i].Priority = new(*issues[i].Priority)
			}
		}
		issues[i].BlockedBy = slices.Clone(issues[i].BlockedBy)
		for j, blocker := range issues[i].BlockedBy {
			if b := m.find(blocker.ID); b != nil && m.defect != "no blocker state" {
				issues[i].BlockedBy[j] = tracker.Blocker{ID: b.ID, Identifier: b.Identifier, State: b.State}
			}
		}
	}
	return issues, nil
}

func (m *memoryTracker) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	if len(states) == 0 && m.defect != "asks for nothing" {
		return nil, nil
	}
	normal := tracker.NormalState
	if m.defect == "case" {
		normal = strings.TrimSpace
	}
	wanted := make(map[string]bool)
	for _, state := range states {
		wanted[normal(state)] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []tracker.Issue
	var malformed []tracker.Malformed
	understood := 0
	for _, issue := range m.issues {
		if issue.Title == "" && m.defect != "lists malformed" {
			malformed = append(malformed, malformedRecord(issue))
			continue
		}
		understood++
		if wanted[normal(issue.State)] {
			found = append(found, issue)
		}
	}
	if m.defect == "silent" && understood > 0 {
		ctx = tracker.WithDropped(ctx, func(tracker.Malformed) {})
	}
	if err := tracker.ReportDropped(ctx, "list", understood, malformed); err != nil && m.defect != "malformed is empty" {
		return nil, err
	}
	return m.answer(ctx, found)
}

func malformedRecord(issue tracker.Issue) tracker.Malformed {
	return tracker.Malformed{ID: issue.ID, Identifier: issue.Identifier, Reason: "it has no title"}
}

func (m *memoryTracker) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []tracker.Issue
	var malformed []tracker.Malformed
	asked := make(map[tracker.ID]bool)
	for _, id := range ids {
		issue := m.find(id)
		switch {
		case issue == nil && m.defect == "unknown fails":
			return nil, tracker.ErrStatus
		case issue == nil || asked[id] && m.defect != "twice":
		case issue.Title == "" && m.defect != "skips malformed":
			malformed = append(malformed, malformedRecord(*issue))
		case issue.Title != "":
			found = append(found, *issue)
		}
		asked[id] = true
	}
	switch {
	case malformed == nil:
	case m.defect == "names no malformed":
		return nil, tracker.ErrResponse
	case m.defect == "names one malformed":
		return nil, &tracker.MalformedError{Op: "read", Records: malformed[:1]}
	default:
		return nil, &tracker.MalformedError{Op: "read", Records: malformed}
	}
	return m.answer(ctx, found)
}

func (m *memoryTracker) tool() tracker.Tool {
	schema := json.RawMessage(`{"type": "object"}`)
	if m.defect == "no schema" {
		schema = nil
	}
	return tracker.Tool{
		Name:        "finish",
		Description: "Set the state.",
		InputSchema: schema,
		Call: func(ctx context.Context, issue tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
			if ctx.Err() == nil && m.saying(issue, arguments) {
				return tracker.ToolResult{OK: true, Text: "said"}
			}
			var fields map[string]string
			err := json.Unmarshal(arguments, &fields)
			if m.defect == "gullible" {
				return tracker.ToolResult{OK: true, Text: "as you say"}
			}
			if err != nil || !slices.Equal(slices.Collect(maps.Keys(fields)), []string{"state"}) {
				return tracker.ToolResult{Text: "give state"}
			}
			if m.defect == "idle tool" {
				return tracker.ToolResult{Text: "not now"}
			}
			if ctx.Err() != nil && m.defect != "stubborn tool" {
				return tracker.ToolResult{Text: "canceled"}
			}
			m.find(issue.ID).State = fields["state"]
			return tracker.ToolResult{OK: true, Text: "done"}
		},
	}
}
