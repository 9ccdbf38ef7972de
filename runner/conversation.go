package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/discussion"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// conversations holds what the loop knows about the conversations on issues. In the zero
// value nothing was read yet.
type conversations struct {
	news    map[tracker.ID]feedback.News // as last read
	pulls   map[tracker.ID]*feedback.Pull
	failed  map[string]bool // what could not be posted in this tick, and is not tried again
	posting map[string]bool // what is being posted
	untold  []func()        // tell people that an issue waits or goes on, when some of that is done

	nextRead time.Time                // before which a poll reads what people say only if an issue has changed
	updated  map[tracker.ID]time.Time // when the issues with a claim had changed last, at the last read
}

// listen reads what was said about the issues with a claim or a delivery (SPEC §8.1: part
// of a poll). If it cannot be read, the tick goes on without it.
func (l *loop) listen(ctx context.Context) {
	d := l.conn.Discussion
	l.talks.news, l.talks.pulls, l.talks.failed = map[tracker.ID]feedback.News{}, map[tracker.ID]*feedback.Pull{}, map[string]bool{}
	topics := l.topics()
	if d == nil || len(topics) == 0 || l.issues.unread != nil {
		return
	}
	heard, warnings, err := d.Read(ctx, topics)
	l.warn(warnings...)
	if err != nil {
		l.warnError("read what was said about the issues", err)
		return
	}
	now := time.Now()
	rules := feedback.Rules{Bots: l.wf.Settings.Feedback.Bots}
	var unknown []tracker.ID
	for _, t := range topics {
		h := heard[t.ID]
		talk := l.state.Conversations[t.ID]
		n := feedback.Read(h.World, talk, rules, now)
		l.talks.news[t.ID] = n
		if h.Pull != nil {
			l.talks.pulls[t.ID] = h.Pull
			if standing := h.Pull.Standing; standing != talk.Checks {
				l.change(schedule.ConversationRead{ID: t.ID, Checks: &standing})
			}
		}
		for _, sentence := range n.Ignored {
			l.warn(l.nameOf(t.ID) + ": " + sentence)
		}
		for _, sentence := range n.Changes {
			l.notice(l.nameOf(t.ID) + ": " + sentence)
			l.tick.Noted = true
		}
		if !slices.Equal(n.Read, talk.Read) {
			l.change(schedule.ConversationRead{ID: t.ID, Read: &n.Read})
		}
		if n.Settled && h.Pulled != "" && h.Pulled != talk.Pull {
			l.change(schedule.ConversationRead{ID: t.ID, Pull: &h.Pulled})
		}
		if _, claimed := l.state.Claims[t.ID]; !claimed && (n.Feedback.Round != "" || n.Feedback.Command != "" || n.Feedback.Pull == schedule.PullMerged || n.Feedback.Pull == schedule.PullClosed) {
			unknown = append(unknown, t.ID)
		}
	}
	if err := l.issues.readByID(ctx, unknown); err != nil {
		l.warnError("read the issues that have feedback", err)
	}
	for _, t := range topics {
		if l.pullOf(t.ID) != t.PullRequest { // the issue has another name than the state says
			delete(l.talks.news, t.ID)
			delete(l.talks.pulls, t.ID)
			l.warnForeign(t.ID)
		}
	}
}

// warnForeign warns that the delivery of an issue is not on the issue's own branch.
func (l *loop) warnForeign(id tracker.ID) {
	d := l.state.Deliveries[id]
	l.warn(fmt.Sprintf("%s: the state says that its work is on %q, which is not its branch: pull request #%d is left alone", l.nameOf(id), d.Branch, d.Number))
}

// topics returns what may have been talked about.
func (l *loop) topics() []discussion.Topic {
	var topics []discussion.Topic
	add := func(id tracker.ID) {
		delivery := l.state.Deliveries[id]
		t := discussion.Topic{ID: id, Since: l.state.Conversations[id].Heard.At.Truncate(time.Second)}
		if t.PullRequest = l.pullOf(id); t.Number > 0 {
			t.Head, t.Base, t.Pull = delivery.Head, delivery.Base, l.state.Conversations[id].Pull
		} else if delivery.Number > 0 && l.wf.Settings.Delivery.Kind == workflow.KindPullRequest {
			l.warnForeign(id)
		}
		topics = append(topics, t)
	}
	for id := range l.state.Claims {
		add(id)
	}
	for id := range l.state.Deliveries {
		if _, claimed := l.state.Claims[id]; !claimed {
			add(id)
		}
	}
	return topics
}

