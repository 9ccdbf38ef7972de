package statuspage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// issue is an issue with a claim or a delivery. Its methods return what templates and
// documents show of it.
type issue struct {
	shownSession
	claim    schedule.Claim   // zero for an issue without a claim
	delivery *report.Delivery // its texts are not fit to be shown; nil for none

	ID, Name string
	Path     string // of its page
}

func (i *issue) Claim() schedule.Claim { return i.claim }

// Cost returns the price of all sessions on the issue, empty without budget.prices.
func (i *issue) Cost() string { return i.view.Cost(i.claim.Spent()) }

func (i *issue) HasClaim() bool  { return i.claim.Phase != "" }
func (i *issue) Running() bool   { return i.session != nil }
func (i *issue) IsWaiting() bool { return i.claim.Phase == schedule.Waiting }
func (i *issue) Stopping() bool  { return i.claim.Phase == schedule.Stopping }
func (i *issue) IsParked() bool  { return i.claim.Phase == schedule.Parked }
func (i *issue) IsFormer() bool  { return !i.HasClaim() && i.delivery == nil }

func (i *issue) Title() string { return i.view.line(i.claim.Title, maxTitle) }
func (i *issue) State() string { return i.view.line(i.claim.State, maxName) }
func (i *issue) Why() string   { return i.view.line(text.InWords(i.claim.Why), maxLine) }

// why returns the reason of the claim as the state has it, with its categories.
func (i *issue) why() string { return i.view.line(i.claim.Why, maxLine) }

// Held returns the reason why the issue, which is due, does not start yet; empty if it is not due.
func (i *issue) Held() string {
	if i.claim.Due.After(i.view.raw.At) {
		return ""
	}
	why, held := i.view.raw.Held[i.claim.ID]
	if !held {
		return ""
	}
	return i.view.line(why.String(), maxLine)
}

// URL returns the address of the issue in its tracker, empty unless it is a web address.
func (i *issue) URL() string { return webAddress(i.view.redactor, i.claim.URL) }

// Question returns the question of the agent, in several lines; empty for nothing.
func (i *issue) Question() string {
	return cleanLines(i.view.redactor, i.view.raw.Asked[i.claim.ID], maxQuestion)
}

// Reason returns the reason for the phase of the issue. It leaves out the text of a question, which
// the page shows by itself.
func (i *issue) Reason() string {
	why := i.Why()
	if asked := strings.Join(strings.Fields(i.Question()), " "); asked != "" && strings.Contains(why, strings.TrimSuffix(text.Truncate(asked, 80), "…")) {
		return "The agent asks:"
	}
	return why
}

// Host returns the worker host of the session of the issue, or of the last one; empty for this
// machine.
func (i *issue) Host() string { return i.view.line(i.claim.Host, maxName) }

// heard returns the time when the session of the issue sent its last event; zero before the first.
func (i *issue) heard() time.Time {
	if n := len(i.session.Events); n > 0 {
		return i.session.Events[n-1].At
	}
	return i.claim.Heard
}

// Turn returns the time when the issue gets its turn if it is due, in words.
func (i *issue) Turn() string { return i.view.turn }

// PhaseWord returns the phase of the issue in words.
func (i *issue) PhaseWord() string {
	switch i.claim.Phase {
	case schedule.Running:
		if i.session == nil {
			return "Running elsewhere"
		}
		return "Running"
	case schedule.Stopping:
		return "Stopping"
	case schedule.Waiting:
		return "Waiting"
	case schedule.Parked:
		return "Parked for a person"
	}
	if i.IsFormer() {
		return "Released"
	}
	return "Delivered"
}

// PhaseClass returns the CSS class of the phase.
func (i *issue) PhaseClass() string {
	switch {
	case i.IsParked():
		return "call"
	case i.Running():
		return "good"
	}
	return "calm"
}

// Events returns the events of the issue, the oldest first.
func (i *issue) Events() []event {
	all := i.view.events(i.raw().Events)
	for _, e := range i.view.Events {
		if e.ID == i.ID {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.At.Compare(b.At.Time) })
	return all
}

// Recent returns the latest events of the issue, the latest first.
func (i *issue) Recent() []happened {
	return recent(i.Events(), func(event) string { return "" })
}

// Delivery returns the delivery of the issue, with texts that are fit to be shown; nil for none.
func (i *issue) Delivery() *report.Delivery {
	if i.delivery == nil {
		return nil
	}
	d, line := *i.delivery, i.view.line
	d.IssueNames, d.Title, d.Refused = i.issue().IssueNames, i.Title(), line(d.Refused, maxLine)
	d.Branch, d.Base, d.Head = line(d.Branch, maxName), line(d.Base, maxName), line(d.Head, maxName)
	d.PullURL, d.Patch = webAddress(i.view.redactor, d.PullURL), line(d.Patch, maxLine)
	return &d
}

// Place returns the process that works on the issue of a claim elsewhere, in words.
func (i *issue) Place() string { return i.view.line(progress.Place(i.claim.Owner), maxName) }

// shownSession is the session of an issue as pages and documents show it; empty without one.
type shownSession struct {
	view    *view
	session *progress.Session // its texts are not fit to be shown; nil for none
}

// noSession stands for the session of an issue that has none.
var noSession progress.Session

func (s *shownSession) raw() *progress.Session { return cmp.Or(s.session, &noSession) }

func (s *shownSession) Doing() string      { return s.view.line(s.raw().Doing, maxLine) }
func (s *shownSession) Summary() string    { return s.view.line(s.raw().Summary, maxLine) }
func (s *shownSession) Event() string      { return s.view.line(s.raw().Event, maxName) }
func (s *shownSession) Session() string    { return s.view.line(s.raw().ID, maxName) }
func (s *shownSession) Model() string      { return s.view.line(s.raw().Choice, maxLine) }
func (s *shownSession) Log() string        { return s.view.line(s.raw().Log, maxLine) }
func (s *shownSession) Started() time.Time { return s.raw().Started }

// Status returns the phase of the attempt in words; empty without a session.
func (s *shownSession) Status() string {
	if s.session == nil {
		return ""
	}
	return s.session.PhaseWords()
}

// PID returns the process id of the agent, empty for none.
func (s *shownSession) PID() string {
	if pid := s.raw().PID; pid != 0 {
		return strconv.Itoa(pid)
	}
	return ""
}
