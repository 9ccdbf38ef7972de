package schedule_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// noon is the time at which every test starts.
var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// The runs of the tests; me is the one that plans.
var (
	me    = schedule.Owner{Run: "100", Attempt: 1, Job: "tick"}
	other = schedule.Owner{Run: "99", Attempt: 1, Job: "tick"}
	local = schedule.Owner{Host: "desk", PID: 7, Started: 1}
)

// fixture holds everything that a plan depends on.
type fixture struct {
	state  *schedule.State
	snap   schedule.Snapshot
	policy schedule.Policy
	now    time.Time
}

func (f fixture) plan() []schedule.Decision {
	return schedule.Plan(f.state, f.snap, f.policy, f.now)
}

// then returns the fixture after its state has applied the decisions.
func (f fixture) then(decisions []schedule.Decision) fixture {
	f.state, f.snap.Steerable = f.state.Clone(), maps.Clone(f.snap.Steerable)
	for _, d := range decisions {
		f.state.Apply(d, f.now)
		if d.Action == schedule.Steer {
			delete(f.snap.Steerable, d.ID) // until it has taken that
		}
	}
	f.snap.Feedback = f.judged()
	return f
}

// judged returns the feedback of the snapshot without what the conversations have passed, as
// package feedback does.
func (f fixture) judged() map[tracker.ID]schedule.Feedback {
	judged := maps.Clone(f.snap.Feedback)
	for id, said := range judged {
		talk := f.state.Conversations[id]
		passed := said.Mark.Equal(talk.ReadUpTo)
		if passed {
			said.Round, said.News = "", ""
		}
		said.Fresh = said.Fresh && !passed && !said.Mark.Equal(talk.ParkedUpTo)
		if passed || said.CommandsUpTo.Equal(talk.CommandsUpTo) {
			said.Command = ""
		}
		if judged[id] = said; said.Mark.At.Before(talk.ReadUpTo.At) {
			delete(judged, id) // it was read before the conversation began again
		}
	}
	return judged
}

// latest returns the newest version of an issue: as read by id, else as listed, else
// as its claim remembers it.
func (f fixture) latest(id tracker.ID) tracker.Issue {
	if known := f.snap.Claimed[id]; known != nil {
		return *known
	}
	for _, issue := range f.snap.Candidates {
		if _, claimed := f.state.Claims[id]; !claimed && issue.ID == id {
			return issue
		}
	}
	c := f.state.Claims[id]
	return tracker.Issue{ID: id, Identifier: c.Identifier, State: c.State}
}

// dump returns the whole fixture as text, to compare it later.
func (f fixture) dump(t rapid.TB) string {
	t.Helper()
	state := struct {
		*schedule.State
		Reserves string // the keys of the map are not texts
	}{f.state, fmt.Sprint(f.state.Reserves)}
	text, err := json.Marshal([]any{state, f.snap, f.policy, f.now})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// holdsSlot reports whether a session works on the claim.
func holdsSlot(c schedule.Claim) bool {
	return c.Phase == schedule.Running || c.Phase == schedule.Stopping
}

// Owners of claims in shards of two fleets; see [fixture.counts].
var (
	west = schedule.Owner{Run: "21", Attempt: 1, Shard: 1}
	east = schedule.Owner{Run: "22", Attempt: 1, Shard: 1}
)

// counts reports whether the session of a claim counts against the limit of the policy: those
// in the fleet of the plan do, or, in a plan without a fleet, those outside of fleets.
func (f fixture) counts(c schedule.Claim) bool {
	switch {
	case !holdsSlot(c):
		return false
	case c.Owner == me:
		return true
	case f.policy.OfFleet:
		return c.Owner == west && f.policy.Fleet == "west" || c.Owner == east && f.policy.Fleet == "east"
	}
	return c.Owner.Shard == 0
}

// claim adds a claim that is legal for its phase; with, unless nil, changes it first.
func (f fixture) claim(issue tracker.Issue, phase schedule.Phase, with func(*schedule.Claim)) {
	c := schedule.Claim{
		ID: issue.ID, Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL,
		State: issue.State, Content: issue.ContentDigest(),
		Phase: phase, Since: f.now,
	}
	switch phase {
	case schedule.Stopping:
		c.StopReason, c.Why = schedule.Stalled, "silent"
		fallthrough
	case schedule.Running:
		c.Owner, c.Lease, c.Sessions = me, f.now.Add(10*time.Minute), 1
	case schedule.Waiting:
		c.Due, c.Why = f.now, "continuation"
	case schedule.Parked:
		c.Why = "which colour?"
	}
	if with != nil {
		with(&c)
	}
	f.state.Claims[c.ID] = c
}

// all returns one status for every other owner in the state.
func all(s *schedule.State, life schedule.OwnerStatus) map[schedule.Owner]schedule.OwnerStatus {
	lives := map[schedule.Owner]schedule.OwnerStatus{}
	for _, o := range s.Orphans() {
		lives[o] = life
	}
	return lives
}

// todo returns an issue that may be worked on.
func todo(n int) tracker.Issue {
	return tracker.Issue{
		ID: tracker.ID(fmt.Sprint(n)), Identifier: fmt.Sprintf("ABC-%d", n), Title: fmt.Sprintf("Issue %d", n),
		State: "Todo", Labels: []string{"agent"}, Dispatchable: true,
	}
}

// simple returns a fixture without limits that matter.
func simple() fixture {
	return fixture{
		state: schedule.New(me),
		snap:  schedule.Snapshot{Claimed: map[tracker.ID]*tracker.Issue{}},
		policy: schedule.Policy{
			ActiveStates: []string{"Todo", "In Progress"}, TerminalStates: []string{"Done", "Cancelled"},
			MaxConcurrent: 10, MaxPerTick: 10, MaxBackoff: 5 * time.Minute, Stall: 5 * time.Minute,
		},
		now: noon,
	}
}

// often draws true in seven of eight cases. Shrinking leads to true.
func often(t *rapid.T, label string) bool { return rapid.IntRange(0, 7).Draw(t, label) < 7 }

func states() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"Todo", "In Progress", "Rework", " TODO ", "in progress", "Todo", "In Progress", "Done", "CANCELLED", "Backlog", "",
	})
}

