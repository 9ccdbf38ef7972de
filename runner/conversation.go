package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// conversations reads the comments and checks on issues, and answers them. Before the first
// read it knows nothing.
type conversations struct {
	*core
	issues *issueReader
	redact func(string) string // hides secrets in posts

	read    map[tracker.ID]*conversation // conversations as last read
	failed  map[string]bool              // keys of posts that failed in this tick, and are not tried again
	posting map[string]bool              // keys of posts in progress
	untold  []func()                     // posts that tell people that an issue waits or goes on, and that wait for their turn

	noted   bool // people were told of changes in this tick
	stopped bool // the run ends: nobody is told anything more

	nextRead time.Time                // time before which a poll reads comments only if an issue has changed
	updated  map[tracker.ID]time.Time // times of the last change of the issues with a claim, as of the last read
}

// conversation is the latest reading of one issue.
type conversation struct {
	said    feedback.Said
	orders  []feedback.Order // commands to answer
	ignored []string         // see [feedback.Unanswered]

	unanswered feedback.Unanswered    // result of [conversations.judge]
	judged     *schedule.Conversation // marks by which it was judged; nil for not yet
}

// listenPerShard times the number of shards is the least time between two reads of the comments
// on the issues of a shard, on average: see [conversations.readsNow]. Each is a GraphQL query,
// which no ETag makes free. With it, a fleet of any size uses half of the 1,000 queries an hour
// that GitHub allows a job's token.
const listenPerShard = 7200 * time.Millisecond

// listen reads the comments and checks on the issues with a claim or a delivery (SPEC §8.1:
// part of a poll). If it cannot be read, the tick goes on without it.
func (c *conversations) listen(ctx context.Context) {
	c.read, c.failed = map[tracker.ID]*conversation{}, map[string]bool{}
	topics := c.toRead()
	if c.conn.Feedback == nil || len(topics) == 0 || c.issues.unread != nil {
		return
	}
	said, warnings, err := c.conn.Feedback.Read(ctx, topics)
	c.warn(warnings...)
	if err != nil {
		c.warnError("read what was said about the issues", err)
		return
	}
	var unknown []tracker.ID
	for _, t := range topics {
		r := &conversation{said: said[t.ID]}
		c.read[t.ID] = r
		talk, u := c.state.Conversations[t.ID], c.judge(t.ID)
		r.orders, r.ignored = u.Orders, u.Ignored
		for _, sentence := range u.Ignored {
			c.warn(c.nameOf(t.ID) + ": " + sentence)
		}
		for _, sentence := range u.Changes {
			c.notice(c.nameOf(t.ID) + ": " + sentence)
			c.noted = true
		}
		if !slices.Equal(u.Read, talk.Read) {
			c.change(schedule.ConversationRead{ID: t.ID, Read: &u.Read})
		}
		if p := r.said.Pull; p != nil {
			if p.Standing != talk.Checks {
				c.change(schedule.ConversationRead{ID: t.ID, Checks: &p.Standing})
			}
			if u.Settled && p.Digest != talk.Pull {
				c.change(schedule.ConversationRead{ID: t.ID, Pull: &p.Digest})
			}
		}
		if _, claimed := c.state.Claims[t.ID]; !claimed && u.Feedback.IsPending() {
			unknown = append(unknown, t.ID)
		}
	}
	if err := c.issues.readByID(ctx, unknown); err != nil {
		c.warnError("read the issues that have feedback", err)
	}
	for _, t := range topics {
		if c.pullOf(t.ID) != t.PullRequest { // the issue has another name than the state says
			delete(c.read, t.ID)
			c.warnForeign(t.ID)
		}
	}
}

// judge returns the unanswered part of the last reading of an issue, now that sessions, commands
// and other runs may have changed its conversation since.
func (c *conversations) judge(id tracker.ID) feedback.Unanswered {
	r, talk := c.read[id], c.state.Conversations[id]
	if r == nil {
		return feedback.Unanswered{}
	}
	if r.judged == nil || !talk.IsAt(*r.judged) {
		r.judged = &talk
		r.unanswered = feedback.Judge(r.said, talk, feedback.Rules{Bots: c.wf.Settings.Feedback.Bots}, time.Now())
	}
	return r.unanswered
}

// pull returns the pull request of an issue as it was last read; nil for none.
func (c *conversations) pull(id tracker.ID) *feedback.Pull {
	if r := c.read[id]; r != nil {
		return r.said.Pull
	}
	return nil
}

func (c *conversations) warnForeign(id tracker.ID) {
	d := c.state.Deliveries[id]
	c.warn(fmt.Sprintf("%s: the state says that its work is on %q, which is not its branch: pull request #%d is left alone", c.nameOf(id), d.Branch, d.Number))
}

// readsNow reports whether a poll at this time also reads the comments, and notes that it does.
// A shard, of which there are so many, does so less often than it polls, because feedback is
// for the next session. A command is for this session, however, and the comment with it changes
// the issue, which each poll sees without another request. So if an issue has changed, the next
// read is made at once. The one after it is not made earlier for that, so agents who change
// their issues all the time cost no more reads.
func (c *conversations) readsNow(now time.Time, shards int) bool {
	every := time.Duration(shards) * listenPerShard
	if now.Before(c.nextRead) {
		if now.Add(every).Before(c.nextRead) || maps.Equal(c.updates(), c.updated) {
			return false
		}
		now = c.nextRead
	}
	c.nextRead, c.updated = now.Add(every), c.updates()
	return true
}

