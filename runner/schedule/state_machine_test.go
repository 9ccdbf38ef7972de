package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// TestClaimsSurviveAnySequenceOfEvents performs events in any order: plans with complete
// and failed reads, updates, deliveries and ends of sessions, runs that die or work at
// the same time, operators, edits, what people and checks say, pull requests, and time.
// After each step no issue has two sessions, no claim is malformed or lost, every delivery
// is as a session left it, each word of a person is given to a session once and to another one only
// after a failure, and none is taken as answered that was not given; if nothing fails from then
// on, every issue gets done.
func TestClaimsSurviveAnySequenceOfEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"plan":      func(t *rapid.T) { m.plan(t, m.observe(t)) },
			"heartbeat": m.heartbeat,
			"deliver":   m.deliver,
			"interrupt": m.interrupt,
			"steered":   m.steered,
			"exit":      m.exit,
			"crash":     m.crash,
			"switch":    m.switchRun,
			"adopt":     m.adopt,
			"retry":     m.retry,
			"release":   m.release,
			"advance":   m.advance,
			"edit":      m.edit,
			"say":       m.say,
			"pull":      m.pull,
			"finished":  m.finished,
			"tick":      func(*rapid.T) { m.state.NewTick() },
		})
		m.finish(t)
	})
}

// machine is a fixture with the truth beside it: the embedded state holds the
// beliefs of the runs, and the other fields hold the facts.
type machine struct {
	fixture
	issues   []tracker.Issue                   // issues in the tracker
	said     map[tracker.ID]feedback.Said      // conversations on them
	read     map[tracker.ID]feedback.Said      // when the conversations were read last
	answered map[tracker.ID][]schedule.Mark    // what was given to sessions that did not fail
	settled  map[string]bool                   // words that they were given
	sessions map[tracker.ID]session            // the processes, by issue
	left     map[tracker.ID]schedule.Delivery  // what sessions have published, or failed to
	runs     []schedule.Owner                  // alive
	merged   int                               // pull requests whose issues were finished
	ticks    map[schedule.Owner]schedule.Spent // what each run has spent
	born     int                               // number of runs so far
	cutOff   map[tracker.ID]time.Time          // until when the agent of a lost host may work on an issue
}

type session struct {
	owner schedule.Owner
	usage schedule.Usage
	given schedule.Feedback

	words    []string           // what people said, as far as it was given
	steering *schedule.Decision // it is being given; nil for nothing
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		fixture: simple(), sessions: map[tracker.ID]session{}, left: map[tracker.ID]schedule.Delivery{},
		said: map[tracker.ID]feedback.Said{}, answered: map[tracker.ID][]schedule.Mark{},
		settled: map[string]bool{}, cutOff: map[tracker.ID]time.Time{},
		runs: []schedule.Owner{me}, ticks: map[schedule.Owner]schedule.Spent{},
	}
	m.policy = genPolicy(t)
	m.policy.MaxConcurrent++ // otherwise nothing can be done
	m.policy.MaxPerTick++
	if often(t, "answers people") {
		m.policy.MaxRounds++
	}
	for state := range m.policy.MaxPerState {
		m.policy.MaxPerState[state]++
	}
	for n := range rapid.IntRange(1, 6).Draw(t, "issues") {
		m.issues = append(m.issues, genIssue(t, n))
	}
	return m
}

// observe reads the tracker; each of its two reads may fail.
func (m *machine) observe(t *rapid.T) schedule.Snapshot {
	before := m.read
	snap := m.truth()
	if !often(t, "list read") {
		snap.Candidates = nil
	}
	if !often(t, "claims read") {
		snap.Claimed = nil
	}
	switch rapid.SampledFrom([]string{"read", "as before", "not read"}).Draw(t, "conversations") {
	case "read":
	case "as before": // sessions have ended since, and conversations with their claims
		m.read = before
	default:
		m.read = nil
	}
	snap.Feedback = m.judged()
	return snap
}

// judged returns what is unanswered of what was read.
func (m *machine) judged() map[tracker.ID]schedule.Feedback {
	judged := map[tracker.ID]schedule.Feedback{}
	for id, said := range m.read {
		if talk, talks := m.state.Conversations[id]; talks {
			judged[id] = feedback.Judge(said, talk, feedback.Rules{}, m.now).Feedback
		}
	}
	return judged
}

