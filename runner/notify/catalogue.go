package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// Test is no change, and no destination can ask for it: a person tries the destinations.
const Test Event = "test"

// catalogue holds all events with their meanings, in the order of the reference. ISSUE in a headline
// stands for the name of the issue.
var catalogue = []struct {
	event             Event
	headline, meaning string
}{
	{Parked, "ISSUE waits for a person", "an issue waits for a person, for another reason than a question"},
	{Question, "The agent asks a question about ISSUE", "an agent asks a question, and its issue waits for the answer"},
	{Delivered, "The work on ISSUE is published", "the work on an issue is published: its pull request is open, its branch is pushed or its patch is written"},
	{Merged, "The work on ISSUE is merged", "the pull request of an issue is merged"},
	{BudgetSpent, "The budget of the day is spent", "budget.max_tokens_per_day or budget.max_usd_per_day is spent, so that nothing more starts on this day of UTC"},
	{Paused, "Everything is paused", "a failure that is no issue's own has paused everything"},
	{RunFailed, "A run failed", "a run ended with an error after it had read the state, or was killed, which the next run finds out; told again only after a run without either"},
	{NothingWorked, "Nothing has worked for days", "no session has ended well for notify.quiet_days days"},
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
	if n.Event == Test {
		return "This is a test, and nothing has happened"
	}
	for _, known := range catalogue {
		if known.event == n.Event {
			return strings.Replace(known.headline, "ISSUE", cmp.Or(n.Issue, "an issue"), 1)
		}
	}
	return fmt.Sprintf("Something happened (%s)", n.Event)
}

// Batch is the content of one message.
type Batch struct {
	From    string // name of the project
	Notices []Notice
}
