package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/notify"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// chat is the side of the destinations: it keeps the events that each is told of.
type chat struct {
	mu    sync.Mutex
	told  []string // "HOST: EVENT ISSUE", in the order in which they came
	tries int
	fail  func(host string, r *http.Request) (*http.Response, error) // nil answers 200
}

func (c *chat) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.tries++
	fail := c.fail
	c.mu.Unlock()
	var message struct {
		Notices []struct {
			Event string `json:"event"`
			Issue string `json:"issue_identifier"`
			Said  string `json:"agent_says"`
		} `json:"notices"`
	}
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &message)
	}
	if err != nil {
		return nil, err
	}
	if fail != nil {
		if answer, err := fail(r.URL.Host, r); answer != nil || err != nil {
			return answer, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range message.Notices {
		c.told = append(c.told, strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", r.URL.Host, n.Event, n.Issue, n.Said)))
	}
	return answered(200), nil
}

func answered(status int) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("topSecret"))}
}

// since returns what was told since it was called last.
func (c *chat) since() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	c.told = nil
	slices.Sort(told)
	return told
}

// destination returns one that is told of events at a host of this name.
func destination(name string, events ...notify.Event) notify.Destination {
	return notify.Destination{Name: name, Kind: notify.Webhook, URL: "https://" + name + ".example/topSecret", Secret: "key", Events: events}
}

// withChat returns a fixture whose workflow has these destinations, and how to run a tick on it.
func withChat(t *testing.T, f *fixture, destinations ...notify.Destination) (*chat, func() (warnings []string)) {
	t.Helper()
	c := &chat{}
	f.web = c
	f.flow.now.Settings.Notify = workflow.Notify{Destinations: destinations, QuietDays: 3}
	return c, func() []string {
		t.Helper()
		tick, err := f.run().Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.log.String()+strings.Join(tick.Warnings, ""), "topSecret") || strings.Contains(f.log.String(), ".example") {
			t.Errorf("an address is in the log or the report: %s %q", f.log, tick.Warnings)
		}
		return tick.Warnings
	}
}

func expect(t *testing.T, c *chat, want ...string) {
	t.Helper()
	if got := c.since(); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// asks ends each session with a question.
func asks(question string) func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
	return func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
		passes(ctx, time.Second)
		return schedule.Outcome{Class: schedule.NeedsInput, Why: "it asks", Question: question, Turns: 1}
	}
}

func TestEachDestinationIsToldOfItsEventsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = asks("Which @colour?")
		c, tick := withChat(t, f, destination("team", notify.Question, notify.Parked), destination("ops", notify.Paused))
		tick()
		expect(t, c, "team.example: question A-1 Which @\u200bcolour?")
		tick()
		tick()
		expect(t, c) // nothing changed
		f.edit(func(s *schedule.State) {
			s.Pause = schedule.Pause{Why: "the disk is full", Since: time.Now(), Until: time.Now().Add(time.Hour), Cause: schedule.CauseDelivery}
		})
		tick()
		expect(t, c, "ops.example: paused")
		f.edit(func(s *schedule.State) { s.Pause.Since = s.Pause.Since.Add(time.Minute) }) // it failed again
		tick()
		expect(t, c)
		f.edit(func(s *schedule.State) { s.Pause = schedule.Pause{} })
		tick()
		f.edit(func(s *schedule.State) {
			s.Pause = schedule.Pause{Why: "the disk is full", Since: time.Now(), Until: time.Now().Add(time.Hour), Cause: schedule.CauseDelivery}
		})
		tick()
		expect(t, c, "ops.example: paused") // another one
	})
}

func TestADestinationThatIsNewIsNotToldWhatHoldsAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Policy.MaxPerTick = 1
		f.sessions = asks("Which?")
		_, tick := withChat(t, f)
		tick()
		c, tick := withChat(t, f, destination("team", notify.Question))
		f.flow.now.Settings.Policy.MaxPerTick = 0
		f.flow.now.Settings.Policy.MaxConcurrent = 0
		tick()
		expect(t, c)
		f.flow.now.Settings.Policy.MaxConcurrent = 10
		tick()
		expect(t, c, "team.example: question A-2 Which?")
	})
}

func TestADestinationThatIsOffInOneRunIsToldByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = asks("Which?")
		on, off := destination("team", notify.Question), destination("team", notify.Question)
		off.URL = ""
		f.flow.now.Settings.Policy.MaxConcurrent = 0
		_, tick := withChat(t, f, on)
		tick() // it is known now
		f.flow.now.Settings.Policy.MaxConcurrent = 10
		c, tick := withChat(t, f, off)
		tick()
		expect(t, c)
		c, tick = withChat(t, f, on)
		tick()
		expect(t, c, "team.example: question A-1 Which?")
	})
}