// truth returns a snapshot in which all reads succeed.
func (m *machine) truth() schedule.Snapshot {
	snap := schedule.Snapshot{Candidates: slices.Clone(m.issues), Claimed: map[tracker.ID]*tracker.Issue{}}
	m.read = map[tracker.ID]feedback.Said{}
	snap.Steerable = map[tracker.ID]bool{}
	for id, s := range m.sessions {
		snap.Steerable[id] = s.steering == nil
	}
	for id := range m.state.Conversations {
		snap.Claimed[id] = m.shown(id)
		m.read[id] = m.said[id]
	}
	snap.Feedback = m.judged()
	return snap
}

func (m *machine) shown(id tracker.ID) *tracker.Issue {
	for _, issue := range m.issues {
		if issue.ID == id {
			return &issue
		}
	}
	return nil
}

func (m *machine) plan(t *rapid.T, snap schedule.Snapshot) {
	m.snap = snap
	for _, d := range m.fixture.plan() {
		c, claimed := m.state.Claims[d.ID]
		process, runs := m.sessions[d.ID]
		switch d.Action {
		case schedule.Dispatch:
			if runs {
				t.Fatalf("%s is started but already runs for %v", d.ID, process.owner)
			}
			if m.now.Before(m.cutOff[d.ID]) {
				t.Fatalf("%s is started while its agent may still work on %s", d.ID, c.Host)
			}
			given := d.Feedback
			if given.Round != "" && slices.ContainsFunc(m.answered[d.ID], given.Mark.Equal) {
				t.Fatalf("%s is started for what was answered: %+v", d.ID, given)
			}
			s := session{owner: m.state.Self, given: given}
			if given.Round != "" {
				s.words = m.newWords(t, d.ID, m.unanswered(d.ID).Items, s)
			}
			m.sessions[d.ID] = s
		case schedule.Steer:
			if !runs || process.owner != m.state.Self || process.steering != nil || c.Phase != schedule.Running {
				t.Fatalf("%s is steered, whose session is %+v", d.ID, process)
			}
			m.newWords(t, d.ID, m.unanswered(d.ID).News(), process)
			process.steering = &d
			m.sessions[d.ID] = process
			delete(m.snap.Steerable, d.ID)
		case schedule.Stop:
			if !runs || process.owner != m.state.Self {
				t.Fatalf("%s is stopped but is not ours", d.ID)
			}
		case schedule.Release:
			shown := m.shown(d.ID)
			policy := m.policy
			if c.Feedback {
				policy = policy.Answering()
			}
			wanted := shown != nil && stillActive(policy, *shown) && d.Why.Reason != schedule.Reopened
			changed := shown == nil || c.Content != "" && c.Content != shown.ContentDigest()
			if wanted && (c.Phase != schedule.Parked || !changed) {
				t.Fatalf("%s is released although nobody changed it: %+v", d.ID, d)
			}
		}
		if runs && slices.Contains([]schedule.Action{schedule.Park, schedule.Release, schedule.Finish}, d.Action) {
			t.Fatalf("%s of %s, which runs", d.Action, d.ID)
		}
		_, delivered := m.state.Deliveries[d.ID]
		if onlyClaimed := d.Action == schedule.Stop || d.Action == schedule.Release; !claimed && d.Action != schedule.Dispatch && (onlyClaimed || !delivered) {
			t.Fatalf("%s of %s, which is not claimed", d.Action, d.ID)
		}
		m.state.Apply(d, m.now)
	}
	m.snap.Feedback = m.judged()
	if again := m.fixture.plan(); len(again) > 0 {
		t.Fatalf("planned again: %+v", again)
	}
}

// unanswered returns what is unanswered of what was read about an issue.
func (m *machine) unanswered(id tracker.ID) feedback.Unanswered {
	return feedback.Judge(m.read[id], m.state.Conversations[id], feedback.Rules{}, m.now)
}

// newWords returns the words of people among items, none of which a session was given before, or one
// that did not fail.
func (m *machine) newWords(t *rapid.T, id tracker.ID, items []feedback.Item, s session) (words []string) {
	for _, item := range items {
		if item.URL == "" {
			continue // of a check
		}
		if m.settled[item.URL] || slices.Contains(s.words, item.URL) {
			t.Fatalf("%s: %q is given again to %+v", id, item.Text, s)
		}
		words = append(words, item.URL)
	}
	return words
}

