package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestWhatIsEncodedIsDecodedAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := genState(genPlain, maxName).Draw(t, "state")
		generation := rapid.Int64Range(0, maxGeneration).Draw(t, "generation")
		data, err := Encode(want, generation)
		if err != nil {
			t.Fatal(err)
		}
		got, gotGeneration, err := Decode(data)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		if diff := cmp.Diff(want, got); diff != "" || gotGeneration != generation {
			t.Fatalf("generation %d became %d: %s", generation, gotGeneration, diff)
		}
		if again, err := Encode(want.Clone(), generation); err != nil || !bytes.Equal(data, again) {
			t.Fatalf("a second encoding differs, %v:\n%s\n%s", err, data, again)
		}
	})
}

// Encode refuses a state with texts of strangers, or the state stays the same from
// the first encoding on.
func TestAnyStateIsRefusedOrStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data, err := Encode(genState(genWild, 3*maxURL).Draw(t, "state"), 1)
		if errors.Is(err, ErrInvalid) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		s, generation, err := Decode(data)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		if again, err := Encode(s, generation); err != nil || !bytes.Equal(data, again) {
			t.Fatalf("it does not stay what it is, %v:\n%s\n%s", err, data, again)
		}
	})
}

// A state that can be read can be changed and saved, even if it was forged.
func TestAStateThatCanBeReadCanBeChangedAndSaved(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	most := schedule.Usage{Input: math.MaxInt64, Output: math.MaxInt64}
	rapid.Check(t, func(t *rapid.T) {
		s := genState(genPlain, maxName).Draw(t, "state")
		p := schedule.Policy{MaxBackoff: time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "backoff")), Salt: "salt"}
		s.BoundTimes(p, now)
		for id, c := range s.Claims {
			s.Deliver(id, genDelivery(genPlain, maxName).Draw(t, "delivery"))
			switch s.Self = c.Owner; rapid.IntRange(0, 4).Draw(t, "what happens") {
			case 0:
				s.Retry(id, now)
			case 1:
				s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: id, Issue: tracker.Issue{ID: id}}, now)
				s.Renew(p, now)
				s.Heartbeat(id, schedule.Update{Alive: true, Usage: most, Turns: math.MaxInt}, now)
			case 2:
				class := rapid.SampledFrom([]schedule.Class{schedule.Done, schedule.IssueFailed, schedule.Transient, schedule.Systemic, schedule.NeedsInput}).Draw(t, "class")
				s.Exit(id, schedule.Outcome{Class: class, Usage: most, Turns: 1, RetryAt: genTime().Draw(t, "told"), Refused: genWild(maxWhy).Draw(t, "refused"), LeftOut: genWild(maxWhy).Draw(t, "left out"), Blocked: genWild(maxWhy).Draw(t, "blocked")}, p, now)
			case 4:
				shard := schedule.Owner{Run: "1", Attempt: 1, Shard: 1}
				d := schedule.Decision{Action: schedule.Dispatch, ID: id, Issue: tracker.Issue{ID: id}, Owner: shard, Lease: time.Hour, Share: schedule.Share{Tokens: math.MaxInt64, USD: math.MaxInt64}}
				if s.Apply(d, now); len(s.Reserves[shard].IDs) > schedule.MaxSlots {
					s.Unstart(shard, now)
				}
				s.Settle(c.Owner, s.Slice(c.Owner, now), p, now)
			case 3:
				s.Adopt(map[schedule.Owner]schedule.OwnerStatus{}, p, now)
			}
		}
		s.Resume(now)
		generation := nextGeneration(rapid.Int64Range(0, maxGeneration).Draw(t, "generation"))
		data, err := Encode(s, generation)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Decode(data); err != nil {
			t.Fatal(err)
		}
	})
}

// genText draws a text of at most that many bytes.
type genText func(bytes int) *rapid.Generator[string]

// genPlain draws texts that Encode keeps as they are.
func genPlain(bytes int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune(`aZ0 -_/"\<>&é☃𝄞`+"\u2028\u202e")), 0, -1, min(bytes, 2*maxTitle))
}

// genWild draws any bytes.
func genWild(bytes int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		piece := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "piece")
		if len(piece) > 0 && rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			for len(piece) < bytes {
				piece += piece
			}
		}
		return piece
	})
}

