package store

import (
	"fmt"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// These measure this side and a hub on loopback; to GitHub, add three round
// trips for a save and two for a load.

func BenchmarkBranchSave(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			branch, s, rev := benchBranch(b, n)
			var err error
			for i := 0; b.Loop(); i++ {
				s.Days[0].Sessions = i + 1
				if rev, err = branch.Save(b.Context(), s, rev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBranchSaveUnchanged(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			branch, s, rev := benchBranch(b, n)
			for b.Loop() {
				if _, err := branch.Save(b.Context(), s, rev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBranchLoad(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			branch, _, _ := benchBranch(b, n)
			for b.Loop() {
				if _, _, err := branch.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchBranch is a branch with n claims in it.
func benchBranch(b *testing.B, n int) (*Branch, *schedule.State, Revision) {
	b.Helper()
	branch := newHub(b).open(b)
	_, rev, err := branch.Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s := many(n)
	if rev, err = branch.Save(b.Context(), s, rev); err != nil {
		b.Fatal(err)
	}
	return branch, s, rev
}
