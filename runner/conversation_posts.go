package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// postTime bounds everything that is posted about one issue at once. It is shorter than the
// time that is reserved before a deadline.
const postTime = 8 * time.Second

// maxPosts bounds the posts at once when many issues are parked, and the failures after which
// no more of them are told before the next poll: without a permission each would fail.
const maxPosts = 10

// maxWord bounds the words of a comment that the report repeats, in runes.
const maxWord = 40

// The keys of the program's comments. An issue or its pull request has one comment of each key,
// and one for each wait of the keys of a wait.
const (
	waitingKey  = "waiting"  // the issue waits for a person; the rest of the key tells one wait from another
	questionKey = "question" // the issue waits for an answer; the rest is the same
	roundKey    = "round"    // result of the latest feedback
	statusKey   = "status"   // answer to /symphony status
)

// post calls work in the background, to change something on the tracker or on GitHub. what is
// the name of the change, and no two of one name run at once. A failure is a warning, and the
// change is not tried again before the next poll. After a success done is called in the loop.
func (c *conversations) post(ctx context.Context, what string, work func(context.Context) error, done func()) {
	if c.posting[what] || c.failed[what] {
		return
	}
	c.posting[what] = true
	c.begin(func() func() {
		ctx, cancel := context.WithTimeout(ctx, postTime)
		defer cancel()
		err := work(ctx)
		if errors.Is(err, tracker.ErrInDoubt) { // a repeated post changes nothing
			err = work(ctx)
		}
		return func() { c.end(what, err, done) }
	})
}

func (c *conversations) end(what string, err error, done func()) {
	delete(c.posting, what)
	if len(c.posting) == 0 {
		defer c.tellNext()
	}
	if _, noLabel := errors.AsType[noLabelError](err); noLabel {
		c.warn(err.Error())
	} else if err != nil {
		c.failed[what] = true
		c.warnError(what, err)
		return
	}
	if done != nil {
		done()
	}
}

