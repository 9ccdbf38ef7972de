package attempt

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestUpdatesTellWhatASessionDoes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Spend `1000` tokens\n- [ ] Say\n```\ntwo\nlines\n```\n- [ ] Run `true`\n- [ ] Flood `100`\n"+
		"## Next turn\n- [ ] Spend `500` tokens\n- [ ] Create `new.txt` containing `new`\n")
	f.job.MaxTurns = 2
	got := f.run(t.Context())

	var signs []schedule.TurnSign
	var begun int // how many turns have begun
	var last schedule.Update
	summaries := map[string]int{}
	for _, u := range f.updates {
		if u.Event == string(codex.SessionStarted) {
			begun++
		}
		if u.Turn != 0 {
			signs = append(signs, u.Turn)
		}
		switch {
		case begun == 0 && (u.Thread != "" || u.Turns != 0 || u.Session != "" || u.Usage.Total() != 0):
			t.Errorf("before the first turn: %+v", u)
		case u.Thread != "" && (u.Thread != got.Thread || u.Turns != begun):
			t.Errorf("in turn %d: %+v", begun, u)
		case (u.Session == "") != (u.Thread == ""):
			t.Errorf("not of the turn: %+v", u)
		}
		if u.Usage.Total() > 0 {
			if u.Usage.Input < last.Usage.Input || u.Usage.Output < last.Usage.Output {
				t.Errorf("spent %v after %v", u.Usage, last.Usage)
			}
			last = u.Update
		}
		if u.At.IsZero() || (u.Event == "") != (u.Summary == "") || utf8.RuneCountInString(u.Summary) > 120 ||
			slices.ContainsFunc([]rune(u.Summary), unicode.IsControl) {
			t.Errorf("%+v", u)
		}
		summaries[u.Summary]++
	}
	if begun != 2 || last.Usage.Input != got.Usage.Input || last.Usage.Output != got.Usage.Output || got.Usage.Input != 1700 || got.Usage.Output != 40 {
		t.Errorf("%d turns and %v in the updates of %+v", begun, last.Usage, got)
	}
	want := []schedule.TurnSign{schedule.TurnBegan, schedule.TurnEnded, schedule.TurnBegan, schedule.TurnEnded}
	if diff := cmp.Diff(want, signs); diff != "" {
		t.Errorf("signs of turns (-want +got):\n%s", diff)
	}
	for _, want := range []string{"two lines", "running `true`", "editing new.txt"} {
		if summaries[shortened(want)] == 0 {
			t.Errorf("no update says %q: %v", want, summaries)
		}
	}
}

// shortened returns text as sessions shorten a summary.
func shortened(text string) string {
	if runes := []rune(text); len(runes) > 120 {
		return string(runes[:119]) + "…"
	}
	return text
}

