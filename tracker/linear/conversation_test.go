package linear

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

// heard returns the texts of the comments since times, and how many requests it took.
func (f *fake) heard(t *testing.T, c client, since map[tracker.ID]time.Time) (map[tracker.ID][]string, int) {
	t.Helper()
	before := f.counted()
	all, err := c.Conversation.CommentsSince(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[tracker.ID][]string{}
	for id, comments := range all {
		for _, one := range comments.List {
			texts[id] = append(texts[id], one.Text)
		}
	}
	return texts, f.counted() - before
}

func TestReactionsToOldCommentsHideNoNewOne(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	id := f.add(tracker.Issue{Title: "one", State: "Todo"})["id"].(string)
	noon := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	for n := range 8 {
		f.say(id, object{"user": f.users[1], "body": fmt.Sprint("Old ", n)}, noon.Add(-time.Hour))["updatedAt"] = fakeTime(noon.Add(time.Hour))
	}
	f.say(id, object{"user": f.users[1], "body": "New."}, noon.Add(time.Minute))
	got, _ := f.heard(t, c, map[tracker.ID]time.Time{tracker.ID(id): noon})
	if diff := cmp.Diff(map[tracker.ID][]string{tracker.ID(id): {"New."}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnIssueThatIsReadSinceLongAgoCostsNoRequestForAnother(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	quiet, lively := f.add(tracker.Issue{Title: "quiet", State: "Todo"})["id"].(string), f.add(tracker.Issue{Title: "lively", State: "Todo"})["id"].(string)
	noon := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	for n := range 20 {
		f.say(lively, object{"user": f.users[1], "body": fmt.Sprint("Old ", n)}, noon.Add(time.Duration(n)*time.Second))
	}
	got, requests := f.heard(t, c, map[tracker.ID]time.Time{tracker.ID(quiet): noon.Add(-time.Hour), tracker.ID(lively): noon.Add(18 * time.Second)})
	if diff := cmp.Diff(map[tracker.ID][]string{tracker.ID(lively): {"Old 18", "Old 19"}}, got); diff != "" || requests != 1 {
		t.Errorf("%d requests, want 1 (-want +got):\n%s", requests, diff)
	}
}

func TestAFloodThatCostsTooManyRequestsIsReadLater(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	noon := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	since := map[tracker.ID]time.Time{}
	for range 3 {
		id := f.add(tracker.Issue{Title: "flooded", State: "Todo"})["id"].(string)
		for n := range 5_100 {
			f.say(id, object{"user": f.users[1], "body": fmt.Sprint("Flood ", n)}, noon.Add(time.Duration(n)*time.Second))
		}
		since[tracker.ID(id)] = noon
	}
	all, err := c.Conversation.CommentsSince(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	read, unread := 0, 0
	for _, comments := range all {
		switch {
		case comments.Unread && len(comments.List) == 0:
			unread++
		case len(comments.List) == 5_100 && !comments.Truncated:
			read++
		}
	}
	if read != 2 || unread != 1 || f.counted() != 1+51+51+1 {
		t.Errorf("%d conversations were read, %d are read later, in %d requests: want what 100 pages allow", read, unread, f.counted())
	}
}
