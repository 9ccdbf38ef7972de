package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var update = flag.Bool("update", false, "write the golden file of the current version")

// A difference means that this program may no longer read the states of released
// builds: make a new version, and keep the golden file of the old one, which
// TestOlderVersionsAreReadAndWrittenAsTheCurrentOne reads.
func TestTheVersionStaysWhatItIs(t *testing.T) {
	t.Parallel()
	golden := fmt.Sprintf("testdata/version%d.json", version)
	got := mustEncode(t, sample(), 42)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	s, generation, err := Decode(want)
	if err != nil || generation != 42 {
		t.Fatalf("generation %d, %v", generation, err)
	}
	if diff := cmp.Diff(sample(), s); diff != "" {
		t.Error(diff)
	}
}

// A state of an older version lacks the fields that were added later, and no other.
func TestOlderVersionsAreReadAndWrittenAsTheCurrentOne(t *testing.T) {
	t.Parallel()
	for _, old := range []struct {
		version int
		want    *schedule.State
	}{
		{1, sampleOfVersion1()},
	} {
		golden := fmt.Sprintf("testdata/version%d.json", old.version)
		s, generation, err := Decode(mustRead(t, golden))
		if err != nil || generation != 42 {
			t.Fatalf("%s: generation %d, %v", golden, generation, err)
		}
		if diff := cmp.Diff(old.want, s); diff != "" {
			t.Errorf("%s: %s", golden, diff)
		}
		again := mustEncode(t, s, 43)
		if !bytes.Contains(again, fmt.Appendf(nil, `"version": %d,`, version)) {
			t.Errorf("%s is written back as\n%s", golden, again)
		}
		if same, _, err := Decode(again); err != nil || cmp.Diff(s, same) != "" {
			t.Errorf("%s: written back it is another state: %v %s", golden, err, cmp.Diff(s, same))
		}
	}
}

// A field that package schedule adds must be added to the record, in a new version.
func TestTheSampleSetsEveryFieldThatIsKept(t *testing.T) {
	t.Parallel()
	unset := map[string]bool{}
	look := func(values ...any) {
		for _, v := range values {
			for field, value := range reflect.ValueOf(v).Fields() {
				name := reflect.TypeOf(v).Name() + "." + field.Name
				seen, known := unset[name]
				unset[name] = value.IsZero() && (seen || !known)
			}
		}
	}
	s := sample()
	look(*s, s.Pause, s.Pause.Setup, s.Wait)
	for _, c := range s.Claims {
		look(c, c.Owner, c.Live, c.Setup, c.Course)
	}
	for _, d := range s.Days {
		look(d)
	}
	for _, p := range s.History {
		look(p)
	}
	for _, e := range s.Ends {
		look(e)
	}
	for _, d := range s.Deliveries {
		look(d)
	}
	for _, c := range s.Conversations {
		look(c, c.ReadUpTo)
	}
	for o, r := range s.Reserves {
		look(o, r)
	}
	for name, empty := range unset {
		if kept := name != "State.Self" && name != "State.Tick" && name != "State.Completed" && name != "State.Faults" && name != "State.Finishing" && name != "State.Failed"; empty == kept {
			t.Errorf("%s: empty %v, kept %v", name, empty, kept)
		}
	}
}

func TestAStateCutOffAnywhereIsUnreadable(t *testing.T) {
	t.Parallel()
	data := mustEncode(t, sample(), 42)
	for n := range data {
		if s, _, err := Decode(data[:n]); !errors.Is(err, ErrUnreadable) || s != nil {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(data), err)
		}
	}
}

func TestAStateWithAFlippedBitIsUnreadable(t *testing.T) {
	t.Parallel()
	data := mustEncode(t, sampleWithClaims(1), 42)
	version := bytes.Index(data, []byte("2")) // a flipped bit may make it a newer one
	for i := range data {
		bit := i % 8
		data[i] ^= 1 << bit
		_, _, err := Decode(data)
		if !errors.Is(err, ErrUnreadable) && !(i == version && errors.Is(err, ErrNewer)) {
			t.Fatalf("bit %d of byte %d: %v", bit, i, err)
		}
		data[i] ^= 1 << bit
	}
}

