package tracker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAnUnknownNameIsSaidWithTheNamesThatExist(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 23 {
		many = append(many, fmt.Sprintf("State %d", i))
	}
	for _, row := range []struct {
		exist []string
		want  []string
	}{
		{nil, []string{`there is no state "In Revew"`, "none"}},
		{[]string{"Todo", "In Review"}, []string{`did you mean "In Review"?`, `"Todo", "In Review"`}},
		{many, []string{`"State 0"`, `"State 19" and 3 more`}},
	} {
		err := tracker.UnknownNameError("state", "In Revew", row.exist)
		trackertest.CheckError(t, err, tracker.ErrInvalidConfig, row.want...)
	}
}

func TestTheTextOfACommentIsPlainAndBounded(t *testing.T) {
	t.Parallel()
	got, err := tracker.PrepareComment("a-1", " a\r\nb\x1b[31m\x00\xff<!-- hidden -->\t\n")
	if want := "a\nb\uFFFD[31m\uFFFD\uFFFD&lt;!-- hidden -->"; got != want || err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
	longest := strings.Repeat("x", tracker.MaxComment)
	if got, err := tracker.PrepareComment("a", longest); got != longest || err != nil {
		t.Errorf("the longest text: %v", err)
	}
	// What makes text longer must not lead around the bound.
	_, err = tracker.PrepareComment("a", strings.Repeat("<!--", tracker.MaxComment/4))
	trackertest.CheckError(t, err, tracker.ErrInvalidWrite, "shorten it")
}

func TestOnlyATerminalStateFinishesAnIssue(t *testing.T) {
	t.Parallel()
	o := tracker.Options{ActiveStates: []string{"Todo"}, TerminalStates: []string{"Done", "Closed"}}
	for state, want := range map[string]bool{"done": true, " CLOSED ": true, "Todo": false, "In Review": false, "": false} {
		if got := o.Finishes(state); got != want {
			t.Errorf("%q: got %t", state, got)
		}
	}
}
