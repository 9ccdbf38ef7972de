package github

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker"
)

// A flood would otherwise be read again with each change of the conversation, of which the
// session of an issue sees many.
func TestALongConversationIsReadWholeOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	d, r := f.discussion(), f.open()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	said := 0
	say := func() string {
		said++
		return d.Say("1", githubtest.Member, fmt.Sprintf("Comment %d.", said), began.Add(time.Duration(said)*time.Second))
	}
	first := say()
	for range 1_000 {
		say()
	}
	read := func(want, most int) string {
		t.Helper()
		f.asked()
		all, err := conversation{r}.CommentsSince(t.Context(), map[tracker.ID]time.Time{"1": began})
		if err != nil {
			t.Fatal(err)
		}
		queries := 0
		for _, request := range f.asked() {
			if strings.HasPrefix(request, "POST /graphql") {
				queries++
			}
		}
		list := all["1"].List
		if len(list) != want || queries > most {
			t.Errorf("%d comments by %d queries, want %d by at most %d", len(list), queries, want, most)
		}
		return list[len(list)-1].Text
	}
	read(1_001, 12)
	for range 5 {
		say()
		if last := read(said, 1); last != fmt.Sprintf("Comment %d.", said) {
			t.Errorf("the last one says %q", last)
		}
	}
	for range 150 {
		say()
	}
	read(said, 4)
	d.Edit("1", first, "No, wait.", began.Add(time.Hour))
	if last := read(said, 1); last != "No, wait." {
		t.Errorf("the last one says %q", last)
	}
	d.Retract("1", first)
	if last := read(said-1, 14); last != fmt.Sprintf("Comment %d.", said) {
		t.Errorf("after the first one was deleted, the last one says %q", last)
	}
	read(said-1, 1)
}
