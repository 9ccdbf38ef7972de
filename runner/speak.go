package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/discussion"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// speakTime bounds everything that is posted about one issue at once. It is shorter than
// what is reserved before a deadline.
const speakTime = 8 * time.Second

// maxPosts bounds what is posted at once when many issues are parked, and the failures after
// which no more of them are told before the next poll: without a permission each would fail.
const maxPosts = 10

// maxWord bounds what the report repeats of a comment, in runes.
const maxWord = 40

// The keys of the program's comments. There is one comment of each on an issue or its
// pull request, and of those of a wait one for each wait.
const (
	waitingKey  = "waiting"  // that the issue waits for a person; what follows tells one wait from another
	questionKey = "question" // the same for a question
	roundKey    = "round"    // what became of the latest feedback
	statusKey   = "status"   // the answer to /symphony status
)

// post calls work in the background, to change something on the tracker or on GitHub. what
// names the change, and no two of one name run at once. A failure is a warning, and the
// change is not tried again before the next poll. After a success done is called in the
// loop.
func (l *loop) post(ctx context.Context, what string, work func(context.Context) error, done func(*loop)) {
	t := &l.talks
	if t.posting == nil {
		t.posting = map[string]bool{}
	}
	if t.posting[what] || t.failed[what] {
		return
	}
	t.posting[what] = true
	l.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, speakTime)
		defer cancel()
		err := work(ctx)
		if errors.Is(err, tracker.ErrInDoubt) { // a repeated post changes nothing
			err = work(ctx)
		}
		l.send(posted{what, err, done})
	})
}

// posted is the message that something was posted, or was not.
type posted struct {
	what string
	err  error
	done func(*loop)
}

func (m posted) applyTo(l *loop) {
	delete(l.talks.posting, m.what)
	if len(l.talks.posting) == 0 {
		defer l.tellNext()
	}
	if _, noLabel := errors.AsType[noLabelError](m.err); noLabel {
		l.warn(m.err.Error())
	} else if m.err != nil {
		if l.talks.failed == nil {
			l.talks.failed = map[string]bool{}
		}
		l.talks.failed[m.what] = true
		l.warnError(m.what, m.err)
		return
	}
	if m.done != nil {
		m.done(l)
	}
}

// answerOrders posts to the people who gave commands what became of them, after the state
// was saved.
func (l *loop) answerOrders(ctx context.Context) {
	for id, n := range l.talks.news {
		if len(n.Orders) == 0 {
			continue
		}
		talk := l.state.Conversations[id]
		taken := n.Feedback.Command == "" || talk.Obeyed.Equal(n.Feedback.Obeyed) || talk.Heard.Equal(n.Feedback.Mark)
		if !taken {
			continue // it waits for a session to end
		}
		if n.Feedback.Command == "" && !talk.Heard.Equal(n.Feedback.Mark) { // what the plan does not need to know
			l.change(schedule.ConversationRead{ID: id, Obeyed: &n.Feedback.Obeyed})
		}
		orders := n.Orders
		for _, o := range orders {
			if !o.Known {
				l.warn(l.redact(fmt.Sprintf("%s: %s wrote /symphony %s, which is not a command: write one of %s after /symphony",
					l.nameOf(id), text.OneLine(o.By, maxWord), text.OneLine(o.Word, maxWord), strings.Join(feedback.Commands(), ", "))))
			}
		}
		n.Orders, n.Feedback.Command = nil, ""
		l.talks.news[id] = n
		d, pull, status := l.conn.Discussion, l.pullOf(id), l.statusOf(id)
		l.post(ctx, fmt.Sprintf("answer the commands on %s", l.nameOf(id)), func(ctx context.Context) error {
			for _, o := range orders {
				r := tracker.Obeyed
				if !o.Known {
					r = tracker.Unknown
				}
				if err := d.React(ctx, id, o, r); err != nil {
					return err
				}
				if o.Command == schedule.CommandStatus {
					if err := d.Say(ctx, id, pull, statusKey, status); err != nil {
						return err
					}
				}
			}
			return nil
		}, nil)
	}
}

// statusOf returns how an issue stands, for its people.
func (l *loop) statusOf(id tracker.ID) string {
	s := feedback.Standing{Why: "no session works on it, and nothing is due", GoOn: l.comments().GoOn()}
	if c, claimed := l.state.Claims[id]; claimed {
		s.Phase, s.Why, s.Owner, s.Due, s.Sessions, s.Tokens = c.Phase, l.redact(c.Why), c.Owner, c.Due, c.Sessions, c.Tokens
	} else {
		talk := l.state.Conversations[id]
		s.Sessions, s.Tokens = talk.Sessions, talk.Tokens
	}
	if d, delivered := l.state.Deliveries[id]; delivered {
		s.URL = d.URL
	}
	return l.redact(s.Text(time.Now()))
}

