package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	hubToken = "ghs_0123456789abcdefSECRET"
	hubRepo  = "octo/state-keeper"
)

// The bounds of some fields, which stand in their tags.
const (
	maxClaims, maxDays, maxPast, maxDeliveries = 20_000, 31, 31, 1000
	maxConversations, maxOpen                  = 21_000, 24_000
	maxTitle, maxWhy, maxURL, maxAsked         = 200, 500, 2000, 4000
	maxCount                                   = bounds.MaxInt
)

// branchName has a slash and a character that must be escaped in a URL.
const branchName = "symphony/state+%41"

// hub is a GitHub server that can hold a state on branchName.
type hub struct{ *storetest.Hub }

func newHub(t testing.TB) hub {
	t.Helper()
	return hub{storetest.New(t, storetest.Config{Repo: hubRepo, Token: hubToken})}
}

// open returns a store on the branch, as a run opens it.
func (h hub) open(t testing.TB) *Branch {
	t.Helper()
	b, err := OpenBranch(BranchConfig{Repo: hubRepo, Branch: branchName, APIURL: h.URL() + "/", Token: hubToken}, h.Client())
	if err != nil {
		t.Fatal(err)
	}
	b.client.Transport.Pause = time.Millisecond
	return b
}

// put commits data as the state, as somebody else; nil deletes the branch.
func (h hub) put(data []byte) {
	if data == nil {
		h.Delete(branchName)
		return
	}
	h.Commit(branchName, map[string]string{stateFile: string(data)})
}

// raw returns the encoded state on the branch, nil if there is no branch.
func (h hub) raw(*testing.T) []byte {
	content, ok := h.File(branchName, stateFile)
	if !ok {
		return nil
	}
	return append([]byte{}, content...)
}

// sample returns a state in which some claim sets every field that is stored.
func sample() *schedule.State {
	at := func(minute, nano int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, nano, time.UTC) }
	self := schedule.Owner{Run: "16384", Attempt: 2, Job: "tick", Host: "runner-1", PID: 4321, Started: 1772366400123}
	shard := schedule.Owner{Run: "16390", Attempt: 1, Started: 1772366400456, Shard: 3, Limit: 18000}
	s := schedule.New(schedule.Owner{})
	for _, c := range []schedule.Claim{
		{
			ID: "a1", Identifier: "ABC-1", Title: "Teapot <is> “short” & stout", URL: "https://tracker.example/ABC-1?x=1&y=2",
			State: "In Progress", Content: "5a2f", Phase: schedule.Running, Since: at(0, 1), Owner: self, Lease: at(10, 0),
			Heard: at(1, 500), TurnSince: at(0, 30), Turns: 3, Host: "me@build1:2222", Left: []string{"build2"}, Live: schedule.Usage{Input: 1200, Output: 80, Tariffs: tariffs(1200, 80)}, Attempt: 1, Thread: "th-1",
			Sessions: 4, Failures: 1, Idle: 1, Tokens: 123456, Tariffs: tariffs(123000, 456),
			Course: schedule.Course{Ready: at(0, 0), Opened: at(2, 0), Sessions: 4, Failed: 3, Rounds: 5, Usage: schedule.Usage{Input: 120000, Output: 3456, Tariffs: tariffs(119000, 3400)}, Done: true},
		},
		{
			ID: "b2", Identifier: "ABC-2", Title: "Stalled", State: "Todo", Phase: schedule.Stopping, Since: at(2, 0),
			Why: "silent for 5m0s", Owner: self, Lease: at(10, 0), StopReason: schedule.Stalled, Sessions: 1,
		},
		{ID: "c3", Identifier: "ABC-3", Phase: schedule.Waiting, Why: "continuation", Since: at(3, 0), Due: at(4, 0), Host: "build2", LostUntil: at(4, 0), Attempt: 1, Sessions: 1},
		{ID: "d4", Identifier: "ABC-4", Phase: schedule.Parked, Why: "which colour?", Since: at(5, 0), Content: "77aa", Sessions: 1, Feedback: true, Setup: schedule.Setup{Agent: "4e5f", Workflow: "6a7b"}, Fault: "hook before_run: exit status 1", Unsettled: true},
		{ID: "e5", Identifier: "ABC-5", Phase: schedule.Running, Since: at(9, 0), Owner: shard, Lease: at(59, 0), Sessions: 1},
	} {
		s.Claims[c.ID] = c
	}
	s.Wait = schedule.TrackerWait{Tracker: "github", Until: at(58, 0)}
	s.Pause = schedule.Pause{Why: "usageLimitExceeded", Since: at(6, 0), Until: at(59, 0), Setup: schedule.Setup{Agent: "0a1b", Workflow: "2c3d"}, Cause: schedule.CauseStart, Fault: "hook before_run: exit status 1", Passed: true}
	s.Salt = "SALT"
	s.Days = []schedule.Day{
		{Date: "2026-02-28", Sessions: 2, Usage: schedule.Usage{Input: 10, Output: 20, Tariffs: tariffs(10, 20)}, Time: 61800 * time.Millisecond},
		{Date: "2026-03-01", Sessions: 1},
	}
	s.History = []schedule.TickRecord{
		{
			Run: "16383", Attempt: 1, Started: at(0, 7).Add(-time.Hour), Ended: at(9, 0).Add(-time.Hour), Stopped: "the deadline",
			Sessions: 3, Done: 2, Failed: 1, Parked: 1, Tokens: 4321,
		},
		{Started: at(0, 0), Ended: at(1, 0)},
	}
	s.Deliver("a1", schedule.Delivery{
		Identifier: "ABC-1", Title: "Fix the parser", IssueURL: "https://example.com/ABC-1", Branch: "symphony/ABC-1", Base: "main",
		Head: "c0ffee0123456789c0ffee0123456789c0ffee01", Pushing: "facade0123456789facade0123456789facade01",
		Number: 17, URL: "https://github.com/octo/shop/pull/17", At: at(0, 45),
		Refused: ".github/x: the path is protected", LeftOut: "big.bin (larger than 32 MiB)", Blocked: "`pypi.org` (by `pip install x`)", Lost: true,
	})
	s.Deliver("b1", schedule.Delivery{Identifier: "ABC-9", URL: "/srv/patches/ABC-9.patch", At: at(0, 50)}) // its claim is gone
	s.Conversations = map[tracker.ID]schedule.Conversation{
		"a1": {
			ReadUpTo:     schedule.Mark{At: at(0, 0), IDs: []string{"IC_1@1772366400", "IC_2@1772366401"}, Checks: "8f3a", Conflict: "c0ffee"},
			PromptedUpTo: schedule.Mark{At: at(7, 0), IDs: []string{"IC_3@1772366821"}},
			ParkedUpTo:   schedule.Mark{At: at(8, 0)}, CommandsUpTo: schedule.Mark{At: at(9, 0)},
			Read: []string{"IC_1@1772366400", "pull IC_3@1772366821"},
			Pull: "91be", Checks: schedule.ChecksRed, Closed: true, Rounds: 2, CheckRounds: 1, Moved: true, Asked: "Which colour?\n\t1. red", Posted: "77c2",
			PendingCommand: schedule.Order{Command: schedule.CommandStop, By: "kim", Answer: "red\nor blue"}, Answer: "blue",
			Thread: "th-0", Host: "build1", Left: []string{"build2", "build3"}, Sessions: 3, Tokens: 99000, Tariffs: tariffs(98000, 400), Labels: []string{"bug", "risky"}, Course: schedule.Course{Ready: at(1, 0), Sessions: 3},
		},
		"b1": {ReadUpTo: schedule.Mark{At: at(50, 0)}, Thread: "th-7", Sessions: 1, Tokens: 12},
	}
	s.Reserves = map[schedule.Owner]schedule.Reserve{shard: {Fleet: ".github/workflows/fleet.yml", Since: at(9, 0), Tokens: 250000, USD: 1_500_001, IDs: []tracker.ID{"a1", "e5"}}}
	s.Told = []schedule.Told{{To: "ops", What: "merged 7a"}, {To: "team", What: "parked 8b", Failed: 1, Again: true}}
	s.Worked = at(51, 0)
	s.Queued = map[tracker.ID]time.Time{"f6": at(9, 0)}
	s.Hosts = map[string]schedule.HostState{"build2": {Until: at(52, 0), Failures: 3, Why: "connection refused"}, "build3": {Until: at(1, 0), Failures: 1}}
	s.Ends = []schedule.IssueEnd{
		{Issue: "ABC-7", End: schedule.EndMerged, At: at(30, 0), Course: schedule.Course{Ready: at(1, 0), Opened: at(10, 0), Sessions: 1, Usage: schedule.Usage{Input: 900, Output: 30}}},
		{Issue: "ABC-4", End: schedule.EndParked, Reason: "needs_input", At: at(31, 0)},
	}
	s.PackedEnds = []string{"1:q1bKV7JSqlaqVUotLCrJL0pRslJKTixOVdJRSs7PK0nNKwEKGCvVAgA"}
	s.RateLimits = json.RawMessage(`{"primary":{"used_percent":12.5,"window_minutes":300},"credits":null}`)
	return s
}

