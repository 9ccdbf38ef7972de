package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// talk is the conversation on one issue, which people hold while sessions work.
type talk struct {
	mu    sync.Mutex
	list  []tracker.Comment
	reads int
}

func (k *talk) say(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, tracker.Comment{ID: fmt.Sprint(len(k.list)), Author: "kim", Text: text, At: time.Now().Truncate(time.Second)})
}

func (k *talk) CommentsSince(context.Context, map[tracker.ID]time.Time) (map[tracker.ID]tracker.Comments, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads++
	return map[tracker.ID]tracker.Comments{"A-1": {List: append([]tracker.Comment(nil), k.list...)}}, nil
}

func (k *talk) React(context.Context, tracker.ID, string, tracker.Reaction) error { return nil }

// steered is a session that takes feedback while it works.
type steered struct {
	f      *fixture
	talk   *talk
	mu     sync.Mutex    // guards given
	given  []string      // what each session was given: at its begin, or later after "+"
	refuse error         // result of a steer
	takes  time.Duration // time until a steer is taken
	writer *notices
}

func newSteered(t *testing.T) *steered {
	f := newFixture(t, issue("A-1", "Todo"))
	f.flow.now.Settings.Policy.MaxRounds, f.flow.now.Settings.Policy.Stall = 5, 0
	return &steered{f: f, talk: &talk{}, writer: &notices{posted: map[tracker.ID]int{}}}
}

// tick runs a tick with this number of sessions on the issue. work is called in each, during its turn.
func (s *steered) tick(t *testing.T, sessions int, work func(n int)) []string {
	t.Helper()
	n := 0
	s.f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		n++
		text := ""
		for _, item := range job.Feedback {
			text += item.ID + item.Text
		}
		s.mu.Lock()
		s.given = append(s.given, text)
		at := len(s.given) - 1
		s.mu.Unlock()
		end := job.Steering.Serve(ctx, func(_ context.Context, items []prompt.Feedback) error {
			time.Sleep(s.takes)
			if s.refuse != nil {
				return s.refuse
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, item := range items {
				s.given[at] += "+" + item.ID + item.Text
			}
			return nil
		})
		report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true, Turn: schedule.TurnBegan, Turns: 1, Thread: "t"}})
		work(n)
		end()
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		if n < sessions {
			return schedule.Outcome{Class: schedule.Done, Thread: "t", Turns: 1}
		}
		return s.f.handOver(ctx, job, report)
	}
	r := s.f.run()
	r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
		return runner.Connection{Tracker: tracker.Adapter{Reader: s.f.board}, Workspaces: s.f.root, Feedback: &feedback.Channel{Issues: s.talk, Writer: s.writer}}, nil
	}
	tick, err := r.Run(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, s.f.log)
	}
	return tick.Notices
}

func (s *steered) check(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.given); diff != "" {
		t.Errorf("the sessions were given (-want +got):\n%s\n%s", diff, s.f.log)
	}
}

func TestWhatIsSaidReachesTheSessionInOnePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t)
		s.takes = time.Second
		notices := s.tick(t, 1, func(int) {
			time.Sleep(5 * time.Second)
			s.talk.say("blue")
			time.Sleep(time.Second)
			s.talk.say("no, green")
			time.Sleep(26 * time.Second) // the next poll was 30 s after the first
			s.check(t, "+1blue+2no, green")
			s.talk.say("thanks")
			time.Sleep(31 * time.Second)
		})
		s.check(t, "+1blue+2no, green+3thanks")
		if text := strings.Join(notices, "\n"); strings.Count(text, "A-1: its session was given, while it worked: ") != 2 {
			t.Errorf("the report says %q", text)
		}
		if s.talk.reads > 4 {
			t.Errorf("%d reads of the conversation in 62 s", s.talk.reads)
		}
	})
}

// A stop, a command and a server that refuses are no reason to lose a word, or to give it twice.
func TestWhatTheSessionDidNotTakeWaitsForTheNext(t *testing.T) {
	for name, test := range map[string]struct {
		said   string
		refuse error
		during time.Duration // time of the session after it was said
		takes  time.Duration
		want   []string
	}{
		"it is taken":           {"blue", nil, 40 * time.Second, time.Second, []string{"+1blue", ""}},
		"it is refused":         {"blue", errors.New("no"), 40 * time.Second, 0, []string{"", "1blue"}},
		"the turn ends before":  {"blue", nil, time.Second, 0, []string{"", "+1blue"}},
		"a command waits":       {"/symphony resume\nblue", nil, 40 * time.Second, 0, []string{"+1blue", ""}},
		"it is for the program": {"/symphony status", nil, 40 * time.Second, 0, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSteered(t)
				s.refuse, s.takes = test.refuse, test.takes
				s.tick(t, 2, func(n int) {
					if n == 1 {
						time.Sleep(2 * time.Second)
						s.talk.say(test.said)
						time.Sleep(test.during)
						return
					}
					time.Sleep(40 * time.Second)
				})
				s.check(t, test.want...)
			})
		})
	}
}

func TestATalkativePersonSteersASessionTenTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t)
		notices := s.tick(t, 2, func(n int) {
			for i := 0; n == 1 && i < 13; i++ {
				s.talk.say(fmt.Sprint("word ", i))
				time.Sleep(35 * time.Second)
			}
		})
		if len(s.given) != 2 || strings.Count(s.given[0], "+") < 10 || s.given[1] == "" || strings.Contains(s.given[0], "word 12") {
			t.Errorf("the sessions were given %q", s.given)
		}
		if !strings.Contains(strings.Join(notices, "\n"), "A-1: its session was given feedback 10 times: ") {
			t.Errorf("the report says %q", notices)
		}
	})
}