func genPolicy(t *rapid.T) schedule.Policy {
	p := schedule.Policy{
		ActiveStates:   []string{"Todo", " in progress", "REWORK"},
		TerminalStates: []string{"Done", "cancelled "},
		MaxConcurrent:  rapid.IntRange(0, 6).Draw(t, "max concurrent"),
		MaxPerTick:     rapid.IntRange(0, 8).Draw(t, "max per tick"),
		MaxPerState:    rapid.MapOf(rapid.SampledFrom([]string{"todo", "in progress", "rework"}), rapid.IntRange(0, 3)).Draw(t, "max per state"),
		MaxBackoff:     time.Duration(rapid.IntRange(1, 900).Draw(t, "max backoff")) * time.Second,
		Stall:          time.Duration(rapid.IntRange(0, 600).Draw(t, "stall")) * time.Second,
		Budget: schedule.Budget{
			Attempts:       rapid.IntRange(0, 4).Draw(t, "attempts"),
			IdleSessions:   rapid.IntRange(0, 3).Draw(t, "idle sessions"),
			TokensPerIssue: rapid.SampledFrom([]int64{0, 500, 1000}).Draw(t, "tokens per issue"),
			TokensPerTick:  rapid.SampledFrom([]int64{0, 0, 2000}).Draw(t, "tokens per tick"),
			TokensPerDay:   rapid.SampledFrom([]int64{0, 0, 5000}).Draw(t, "tokens per day"),
			USDPerIssue:    rapid.SampledFrom([]schedule.Money{0, 0, 1500}).Draw(t, "dollars per issue"),
			USDPerTick:     rapid.SampledFrom([]schedule.Money{0, 0, 3000}).Draw(t, "dollars per tick"),
			USDPerDay:      rapid.SampledFrom([]schedule.Money{0, 0, 7000}).Draw(t, "dollars per day"),
			Prices:         prices,
		},
	}
	if p.OfFleet = !often(t, "one process"); p.OfFleet {
		p.Fleet = rapid.SampledFrom([]string{"west", "east", ""}).Draw(t, "fleet")
	}
	if rapid.Bool().Draw(t, "feedback") {
		p.MaxRounds = rapid.IntRange(0, 3).Draw(t, "max rounds")
		p.MaxCheckRounds = rapid.IntRange(0, 3).Draw(t, "max check rounds")
		p.HandsOver = rapid.Bool().Draw(t, "hands over")
		p.HandedOver = rapid.SampledFrom([]string{"", "Backlog", "done"}).Draw(t, "handed over")
	}
	if rapid.Bool().Draw(t, "limits open pull requests") {
		p.MaxOpen = rapid.IntRange(0, 6).Draw(t, "max open")
		p.MaxOpenByLabel = rapid.MapOf(rapid.SampledFrom([]string{"agent", "risky"}), rapid.IntRange(1, 4)).Draw(t, "max open by label")
	}
	if rapid.Bool().Draw(t, "worker hosts") {
		p.Hosts = rapid.Permutation(workerHosts).Draw(t, "hosts")[:rapid.IntRange(1, len(workerHosts)).Draw(t, "number of hosts")]
		p.PerHost = rapid.IntRange(0, 3).Draw(t, "max per host")
	}
	if !often(t, "states apart") {
		p.TerminalStates = append(p.TerminalStates, "Rework") // both: terminal counts
	}
	if !often(t, "no required label") {
		p.RequiredLabels = []string{rapid.SampledFrom([]string{"agent", ""}).Draw(t, "required label")}
	}
	return p
}