// tariffs returns tokens of one tariff, of which every part is used.
func tariffs(input, output int64) schedule.Tariffs {
	return schedule.Tariffs{{
		Tariff: schedule.Tariff{Model: "gpt-6", Tier: "flex", Long: true},
		Input:  input, Cached: 4, CacheWrite: 3, Output: output, Reasoning: 2,
	}}
}

// sampleOfVersion1 returns the sample without the fields that version 2 added.
func sampleOfVersion1() *schedule.State {
	s := sample()
	s.Wait = schedule.TrackerWait{}
	s.Days[0].Usage.Tariffs = nil
	s.Days[0].Time, s.History[0].Failed = s.Days[0].Time.Truncate(time.Second), 0
	s.Salt, s.Pause.Setup = "", schedule.Setup{}
	s.Pause.Cause, s.Pause.Fault, s.Pause.Passed = "", "", false
	s.Deliveries, s.Conversations, s.Reserves, s.Told, s.Worked = nil, nil, nil, nil, time.Time{}
	s.Queued, s.Ends, s.PackedEnds, s.Hosts = nil, nil, nil, nil
	delete(s.Claims, "e5")
	for id, c := range s.Claims {
		c.Live.Tariffs, c.Tariffs = nil, nil
		c.TurnSince, c.Setup, c.Feedback, c.Fault, c.Unsettled, c.Course = time.Time{}, schedule.Setup{}, false, "", false, schedule.Course{}
		c.Host, c.Left, c.LostUntil = "", nil, time.Time{}
		s.Claims[id] = c
	}
	return s
}

// sampleWithClaims returns a state with n claims of ordinary size.
func sampleWithClaims(n int) *schedule.State {
	s := sample()
	model := s.Claims["a1"]
	clear(s.Claims)
	for i := range n {
		c := model
		c.ID = tracker.ID(string(model.ID) + "-" + string(rune('a'+i%26)) + time.Duration(i).String())
		s.Claims[c.ID] = c
	}
	return s
}

// withChecksum returns data, whose checksum is blank, with its checksum.
func withChecksum(data []byte) []byte {
	setChecksum(data)
	return data
}
