package schedule_test

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// TestFeedbackComesToAnEnd lets people, checks and sessions do anything, and then nobody
// says anything more. If every session ends well, there is an end of sessions, and by then
// everything is answered that is not left to a person or an issue that cannot be worked on.
func TestFeedbackComesToAnEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"plan":      func(t *rapid.T) { m.plan(t, m.truth()) },
			"say":       m.say,
			"pull":      m.pull,
			"deliver":   m.deliver,
			"interrupt": m.interrupt,
			"steered":   m.steered,
			"exit":      m.exit,
			"finished":  m.finished,
			"advance":   m.advance,
		})
		clear(m.sessions)
		m.runs = []schedule.Owner{{Run: "102"}}
		m.state.Self = m.runs[0]
		m.state.Adopt(all(m.state, schedule.Dead), m.policy, m.now)
		const most = 100
		for left := most; !m.handOver(t); left-- {
			if left == 0 {
				t.Fatalf("there are still sessions after %d ticks: %+v", most, m.state.Claims)
			}
		}
		for id, talk := range m.state.Conversations {
			f := feedback.Judge(m.said[id], talk, feedback.Rules{}, m.now).Feedback
			c, issue := m.state.Claims[id], m.shown(id)
			off := f.Round == schedule.RoundSaid && m.policy.MaxRounds == 0 || f.Round == schedule.RoundChecks && m.policy.MaxCheckRounds == 0
			if f.Round == "" || off || c.Phase == schedule.Parked || !m.policy.Answering().IneligibleToStart(*issue).None() {
				continue
			}
			if c.Phase == schedule.Waiting && !c.Feedback && !m.policy.IneligibleToStart(*issue).None() {
				continue
			}
			t.Fatalf("unanswered on %s: %+v\nclaim %+v\nconversation %+v", id, f, c, talk)
		}
	})
}

// handOver makes a tick in which every session ends well and hands its issue over. It
// reports whether nothing was decided.
func (m *machine) handOver(t *rapid.T) (quiet bool) {
	m.state.NewTick()
	m.pass(25 * time.Hour)
	m.snap = m.truth()
	quiet = len(m.fixture.plan()) == 0 && len(m.sessions) == 0
	m.plan(t, m.snap)
	for id, s := range maps.Clone(m.sessions) {
		for i := range m.issues {
			if m.issues[i].ID == id {
				m.issues[i].State = "Backlog"
			}
		}
		delete(m.sessions, id)
		if s.given.Round != "" {
			m.answered[id] = append(m.answered[id], s.given.Mark)
		}
		m.state.Exit(id, schedule.Outcome{Class: schedule.Done, Turns: 1, Issue: m.shown(id)}, m.policy, m.now)
	}
	m.finished(t)
	return quiet
}

func TestNoRoundIsBeyondItsLimit(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		decisions := f.plan()
		after := f.then(decisions).state.Conversations
		for _, d := range decisions {
			before := f.state.Conversations[d.ID]
			again := d.Feedback.Mark.Equal(before.PromptedUpTo) && !before.PromptedUpTo.Equal(before.ReadUpTo)
			if d.Action != schedule.Dispatch || again {
				continue
			}
			said, checks := d.Feedback.Round == schedule.RoundSaid, d.Feedback.Round == schedule.RoundChecks
			if talk := after[d.ID]; said && talk.Rounds > f.policy.MaxRounds || checks && talk.CheckRounds > f.policy.MaxCheckRounds {
				t.Fatalf("started a round of %s beyond its limit: %+v", d.ID, talk)
			}
		}
	})
}

// What lets a parked issue go on is a command, something that a person said later, an
// edit, a reopened pull request, or a check where the sessions had nothing left to do.
func TestAParkedIssueWaitsForAPerson(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		for _, d := range f.plan() {
			c, said := f.state.Claims[d.ID], f.snap.Feedback[d.ID]
			if d.Action != schedule.Free || c.Phase != schedule.Parked {
				continue
			}
			commanded := said.Command == schedule.CommandRetry || said.Command == schedule.CommandResume || d.Why.Reason == schedule.Changed
			idle := f.policy.Budget.IdleSessions > 0 && c.Idle >= f.policy.Budget.IdleSessions
			if !commanded && !said.Fresh && !(idle && said.Round == schedule.RoundChecks) || said.Pull == schedule.PullClosed && f.delivered(d.ID) {
				t.Fatalf("%s goes on, whose claim is %+v, because of %+v", d.ID, c, said)
			}
		}
	})
}

// TestAnEditDropsNoWordsOfPeople forbids the end of a claim with which its conversation would end.
func TestAnEditDropsNoWordsOfPeople(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		for _, d := range f.plan() {
			said, read := f.snap.Feedback[d.ID]
			waits := said.Round == schedule.RoundSaid && f.policy.MaxRounds > 0 || !read && f.snap.Feedback != nil
			if d.Action == schedule.Release && d.Why.Reason == schedule.Changed && waits && !f.delivered(d.ID) {
				t.Fatalf("the claim of %s is released, and with it what was said: %+v", d.ID, said)
			}
		}
	})
}

func TestNothingIsFinishedWhileASessionWorksOnIt(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		for _, d := range f.plan() {
			if d.Action != schedule.Finish {
				continue
			}
			if said := f.snap.Feedback[d.ID]; holdsSlot(f.state.Claims[d.ID]) || !f.delivered(d.ID) || said.Pull != schedule.PullMerged && said.Pull != schedule.PullClosed {
				t.Fatalf("finishes %s, whose claim is %+v, because of %+v", d.ID, f.state.Claims[d.ID], said)
			}
			if d.Move && stateIn(d.Issue.State, f.policy.TerminalStates) {
				t.Fatalf("moves %s, which is %q", d.ID, d.Issue.State)
			}
		}
	})
}

// TestNewsReachesTheSessionThatWorks gives it what people said since it began, unless a command or
// the end of the session comes first.
func TestNewsReachesTheSessionThatWorks(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		if f.snap.Feedback == nil {
			f.snap.Feedback, f.snap.Steerable = map[tracker.ID]schedule.Feedback{}, map[tracker.ID]bool{}
		}
		f.policy.MaxRounds = rapid.SampledFrom([]int{2, 0}).Draw(t, "rounds")
		for id, c := range f.state.Claims {
			if said := f.snap.Feedback[id]; often(t, "in a turn") && c.Phase == schedule.Running && c.Owner == me {
				c.TurnSince, f.snap.Steerable[id] = f.now, true
				said.Round, said.News = schedule.RoundSaid, "1 comment by lee"
				f.state.Claims[id], f.snap.Feedback[id] = c, said
			}
		}
		did := map[tracker.ID]schedule.Action{}
		for _, d := range f.plan() {
			if d.Action != schedule.Observe {
				did[d.ID] = d.Action
			}
		}
		for id, c := range f.state.Claims {
			said := f.snap.Feedback[id]
			wants := said.Round == schedule.RoundSaid && said.News != "" && (said.Command == "" || said.Command == schedule.CommandResume) && f.policy.MaxRounds > 0
			can := c.Phase == schedule.Running && c.Owner == me && f.snap.Steerable[id] && !c.TurnSince.IsZero()
			if steered := did[id] == schedule.Steer; steered != (wants && can && did[id] != schedule.Stop) {
				t.Fatalf("%q of %s, whose claim is %+v, for %+v", did[id], id, c, said)
			}
		}
	})
}