func (c *conversations) updates() map[tracker.ID]time.Time {
	updates := make(map[tracker.ID]time.Time, len(c.state.Claims))
	for id := range c.state.Claims {
		if issue := c.issues.issues[id]; issue != nil {
			updates[id] = issue.UpdatedAt
		}
	}
	return updates
}

func (c *conversations) toRead() []feedback.Topic {
	var topics []feedback.Topic
	add := func(id tracker.ID) {
		delivery := c.state.Deliveries[id]
		t := feedback.Topic{ID: id, Since: c.state.Conversations[id].ReadUpTo.At.Truncate(time.Second)}
		if t.PullRequest = c.pullOf(id); t.Number > 0 {
			t.Head, t.Base, t.Pull = delivery.Head, delivery.Base, c.state.Conversations[id].Pull
		} else if delivery.Number > 0 && c.wf.Settings.Delivery.Kind == workflow.KindPullRequest {
			c.warnForeign(id)
		}
		topics = append(topics, t)
	}
	for id := range c.state.Claims {
		add(id)
	}
	for id := range c.state.Deliveries {
		if _, claimed := c.state.Claims[id]; !claimed {
			add(id)
		}
	}
	return topics
}

// addFeedback adds to a snapshot the unanswered feedback, and the issues that it is about.
func (c *conversations) addFeedback(snap *schedule.Snapshot, unavailable map[tracker.ID]bool) {
	if c.conn.Feedback == nil {
		return
	}
	snap.Feedback = make(map[tracker.ID]schedule.Feedback, len(c.read))
	for id := range c.read {
		if _, talks := c.state.Conversations[id]; !talks {
			delete(c.read, id) // it ended since; the next one begins with nothing read
			continue
		}
		snap.Feedback[id] = c.judge(id).Feedback
		if issue, known := c.issues.issues[id]; known && !unavailable[id] {
			snap.Claimed[id] = issue
		}
	}
}

// itemsFor returns the feedback that a session on an issue begins with, and adds the items among it
// to given. It warns in the report of the parts of that feedback that people may not expect.
func (c *conversations) itemsFor(d schedule.Decision, given *givenItems) []prompt.Feedback {
	var list []prompt.Feedback
	if answer := c.state.Conversations[d.ID].Answer; answer != "" {
		list = append(list, prompt.Feedback{Kind: prompt.FeedbackAnswer, Author: progress.Operator, Text: answer, At: time.Now()})
	}
	if d.Feedback.Round == "" {
		return list
	}
	return append(list, c.give(d.ID, given, c.judge(d.ID).Items)...)
}

// pullOf returns the pull request of an issue, zero if it has none. It ignores a delivery
// in the state whose branch is not the issue's own.
func (c *conversations) pullOf(id tracker.ID) feedback.PullRequest {
	d := c.state.Deliveries[id]
	if d.Number == 0 || c.wf.Settings.Delivery.Kind != workflow.KindPullRequest {
		return feedback.PullRequest{}
	}
	identifier := c.nameOf(id)
	if issue := c.issues.issues[id]; issue != nil {
		identifier = issue.Identifier
	}
	if branch, _ := git.ParseBranch(d.Branch); !publish.IsOwn(c.branchOf(identifier), branch) {
		return feedback.PullRequest{}
	}
	return feedback.PullRequest{Number: d.Number, Branch: d.Branch}
}

// givenItems holds the items of feedback that a session was given, by which its agent answers them.
// It is safe for concurrent use.
type givenItems struct {
	mu    sync.Mutex
	items []feedback.Item
}

// add numbers the items after the others, and returns them for the prompt.
func (g *givenItems) add(items []feedback.Item) []prompt.Feedback {
	g.mu.Lock()
	defer g.mu.Unlock()
	added := make([]prompt.Feedback, 0, len(items))
	for _, item := range items {
		item.ID = strconv.Itoa(len(g.items) + 1)
		g.items = append(g.items, item)
		added = append(added, item.Feedback)
	}
	return added
}

func (g *givenItems) find(id string) (feedback.Item, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.items, func(item feedback.Item) bool { return item.ID == id })
	if i < 0 {
		return feedback.Item{}, false
	}
	return g.items[i], true
}

// give adds items to what a session was given, and returns them for its prompt.
func (c *conversations) give(id tracker.ID, given *givenItems, items []feedback.Item) []prompt.Feedback {
	for _, sentence := range feedback.Notes(items) {
		c.notice(c.nameOf(id) + ": " + sentence)
	}
	return given.add(items)
}

// replyTo returns the function that answers an item that a session was given; nil without a way to
// people.
func (c *conversations) replyTo(id tracker.ID, given *givenItems) func(ctx context.Context, item, text string, resolve bool) error {
	if c.conn.Feedback == nil {
		return nil
	}
	channel, pull := c.conn.Feedback, c.pullOf(id)
	return func(ctx context.Context, name, text string, resolve bool) error {
		item, ok := given.find(name)
		if !ok {
			return fmt.Errorf("there is no item %q", name)
		}
		return channel.Reply(ctx, id, pull, item, c.redact(text), resolve)
	}
}

// hasNews reports whether people said something that the session on an issue was not given.
func (c *conversations) hasNews(id tracker.ID) bool {
	_, talks := c.state.Conversations[id]
	return talks && c.judge(id).Feedback.News != ""
}
