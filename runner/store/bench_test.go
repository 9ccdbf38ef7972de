package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// sizes holds the numbers of claims to measure.
var sizes = []int{10, 1000}

func BenchmarkSave(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			f, s, rev := benchFile(b, n)
			var err error
			for i := 0; b.Loop(); i++ {
				s.Days[0].Sessions = i + 1
				if rev, err = f.Save(b.Context(), s, rev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSaveUnchanged(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			f, s, rev := benchFile(b, n)
			for b.Loop() {
				if _, err := f.Save(b.Context(), s, rev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			f, _, _ := benchFile(b, n)
			for b.Loop() {
				if _, _, err := f.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchFile returns an open file with n claims in it, and its state and revision.
func benchFile(b *testing.B, n int) (*File, *schedule.State, Revision) {
	b.Helper()
	f, err := OpenFile(filepath.Join(b.TempDir(), "state.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	_, rev, err := f.Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s := sampleWithClaims(n)
	if rev, err = f.Save(b.Context(), s, rev); err != nil {
		b.Fatal(err)
	}
	return f, s, rev
}

// The benchmarks of a branch measure this program and a server on loopback. With
// GitHub, add one round trip for each request.

func BenchmarkBranchSave(b *testing.B) {
	sessions := 0
	benchBranch(b, func(ctx context.Context, branch *Branch, s *schedule.State, rev *Revision) (err error) {
		sessions++
		s.Days[0].Sessions = sessions
		*rev, err = branch.Save(ctx, s, *rev)
		return err
	})
}

func BenchmarkBranchSaveUnchanged(b *testing.B) {
	benchBranch(b, func(ctx context.Context, branch *Branch, s *schedule.State, rev *Revision) error {
		_, err := branch.Save(ctx, s, *rev)
		return err
	})
}

func BenchmarkBranchLoad(b *testing.B) {
	benchBranch(b, func(ctx context.Context, branch *Branch, _ *schedule.State, _ *Revision) error {
		_, _, err := branch.Load(ctx)
		return err
	})
}

// benchBranch measures an operation on branches of all sizes, and the number of its
// requests.
func benchBranch(b *testing.B, operation func(context.Context, *Branch, *schedule.State, *Revision) error) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			h, branch, s, rev := branchWithClaims(b, n)
			for b.Loop() {
				if err := operation(b.Context(), branch, s, &rev); err != nil {
					b.Fatal(err)
				}
			}
			requests := 0
			for _, n := range h.Asked() {
				requests += n
			}
			b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
		})
	}
}

// branchWithClaims returns a branch with n claims in it, and its state and revision.
func branchWithClaims(b *testing.B, n int) (hub, *Branch, *schedule.State, Revision) {
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
