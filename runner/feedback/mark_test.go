package feedback

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// Comments become visible in any order within the time that servers need to copy from
// each other, and are read at any time. Each is after exactly one mark.
func TestEachCommentIsNewOnceHoweverLateItBecomesVisible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type published struct {
			tracker.Comment
			visible time.Time
		}
		var all []published
		for i := range rapid.IntRange(0, 40).Draw(t, "comments") {
			at := noon.Add(time.Duration(rapid.IntRange(1, 1200).Draw(t, "at")) * time.Second)
			delay := time.Duration(rapid.IntRange(0, int(late/time.Second)-1).Draw(t, "delay")) * time.Second
			all = append(all, published{tracker.Comment{ID: fmt.Sprint(i), At: at}, at.Add(delay)})
		}
		mark := schedule.Mark{At: noon.Add(time.Duration(rapid.SampledFrom([]int{0, 300}).Draw(t, "milliseconds")) * time.Millisecond)}
		seen := map[string]int{}
		reads := rapid.SliceOf(rapid.IntRange(0, 1300)).Draw(t, "reads")
		slices.Sort(reads)
		for _, s := range append(reads, 3000) {
			now := noon.Add(time.Duration(s) * time.Second)
			var read []tracker.Comment
			for _, c := range all {
				if !c.visible.After(now) && !c.At.Before(mark.At.Truncate(time.Second)) {
					read = append(read, c.Comment)
				}
			}
			for _, c := range read {
				if isAfter(c, mark) {
					seen[c.ID]++
				}
			}
			before := mark
			mark = extend(mark, read, now)
			if mark.At.Before(before.At.Truncate(time.Second)) || len(mark.IDs) > maxNames {
				t.Fatalf("the mark went from %v to %v", before, mark)
			}
		}
		for _, c := range all {
			if seen[c.ID] != 1 {
				t.Fatalf("comment %s of %v was new %d times", c.ID, c.At, seen[c.ID])
			}
		}
	})
}

func TestAnEditedCommentIsNewAgain(t *testing.T) {
	t.Parallel()
	c := tracker.Comment{ID: "a", At: noon}
	m := extend(schedule.Mark{At: noon.Add(-time.Hour)}, []tracker.Comment{c}, noon)
	if isAfter(c, m) {
		t.Error("the comment is after the mark that was made with it")
	}
	c.At = noon.Add(time.Second)
	if !isAfter(c, m) {
		t.Error("the edited comment is not after the mark")
	}
}

func TestAMarkOfAFloodIsBoundedAndNamesTheNewest(t *testing.T) {
	t.Parallel()
	for _, second := range []int{100, 20_000} { // so many comments in one
		var flood []tracker.Comment
		for i := range 10_000 {
			flood = append(flood, tracker.Comment{ID: fmt.Sprint(i), At: noon.Add(time.Duration(i/second) * time.Second)})
		}
		for _, began := range []schedule.Mark{{}, {At: noon.Add(300 * time.Millisecond)}} {
			m := extend(began, flood, noon.Add(24*time.Hour))
			if len(m.IDs) > maxNames {
				t.Errorf("%d in a second: the mark has %d names", second, len(m.IDs))
			}
			for _, c := range flood {
				if isAfter(c, m) {
					t.Fatalf("%d in a second: comment %s at %v is after the mark %v", second, c.ID, c.At, m.At)
				}
			}
		}
	}
}

func TestWhatIsSaidInTheSecondInWhichAConversationBeginsIsAfterIt(t *testing.T) {
	t.Parallel()
	began := schedule.Mark{At: noon.Add(300 * time.Millisecond)}
	now, before := tracker.Comment{ID: "a", At: noon}, tracker.Comment{ID: "b", At: noon.Add(-time.Second)}
	if !isAfter(now, began) || isAfter(before, began) {
		t.Errorf("in the second: %t, before it: %t", isAfter(now, began), isAfter(before, began))
	}
	if m := extend(began, []tracker.Comment{now}, noon); isAfter(now, m) {
		t.Errorf("it is after the mark %+v that was made with it", m)
	}
}

// The name of a comment holds its time, and a state that was edited may hold any name.
func TestATimeInTheFutureHidesNothingThatIsSaidLater(t *testing.T) {
	t.Parallel()
	many := make([]tracker.Comment, 3*maxNames)
	for i := range many {
		many[i] = tracker.Comment{ID: fmt.Sprint("x", i), At: noon.AddDate(900, 0, i)}
	}
	for name, test := range map[string]struct {
		mark schedule.Mark
		read []tracker.Comment
	}{
		"a name in the state":     {schedule.Mark{At: noon.Add(-time.Hour), IDs: []string{"x@32503680000"}}, nil},
		"the clock of the server": {schedule.Mark{At: noon.Add(-time.Hour)}, many[:1]},
		"a flood":                 {schedule.Mark{At: noon.Add(-time.Hour)}, many},
	} {
		heard := tracker.Comment{ID: "a", At: noon.Add(-time.Minute)}
		m := extend(test.mark, append(slices.Clone(test.read), heard), noon)
		later := tracker.Comment{ID: "b", At: noon.Add(time.Second)}
		if isAfter(heard, m) || !isAfter(later, m) || len(m.IDs) > maxNames {
			t.Errorf("%s: %t, %t, %d names, %v", name, isAfter(heard, m), isAfter(later, m), len(m.IDs), m.At)
		}
	}
}
