package trackertest

import (
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// find asks the adapter for an issue by name, and ends the test when that fails.
func (p *probe) find(name string) tracker.ID {
	p.t.Helper()
	id, err := p.Adapter.Find(p.t.Context(), name)
	p.recordError(err)
	if err != nil {
		p.t.Fatalf("find %q: %v", name, err)
	}
	return id
}

func findsByName(p *probe) {
	for _, state := range []string{p.Active, p.Done} {
		id := p.Put(tracker.Issue{Title: "named", State: state})
		identifier := p.mustRead(id)[0].Identifier
		for _, name := range []string{identifier, strings.ToLower(identifier), strings.ToUpper(identifier), " " + identifier + " ", string(id)} {
			if got := p.find(name); got != id {
				p.t.Errorf("%q in %s is %q, want %q", name, state, got, id)
			}
		}
		p.Delete(id)
		if got := p.find(identifier); got != "" {
			p.t.Errorf("%q is deleted, and found as %q", identifier, got)
		}
	}
	if p.Corrupt != nil {
		malformed := p.put("malformed")
		identifier := p.mustRead(malformed)[0].Identifier
		p.Corrupt(malformed)
		if got := p.find(identifier); got != malformed {
			p.t.Errorf("the malformed issue %q is %q, want %q", identifier, got, malformed)
		}
	}
	for _, name := range []string{"", " ", "no-such-issue", "../../etc/passwd", "https://example.org/", "\x00", strings.Repeat("9", 400), "#-1", "0"} {
		if got := p.find(name); got != "" {
			p.t.Errorf("%.20q is %q, want no issue", name, got)
		}
	}
}

func findsNothingRefused(p *probe) {
	if p.Refuse == nil {
		p.t.Skip("the tracker refuses nothing")
	}
	id := p.put("asked for")
	identifier := p.mustRead(id)[0].Identifier
	p.Refuse()
	got, err := p.Adapter.Find(p.t.Context(), identifier)
	p.recordError(err)
	if err == nil {
		p.t.Errorf("found %q, want an error", got)
	}
}
