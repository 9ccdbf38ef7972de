package trackertest

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

// World is an adapter and the tracker behind it. Its functions report their own
// failures to the test they were made for.
type World struct {
	Adapter tracker.Adapter

	// Active and Done are two states of the tracker, as it writes them.
	Active, Done string

	// Put creates an issue when its ID is empty and replaces it otherwise, and
	// gives its id. It honours title, description, state, priority, labels,
	// blockers (by id) and times; the tracker chooses ID and Identifier. The
	// order of creation must be the order in which the tracker lists.
	Put func(tracker.Issue) tracker.ID
	// Delete makes an issue invisible.
	Delete func(tracker.ID)

	// Corrupt makes the record of an issue malformed, where it stands.
	Corrupt func(tracker.ID)
	// Refuse makes everything fail from now on, in a way not worth a retry.
	Refuse func()
	// FailMidway makes every read of more than one page fail, from now on,
	// after its first page was answered.
	FailMidway func()
	// Hang leaves every request unanswered from now on until its client gives
	// up. The channel is closed when the next one waits.
	Hang func() <-chan struct{}
	// Requests is how many requests have reached the tracker.
	Requests func() int

	// Calls holds, for each tool by name, arguments that it accepts for an
	// active issue.
	Calls map[string]string

	// Secret is the adapter's credential, if it has one, and Log what the
	// adapter has logged so far.
	Secret string
	Log    func() string
}

// probe is a World whose answers are kept, to be searched for the secret.
type probe struct {
	World
	t     *testing.T
	heard strings.Builder
}

func (p *probe) byState(states ...string) ([]tracker.Issue, error) {
	issues, err := p.Adapter.IssuesByState(p.t.Context(), states)
	p.hear(err)
	return issues, err
}

func (p *probe) byID(ids ...tracker.ID) ([]tracker.Issue, error) {
	issues, err := p.Adapter.IssuesByID(p.t.Context(), ids)
	p.hear(err)
	return issues, err
}

func (p *probe) hear(err error) {
	if err != nil {
		p.heard.WriteString(err.Error() + "\n")
	}
}

// mustList and mustRead are reads that have no reason to fail.
func (p *probe) mustList(states ...string) []tracker.Issue {
	p.t.Helper()
	issues, err := p.byState(states...)
	if err != nil {
		p.t.Fatalf("list %q: %v", states, err)
	}
	return issues
}

func (p *probe) mustRead(ids ...tracker.ID) []tracker.Issue {
	p.t.Helper()
	issues, err := p.byID(ids...)
	if err != nil {
		p.t.Fatalf("read %q: %v", ids, err)
	}
	return issues
}

// put creates an active issue with a title.
func (p *probe) put(title string) tracker.ID {
	return p.Put(tracker.Issue{Title: title, State: p.Active})
}

// secretIsKept fails the test when anything heard or logged holds the secret.
func (p *probe) secretIsKept() {
	p.t.Helper()
	if p.Secret == "" {
		return
	}
	if strings.Contains(p.heard.String(), p.Secret) {
		p.t.Error("an error or a tool's answer holds the credential")
	}
	if p.Log != nil && strings.Contains(p.Log(), p.Secret) {
		p.t.Error("the log holds the credential")
	}
}

func ids(issues []tracker.Issue) []tracker.ID {
	list := make([]tracker.ID, 0, len(issues))
	for _, issue := range issues {
		list = append(list, issue.ID)
	}
	return list
}