// workerHosts are all worker hosts of the tests.
var workerHosts = []string{"build1", "me@build2", "build3:2222"}

func genIssue(t *rapid.T, n int) tracker.Issue {
	issue := todo(n)
	issue.State = states().Draw(t, "state")
	if often(t, "has priority") {
		priority := rapid.IntRange(-1, 6).Draw(t, "priority")
		issue.Priority = &priority
	}
	if often(t, "has date") {
		issue.CreatedAt = noon.Add(-time.Duration(rapid.IntRange(0, 3).Draw(t, "age")) * time.Hour)
	}
	if !often(t, "well formed") {
		issue.Title = " "
	}
	if !often(t, "labelled") {
		issue.Labels = []string{"", "agents"}
	}
	if rapid.Bool().Draw(t, "risky") {
		issue.Labels = append(issue.Labels, "risky")
	}
	issue.Dispatchable = often(t, "dispatchable")
	if !often(t, "unblocked") {
		issue.BlockedBy = []tracker.Blocker{{State: "done"}, {Identifier: "ABC-99", State: states().Draw(t, "blocker")}}
	}
	return issue
}

func genClaim(t *rapid.T, f fixture, issue tracker.Issue) {
	phase := rapid.SampledFrom([]schedule.Phase{
		schedule.Waiting, schedule.Running, schedule.Parked, schedule.Stopping,
	}).Draw(t, "phase")
	ago := func(label string) time.Time {
		return f.now.Add(-time.Duration(rapid.IntRange(0, 1200).Draw(t, label)) * time.Second)
	}
	f.claim(issue, phase, func(c *schedule.Claim) {
		c.Since = ago("since")
		c.State = states().Draw(t, "state as remembered")
		c.Content = rapid.SampledFrom([]string{c.Content, "", "other"}).Draw(t, "content as remembered")
		c.Attempt = rapid.IntRange(0, 3).Draw(t, "attempt")
		c.Failures = rapid.IntRange(0, c.Attempt).Draw(t, "failures")
		c.Tokens = rapid.Int64Range(0, 1100).Draw(t, "tokens")
		c.Feedback = !often(t, "not for feedback")
		c.Idle = rapid.IntRange(0, 3).Draw(t, "idle")
		if holdsSlot(*c) {
			c.Owner = rapid.SampledFrom([]schedule.Owner{me, me, other, local, west, east}).Draw(t, "owner")
			c.Lease = ago("lease").Add(10 * time.Minute)
			if rapid.Bool().Draw(t, "heard") {
				c.Heard = ago("last heard")
			}
			if phase == schedule.Running && often(t, "in a turn") {
				c.TurnSince = ago("turn since")
			}
			c.Live = schedule.Usage{Input: rapid.Int64Range(0, c.Tokens).Draw(t, "live")}
		}
		if rapid.Bool().Draw(t, "on a worker host") {
			c.Host = rapid.SampledFrom(append([]string{"gone"}, workerHosts...)).Draw(t, "host")
			if !holdsSlot(*c) && !often(t, "its host was not cut off") {
				c.LostUntil = f.now.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "cut off")) * time.Second)
			}
		}
		if phase == schedule.Waiting {
			c.Due = f.now.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "due")) * time.Minute)
		}
	})
}