// interrupt lets somebody say something about an issue in the middle of a turn.
func (m *machine) interrupt(t *rapid.T) {
	id, s := m.mine(t)
	m.state.Heartbeat(id, schedule.Update{Alive: true, Usage: s.usage, Turns: 1, Thread: "t", Turn: schedule.TurnBegan}, m.now)
	m.sayOf(t, id)
	m.plan(t, m.truth())
	if m.sessions[id].steering != nil && rapid.Bool().Draw(t, "at once") {
		m.take(t, id)
		m.plan(t, m.truth())
	}
}

// steered lets a session take what it is being given, or not.
func (m *machine) steered(t *rapid.T) {
	id, s := m.mine(t)
	if s.steering == nil {
		t.Skip("nothing is given")
	}
	m.take(t, id)
}

func (m *machine) take(t *rapid.T, id tracker.ID) {
	s := m.sessions[id]
	d := *s.steering
	s.steering = nil
	if often(t, "taken") {
		s.words = append(s.words, m.wordsUpTo(id, d.Feedback.Mark)...)
		schedule.Steered{ID: id, Session: m.state.Claims[id].Sessions, Mark: d.Feedback.Mark}.Apply(m.state, m.policy)
	}
	m.sessions[id] = s
}

// wordsUpTo returns the unanswered words of people that the mark covers and the session of an issue was not
// given before.
func (m *machine) wordsUpTo(id tracker.ID, to schedule.Mark) (words []string) {
	before := feedback.Judge(m.said[id], m.state.Conversations[id], feedback.Rules{}, m.now)
	talk := m.state.Conversations[id]
	talk.PromptedUpTo = to
	after := feedback.Judge(m.said[id], talk, feedback.Rules{}, m.now)
	var left []string
	for _, item := range after.News() {
		left = append(left, item.URL)
	}
	for _, item := range before.News() {
		if !slices.Contains(left, item.URL) {
			words = append(words, item.URL)
		}
	}
	return words
}

// stillActive reports whether a session on the issue may continue.
func stillActive(p schedule.Policy, issue tracker.Issue) bool {
	issue.BlockedBy, issue.Title = nil, "any"
	return p.IneligibleToStart(issue).None()
}

