package store

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// sizes are the numbers of claims that are measured.
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

// benchFile is a file with n claims in it.
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