// addFeedback adds to a snapshot what is unanswered, and the issues that it is about.
func (l *loop) addFeedback(snap *schedule.Snapshot) {
	if l.conn.Discussion == nil {
		return
	}
	unavailable := l.unavailable()
	snap.Feedback = make(map[tracker.ID]schedule.Feedback, len(l.talks.news))
	for id, n := range l.talks.news {
		if _, talks := l.state.Conversations[id]; !talks {
			delete(l.talks.news, id) // it ended since; the next one begins with nothing heard
			continue
		}
		snap.Feedback[id] = n.Feedback
		if issue, known := l.issues.issues[id]; known && !unavailable[id] {
			snap.Claimed[id] = issue
		}
	}
}

// itemsFor returns the feedback that a session on an issue is given, and the function
// that answers it. It returns nothing for a session without feedback. It adds to the
// report what people may not expect of that feedback.
func (l *loop) itemsFor(d schedule.Decision) ([]prompt.Feedback, func(ctx context.Context, id, text string, resolve bool) error) {
	var items []feedback.Item
	if d.Feedback.Round != "" {
		items = l.talks.news[d.ID].Items
	}
	answer := l.state.Conversations[d.ID].Answer
	if len(items) == 0 && answer == "" {
		return nil, nil
	}
	for _, sentence := range feedback.Notes(items) {
		l.notice(l.nameOf(d.ID) + ": " + sentence)
	}
	given := make([]prompt.Feedback, 0, len(items)+1)
	if answer != "" {
		given = append(given, prompt.Feedback{Kind: prompt.FeedbackAnswer, Author: progress.Operator, Text: answer, At: time.Now()})
	}
	for _, item := range items {
		given = append(given, item.Feedback)
	}
	if len(items) == 0 {
		return given, nil
	}
	talk, pull := l.conn.Discussion, l.pullOf(d.ID)
	return given, func(ctx context.Context, id, text string, resolve bool) error {
		for _, item := range items {
			if item.ID == id {
				return talk.Reply(ctx, d.ID, pull, item, l.redact(text), resolve)
			}
		}
		return fmt.Errorf("there is no item %q", id)
	}
}

// pullOf returns the pull request of an issue, zero if it has none. It ignores a delivery
// in the state whose branch is not the issue's own.
func (l *loop) pullOf(id tracker.ID) discussion.PullRequest {
	d := l.state.Deliveries[id]
	if d.Number == 0 || l.wf.Settings.Delivery.Kind != workflow.KindPullRequest {
		return discussion.PullRequest{}
	}
	identifier := l.nameOf(id)
	if issue := l.issues.issues[id]; issue != nil {
		identifier = issue.Identifier
	}
	if branch, _ := git.ParseBranch(d.Branch); !publish.IsOwn(l.branchOf(identifier), branch) {
		return discussion.PullRequest{}
	}
	return discussion.PullRequest{Number: d.Number, Branch: d.Branch}
}

// redact hides secrets in a text.
func (l *loop) redact(text string) string {
	if l.Redact == nil {
		return text
	}
	return l.Redact(text)
}

// withoutLabel hides the label of parked issues from the rest of the program: adding it
// is not a change of the issue by a person.
type withoutLabel struct {
	tracker.Reader
	label string // in normal form
}

func (r withoutLabel) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	issues, err := r.Reader.IssuesByState(ctx, states)
	return r.hide(issues), err
}

func (r withoutLabel) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	issues, err := r.Reader.IssuesByID(ctx, ids)
	return r.hide(issues), err
}

// hide returns the issues without the label. It changes no list of another.
func (r withoutLabel) hide(issues []tracker.Issue) []tracker.Issue {
	for i := range issues {
		if issues[i].HasLabel(r.label) {
			issues[i].Labels = slices.DeleteFunc(slices.Clone(issues[i].Labels), func(label string) bool { return label == r.label })
		}
		if len(issues[i].Labels) == 0 {
			issues[i].Labels = nil // as in an issue that never had one
		}
	}
	return issues
}
