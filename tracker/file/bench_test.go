package file

import (
	"fmt"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

// newFolderOf1000 returns a folder of 1,000 issues, each blocked by two others.
func newFolderOf1000(b *testing.B) *folder {
	f := newFolder(b)
	for i := range 1000 {
		f.put(b, fmt.Sprintf("T-%04d.md", i), fmt.Sprintf(
			"---\ntitle: Issue %d\nstate: Todo\npriority: 2\nlabels: [bug, urgent]\nblocked_by: [T-%04d, T-%04d]\ncreated_at: 2026-01-31\n---\n%s",
			i, (i+1)%1000, (i+500)%1000, strings.Repeat("A line of the description.\n", 20)))
	}
	return f
}

func BenchmarkListOf1000(b *testing.B) {
	f := newFolderOf1000(b)
	for b.Loop() {
		f.list(b)
	}
}

func BenchmarkReadByIDIn1000(b *testing.B) {
	f := newFolderOf1000(b)
	for b.Loop() {
		if _, err := f.IssuesByID(b.Context(), []tracker.ID{"T-0500"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdateIn1000(b *testing.B) {
	f := newFolderOf1000(b)
	states := []string{`{"state": "Done"}`, `{"state": "Todo"}`}
	for i := 0; b.Loop(); i++ {
		if result := f.call(b, "T-0500", states[i%2]); !result.OK {
			b.Fatal(result.Text)
		}
	}
}