// speakOfParked posts, where the people of an issue look, that a parked issue waits for
// them, once for each reason, and later that it goes on. It also adds and removes the
// label of parked issues. When many wait, the rest are told as the first are done.
func (l *loop) speakOfParked(ctx context.Context) {
	d := l.conn.Discussion
	if d == nil || d.Writer == nil {
		return
	}
	l.talks.untold = nil
	for id, talk := range l.state.Conversations {
		c := l.state.Claims[id]
		waits, text := c.Phase == schedule.Parked, ""
		if waits {
			text = l.redact(feedback.Waiting(l.redact(c.Why), l.redact(talk.Asked), l.comments().GoOn()))
		}
		mark := waitMark(c, talk.Asked, text)
		if talk.Posted == mark {
			continue
		}
		what, key := "waits for them", mark
		if !waits {
			what, key, text = "goes on", talk.Posted, feedback.GoesOn
			if !strings.HasPrefix(key, waitingKey+"-") && !strings.HasPrefix(key, questionKey+"-") {
				key = waitingKey // of an older version, which had one comment for all waits
			}
		}
		// A question stays as it was asked, above its answer.
		silent := !waits && strings.HasPrefix(key, questionKey+"-")
		pull, label := l.pullOf(id), l.wf.Settings.Feedback.Label
		l.talks.untold = append(l.talks.untold, func() {
			if l.state.Conversations[id].Posted == mark {
				return // it was being told when this was noted
			}
			l.post(ctx, fmt.Sprintf("tell the people of %s that it %s", l.nameOf(id), what), func(ctx context.Context) error {
				if !silent {
					if err := d.Say(ctx, id, pull, key, text); err != nil && !errors.Is(err, tracker.ErrNotVisible) {
						return err
					}
				}
				return setLabel(ctx, d, id, label, waits)
			}, func(l *loop) {
				l.change(schedule.ConversationRead{ID: id, Posted: &mark})
			})
		})
	}
	l.tellNext()
}

// tellNext tells the people of issues what speakOfParked has noted, a few at once. It makes no
// round, and so no save, for each few.
func (l *loop) tellNext() {
	for len(l.talks.untold) > 0 && len(l.talks.posting) < maxPosts {
		switch {
		case l.tick.Stopped != "":
			l.talks.untold = nil
			return
		case len(l.talks.failed) >= maxPosts:
			l.warn(fmt.Sprintf("other issues are not told in this tick that they wait or go on, because this failed for %d: the next tick tries again", maxPosts))
			l.talks.untold = nil
			return
		}
		tell := l.talks.untold[0]
		l.talks.untold = l.talks.untold[1:]
		tell()
	}
}

// waitMark returns the key of the comment that says that an issue waits, which is empty if it
// does not. Each wait has a comment of its own, also if the text is the same: nobody is told
// of a comment that is edited, and a new question would stand above the answer to the old
// one.
func waitMark(c schedule.Claim, question, text string) string {
	if text == "" {
		return ""
	}
	key := waitingKey
	if question != "" {
		key = questionKey
	}
	return key + "-" + feedback.Digest(fmt.Sprintf("%d %s", c.Sessions, text))
}

// setLabel puts a label on an issue or takes it off. A label that the tracker does not
// have is not a failure to take off.
func setLabel(ctx context.Context, d *discussion.Discussion, id tracker.ID, label string, on bool) error {
	if label == "" {
		return nil
	}
	err := d.Writer.Label(ctx, id, label, on)
	switch {
	case errors.Is(err, tracker.ErrNotVisible), !on && errors.Is(err, tracker.ErrInvalidConfig):
		return nil
	case errors.Is(err, tracker.ErrInvalidConfig):
		return noLabelError{fmt.Errorf("feedback.label: %w; write label: \"\" to do without", err)}
	}
	return err
}

// noLabelError is the failure to put on a label that does not exist. Nothing would come
// of another try, and all else was posted.
type noLabelError struct{ error }

// speakOfRound posts what became of people's feedback when a session on it has ended.
func (l *loop) speakOfRound(m exited, next schedule.Next) {
	if m.round == "" || l.conn.Discussion == nil {
		return
	}
	text := feedback.Round{
		Number: m.rounds, On: m.round, Outcome: m.outcome, Next: next,
		Delivers: l.delivers(), Before: m.head, Head: l.state.Deliveries[m.id].Head,
	}.Text()
	d, pull := l.conn.Discussion, l.pullOf(m.id)
	l.post(m.speak, fmt.Sprintf("tell the people of %s what became of their feedback", l.nameOf(m.id)), func(ctx context.Context) error {
		return d.Say(ctx, m.id, pull, roundKey, l.redact(text))
	}, nil)
}

// finishMerged performs a Finish: what a merged or closed pull request leaves is removed,
// and the issue is finished in its tracker.
func (l *loop) finishMerged(ctx context.Context, d schedule.Decision) {
	if d.Clean {
		l.remove(workspace.Issue{ID: string(d.ID), Identifier: l.nameOf(d.ID)})
	}
	branch, head, state := "", "", ""
	if pull := l.talks.pulls[d.ID]; pull != nil && d.Feedback.Pull == schedule.PullMerged && d.Clean {
		branch, head = pull.Branch, pull.Head // as GitHub says, which is the issue's own
	}
	if d.Move {
		state = l.wf.Settings.Delivery.MergedState
	}
	talk := l.conn.Discussion
	l.post(ctx, fmt.Sprintf("finish %s", l.nameOf(d.ID)), func(ctx context.Context) error {
		return talk.Merged(ctx, d.ID, branch, head, state)
	}, func(l *loop) {
		l.change(schedule.Finished{ID: d.ID})
		delete(l.talks.news, d.ID)
		l.issues.doubt(d.ID)
		l.replan = true
	})
}