// mine draws a session of the run that plans, and skips the step if it has none.
func (m *machine) mine(t *rapid.T) (tracker.ID, session) {
	var ids []tracker.ID
	for id, s := range m.sessions {
		if s.owner == m.state.Self {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		t.Skip("no session")
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "session")
	return id, m.sessions[id]
}

func (m *machine) heartbeat(t *rapid.T) {
	id, s := m.mine(t)
	s.usage.Input += rapid.Int64Range(0, 400).Draw(t, "tokens")
	m.sessions[id] = s
	m.counted(t, s.usage.Input-m.state.Claims[id].Live.Input, func() {
		m.state.Heartbeat(id, schedule.Update{
			Alive: true, Usage: s.usage, Turns: 1, Thread: "t",
			Turn: rapid.SampledFrom([]schedule.TurnSign{0, schedule.TurnBegan, schedule.TurnEnded}).Draw(t, "turn"),
		}, m.now)
	})
}

// deliver records where a session is about to push, or has pushed.
func (m *machine) deliver(t *rapid.T) {
	id, _ := m.mine(t)
	d := schedule.Delivery{Identifier: m.state.Claims[id].Identifier, Branch: "symphony/x", Refused: m.left[id].Refused}
	if d.Pushing = "begun"; rapid.Bool().Draw(t, "pushed") {
		d.Head, d.Pushing, d.At = "new", "", m.now
	}
	m.left[id] = d
	m.state.Deliver(id, d)
}

func (m *machine) exit(t *rapid.T) {
	id, s := m.mine(t)
	o := schedule.Outcome{
		Class: rapid.SampledFrom([]schedule.Class{
			schedule.Done, schedule.IssueFailed, schedule.Stopped, schedule.Transient, schedule.ThreadLost, schedule.Systemic, schedule.NeedsInput, schedule.HostLost,
		}).Draw(t, "class"),
		Why: "as drawn", Usage: s.usage,
		Turns: rapid.IntRange(0, 2).Draw(t, "turns"), Idle: rapid.Bool().Draw(t, "idle"),
	}
	o.CutOff = o.Class == schedule.HostLost && rapid.Bool().Draw(t, "cut off")
	if rapid.Bool().Draw(t, "read after") {
		o.Issue = m.shown(id)
		o.Gone = o.Issue == nil
	}
	if !often(t, "no time given") {
		o.RetryAt = m.now.Add(time.Duration(rapid.IntRange(-60, 600).Draw(t, "minutes")) * time.Minute)
	}
	if d, known := m.left[id]; !rapid.Bool().Draw(t, "no work") {
		if o.Delivered = rapid.Bool().Draw(t, "delivered"); !o.Delivered {
			o.Refused = "as drawn"
		}
		if d.Refused = o.Refused; d.Identifier == "" {
			d.Identifier = m.state.Claims[id].Identifier
		}
		if known || o.Refused != "" {
			m.left[id] = d
		}
	}
	if s.given.Round != "" && (o.Class == schedule.Done || o.Class == schedule.NeedsInput) {
		m.answered[id] = append(m.answered[id], s.given.Mark)
	}
	if o.Class == schedule.Done || o.Class == schedule.NeedsInput {
		for _, word := range s.words {
			m.settled[word] = true
		}
	}
	delete(m.sessions, id)
	if o.CutOff {
		m.cutOff[id] = m.now.Add(schedule.HostNotice)
	}
	defer m.checkAnswered(t, id, s)()
	m.counted(t, s.usage.Input-m.state.Claims[id].Live.Input, func() {
		next := m.state.Exit(id, o, m.policy, m.now)
		if c := m.state.Claims[id]; c.Phase != next.Phase || !c.Due.Equal(next.Due) {
			t.Fatalf("Exit says %+v and leaves %+v", next, c)
		}
	})
}

// checkAnswered returns a function that tests that the words which the end of a session has answered
// were given to it.
func (m *machine) checkAnswered(t *rapid.T, id tracker.ID, s session) func() {
	open := func() (words []string) {
		for _, item := range feedback.Judge(m.said[id], m.state.Conversations[id], feedback.Rules{}, m.now).Items {
			words = append(words, item.URL)
		}
		return words
	}
	before := open()
	return func() {
		if _, talks := m.state.Conversations[id]; !talks {
			return
		}
		after := open()
		for _, word := range before {
			if word != "" && !slices.Contains(after, word) && !slices.Contains(s.words, word) {
				t.Fatalf("%s: %q counts as answered, and its session was given %q", id, word, s.words)
			}
		}
	}
}

// counted checks that event adds the given number of tokens to the tick and the day.
func (m *machine) counted(t *rapid.T, want int64, event func()) {
	tick, day := m.state.Tick.Usage, m.state.SpentToday(m.now).Usage
	event()
	tickNow, dayNow := m.state.Tick.Usage, m.state.SpentToday(m.now).Usage
	if tickNow.Total()-tick.Total() != want || dayNow.Total()-day.Total() != want {
		t.Fatalf("the tick went from %v to %v and the day from %v to %v, want %d more", tick, tickNow, day, dayNow, want)
	}
}

// crash kills the run that plans, with its sessions. Then another one plans.
func (m *machine) crash(t *rapid.T) {
	m.kill(m.state.Self)
	m.switchRun(t)
}

func (m *machine) kill(owner schedule.Owner) {
	m.runs = slices.DeleteFunc(m.runs, func(o schedule.Owner) bool { return o == owner })
	maps.DeleteFunc(m.sessions, func(id tracker.ID, s session) bool {
		if s.owner == owner && m.state.Claims[id].Host != "" {
			m.cutOff[id] = m.now.Add(30 * time.Second)
		}
		return s.owner == owner
	})
}

// switchRun lets another run plan, a living or a new one. This one stays alive.
func (m *machine) switchRun(t *rapid.T) {
	m.ticks[m.state.Self] = m.state.Tick
	n := rapid.IntRange(0, len(m.runs)).Draw(t, "run")
	if n == len(m.runs) {
		m.born++
		m.runs = append(m.runs, schedule.Owner{Run: "101", Attempt: m.born})
	}
	m.state.Self = m.runs[n]
	m.state.Tick = m.ticks[m.state.Self]
}

// adopt asks for the status of the other runs, unless they cannot be asked.
func (m *machine) adopt(t *rapid.T) {
	unknown := !often(t, "runs can be asked")
	lives := map[schedule.Owner]schedule.OwnerStatus{}
	for _, o := range m.state.Orphans() {
		switch {
		case unknown:
		case slices.Contains(m.runs, o):
			lives[o] = schedule.Alive
		default:
			lives[o] = schedule.Dead
		}
	}
	m.state.Adopt(lives, m.policy, m.now)
}

func (m *machine) retry(t *rapid.T) {
	issue := rapid.SampledFrom(m.issues).Draw(t, "issue")
	c, claimed := m.state.Claims[issue.ID]
	if done := m.state.Retry(issue.ID, m.now); done != (claimed && !holdsSlot(c)) {
		t.Fatalf("Retry returned %v for %+v", done, c)
	}
}

func (m *machine) release(t *rapid.T) {
	issue := rapid.SampledFrom(m.issues).Draw(t, "issue")
	c, claimed := m.state.Claims[issue.ID]
	if done := m.state.Release(issue.ID); done != (claimed && !holdsSlot(c)) {
		t.Fatalf("Release returned %v for %+v", done, c)
	} else if done {
		delete(m.cutOff, issue.ID) // the operator knows what works on it
	}
}

// advance lets time pass, in which every living run renews its leases.
func (m *machine) advance(t *rapid.T) {
	m.pass(rapid.SampledFrom([]time.Duration{
		time.Second, 10 * time.Second, 6 * time.Minute, 20 * time.Minute, 13 * time.Hour,
	}).Draw(t, "time"))
}

func (m *machine) pass(d time.Duration) {
	self := m.state.Self
	for end := m.now.Add(d); m.now.Before(end); {
		m.now = m.now.Add(min(4*time.Minute, end.Sub(m.now)))
		for _, owner := range m.runs {
			m.state.Self = owner
			m.state.Renew(m.policy, m.now)
		}
	}
	m.state.Self = self
}

func (m *machine) edit(t *rapid.T) {
	n := rapid.IntRange(0, len(m.issues)-1).Draw(t, "issue")
	m.issues[n] = genIssue(t, n)
}

// say lets somebody say something about an issue.
func (m *machine) say(t *rapid.T) {
	m.sayOf(t, rapid.SampledFrom(m.issues).Draw(t, "issue").ID)
}

func (m *machine) sayOf(t *rapid.T, id tracker.ID) {
	c := tracker.Comment{ID: fmt.Sprint(m.now.UnixNano(), len(m.said[id].Comments.List)), Author: "kim", At: m.now}
	c.URL = "https://example.org/" + string(id) + "/" + c.ID
	c.Text = rapid.SampledFrom([]string{
		"Why?", "No.", "/symphony stop", "/symphony park\nIt is wrong.", "/symphony retry", "/symphony resume\nSorry.", "/symphony status", "/symphony sing",
	}).Draw(t, "text")
	if !often(t, "trusted") {
		c.Distrust = "without write access"
	}
	w := m.said[id]
	w.Comments.List = append(slices.Clone(w.Comments.List), c)
	m.said[id] = w
}

// pull changes the pull request of an issue.
func (m *machine) pull(t *rapid.T) {
	id := rapid.SampledFrom(m.issues).Draw(t, "issue").ID
	w := m.said[id]
	w.Pull = &feedback.Pull{
		State: rapid.SampledFrom([]schedule.PullState{schedule.PullOpen, schedule.PullOpen, schedule.PullMerged, schedule.PullClosed}).Draw(t, "state"),
		Head:  fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "head")), Base: "main", Conflicts: !often(t, "no conflict"),
	}
	w.Pull.Ours = w.Pull.Head
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"lint", "test"}), 0, 2, rapid.ID).Draw(t, "failed") {
		w.Pull.Checks = append(w.Pull.Checks, feedback.Check{Name: name, Conclusion: "failure", At: m.now})
	}
	m.said[id] = w
}