// genFixture draws any fixture: issues that are listed, claimed, both or neither; each
// unchanged, edited, gone or not read since.
func genFixture(t *rapid.T) fixture {
	f := simple()
	f.policy = genPolicy(t)
	for n := range rapid.IntRange(0, 10).Draw(t, "issues") {
		issue := genIssue(t, n)
		refresh := []string{"not read", "not read", "not read", "read", "gone"}
		if rapid.Bool().Draw(t, "claimed") {
			genClaim(t, f, issue)
			refresh = []string{"read", "read", "read", "gone", "not read"}
		}
		switch rapid.SampledFrom(refresh).Draw(t, "refresh") {
		case "read":
			known := issue
			if !often(t, "read as listed") {
				known.State = states().Draw(t, "state as read")
			}
			f.snap.Claimed[issue.ID] = &known
		case "gone":
			f.snap.Claimed[issue.ID] = nil
		}
		if often(t, "listed") {
			f.snap.Candidates = append(f.snap.Candidates, issue)
			if !often(t, "listed once") {
				f.snap.Candidates = append(f.snap.Candidates, issue)
			}
		}
	}
	if f.snap.Candidates != nil {
		f.snap.Candidates = rapid.Permutation(f.snap.Candidates).Draw(t, "candidates")
	}
	if rapid.Bool().Draw(t, "sorted") {
		f.snap.Candidates = schedule.Sorted(f.snap.Candidates, schedule.Compare)
	}
	f.state.Reserves = map[schedule.Owner]schedule.Reserve{west: {Fleet: "west"}, east: {Fleet: "east"}}
	genTalks(t, &f)
	f.state.Hosts = rapid.MapOf(rapid.SampledFrom(workerHosts), rapid.Custom(func(t *rapid.T) schedule.HostState {
		until := noon.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, "left alone")) * time.Second)
		return schedule.HostState{Until: until, Failures: rapid.IntRange(1, 4).Draw(t, "failures"), Why: "refused"}
	})).Draw(t, "failed hosts")
	genLimits(t, f.state)
	if !often(t, "no hold") {
		f.snap.Hold = schedule.Why{Reason: schedule.OnHold, Detail: "WORKFLOW.md cannot be read"}
	}
	return f
}

// genTalks draws deliveries, and the unanswered feedback that was read.
func genTalks(t *rapid.T, f *fixture) {
	if !rapid.Bool().Draw(t, "conversations") {
		return
	}
	f.snap.Feedback, f.snap.Steerable = map[tracker.ID]schedule.Feedback{}, map[tracker.ID]bool{}
	f.state.Conversations = map[tracker.ID]schedule.Conversation{}
	mark := func(label string) schedule.Mark {
		return schedule.Mark{At: noon.Add(-time.Duration(rapid.IntRange(0, 3).Draw(t, label)) * time.Minute)}
	}
	for n := range 10 {
		id := todo(n).ID
		c, claimed := f.state.Claims[id]
		if rapid.Bool().Draw(t, "delivered") {
			f.state.Deliver(id, schedule.Delivery{Identifier: todo(n).Identifier, Branch: "b", Number: n + 1})
		} else if !claimed {
			continue
		}
		f.state.Conversations[id] = schedule.Conversation{
			ReadUpTo: mark("heard"), PromptedUpTo: mark("given"), ParkedUpTo: mark("parked"), CommandsUpTo: mark("obeyed"),
			Closed: c.Phase == schedule.Parked && !often(t, "not closed"),
			Rounds: rapid.IntRange(0, 3).Draw(t, "rounds"), CheckRounds: rapid.IntRange(0, 3).Draw(t, "check rounds"),
			Thread: rapid.SampledFrom([]string{"", "t"}).Draw(t, "thread"), Sessions: rapid.IntRange(0, 2).Draw(t, "sessions"),
			Tokens: rapid.Int64Range(0, 1100).Draw(t, "tokens"),
			Labels: rapid.SampledFrom([][]string{nil, {"agent"}, {"agent", "risky"}}).Draw(t, "labels of its last session"),
		}
		if often(t, "conversation read") {
			f.snap.Feedback[id] = genFeedback(t, mark)
		}
		if c.Owner == me && rapid.Bool().Draw(t, "steerable") {
			f.snap.Steerable[id] = true
		}
	}
	f.snap.Feedback = f.judged()
}