// answerOrders posts the results of commands to the people who gave them, after the state was
// saved.
func (c *conversations) answerOrders(ctx context.Context) {
	for id, r := range c.read {
		u := c.judge(id)
		if len(r.orders) == 0 || u.Feedback.Command != "" {
			continue // none, or one that waits for a session to end
		}
		if len(u.Orders) > 0 { // the plan does not need to know of them
			c.change(schedule.ConversationRead{ID: id, CommandsUpTo: &u.Feedback.CommandsUpTo})
		}
		orders := r.orders
		r.orders = nil
		for _, o := range orders {
			if !o.Known {
				c.warn(c.redact(fmt.Sprintf("%s: %s wrote /symphony %s, which is not a command: write one of %s after /symphony",
					c.nameOf(id), text.OneLine(o.By, maxWord), text.OneLine(o.Word, maxWord), strings.Join(feedback.Commands(), ", "))))
			}
		}
		d, pull, status := c.conn.Feedback, c.pullOf(id), c.statusOf(id)
		c.post(ctx, fmt.Sprintf("answer the commands on %s", c.nameOf(id)), func(ctx context.Context) error {
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

func (c *conversations) statusOf(id tracker.ID) string {
	s := feedback.Standing{Why: "no session works on it, and nothing is due", GoOn: c.comments().GoOn()}
	var used schedule.Usage
	if claim, claimed := c.state.Claims[id]; claimed {
		s.Phase, s.Why, s.Owner, s.Due, s.Sessions, used = claim.Phase, c.redact(claim.Why), claim.Owner, claim.Due, claim.Sessions, claim.Spent()
	} else {
		talk := c.state.Conversations[id]
		s.Sessions, used = talk.Sessions, schedule.Usage{Input: talk.Tokens, Tariffs: talk.Tariffs}
	}
	s.Tokens = used.Total()
	if prices := c.policy().Budget.Prices; len(prices) > 0 {
		s.Cost = ", " + prices.Of(used).String()
	}
	if d, delivered := c.state.Deliveries[id]; delivered {
		s.URL = d.URL
	}
	return c.redact(s.Text(time.Now()))
}

// tellOfParked posts, where the people of an issue look, that a parked issue waits for
// them, once for each reason, and later that it goes on. It also adds and removes the
// label of parked issues. When many wait, the rest are told as the first are done.
func (c *conversations) tellOfParked(ctx context.Context) {
	d := c.conn.Feedback
	if d == nil || d.Writer == nil {
		return
	}
	c.untold = nil
	for id, talk := range c.state.Conversations {
		claim := c.state.Claims[id]
		waits, text := claim.Phase == schedule.Parked, ""
		if waits {
			text = c.redact(feedback.Waiting(c.redact(claim.Why), c.redact(talk.Asked), c.comments().GoOn()))
		}
		mark := waitMark(claim, talk.Asked, text)
		if talk.Posted == mark {
			continue
		}
		what, key := "waits for them", mark
		if !waits {
			what, key, text = "goes on", talk.Posted, feedback.GoesOn
			if !strings.HasPrefix(key, waitingKey+"-") && !strings.HasPrefix(key, questionKey+"-") {
				key = waitingKey // an older version had one comment for all waits
			}
		}
		// A question stays as it was asked, above its answer.
		silent := !waits && strings.HasPrefix(key, questionKey+"-")
		pull, label := c.pullOf(id), c.wf.Settings.Feedback.Label
		c.untold = append(c.untold, func() {
			if c.state.Conversations[id].Posted == mark {
				return // it was being told when this was noted
			}
			c.post(ctx, fmt.Sprintf("tell the people of %s that it %s", c.nameOf(id), what), func(ctx context.Context) error {
				if !silent {
					if err := d.Say(ctx, id, pull, key, text); err != nil && !errors.Is(err, tracker.ErrNotVisible) {
						return err
					}
				}
				return setLabel(ctx, d, id, label, waits)
			}, func() {
				c.change(schedule.ConversationRead{ID: id, Posted: &mark})
			})
		})
	}
	c.tellNext()
}

// tellNext posts the texts that tellOfParked has noted, a few at once. It makes no round, and
// so no save, for each few.
func (c *conversations) tellNext() {
	for len(c.untold) > 0 && len(c.posting) < maxPosts {
		switch {
		case c.stopped:
			c.untold = nil
			return
		case len(c.failed) >= maxPosts:
			c.warn(fmt.Sprintf("could not comment on %d issues; the rest wait for the next tick", maxPosts))
			c.untold = nil
			return
		}
		tell := c.untold[0]
		c.untold = c.untold[1:]
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
func setLabel(ctx context.Context, d *feedback.Channel, id tracker.ID, label string, on bool) error {
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

// tellOfRound posts the result of a session on people's feedback when it has ended.
func (c *conversations) tellOfRound(w *worker, o schedule.Outcome, next schedule.Next) {
	if w.round == "" || c.conn.Feedback == nil {
		return
	}
	text := feedback.Result{
		Number: w.rounds, On: w.round, Outcome: o, Next: next,
		Delivers: c.delivers(), Before: w.head, Head: c.state.Deliveries[w.id].Head,
	}.Text()
	d, pull := c.conn.Feedback, c.pullOf(w.id)
	c.post(w.speak, fmt.Sprintf("tell the people of %s what became of their feedback", c.nameOf(w.id)), func(ctx context.Context) error {
		return d.Say(ctx, w.id, pull, roundKey, c.redact(text))
	}, nil)
}

// finish finishes the issue of a merged or closed pull request in its tracker, and removes the
// branch.
func (c *conversations) finish(ctx context.Context, d schedule.Decision) {
	branch, head, state := "", "", ""
	if pull := c.pull(d.ID); pull != nil && d.Feedback.Pull == schedule.PullMerged && d.Clean {
		branch, head = pull.Branch, pull.Head // GitHub's own answer, which is the branch of the issue
	}
	if d.Move {
		state = c.wf.Settings.Delivery.MergedState
	}
	channel, ended := c.conn.Feedback, d.EndedAt(time.Now())
	c.post(ctx, fmt.Sprintf("finish %s", c.nameOf(d.ID)), func(ctx context.Context) error {
		return channel.Merged(ctx, d.ID, branch, head, state)
	}, func() {
		c.change(schedule.Finished{ID: d.ID, Pull: d.Feedback.Pull, At: ended})
		delete(c.read, d.ID)
		c.issues.doubt(d.ID)
		c.replan = true
	})
}
