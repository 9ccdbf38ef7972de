package trackertest

import (
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// Decode returns the settings of a kind of tracker from values that hold no variable.
// No environment variable is set for the defaults.
func Decode(k tracker.Kind, written map[string]any) (tracker.Config, []tracker.Problem) {
	return k.Decode(written, func(_ tracker.Setting, value any) any {
		if text, ok := value.(string); ok && strings.HasPrefix(text, "$") {
			return nil
		}
		return value
	})
}

func handOverStates(p *probe) {
	if p.HandOver == nil {
		p.t.Skip("all states of this tracker are known without it")
	}
	want := p.put("ready")
	known, unknown := p.HandOver(" "+strings.ToUpper(p.Done)), p.HandOver("No Such State")
	p.acceptsHandOver(known, want)
	if p.FreeNames {
		p.acceptsHandOver(unknown, want)
		return
	}
	const key, name = "delivery.hand_over.state", "No Such State"
	p.checkWrite("Check", unknown.Check(p.t.Context()), tracker.ErrInvalidConfig, key, name, p.Active)
	for range 2 { // a failed check is made again
		issues, err := unknown.IssuesByState(p.t.Context(), []string{p.Active})
		p.checkWrite("IssuesByState", err, tracker.ErrInvalidConfig, key, name, p.Active)
		if len(issues) > 0 {
			p.t.Errorf("sessions may start on %v", ids(issues))
		}
	}
}

// acceptsHandOver checks that an adapter lists one issue and finds nothing wrong.
func (p *probe) acceptsHandOver(adapter tracker.Adapter, want tracker.ID) {
	p.t.Helper()
	if adapter.Check != nil {
		p.mustWrite(adapter.Check(p.t.Context()))
	}
	issues, err := adapter.IssuesByState(p.t.Context(), []string{p.Active})
	p.mustWrite(err)
	if !slices.Equal(ids(issues), []tracker.ID{want}) {
		p.t.Errorf("listed %v, want %s", ids(issues), want)
	}
}
