package runner

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/notify"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// marked is a notifier over a state, without a run.
type marked struct {
	*notifier
	now time.Time
}

func newMarked() marked {
	c := &core{}
	c.state = schedule.New(schedule.Owner{})
	c.wf = workflow.Workflow{Path: "/shop/WORKFLOW.md", Settings: workflow.Settings{
		Delivery: workflow.Delivery{Kind: workflow.KindPullRequest},
		Policy:   schedule.Policy{Budget: schedule.Budget{TokensPerDay: 100}},
		Notify:   workflow.Notify{QuietDays: 7, Destinations: []notify.Destination{{Name: "team", Kind: notify.Slack, URL: "https://x.example/y", Events: notify.Events()}}},
	}}
	m := marked{&notifier{core: c, account: &account{core: c}, left: noticeTime}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	m.mark(m.now, nil, false, nil) // nothing holds yet
	return m
}

// news returns the events that a round of these decisions makes news.
func (m marked) news(decisions ...schedule.Decision) []notify.Event {
	return events(m.mark(m.now, decisions, false, nil))
}

func events(tellings []telling) (events []notify.Event) {
	for _, t := range tellings {
		for _, n := range t.notices {
			events = append(events, n.Event)
		}
	}
	return events
}

func TestADeliveryIsNewsWhenItIsPublishedAndWhenItIsMerged(t *testing.T) {
	t.Parallel()
	m := newMarked()
	d := schedule.Delivery{Identifier: "GH-7", Branch: "symphony/GH-7", Pushing: "c0ffee"}
	merge := schedule.Decision{Action: schedule.Finish, ID: "7", Feedback: schedule.Feedback{Pull: schedule.PullMerged}}
	for n, step := range []struct {
		change func()
		decide []schedule.Decision
		want   []notify.Event
	}{
		{func() {}, nil, nil}, // it is being pushed
		{func() { d.Pushing, d.Head = "", "c0ffee" }, nil, nil},
		{func() { d.Number, d.URL = 17, "https://github.com/acme/shop/pull/17" }, nil, []notify.Event{notify.Delivered}},
		{func() { d.Pushing = "facade" }, nil, nil},
		{func() { d.Head, d.Pushing = "facade", "" }, nil, nil},
		{func() { d.Refused = "it is too large" }, nil, nil},
		{func() { d.Refused = "" }, nil, nil},
		{func() {}, []schedule.Decision{{Action: schedule.Finish, ID: "7", Feedback: schedule.Feedback{Pull: schedule.PullClosed}}}, nil},
		{func() {}, []schedule.Decision{merge}, []notify.Event{notify.Merged}},
		{func() {}, []schedule.Decision{merge}, nil}, // it could not be finished
		{func() {}, nil, nil},
		{func() { d.Number, d.URL = 18, "https://github.com/acme/shop/pull/18" }, nil, []notify.Event{notify.Delivered}},
	} {
		step.change()
		m.state.Deliver("7", d)
		if got := m.news(step.decide...); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q is news, want %q", n, got, step.want)
		}
	}
	m.state.Deliver("7", schedule.Delivery{})
	if got := m.news(); len(got) > 0 || len(m.state.Told) != len(notify.Events()) {
		t.Errorf("%q is news, and %v stays", got, m.state.Told)
	}
}

func TestTheBudgetOfEachDayIsNews(t *testing.T) {
	t.Parallel()
	m := newMarked()
	for day, want := range [][]notify.Event{{notify.BudgetSpent}, {notify.BudgetSpent}, {notify.BudgetSpent}} {
		m.state.Days = []schedule.Day{{Date: m.now.Format(time.DateOnly), Usage: schedule.Usage{Input: 100}}}
		if got := m.news(); !slices.Equal(got, want) || len(m.news()) > 0 {
			t.Errorf("day %d: %q is news, want %q once", day, got, want)
		}
		m.now = m.now.Add(24 * time.Hour)
	}
	m.state.Days = nil
	m.state.Reserves = map[schedule.Owner]schedule.Reserve{{Shard: 1}: {Tokens: 100}}
	if got := m.news(); len(got) > 0 {
		t.Errorf("%q is news, and all is only reserved for a shard", got)
	}
}

// TestAnIssueThatAsksTheSameAgainIsNews has a session between the two questions.
func TestAnIssueThatAsksTheSameAgainIsNews(t *testing.T) {
	t.Parallel()
	m := newMarked()
	ask := func(id tracker.ID, phase schedule.Phase, sessions int, asked string) []notify.Event {
		m.state.Claims[id] = schedule.Claim{ID: id, Phase: phase, Sessions: sessions, Why: "it waits"}
		m.state.Conversations = map[tracker.ID]schedule.Conversation{id: {Asked: asked}}
		return m.news()
	}
	for n, step := range []struct {
		got  []notify.Event
		want []notify.Event
	}{
		{ask("7", schedule.Parked, 1, "Which?"), []notify.Event{notify.Question}},
		{ask("7", schedule.Parked, 1, "Which?"), nil},
		{ask("7", schedule.Running, 2, ""), nil},
		{ask("7", schedule.Parked, 2, "Which?"), []notify.Event{notify.Question}},
		{ask("7", schedule.Parked, 2, ""), []notify.Event{notify.Parked}},
	} {
		if !slices.Equal(step.got, step.want) {
			t.Errorf("step %d: %q is news, want %q", n, step.got, step.want)
		}
	}
}

func TestOnlyTheEndOfARunSaysWhetherItFailed(t *testing.T) {
	t.Parallel()
	m := newMarked()
	failure := errors.New("the tracker is down")
	for n, step := range []struct {
		ended   bool
		failure error
		want    []notify.Event
	}{
		{true, failure, []notify.Event{notify.RunFailed}},
		{false, nil, nil}, {true, failure, nil}, {true, nil, nil}, {false, nil, nil}, {true, failure, []notify.Event{notify.RunFailed}},
	} {
		if got := events(m.mark(m.now, nil, step.ended, step.failure)); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q is news, want %q", n, got, step.want)
		}
	}
}

// A service ends by a signal, which says nothing. So a session that ends well says that the failure
// of its start is over.
func TestAServiceThatWorksTellsOfTheNextFailure(t *testing.T) {
	t.Parallel()
	m := newMarked()
	m.lasts = true
	for n, step := range []struct {
		died   string
		worked bool
		want   []notify.Event
	}{
		{"run 7 was killed", false, []notify.Event{notify.RunFailed}},
		{"", false, nil}, {"run 8 was killed", false, nil}, {"", true, nil}, {"run 9 was killed", true, []notify.Event{notify.RunFailed}},
	} {
		if m.died = step.died; step.worked {
			m.worked = m.now
		}
		if got := m.news(); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q is news, want %q", n, got, step.want)
		}
	}
}
