package notify

import (
	"cmp"
	"fmt"
	"slices"
)

// Event is a kind of change that a destination can be told of.
type Event string

// The events.
const (
	Parked        Event = "parked"
	Question      Event = "question"
	Delivered     Event = "delivered"
	Merged        Event = "merged"
	BudgetSpent   Event = "budget_spent"
	Paused        Event = "paused"
	RunFailed     Event = "run_failed"
	NothingWorked Event = "nothing_worked"
)

// catalogue holds all events with their meanings, in the order of the reference.
var catalogue = []struct {
	event   Event
	meaning string
}{
	{Parked, "an issue waits for a person, for another reason than a question"},
	{Question, "an agent asks a question, and its issue waits for the answer"},
	{Delivered, "the work on an issue is published: its pull request is open, its branch is pushed or its patch is written"},
	{Merged, "the pull request of an issue is merged"},
	{BudgetSpent, "budget.max_tokens_per_day or budget.max_usd_per_day is spent, so that nothing more starts on this day of UTC"},
	{Paused, "a failure that is no issue's own has paused everything"},
	{RunFailed, "a run ended with an error after it had read the state, or was killed, which the next run finds out; told again only after a run without either"},
	{NothingWorked, "no session has ended well for notify.quiet_days days"},
}

// Events returns all events.
func Events() []Event {
	var events []Event
	for _, e := range catalogue {
		events = append(events, e.event)
	}
	return events
}

// Meaning returns the change that the event stands for, in words for the reference.
func (e Event) Meaning() string {
	for _, known := range catalogue {
		if known.event == e {
			return known.meaning
		}
	}
	return ""
}

// Kind is the form of the messages that a destination takes.
type Kind string

// The kinds of destination.
const (
	Webhook Kind = "webhook" // JSON of this program, with a signature
	Slack   Kind = "slack"   // incoming webhooks of Slack
	Discord Kind = "discord" // webhooks of Discord
	Teams   Kind = "teams"   // webhooks of Teams' Workflows
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Webhook, Slack, Discord, Teams} }

// Destination is a place that notices are sent to.
type Destination struct {
	Name   string // name in WORKFLOW.md, by which people know it
	Kind   Kind
	URL    string  // secret address; empty for a destination that is off
	Secret string  // key of the signature, of a Webhook alone
	Events []Event // events that it is told of
}

// Wants reports whether the destination is told of an event.
func (d Destination) Wants(e Event) bool { return slices.Contains(d.Events, e) }

// Notice is one change. All its texts may come from outside.
type Notice struct {
	Event       Event
	Issue       string // name of the issue, such as GH-7; empty for a change of no issue
	Title       string // title of the issue; may be empty
	IssueURL    string // may be empty
	PullRequest string // address of the pull request; may be empty
	Why         string // reason, in one line; may be empty
	Said        string // the agent's own text; may be empty
}

// Headline returns the change in a short sentence.
func (n Notice) Headline() string {
	issue := cmp.Or(n.Issue, "an issue")
	switch n.Event {
	case Parked:
		return issue + " waits for a person"
	case Question:
		return "The agent asks a question about " + issue
	case Delivered:
		return "The work on " + issue + " is published"
	case Merged:
		return "The work on " + issue + " is merged"
	case BudgetSpent:
		return "The budget of the day is spent"
	case Paused:
		return "Everything is paused"
	case RunFailed:
		return "A run failed"
	case NothingWorked:
		return "Nothing has worked for days"
	}
	return fmt.Sprintf("Something happened (%s)", n.Event)
}

// address returns the address that the notice links to; empty for none.
func (n Notice) address() string {
	if n.PullRequest != "" {
		return link(n.PullRequest)
	}
	return link(n.IssueURL)
}

// Batch is the content of one message.
type Batch struct {
	From    string // name of the project
	Notices []Notice
}