func TestAForgedStateIsRefusedAndSaysWhere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ old, new, want string }{
		{`"version": 2`, `"version": 0`, "no version 0"},
		{`"claims": [`, strings.Repeat(" ", maxBytes) + `"claims": [`, "larger than"},
		{`"generation": 42`, `"generation": -1`, "generation: it is negative"},
		{`"generation": 42`, `"generation": 1e99`, "generation"},
		{`"generation": 42`, `"generation": 9007199254740993`, "generation: it is too large"},
		{`"generation": 42`, `"generation": 9223372036854775806`, "generation: it is too large"},
		{`"generation": 42`, `"generation": 42, "extra": 1`, `unknown field "extra"`},
		{`"id": "a1"`, `"id": "a1", "path": "/etc"`, `unknown field "path"`},
		{`"id": "b2"`, `"id": "a1"`, `claim "a1" comes twice`},
		{`"id": "b2"`, `"id": "z9"`, `claim "c3" comes twice or out of order`},
		{`"id": "a1"`, `"id": ""`, `claim "": its id is empty`},
		{`"id": "a1"`, `"id": "a\n1"`, `claims["a\n1"].id: it is too long or not plain text`},
		{`"id": "a1"`, `"id": "` + strings.Repeat("a", 257) + `"`, `claims["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"].id: it is too long or not plain text`},
		{`"phase": "running"`, `"phase": "dreaming"`, `claim "a1": unknown phase "dreaming"`},
		{`"phase": "running"`, `"phase": ""`, `unknown phase ""`},
		{`"phase": "running"`, `"phase": "parked"`, `claim "a1": it is parked, yet has an owner`},
		{`"phase": "waiting"`, `"phase": "parked"`, `claim "c3": it is parked, yet has a due time`},
		{`"phase": "stopping"`, `"phase": "running"`, `claim "b2": it is running, yet has the cause`},
		{`"cause": "stalled"`, `"cause": "boredom"`, `claim "b2": unknown cause "boredom"`},
		{`"turns": 3`, `"turns": -3`, `claims["a1"].turns: it is negative`},
		{`"tokens": 123456`, `"tokens": -1`, `claims["a1"].tokens: it is negative`},
		{`"input": 1200`, `"input": -1200`, `claims["a1"].live.input: it is negative`},
		{`"turns": 3`, `"turns": 2147483648`, `claims["a1"].turns: it is too large`},
		{`"attempt": 1,
      "thread"`, `"attempt": 9223372036854775807,
      "thread"`, `claims["a1"].attempt: it is too large`},
		{`"failures": 1`, `"failures": 2147483648`, `claims["a1"].failures: it is too large`},
		{`"tokens": 123456`, `"tokens": 9223372036854775807`, `claims["a1"].tokens: it is too large`},
		{`"output": 80`, `"output": 9007199254740993`, `claims["a1"].live.output: it is too large`},
		{`"pid": 4321`, `"pid": 4294967297`, `claims["a1"].owner.pid: it is too large`},
		{`"output": 20`, `"output": 9223372036854775807`, `days["2026-02-28"].tokens.output: it is too large`},
		{`"seconds": 61`, `"seconds": 9223372036854775807`, `days["2026-02-28"].seconds: it is too large`},
		{`"tokens": 4321`, `"tokens": 9223372036854775807`, `past["16383"].tokens: it is too large`},
		{`"pid": 4321`, `"pid": -1`, `claims["a1"].owner.pid: it is negative`},
		{`"host": "runner-1"`, `"host": "runner\u001b[2J"`, `claims["a1"].owner.host: it is too long or not plain text`},
		{`"title": "Stalled"`, `"title": "` + strings.Repeat("é", 201) + `"`, `claims["b2"].title: it is too long or not plain text`},
		{`"title": "Stalled"`, `"title": "two\nlines"`, `claims["b2"].title: it is too long or not plain text`},
		{`"title": "Stalled"`, "\"title\": \"\xff\"", "not UTF-8"},
		{`"title": "Stalled"`, `"title": 7`, "cannot unmarshal number"},
		{`"due": "2026-03-01T12:04:00Z"`, `"due": "2026-03-01T12:04:00+02:00"`, `claims["c3"].due: the time is not in UTC`},
		{`"due": "2026-03-01T12:04:00Z"`, `"due": "soon"`, "soon"},
		{`"why": "usageLimitExceeded"`, `"why": "a\u0000b"`, "pause.why: it is too long or not plain text"},
		{`"workflow": "6a7b"`, `"workflow": "6a\n7b"`, `claims["d4"].setup.workflow: it is too long or not plain text`},
		{`"agent": "0a1b"`, `"agent": "0a\n1b"`, "pause.setup.agent: it is too long or not plain text"},
		{`"salt": "SALT"`, `"salt": "` + strings.Repeat("s", 257) + `"`, "salt: it is too long or not plain text"},
		{`"date": "2026-02-28"`, `"date": "2026-02-30"`, `day "2026-02-30": not a date`},
		{`"seconds": 61`, `"seconds": -61`, `days["2026-02-28"].seconds: it is negative`},
		{`"millis": 800`, `"millis": -1`, `days["2026-02-28"].millis: it is negative`},
		{`"millis": 800`, `"millis": 1000`, `day "2026-02-28": 1000 milliseconds are a second and more`},
		{`"stopped": "the deadline"`, `"stopped": "` + strings.Repeat("é", 501) + `"`, `past["16383"].stopped: it is too long or not plain text`},
		{`"stopped": "the deadline"`, `"stopped": "a\u0000b"`, `past["16383"].stopped: it is too long or not plain text`},
		{`"run": "16383"`, `"run": "` + strings.Repeat("1", 257) + `"`, `past["1111111111111111111111111111111111111111"].run: it is too long or not plain text`},
		{`"parked": 1`, `"parked": -1`, `past["16383"].parked: it is negative`},
		{`"tokens": 4321`, `"tokens": -1`, `past["16383"].tokens: it is negative`},
		{`"until": "2026-03-01T12:58:00Z"`, `"until": "2026-03-01T12:58:00+02:00"`, "tracker_wait.until: the time is not in UTC"},
		{`"tracker": "github"`, `"tracker": "git\u0007hub"`, "tracker_wait.tracker: it is too long or not plain text"},
		{`"ended": "2026-03-01T12:01:00Z"`, `"ended": "2026-03-01T12:01:00+02:00"`, `past[""].ended: the time is not in UTC`},
		{`"past": [`, `"past": [` + strings.Repeat("{},", 30), "past: 32 entries are more than the 31 allowed"},
		{`"deliveries": [`, `"deliveries": [` + strings.Repeat("{},", 999), "deliveries: 1001 entries are more than the 1000 allowed"},
		{`"id": "b1"`, `"id": "a1"`, `delivery "a1" comes twice or out of order`},
		{`"id": "b1"`, `"id": "a0"`, `delivery "a0" comes twice or out of order`},
		{`"id": "b1"`, `"id": "b\n1"`, `deliveries["b\n1"].id: it is too long or not plain text`},
		{`"id": "b1"`, `"id": "b1", "path": "/etc"`, `unknown field "path"`},
		{`"branch": "symphony/ABC-1"`, `"branch": "symphony/\u001b[2J"`, `deliveries["a1"].branch: it is too long or not plain text`},
		{`"branch": "symphony/ABC-1"`, `"branch": "` + strings.Repeat("b", 257) + `"`, `deliveries["a1"].branch: it is too long or not plain text`},
		{`"base": "main"`, `"base": "ma\nin"`, `deliveries["a1"].base: it is too long or not plain text`},
		{`"head": "c0ffee`, `"head": "C0FFEE`, `delivery "a1": its id is empty, or a commit is not 40 digits in lower-case hex`},
		{`"head": "c0ffee`, `"head": "c0ffee0`, `deliveries["a1"].head: it is too long or not plain text`},
		{`"head": "c0ffee0123456789c0ffee0123456789c0ffee01"`, `"head": "0000000000000000000000000000000000000000"`, `delivery "a1": its id is empty, or a commit is not 40 digits in lower-case hex`},
		{`"pushing": "facade`, `"pushing": "--upload-pack=`, `deliveries["a1"].pushing: it is too long or not plain text`},
		{`"number": 17`, `"number": -17`, `deliveries["a1"].number: it is negative`},
		{`"number": 17`, `"number": 2147483648`, `deliveries["a1"].number: it is too large`},
		{`"url": "https://github.com/octo`, `"url": "https://github.com/\u001b`, `deliveries["a1"].url: it is too long or not plain text`},
		{`"url": "https://github.com/octo`, `"url": "https://github.com/` + strings.Repeat("o", maxURL), `deliveries["a1"].url: it is too long or not plain text`},
		{`"refused": ".github/x`, `"refused": "two\nlines`, `deliveries["a1"].refused: it is too long or not plain text`},
		{`"refused": ".github/x`, `"refused": "` + strings.Repeat("é", 500), `deliveries["a1"].refused: it is too long or not plain text`},
		{`"at": "2026-03-01T12:00:00.000000045Z"`, `"at": "2026-03-01T12:00:00+02:00"`, `deliveries["a1"].at: the time is not in UTC`},
		{`"conversations": [`, `"conversations": [` + strings.Repeat("{},", maxConversations), "conversations: 21002 entries are more than the 21000 allowed"},
		{`"thread": "th-7"`, `"thread": "th\u00007"`, `conversations["b1"].thread: it is too long or not plain text`},
		{`"pull": "91be"`, `"pull": "` + strings.Repeat("9", 257) + `"`, `conversations["a1"].pull: it is too long or not plain text`},
		{`"posted": "77c2"`, `"posted": "77\nc2"`, `conversations["a1"].posted: it is too long or not plain text`},
		{`"asked": "Which`, `"asked": "\u001b[2JWhich`, `conversations["a1"].asked: it is too long or not plain text`},
		{`"asked": "Which`, `"asked": "` + strings.Repeat("é", 2000) + `Which`, `conversations["a1"].asked: it is too long or not plain text`},
		{`"command": "stop"`, `"command": "merge"`, `conversation "a1": unknown command "merge" or unknown checks "red"`},
		{`"checks": "red"`, `"checks": "purple"`, `conversation "a1": unknown command "stop" or unknown checks "purple"`},
		{`"failed": 1`, `"failed": -1`, `past["16383"].failed: it is negative`},
		{`"failed": 1`, `"failed": 2147483648`, `past["16383"].failed: it is too large`},
		{`"by": "kim"`, `"by": "kim\u0007"`, `conversations["a1"].ordered.by: it is too long or not plain text`},
		{`"rounds": 2`, `"rounds": -2`, `conversations["a1"].rounds: it is negative`},
		{`"rounds": 2`, `"rounds": 2147483648`, `conversations["a1"].rounds: it is too large`},
		{`"tokens": 99000`, `"tokens": 9223372036854775807`, `conversations["a1"].tokens: it is too large`},
		{`"IC_1@1772366400"`, `"IC_1\u0007"`, `conversations["a1"].heard.ids: an entry is too long or not plain text`},
		{`"IC_1@1772366400"`, `"` + strings.Repeat("x", 257) + `"`, `conversations["a1"].heard.ids: an entry is too long or not plain text`},
		{`"IC_1@1772366400"`, `"IC_9"`, `conversation "a1": the names of comments are out of order`},
		{`"IC_1@1772366400"`, strings.Repeat(`"I",`, 99) + `"I"`, `conversations["a1"].heard.ids: 101 entries are more than the 100 allowed`},
		{`"at": "2026-03-01T12:07:00Z"`, `"at": "2026-03-01T12:07:00+02:00"`, `conversations["a1"].given.at: the time is not in UTC`},
		{`"checks": "8f3a"`, `"checks": "8f\n3a"`, `conversations["a1"].heard.checks: it is too long or not plain text`},
		{`"shard": 3`, `"shard": -3`, `claims["e5"].owner.shard: it is negative`},
		{`"shard": 3`, `"shard": 257`, `claims["e5"].owner.shard: it is too large`},
		{`"limit": 18000`, `"limit": -1`, `claims["e5"].owner.limit: it is negative`},
		{`"limit": 18000`, `"limit": 604801`, `claims["e5"].owner.limit: it is too large`},
		{`"open": [`, `"open": [` + strings.Repeat("{},", maxOpen), "open: 24001 entries are more than the 24000 allowed"},
		{`"open": [`, `"open": [{"owner": {"run": "2", "shard": 1}, "ids": ["1"]},`, "reserve 2: its owner comes twice or out of order"},
		{`"open": [`, `"open": [{"owner": {"run": "1"}, "ids": ["1"]},`, "reserve 1: its owner is not a shard"},
		{`"open": [`, `"open": [{"owner": {"run": "1", "shard": 257}, "ids": ["1"]},`, "open[0].owner.shard: it is too large"},
		{`"open": [`, `"open": [{"owner": {"run": "1", "shard": 1}, "ids": []},`, "reserve 1: it has no issues"},
		{`"tokens": 250000`, `"tokens": -250000`, "open[0].tokens: it is negative"},
		{`"tokens": 250000`, `"tokens": 9223372036854775807`, "open[0].tokens: it is too large"},
		{`"since": "2026-03-01T12:09:00Z",
      "tokens"`, `"since": "2026-03-01T12:09:00+02:00",
      "tokens"`, "open[0].since: the time is not in UTC"},
		{`"a1",
        "e5"`, `"e5",
        "a1"`, "reserve 1: an id comes twice or out of order"},
		{`"a1",
        "e5"`, `"a1"` + strings.Repeat(`,"a1"`, 16), "open[0].ids: 17 entries are more than the 16 allowed"},
		{`"credits": null`, `"credits": "` + strings.Repeat("x", maxRateLimits) + `"`, "rate limits"},
		{`"credits": null`, `"credits": ` + strings.Repeat("[", 99) + strings.Repeat("]", 99), "rate limits"},
	} {
		data := reseal(t, mustEncode(t, sample(), 42), test.old, test.new)
		_, _, err := Decode(data)
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s -> %.60s:\n got %v\nwant %s", test.old, test.new, err, test.want)
		}
	}
}

func TestANewerVersionSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, _, err := Decode([]byte(`{"version": 7, "claims": "in another shape"}`))
	if !errors.Is(err, ErrNewer) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"version 7", "versions up to 2", "upgrade symphony", "nothing was changed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestTextsAreBroughtWithinTheirLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 3000)
	s := schedule.New(schedule.Owner{PID: 1})
	s.Tick.Sessions = 1
	s.Claims["1"] = schedule.Claim{
		ID: "1", Phase: schedule.Parked, Title: "two\r\nlines \x1b[31mred\xff" + long, Why: long, Identifier: long, State: long,
		URL: "https://tracker.example/" + long, Content: long, Thread: "th\n1",
	}
	s.Pause.Why = long
	s.Days = []schedule.Day{{Date: "2026-03-01", Time: -5 * time.Second}}
	s.History = []schedule.TickRecord{{Run: long, Stopped: "two\nlines" + long}, {Run: "1\n2"}}
	s.Deliver("1", schedule.Delivery{Identifier: long, URL: "/srv/" + long, Refused: "two\r\nlines" + long, LeftOut: "a\nb" + long})
	s.Conversations = map[tracker.ID]schedule.Conversation{"1": {
		Asked: "two\r\nlines \x1b[31mred\xff" + long, Pull: long, Posted: long, Thread: "th\n1", Read: []string{"", "a\nb", "c", long},
		ReadUpTo: schedule.Mark{IDs: []string{"", "a\nb", "c", long}, Checks: long, Conflict: "a\nb"}, PromptedUpTo: schedule.Mark{IDs: make([]string, 300)},
	}}
	s.RateLimits = json.RawMessage(`"` + long + long + long + `"`)

	got, _, err := Decode(mustEncode(t, s, 1))
	if err != nil {
		t.Fatal(err)
	}
	cut := func(characters int) string { return strings.Repeat("é", characters-1) + "…" }
	want := schedule.New(schedule.Owner{})
	title := "two  lines  [31mred\uFFFD"
	want.Claims["1"] = schedule.Claim{
		ID: "1", Phase: schedule.Parked, Title: title + cut(maxTitle-len([]rune(title))), Why: cut(maxWhy),
		Identifier: cut(maxName), State: cut(maxName),
	}
	want.Pause.Why = cut(maxWhy)
	want.Days = []schedule.Day{{Date: "2026-03-01"}}
	want.History = []schedule.TickRecord{{Stopped: "two lines" + cut(maxWhy-len("two lines"))}, {}}
	want.Deliver("1", schedule.Delivery{Identifier: cut(maxName), Refused: "two  lines" + cut(maxWhy-len("two  lines")), LeftOut: "a b" + cut(maxWhy-len("a b"))})
	asked := "two\nlines [31mred\uFFFD"
	want.Conversations = map[tracker.ID]schedule.Conversation{"1": {
		Asked: asked + strings.Repeat("é", (maxAsked-len(asked)-len("…"))/len("é")) + "…", ReadUpTo: schedule.Mark{IDs: []string{"c"}}, Read: []string{"c"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNumbersAreBroughtWithinTheirLimits(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64
	s := schedule.New(schedule.Owner{})
	s.Claims["1"] = schedule.Claim{
		ID: "1", Phase: schedule.Running, Turns: most, Live: schedule.Usage{Input: most, Output: most}, Attempt: most,
		Sessions: most, Failures: most, Idle: most, Tokens: most,
	}
	s.Days = []schedule.Day{{Date: "2026-03-01", Sessions: most, Usage: schedule.Usage{Input: most, Output: most}, Time: most}}
	s.History = []schedule.TickRecord{{Attempt: most, Sessions: most, Done: most, Failed: most, Parked: most, Tokens: most}}
	c := s.Claims["1"]
	c.Course = schedule.Course{Sessions: most, Failed: most, Rounds: most, Usage: schedule.Usage{Input: most, Output: most}}
	s.Claims["1"] = c
	s.Deliver("1", schedule.Delivery{Number: most})
	s.Conversations = map[tracker.ID]schedule.Conversation{"1": {Rounds: most, CheckRounds: most, Sessions: most, Tokens: most}}

	got, _, err := Decode(mustEncode(t, s, maxGeneration))
	if err != nil {
		t.Fatal(err)
	}
	full := schedule.Usage{Input: schedule.MaxTokens, Output: schedule.MaxTokens}
	want := schedule.New(schedule.Owner{})
	want.Claims["1"] = schedule.Claim{
		ID: "1", Phase: schedule.Running, Turns: maxCount, Live: full, Attempt: maxCount,
		Sessions: maxCount, Failures: maxCount, Idle: maxCount, Tokens: schedule.MaxTokens,
		Course: schedule.Course{Sessions: maxCount, Failed: maxCount, Rounds: maxCount, Usage: full},
	}
	want.Days = []schedule.Day{{Date: "2026-03-01", Sessions: maxCount, Usage: full, Time: time.Duration(most).Truncate(time.Second) - time.Second + 854*time.Millisecond}}
	want.History = []schedule.TickRecord{{Attempt: maxCount, Sessions: maxCount, Done: maxCount, Failed: maxCount, Parked: maxCount, Tokens: schedule.MaxTokens}}
	want.Deliver("1", schedule.Delivery{Number: maxCount})
	want.Conversations = map[tracker.ID]schedule.Conversation{"1": {Rounds: maxCount, CheckRounds: maxCount, Sessions: maxCount, Tokens: schedule.MaxTokens}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRateLimitsNotWorthKeepingAreDropped(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                               "",
		"null":                           "",
		`{"cut": `:                       "",
		"\"\xff\"":                       "",
		` { "used" : [ 1.50 , "<&>"] } `: `{"used":[1.50,"<&>"]}`,
		`"` + strings.Repeat("x", maxRateLimits-2) + `"`:                      `"` + strings.Repeat("x", maxRateLimits-2) + `"`,
		`"` + strings.Repeat("x", maxRateLimits-1) + `"`:                      "",
		strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1): "",
	} {
		s := schedule.New(schedule.Owner{})
		s.RateLimits = json.RawMessage(raw)
		got, _, err := Decode(mustEncode(t, s, 1))
		if err != nil {
			t.Fatalf("%.40s: %v", raw, err)
		}
		if string(got.RateLimits) != want {
			t.Errorf("%.40s: kept %.40s", raw, got.RateLimits)
		}
	}
}

func TestWhatCouldNotBeReadIsNotEncoded(t *testing.T) {
	t.Parallel()
	parked := schedule.Claim{ID: "1", Phase: schedule.Parked}
	for name, spoil := range map[string]func(s *schedule.State){
		"an id that comes twice":  func(s *schedule.State) { s.Claims["2"] = parked },
		"an id with a line break": func(s *schedule.State) { s.Claims["\n"] = schedule.Claim{ID: "\n", Phase: schedule.Parked} },
		"an unknown phase":        func(s *schedule.State) { s.Claims["2"] = schedule.Claim{ID: "2"} },
		"a year with five digits": func(s *schedule.State) { s.Pause.Until = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"a month of days":         func(s *schedule.State) { s.Days = make([]schedule.Day, maxDays+1) },
		"a month of ticks":        func(s *schedule.State) { s.History = make([]schedule.TickRecord, maxPast+1) },
		"a delivery of nobody":    func(s *schedule.State) { s.Deliver("", schedule.Delivery{Number: 1}) },
		"a head of 39 digits":     func(s *schedule.State) { s.Deliver("1", schedule.Delivery{Head: strings.Repeat("a", 39)}) },
		"a branch too long":       func(s *schedule.State) { s.Deliver("1", schedule.Delivery{Branch: strings.Repeat("b", maxName+1)}) },
		"too many deliveries": func(s *schedule.State) {
			s.Deliveries = map[tracker.ID]schedule.Delivery{}
			for i := range maxDeliveries + 1 {
				s.Deliveries[tracker.ID(fmt.Sprint(i))] = schedule.Delivery{Number: i}
			}
		},
		"a host without a name": func(s *schedule.State) { s.Hosts = map[string]schedule.HostState{"": {Failures: 1}} },
		"a session that is not over": func(s *schedule.State) {
			s.Claims["2"] = schedule.Claim{ID: "2", Phase: schedule.Running, LostUntil: time.Unix(1, 0)}
		},
		"a queued issue of nobody":    func(s *schedule.State) { s.Queued = map[tracker.ID]time.Time{"": {}} },
		"more ends than are unpacked": func(s *schedule.State) { s.Ends = make([]schedule.IssueEnd, 201) },
		"a conversation of nobody":    func(s *schedule.State) { s.Conversations = map[tracker.ID]schedule.Conversation{"": {}} },
		"a mark out of order": func(s *schedule.State) {
			s.Conversations = map[tracker.ID]schedule.Conversation{"1": {ReadUpTo: schedule.Mark{IDs: []string{"b", "a"}}}}
		},
		"what was read out of order": func(s *schedule.State) {
			s.Conversations = map[tracker.ID]schedule.Conversation{"1": {Read: []string{"b", "a"}}}
		},
		"too many claims": func(s *schedule.State) { s.Claims = sampleWithClaims(maxClaims + 1).Claims },
		"too many bytes":  func(s *schedule.State) { s.Claims = sampleWithClaims(18_000).Claims },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := schedule.New(schedule.Owner{})
			s.Claims["1"] = parked
			spoil(s)
			data, err := Encode(s, 1)
			if !errors.Is(err, ErrInvalid) || data != nil {
				t.Errorf("got %d bytes, %v", len(data), err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	data, err := Encode(sample(), 42)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, false)
	f.Add(bytes.ReplaceAll(data, []byte("ABC"), []byte(`\ud800`)), true)
	f.Add([]byte(`{"version":1,"generation":1,"checksum":"`+blankChecksum+`","claims":null}`), true)
	f.Add([]byte(`{"version":2,"generation":1,"checksum":"`+blankChecksum+`","claims":null}`), true)
	f.Add([]byte(`{"version":2,"generation":1,"checksum":"`+blankChecksum+`","claims":[],"deliveries":[{"id":"1","pushing":"`+strings.Repeat("ab", 20)+`","refused":"x"}]}`), true)
	f.Add([]byte(`{"version":9}`), false)
	f.Fuzz(func(t *testing.T, data []byte, forge bool) {
		if i := bytes.Index(data, []byte(checksumPrefix)); forge && i >= 0 && len(data) >= i+len(blankChecksum) {
			data = withChecksum(append(append(bytes.Clone(data[:i]), blankChecksum...), data[i+len(blankChecksum):]...))
		}
		s, generation, err := Decode(data)
		if err != nil {
			if s != nil || !errors.Is(err, ErrUnreadable) && !errors.Is(err, ErrNewer) {
				t.Fatalf("got %v, %v", s, err)
			}
			return
		}
		again, err := Encode(s, generation)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		same, _, err := Decode(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(s, same); diff != "" {
			t.Error(diff)
		}
	})
}