func genState(text genText, size int) *rapid.Generator[*schedule.State] {
	return rapid.Custom(func(t *rapid.T) *schedule.State {
		s := schedule.New(schedule.Owner{})
		for i := range rapid.IntRange(0, 5).Draw(t, "claims") {
			c := genClaim(text, size).Draw(t, "claim")
			c.ID += tracker.ID(fmt.Sprint(i))
			s.Claims[c.ID] = c
		}
		s.Pause = schedule.Pause{Why: text(size).Draw(t, "why"), Since: genTime().Draw(t, "since"), Until: genTime().Draw(t, "until")}
		s.Wait = schedule.TrackerWait{Tracker: text(size).Draw(t, "tracker"), Until: genTime().Draw(t, "wait")}
		s.Salt, s.Pause.Setup.Agent = text(min(size, maxName)).Draw(t, "salt"), text(min(size, maxName)).Draw(t, "agent")
		for range rapid.IntRange(0, 3).Draw(t, "days") {
			s.Days = append(s.Days, schedule.Day{
				Date:     genTime().Draw(t, "date").Format(time.DateOnly),
				Sessions: count().Draw(t, "sessions"), Usage: genUsage().Draw(t, "usage"), Time: time.Duration(count().Draw(t, "milliseconds")) * time.Millisecond,
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "past") {
			s.History = append(s.History, schedule.TickRecord{
				Run: text(min(size, maxName)).Draw(t, "run"), Attempt: count().Draw(t, "attempt"),
				Started: genTime().Draw(t, "started"), Ended: genTime().Draw(t, "ended"), Stopped: text(size).Draw(t, "stopped"),
				Sessions: count().Draw(t, "sessions"), Done: count().Draw(t, "done"), Failed: count().Draw(t, "failed"), Parked: count().Draw(t, "parked"), Tokens: int64(count().Draw(t, "tokens")),
			})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "deliveries") {
			d := genDelivery(text, size).Draw(t, "delivery")
			s.Deliver(tracker.ID(text(min(size, maxName-1)).Draw(t, "id")+fmt.Sprint(i)), d)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "conversations") {
			if s.Conversations == nil {
				s.Conversations = map[tracker.ID]schedule.Conversation{}
			}
			id := tracker.ID(text(min(size, maxName-1)).Draw(t, "id") + fmt.Sprint(i))
			s.Conversations[id] = genConversation(text, size).Draw(t, "conversation")
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "reserves") {
			if s.Reserves == nil {
				s.Reserves = map[schedule.Owner]schedule.Reserve{}
			}
			owner := schedule.Owner{Run: text(min(size, maxName)).Draw(t, "run"), Shard: 1 + i}
			r := schedule.Reserve{Fleet: text(min(size, maxName)).Draw(t, "fleet"), Since: genTime().Draw(t, "planned"), Tokens: int64(count().Draw(t, "tokens"))}
			for j := range rapid.IntRange(1, schedule.MaxSlots).Draw(t, "issues") {
				r.IDs = append(r.IDs, tracker.ID(fmt.Sprintf("%02d", j)+text(min(size, maxName-2)).Draw(t, "id")))
			}
			s.Reserves[owner] = r
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "hosts") {
			if s.Hosts == nil {
				s.Hosts = map[string]schedule.HostState{}
			}
			name := text(min(size, maxName-1)).Draw(t, "host") + fmt.Sprint(i)
			s.Hosts[name] = schedule.HostState{Until: genTime().Draw(t, "left alone"), Failures: count().Draw(t, "failures"), Why: text(min(size, maxWhy)).Draw(t, "why")}
		}
		if rapid.Bool().Draw(t, "limited") {
			s.RateLimits, _ = json.Marshal(map[string]any{"text": text(size).Draw(t, "text"), "n": []int{1, 2}})
		}
		return s
	})
}

func genClaim(text genText, size int) *rapid.Generator[schedule.Claim] {
	return rapid.Custom(func(t *rapid.T) schedule.Claim {
		draw := func(name string, bytes int) string { return text(min(size, bytes)).Draw(t, name) }
		if size > maxURL { // texts that exceed their limits
			draw = func(name string, _ int) string { return text(size).Draw(t, name) }
		}
		c := schedule.Claim{
			ID:         tracker.ID(draw("id", maxName-1)),
			Identifier: draw("identifier", maxName), Title: draw("title", maxTitle), URL: draw("url", maxURL),
			State: draw("state", maxName), Content: draw("content", maxName), Why: draw("why", maxWhy), Thread: draw("thread", maxName), Host: draw("worker host", maxName),
			Phase:   rapid.SampledFrom([]schedule.Phase{schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked}).Draw(t, "phase"),
			Since:   genTime().Draw(t, "since"),
			Attempt: count().Draw(t, "attempt"), Sessions: count().Draw(t, "sessions"), Failures: count().Draw(t, "failures"),
			Idle: count().Draw(t, "idle"), Tokens: int64(count().Draw(t, "tokens")), Feedback: rapid.Bool().Draw(t, "feedback"),
		}
		switch c.Phase {
		case schedule.Stopping:
			c.StopReason = rapid.SampledFrom([]schedule.Reason{
				"", schedule.Stalled, schedule.Terminal, schedule.NotActive, schedule.NotRoutable, schedule.NotDispatchable, schedule.NotVisible, schedule.IssueBudget,
				schedule.TickBudget, schedule.DayBudget, schedule.Interrupted, schedule.DeadlineReached, schedule.ClaimLost,
				schedule.Merged, schedule.Closed, schedule.Commanded,
			}).Draw(t, "cause")
			fallthrough
		case schedule.Running:
			c.Owner = schedule.Owner{
				Run: draw("run", maxName), Job: draw("job", maxName), Host: draw("host", maxName),
				Attempt: count().Draw(t, "run attempt"), PID: count().Draw(t, "pid"), Started: int64(count().Draw(t, "started")),
				Shard: rapid.IntRange(0, schedule.MaxShards).Draw(t, "shard"), Limit: rapid.Int64Range(0, int64(schedule.MaxShardTime/time.Second)).Draw(t, "limit"),
			}
			c.Lease, c.Heard, c.TurnSince = genTime().Draw(t, "lease"), genTime().Draw(t, "heard"), genTime().Draw(t, "turn since")
			c.Turns, c.Live = count().Draw(t, "turns"), genUsage().Draw(t, "live")
		case schedule.Waiting:
			c.Due, c.LostUntil = genTime().Draw(t, "due"), genTime().Draw(t, "lost until")
		}
		return c
	})
}

func genDelivery(text genText, size int) *rapid.Generator[schedule.Delivery] {
	commit := rapid.StringMatching(`([0-9a-f]{39}[1-9a-f])?`)
	return rapid.Custom(func(t *rapid.T) schedule.Delivery {
		return schedule.Delivery{
			Identifier: "x" + text(min(size, maxName-1)).Draw(t, "identifier"), // is none without any field
			Branch:     text(min(size, maxName)).Draw(t, "branch"), Base: text(min(size, maxName)).Draw(t, "base"),
			Head: commit.Draw(t, "head"), Pushing: commit.Draw(t, "pushing"), Number: count().Draw(t, "number"),
			URL: text(min(size, maxURL)).Draw(t, "url"), At: genTime().Draw(t, "at"), Refused: text(min(size, maxWhy)).Draw(t, "refused"),
			LeftOut: text(min(size, maxWhy)).Draw(t, "left out"),
			Lost:    rapid.Bool().Draw(t, "lost"),
		}
	})
}

func genConversation(text genText, size int) *rapid.Generator[schedule.Conversation] {
	return rapid.Custom(func(t *rapid.T) schedule.Conversation {
		draw := func(name string) string { return text(min(size, maxName)).Draw(t, name) }
		mark := func(name string) schedule.Mark {
			m := schedule.Mark{At: genTime().Draw(t, name), Checks: draw("checks"), Conflict: draw("conflict")}
			for i := range rapid.IntRange(0, 3).Draw(t, "ids") {
				m.IDs = append(m.IDs, fmt.Sprint(i)+text(min(size, maxName-1)).Draw(t, "id"))
			}
			return m
		}
		return schedule.Conversation{
			Read:     mark("read").IDs,
			ReadUpTo: mark("heard"), PromptedUpTo: mark("given"), ParkedUpTo: mark("parked"), CommandsUpTo: mark("obeyed"),
			Pull: draw("pull"), Checks: rapid.SampledFrom([]schedule.Checks{"", schedule.ChecksGreen, schedule.ChecksRed, schedule.ChecksRunning}).Draw(t, "checks"), Closed: rapid.Bool().Draw(t, "closed"), Posted: draw("posted"), Thread: draw("thread"), Host: draw("host"),
			PendingCommand: rapid.SampledFrom([]schedule.Order{{}, {Command: schedule.CommandRetry, By: "kim"}, {Command: schedule.CommandPark}}).Draw(t, "ordered"),
			Asked:          rapid.StringOfN(rapid.RuneFrom([]rune("aé☃𝄞\n\t`<")), 0, -1, maxAsked).Draw(t, "asked"),
			Rounds:         count().Draw(t, "rounds"), CheckRounds: count().Draw(t, "check rounds"), Moved: rapid.Bool().Draw(t, "moved"), Sessions: count().Draw(t, "sessions"), Tokens: int64(count().Draw(t, "tokens")),
		}
	})
}

// genTime draws a time in UTC of the years 1 to 9999, sometimes the zero time.
func genTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.IntRange(0, 3).Draw(t, "zero") == 0 {
			return time.Time{}
		}
		first, last := time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC).Unix(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
		return time.Unix(rapid.Int64Range(first, last).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
	})
}

func count() *rapid.Generator[int] { return rapid.IntRange(0, maxCount) }

func genUsage() *rapid.Generator[schedule.Usage] {
	return rapid.Custom(func(t *rapid.T) schedule.Usage {
		return schedule.Usage{Input: rapid.Int64Range(0, schedule.MaxTokens).Draw(t, "input"), Output: rapid.Int64Range(0, schedule.MaxTokens).Draw(t, "output")}
	})
}