// TestADestinationThatRefusesIsToldThreeTimes also holds the tick to one warning and one try for
// each destination.
func TestADestinationThatRefusesIsToldThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1 // so that the second question comes after the first was refused
		f.sessions = asks("Which?")
		c, tick := withChat(t, f, destination("bad", notify.Question), destination("gone", notify.Question), destination("good", notify.Question))
		c.fail = func(host string, _ *http.Request) (*http.Response, error) {
			switch host {
			case "bad.example":
				return answered(503), nil
			case "gone.example":
				return nil, errors.New("dial tcp 10.0.0.1:443: https://gone.example/topSecret")
			}
			return nil, nil
		}
		for n, want := range []int{4, 2, 2, 2, 0} {
			c.tries = 0
			warnings := tick()
			if c.tries != want || want > 0 && (len(warnings) != 1 || !strings.Contains(warnings[0], "503 Service Unavailable") || !strings.Contains(warnings[0], "gone: it cannot be reached")) || want == 0 && len(warnings) > 0 {
				t.Errorf("tick %d: %d tries, want %d; warnings %q", n+1, c.tries, want, warnings)
			}
		}
		expect(t, c, "good.example: question A-1 Which?", "good.example: question A-2 Which?")
	})
}

func TestHostileDestinationsCostATickTwoSecondsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		f.sessions = asks("Which?")
		c, tick := withChat(t, f, destination("one", notify.Question), destination("two", notify.Question), destination("good", notify.Question))
		began := time.Now()
		tick()
		normal := time.Since(began)
		f.edit(func(s *schedule.State) { s.Claims, s.Conversations = map[tracker.ID]schedule.Claim{}, nil })
		c.since()
		c.fail = func(host string, r *http.Request) (*http.Response, error) {
			if host == "good.example" {
				return nil, nil
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		began = time.Now()
		warnings := tick()
		if more := time.Since(began) - normal; more > 2*time.Second+100*time.Millisecond {
			t.Errorf("it took %v more than without them", more)
		}
		if len(warnings) != 1 {
			t.Errorf("warnings %q", warnings)
		}
	})
}

// TestTwoRunsTellOnce has another run save while this one tells, and looks whether anybody is
// told again.
func TestTwoRunsTellOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = asks("Which?")
		c, tick := withChat(t, f, destination("team", notify.Question))
		c.fail = func(_ string, r *http.Request) (*http.Response, error) {
			f.edit(func(*schedule.State) {}) // another run saves meanwhile
			return nil, nil
		}
		tick()
		c.fail = nil
		tick()
		expect(t, c, "team.example: question A-1 Which?")
	})
}

func TestARunThatFailsAndDaysWithoutWorkAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		c, tick := withChat(t, f, destination("team", notify.RunFailed, notify.NothingWorked))
		tick()
		failing := func() {
			r := f.run()
			down := func() error { return errors.New("the tracker is down") }
			f.board.listed, f.board.read = down, down
			if _, err := r.Run(t.Context()); err == nil {
				t.Error("the run did not fail")
			}
			f.board.listed, f.board.read = nil, nil
		}
		failing()
		failing()
		expect(t, c, "team.example: run_failed")
		tick()
		failing()
		expect(t, c, "team.example: run_failed")
		time.Sleep(73 * time.Hour)
		tick()
		tick()
		expect(t, c, "team.example: nothing_worked")
		f.board.issues = append(f.board.issues, issue("A-1", "Todo"))
		tick() // it works
		time.Sleep(71 * time.Hour)
		tick()
		expect(t, c)
		time.Sleep(2 * time.Hour)
		tick()
		expect(t, c, "team.example: nothing_worked")
	})
}

// TestARunThatWasKilledIsTold has the next run find it, once until there was a run without it.
func TestARunThatWasKilledIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			return schedule.Outcome{Class: schedule.Transient, Why: "busy"}
		}
		c, tick := withChat(t, f, destination("team", notify.RunFailed))
		tick()
		killed := func() {
			f.edit(func(s *schedule.State) { s.Claims = map[tracker.ID]schedule.Claim{} })
			f.runBy(map[tracker.ID]string{"A-1": "7"})
			time.Sleep(time.Hour) // its lease ends
		}
		killed()
		tick()
		expect(t, c, "team.example: run_failed")
		killed()
		tick()
		expect(t, c)
		tick()
		killed()
		tick()
		expect(t, c, "team.example: run_failed")
	})
}

// TestAShardThatWasKilledIsTold by collect.
func TestAShardThatWasKilledIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.sessions = asks("Which?")
		c, _ := withChat(t, f.fixture, destination("team", notify.RunFailed))
		f.plan(2, 1)
		f.work(1)
		f.status[2] = schedule.Dead
		f.collect()
		expect(t, c, "team.example: run_failed")
	})
}

// TestOnlyCollectTellsWhatAFleetDid also collects again, as after a run that was repeated.
func TestOnlyCollectTellsWhatAFleetDid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.sessions = asks("Which?")
		c, _ := withChat(t, f.fixture, destination("team", notify.Question, notify.RunFailed))
		f.plan(2, 1)
		f.work(1)
		f.work(2)
		if c.tries != 0 {
			t.Errorf("a shard has told somebody: %q", c.told)
		}
		f.collect()
		expect(t, c, "team.example: question A-1 Which?", "team.example: question A-2 Which?")
		f.collect()
		if c.tries != 1 {
			t.Errorf("%d messages, want one with both questions", c.tries)
		}
	})
}