func drawUpdate(t *rapid.T) Update {
	u := Update{
		Update: schedule.Update{
			Turn:   rapid.SampledFrom([]schedule.TurnSign{0, schedule.TurnBegan, schedule.TurnEnded}).Draw(t, "turn sign"),
			Alive:  rapid.Bool().Draw(t, "alive"),
			Usage:  schedule.Usage{Input: rapid.Int64Range(0, 100).Draw(t, "input"), Output: rapid.Int64Range(0, 100).Draw(t, "output")},
			Turns:  rapid.IntRange(0, 3).Draw(t, "turns"),
			Thread: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "thread"),
		},
		Session: rapid.SampledFrom([]string{"", "a-1", "b-1"}).Draw(t, "session"),
		PID:     rapid.SampledFrom([]int{0, 7}).Draw(t, "pid"),
		Status:  rapid.SampledFrom([]schedule.AttemptStatus{"", schedule.StatusBuildingPrompt, schedule.StatusStreamingTurn}).Draw(t, "status"),
		Event:   rapid.SampledFrom([]string{"notification", "turn_failed"}).Draw(t, "event"),
		Summary: rapid.SampledFrom([]string{"", "one", "two", "three"}).Draw(t, "summary"),
		Doing:   rapid.SampledFrom([]string{"", "this", "that"}).Draw(t, "doing"),
	}
	if rapid.Bool().Draw(t, "limited") {
		u.RateLimits = json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"a":1}`}).Draw(t, "limits"))
	}
	return u
}

// In the order of their times, updates merge to the latest value of everything. In
// any other order no value gets lost either.
func TestMergingUpdatesLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		updates := rapid.SliceOfN(rapid.Custom(drawUpdate), 1, 8).Draw(t, "updates")
		var want Update
		for i := range updates {
			u := &updates[i]
			u.At = time.Unix(int64(i), 0)
			want.At = u.At
			want.Alive = want.Alive || u.Alive
			want.Turns = max(want.Turns, u.Turns)
			want.Usage.Input = max(want.Usage.Input, u.Usage.Input)
			want.Usage.Output = max(want.Usage.Output, u.Usage.Output)
			want.Thread, want.Session = latest(u.Thread, want.Thread), latest(u.Session, want.Session)
			want.Doing = latest(u.Doing, want.Doing)
			if u.PID != 0 {
				want.PID = u.PID
			}
			if u.Status != "" {
				want.Status = u.Status
			}
			if u.RateLimits != nil {
				want.RateLimits = u.RateLimits
			}
			if u.Turn != 0 {
				want.Turn = u.Turn
			}
			if u.Summary != "" {
				want.Event, want.Summary = u.Event, u.Summary
			}
		}
		merged := updates[0]
		for _, u := range updates[1:] {
			if diff := cmp.Diff(u.Merge(merged), merged.Merge(u)); diff != "" {
				t.Fatalf("the wrong way round: %s", diff)
			}
			merged = u.Merge(merged)
		}
		if merged.Summary == "" { // no update has a summary, so any event will do
			want.Event = merged.Event
		}
		if diff := cmp.Diff(want, merged); diff != "" {
			t.Fatal(diff)
		}

		shuffled := rapid.Permutation(updates).Draw(t, "order")
		merged = shuffled[0]
		for _, u := range shuffled[1:] {
			merged = u.Merge(merged)
		}
		if newest := updates[len(updates)-1]; newest.Summary != "" && (merged.Summary != newest.Summary || merged.Event != newest.Event) {
			t.Fatalf("%+v does not have the last word: %+v", newest, merged)
		}
		for _, thing := range []struct {
			name      string
			want, got any
		}{
			{"time", want.At, merged.At},
			{"liveness", want.Alive, merged.Alive},
			{"tokens", want.Usage, merged.Usage},
			{"turns", want.Turns, merged.Turns},
			{"thread", want.Thread != "", merged.Thread != ""},
			{"session", want.Session != "", merged.Session != ""},
			{"pid", want.PID != 0, merged.PID != 0},
			{"status", want.Status != "", merged.Status != ""},
			{"rate limits", want.RateLimits != nil, merged.RateLimits != nil},
			{"summary", want.Summary != "", merged.Summary != ""},
		} {
			if !cmp.Equal(thing.want, thing.got) {
				t.Fatalf("%s: %v, want %v", thing.name, thing.got, thing.want)
			}
		}
	})
}

func latest(new, old string) string {
	if new == "" {
		return old
	}
	return new
}

// TestTheTokensOfASessionAreSorted as schedule needs them, which Codex does not know.
func TestTheTokensOfASessionAreSorted(t *testing.T) {
	t.Parallel()
	of := func(model string) codex.TariffUsage {
		return codex.TariffUsage{Tariff: codex.Tariff{Model: model}, Usage: codex.Usage{Input: 10}}
	}
	got := usage([]codex.TariffUsage{of("b"), of("a")})
	if got.Input != 20 || len(got.Tariffs) != 2 || got.Tariffs[0].Model != "a" || got.Tariffs[1].Model != "b" {
		t.Errorf("%+v", got)
	}
}
