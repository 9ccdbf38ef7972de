package github

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// repositoryOf1000 returns an adapter for a repository of 1,000 open issues with text of 2
// kB each, on a server that answers from memory.
func repositoryOf1000(b *testing.B, provider map[string]any) *repository {
	f := newFake(b)
	f.boards[3] = &fakeBoard{options: map[string][]string{"Status": {"Todo"}}}
	for range 1000 {
		f.put(func(i *fakeIssue) {
			i.body, i.labels, i.items[3] = strings.Repeat("A line of text.\r\n", 120), []string{"bug", "P1", "status:todo"}, "Todo"
		})
	}
	f.server.Config.Handler = trackertest.Replay(f.server.Config.Handler)
	active := []string{"todo"}
	if provider == nil {
		active = []string{"open"}
	}
	return f.openWith(provider, active, []string{"closed"})
}

func list(b *testing.B, r *repository) {
	issues, err := r.IssuesByState(b.Context(), r.cfg.ActiveStates)
	if err != nil || len(issues) != 1000 || !issues[999].Dispatchable {
		b.Fatalf("%d issues, %v", len(issues), err)
	}
}

func BenchmarkFirstListOf1000(b *testing.B) {
	for name, provider := range map[string]map[string]any{
		"open": nil, "labels": {"state_label_prefix": "status:"}, "board": {"project": map[string]any{"number": 3}}, "anyone": {"state_label_prefix": "status:", "trust": "anyone"},
	} {
		b.Run(name, func(b *testing.B) {
			r := repositoryOf1000(b, provider)
			trackertest.MeasureCPU(b, func() {
				clear(r.pages.of)
				clear(r.trust.facts)
				list(b, r)
			})
		})
	}
}

func BenchmarkUnchangedListOf1000(b *testing.B) {
	r := repositoryOf1000(b, nil)
	trackertest.MeasureCPU(b, func() { list(b, r) })
}

func BenchmarkDecodeAPageOf100(b *testing.B) {
	r := repositoryOf1000(b, nil)
	a, err := r.getIfChanged(b.Context(), r.listPath(listOpen), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if records, _, err := decodeRecords(r.client, a); err != nil || len(records) != 100 {
			b.Fatal(err)
		}
	}
}