func genFeedback(t *rapid.T, mark func(string) schedule.Mark) schedule.Feedback {
	f := schedule.Feedback{Mark: mark("mark"), CommandsUpTo: mark("obeyed by then"), Summary: "1 comment by kim", By: "kim"}
	f.Round = rapid.SampledFrom([]schedule.Round{schedule.RoundSaid, "", schedule.RoundChecks}).Draw(t, "round")
	if f.Round == schedule.RoundSaid && rapid.Bool().Draw(t, "news") {
		f.News = "1 comment by lee"
	}
	f.Fresh = f.Round == schedule.RoundSaid && rapid.Bool().Draw(t, "fresh")
	f.Command = rapid.SampledFrom([]schedule.Command{
		"", "", "", schedule.CommandRetry, schedule.CommandResume, schedule.CommandStop, schedule.CommandPark,
	}).Draw(t, "command")
	f.Pull = rapid.SampledFrom([]schedule.PullState{schedule.PullOpen, "", schedule.PullMerged, schedule.PullClosed}).Draw(t, "pull")
	return f
}

// genLimits draws what may forbid every start.
func genLimits(t *rapid.T, s *schedule.State) {
	s.Tick.Sessions = rapid.IntRange(0, 3).Draw(t, "started in this tick")
	s.Tick.Usage.Output = rapid.Int64Range(0, 2100).Draw(t, "tokens of this tick")
	s.Days = []schedule.Day{
		{Date: "2026-03-09", Usage: schedule.Usage{Input: 9000}},
		{Date: "2026-03-10", Usage: schedule.Usage{Input: rapid.Int64Range(0, 5100).Draw(t, "tokens of today")}},
	}
	if !often(t, "no pause") {
		s.Pause = schedule.Pause{
			Why: "the key was refused", Since: noon.Add(-time.Hour),
			Until: noon.Add(time.Duration(rapid.IntRange(-2, 1).Draw(t, "pause ends")) * time.Minute),
		}
		s.Tick.Paused = !often(t, "pause is of an earlier tick")
	}
}

// checkShape fails the test if the claim has fields that do not belong to its phase,
// or lacks fields that do.
func checkShape(t rapid.TB, c schedule.Claim) {
	t.Helper()
	slot := holdsSlot(c)
	for _, rule := range []struct {
		broken bool
		what   string
	}{
		{c.ID == "" || c.Identifier == "", "a claim has a name"},
		{c.Since.IsZero(), "a phase has begun"},
		{slot != (c.Owner != schedule.Owner{}), "an owner belongs to a session"},
		{slot == c.Lease.IsZero(), "a lease belongs to a session"},
		{c.Phase != schedule.Running && !c.TurnSince.IsZero(), "a turn belongs to a running session"},
		{!slot && (!c.Heard.IsZero() || c.Turns != 0 || !c.Live.IsZero()), "signs of life belong to a session"},
		{(c.Phase == schedule.Stopping) != (c.StopReason != ""), "a cause belongs to a stop"},
		{(c.Phase == schedule.Waiting) == c.Due.IsZero(), "a time belongs to a wait"},
		{(c.Phase == schedule.Running) != (c.Why == ""), "every claim except a running one says why"},
		{slot && !c.LostUntil.IsZero(), "a host that may still work belongs to a session that has ended"},
		{slices.Contains(c.Left, "") || slices.Contains(c.Left, c.Host), "workspaces are left on other hosts"},
		{c.Live.Total() > c.Tokens, "a session's tokens are the issue's"},
		{sumOf(c.Tariffs) > c.Tokens, "tokens by tariff are tokens of the issue"},
	} {
		if rule.broken {
			t.Fatalf("%s: %+v", rule.what, c)
		}
	}
}

// checkTalks fails the test if there is a conversation about an issue without a claim and
// a delivery.
func checkTalks(t rapid.TB, s *schedule.State) {
	t.Helper()
	for id, c := range s.Conversations {
		_, claimed := s.Claims[id]
		_, delivered := s.Deliveries[id]
		if !claimed && !delivered {
			t.Fatalf("a conversation about %s, which has neither a claim nor a delivery: %+v", id, c)
		}
	}
}

// delivered reports whether the work on an issue was published.
func (f fixture) delivered(id tracker.ID) bool {
	_, delivered := f.state.Deliveries[id]
	return delivered
}

// converse changes the conversation on an issue of a state.
func converse(s *schedule.State, id tracker.ID, change func(*schedule.Conversation)) {
	if talk, known := s.Conversations[id]; known {
		change(&talk)
		s.Conversations[id] = talk
	}
}
