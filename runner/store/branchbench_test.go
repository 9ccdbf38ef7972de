package store

import (
	"fmt"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// These measure this side and a hub on loopback; to GitHub, add as many round
// trips as there are requests.

func BenchmarkBranchSave(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			h, branch, s, rev := benchBranch(b, n)
			var err error
			for i := 0; b.Loop(); i++ {
				s.Days[0].Sessions = i + 1
				if rev, err = branch.Save(b.Context(), s, rev); err != nil {
					b.Fatal(err)
				}
			}
			h.report(b)
		})
	}
}

func BenchmarkBranchSaveUnchanged(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			h, branch, s, rev := benchBranch(b, n)
			for b.Loop() {
				if _, err := branch.Save(b.Context(), s, rev); err != nil {
					b.Fatal(err)
				}
			}
			h.report(b)
		})
	}
}

func BenchmarkBranchLoad(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			h, branch, _, _ := benchBranch(b, n)
			for b.Loop() {
				if _, _, err := branch.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			h.report(b)
		})
	}
}

// report adds how many requests an operation took.
func (h hub) report(b *testing.B) {
	requests := 0
	for _, n := range h.Asked() {
		requests += n
	}
	b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
}

// benchBranch is a branch with n claims in it.
func benchBranch(b *testing.B, n int) (hub, *Branch, *schedule.State, Revision) {
	b.Helper()
	h := newHub(b)
	branch := h.open(b)
	_, rev, err := branch.Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s := sampleWithClaims(n)
	if rev, err = branch.Save(b.Context(), s, rev); err != nil {
		b.Fatal(err)
	}
	h.Asked()
	return h, branch, s, rev
}