// finished performs what the plan has decided to finish.
func (m *machine) finished(*rapid.T) {
	for id := range m.state.Finishing {
		if _, delivered := m.state.Deliveries[id]; delivered {
			m.merged++
		}
		m.state.Finished(id, schedule.PullMerged, m.now)
		delete(m.left, id)
		delete(m.said, id)
	}
}

// check tests what must hold after every step.
func (m *machine) check(t *rapid.T) {
	for id, c := range m.state.Claims {
		checkShape(t, c)
		s, runs := m.sessions[id]
		if holdsSlot(c) && slices.Contains(m.runs, c.Owner) && (!runs || s.owner != c.Owner) {
			t.Fatalf("%s is marked as running for %v but has no session", id, c.Owner)
		}
	}
	for id, s := range m.sessions {
		if c := m.state.Claims[id]; !holdsSlot(c) || c.Owner != s.owner {
			t.Fatalf("%s runs for %v but its claim is %+v", id, s.owner, c)
		}
	}
	for id, want := range m.left {
		if got := m.state.Deliveries[id]; got != want {
			t.Fatalf("the delivery of %s is %+v, want %+v", id, got, want)
		}
	}
	if len(m.state.Deliveries) != len(m.left) {
		t.Fatalf("deliveries that nobody left: %+v", m.state.Deliveries)
	}
	m.checkConversations(t)
	m.checkEnds(t)
	explained := map[tracker.ID]bool{}
	for _, v := range schedule.Explain(m.state, m.truth(), m.policy, m.now) {
		explained[v.Issue.ID] = v.Action != "" || v.Why.String() != ""
	}
	for _, issue := range m.issues {
		if !explained[issue.ID] {
			t.Fatalf("Explain leaves out %s", issue.ID)
		}
	}
}

// checkEnds tests that each merge is recorded once, and that each parked issue was recorded.
func (m *machine) checkEnds(t *rapid.T) {
	ends, _ := m.state.AllEnds()
	merged, parked := 0, map[string]bool{}
	for _, e := range ends {
		switch e.End {
		case schedule.EndMerged:
			merged++
		case schedule.EndParked, schedule.EndClosed:
			parked[e.Issue] = true
		}
	}
	if merged != m.merged {
		t.Fatalf("%d merges are recorded, and there were %d", merged, m.merged)
	}
	for id, c := range m.state.Claims {
		if c.Phase == schedule.Parked && !parked[c.Identifier] {
			t.Fatalf("%s is parked, and that is not recorded: %+v", id, ends)
		}
	}
}

// checkConversations tests that there is a conversation about each issue with a claim or a
// delivery, that no rounds are started beyond their limits, and that nothing that counts as read can
// become unread.
func (m *machine) checkConversations(t *rapid.T) {
	checkTalks(t, m.state)
	for id := range m.state.Claims {
		if _, talks := m.state.Conversations[id]; !talks {
			t.Fatalf("no conversation about %s, which is claimed", id)
		}
	}
	for id := range m.state.Deliveries {
		if _, talks := m.state.Conversations[id]; !talks {
			t.Fatalf("no conversation about %s, which has a delivery", id)
		}
	}
	for id, c := range m.state.Conversations {
		if c.Rounds > m.policy.MaxRounds || c.CheckRounds > m.policy.MaxCheckRounds {
			t.Fatalf("too many rounds on %s: %+v", id, c)
		}
		if c.PromptedUpTo.At.Before(c.ReadUpTo.At) {
			t.Fatalf("a session on %s was given less than counts as read, which the end of that session would take back: %+v", id, c)
		}
	}
}

// finish lets everything succeed: claims of dead runs are adopted, every session does
// its work, and time passes. Then every eligible issue must be done, or parked.
func (m *machine) finish(t *rapid.T) {
	clear(m.sessions)
	m.policy.MaxOpen, m.policy.MaxOpenByLabel = 0, nil // nobody merges anything
	m.runs = []schedule.Owner{{Run: "102"}}
	m.state.Self = m.runs[0]
	m.state.Adopt(all(m.state, schedule.Dead), m.policy, m.now)
	for range 2*len(m.issues) + 2 { // a round ends at least one session, or finishes an issue
		m.state.NewTick()
		m.pass(25 * time.Hour)
		m.plan(t, m.truth())
		for id := range maps.Clone(m.sessions) {
			issue := m.shown(id)
			issue.State = "Done"
			m.issues[slices.IndexFunc(m.issues, func(i tracker.Issue) bool { return i.ID == id })] = *issue
			delete(m.sessions, id)
			m.state.Exit(id, schedule.Outcome{Class: schedule.Done, Turns: 1, Issue: issue}, m.policy, m.now)
		}
		m.finished(t)
		m.check(t)
	}
	m.plan(t, m.truth())
	for _, issue := range m.issues {
		if c := m.state.Claims[issue.ID]; m.policy.IneligibleToStart(issue).None() && c.Phase != schedule.Parked {
			t.Fatalf("%s is not done although nothing prevents it: %+v", issue.ID, c)
		}
	}
}
