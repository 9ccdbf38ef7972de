package feedback

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The bounds of what the agent is given, the newest first.
const (
	maxItems   = 50
	maxText    = 4_000  // bytes of a comment, and of the code it is about
	MaxOutput  = 16_000 // bytes of the verdict and the output of a check
	maxAllText = 60_000 // bytes of all items
)

// Rules say whose word counts besides that of people with write access.
type Rules struct {
	Bots []string // logins; those of Apps are their slugs, with or without [bot]
}

// News is what was said about an issue that nobody has answered.
type News struct {
	Feedback schedule.Feedback
	Items    []Item   // oldest first, checks and a conflict last
	Orders   []Order  // that were not obeyed, oldest first
	Ignored  []string // what does not count, and why; one sentence each
	Changes  []string // what people edited or deleted since an earlier run read it; one sentence each
	Read     []string // [schedule.Conversation.Read] after this
	Settled  bool     // the pull request need not be read again until it changes
}

// Item is one item of feedback, and where an answer to it goes.
type Item struct {
	prompt.Feedback
	Thread string // the thread of a review; empty for none
	OnPull bool   // the conversation of the pull request, not that of the issue
	quotes bool   // a line would be a command if it were the first
	moved  bool   // the code at its place has changed since
	cut    bool   // only the end of its log was read
}

// remark is a comment with where it stands and what makes it count.
type remark struct {
	tracker.Comment
	item   Item
	onPull bool
	order  bool // it may begin with a command
	quiet  bool // does not start a session on its own, such as an approval
}

// Read returns the unanswered feedback on an issue at a time. c is the conversation as earlier
// runs left it.
func Read(w World, c schedule.Conversation, rules Rules, now time.Time) News {
	var n News
	if w.isUnread() { // one mark covers everything that was said
		if w.Pull != nil {
			n.Feedback.Pull, n.Feedback.PullBy = w.Pull.State, w.Pull.By
		}
		n.Ignored, n.Read = unread(w), c.Read
		return n
	}
	remarks := remarksOf(w, c.Asked != "")
	comments := make([]tracker.Comment, 0, len(remarks))
	ignored := distrusted{}
	obeyed := c.CommandsUpTo
	if obeyed.At.IsZero() {
		obeyed = c.ReadUpTo
	}
	said := false
	n.Feedback.Prompted = true
	for _, r := range remarks {
		comments = append(comments, r.Comment)
		after := isAfter(r.Comment, c.ReadUpTo)
		if order, ok := orderOf(r.Comment, r.onPull); ok && r.order {
			if isAfter(r.Comment, obeyed) {
				n.Orders = append(n.Orders, order)
			}
			_, r.item.Text, _ = splitCommand(r.Text)
		}
		switch {
		case r.Own || !after:
			continue
		case !rules.count(r.Comment):
			ignored.add(r.Comment)
			continue
		case strings.TrimSpace(r.item.Text) == "":
			continue
		}
		r.item.quotes = r.order && quotesCommand(r.item.Text)
		n.Items = append(n.Items, r.item)
		said = said || !r.quiet
		n.Feedback.Prompted = n.Feedback.Prompted && (r.quiet || !isAfter(r.Comment, c.PromptedUpTo))
		n.Feedback.Fresh = n.Feedback.Fresh || !r.quiet && (c.ParkedUpTo.IsZero() || isAfter(r.Comment, c.ParkedUpTo))
	}
	n.Read, n.Changes = compare(w, remarks, rules, c)
	n.Feedback.Mark = extend(c.ReadUpTo, comments, now)
	n.Feedback.Mark.Checks, n.Feedback.Mark.Conflict = c.ReadUpTo.Checks, c.ReadUpTo.Conflict
	n.readOrders(obeyed, comments, now)
	waits := n.readPull(w.Pull, c, rules, said, now)
	if said {
		n.Feedback.Round = schedule.RoundSaid
	}
	if n.Feedback.Round == "" {
		n.Items = nil
	}
	mark := n.Feedback.Mark
	n.Feedback.Prompted = n.Feedback.Prompted && n.Feedback.Round != "" && mark.Checks == c.PromptedUpTo.Checks && mark.Conflict == c.PromptedUpTo.Conflict
	n.Feedback.Summary = summarize(n.Items)
	n.number()
	n.Ignored = append(n.Ignored, ignored.sentences()...)
	n.Ignored = append(n.Ignored, unread(w)...)
	n.Settled = n.Feedback.Round == "" && len(n.Orders) == 0 && !waits
	return n
}

// count reports whether the word of the author of a comment counts.
func (r Rules) count(c tracker.Comment) bool {
	return c.Distrust == "" || c.Bot && r.names(c.Author)
}

// names reports whether the rules name a bot.
func (r Rules) names(login string) bool {
	return slices.ContainsFunc(r.Bots, func(bot string) bool {
		return strings.EqualFold(strings.TrimSuffix(bot, "[bot]"), strings.TrimSuffix(login, "[bot]"))
	})
}

// remarksOf returns everything that was said, oldest first.
func remarksOf(w World, asked bool) []remark {
	var all []remark
	kind := prompt.FeedbackComment
	if asked {
		kind = prompt.FeedbackAnswer
	}
	add := func(c tracker.Comment, item Item, r remark) {
		item.Author, item.URL, item.At = c.Author, c.URL, c.At
		if item.Text == "" {
			item.Text = c.Text
		}
		r.Comment, r.item = c, item
		all = append(all, r)
	}
	for _, c := range w.Comments.List {
		add(c, Item{Feedback: prompt.Feedback{Kind: kind}}, remark{order: true})
	}
	if w.Pull != nil {
		for _, c := range w.Pull.Comments {
			add(c, Item{Feedback: prompt.Feedback{Kind: kind}, OnPull: true}, remark{order: true, onPull: true})
		}
		for _, r := range w.Pull.Reviews {
			text := r.Text
			if r.Verdict == ChangesRequested {
				text = strings.TrimSpace("Asks for changes.\n\n" + text)
			}
			quiet := r.Verdict == Approved || r.Verdict == Dismissed
			add(r.Comment, Item{Feedback: prompt.Feedback{Kind: prompt.FeedbackReview, Text: text}, OnPull: true}, remark{order: true, onPull: true, quiet: quiet})
		}
		for _, t := range w.Pull.Threads {
			for _, c := range t.Comments {
				item := Item{Thread: t.ID, OnPull: true, Feedback: prompt.Feedback{Kind: prompt.FeedbackThread, Path: t.Path, Line: t.Line, Code: t.Code}}
				if t.Outdated || t.Line == 0 {
					item.Text, item.moved = "(The code at this place has changed since.)\n\n"+c.Text, true
				}
				add(c, item, remark{onPull: true, quiet: t.Resolved})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b remark) int { return a.At.Compare(b.At) })
	return all
}

// readOrders sets Command to the last order that changes the plan, and Obeyed to the mark after all orders.
// Of people who contradict each other the last one counts.
func (n *News) readOrders(obeyed schedule.Mark, comments []tracker.Comment, now time.Time) {
	if len(n.Orders) == 0 {
		return
	}
	n.Feedback.CommandsUpTo = extend(obeyed, comments, now)
	by := map[string]bool{}
	for _, o := range n.Orders {
		if o.Known && o.Command != schedule.CommandStatus {
			n.Feedback.Command, n.Feedback.By = o.Command, o.By
			by[o.By] = true
		}
	}
	if len(by) > 1 {
		n.Ignored = append(n.Ignored, fmt.Sprintf("%d people gave different commands: the last one counts, /symphony %s by %s", len(by), n.Feedback.Command, n.Feedback.By))
	}
}

// readPull adds what the pull request says besides its comments, and reports whether
// more is to be expected of its checks.
func (n *News) readPull(p *Pull, c schedule.Conversation, rules Rules, said bool, now time.Time) (waits bool) {
	if p == nil {
		return false
	}
	n.Feedback.Pull, n.Feedback.PullBy = p.State, p.By
	if p.State != schedule.PullOpen {
		return false
	}
	moved := p.For != "" && p.Base != p.For
	if p.Complete { // otherwise it was said when it was read
		n.Ignored = append(n.Ignored, p.changes(moved)...)
	}
	f := failuresOf(p, rules, now)
	n.Ignored = append(n.Ignored, f.ignored()...)
	if f.digest != "" && f.digest != c.ReadUpTo.Checks && (f.ended || said) {
		n.Items = append(n.Items, f.items()...)
		n.Feedback.Mark.Checks, n.Feedback.Round = f.digest, schedule.RoundChecks
	} else if f.digest != "" && !f.ended && f.digest != c.ReadUpTo.Checks {
		waits = true
		n.Ignored = append(n.Ignored, fmt.Sprintf("%s of %s failed, and %d still run: they are waited for, at most %v", quote(f.names()), p.URL, p.Running, patience))
	}
	if p.Conflicts && !moved && p.Head != c.ReadUpTo.Conflict {
		n.Items = append(n.Items, Item{OnPull: true, Feedback: prompt.Feedback{
			Kind: prompt.FeedbackConflict, Author: p.Base, URL: p.URL,
			Text: fmt.Sprintf("The branch conflicts with %s: merge origin/%s into it, and resolve the conflicts.", p.Base, p.Base),
		}})
		n.Feedback.Mark.Conflict, n.Feedback.Round = p.Head, schedule.RoundChecks
	}
	return waits
}

// changes returns a sentence for each change of a pull request by people that the program
// does not follow. moved says that they changed its base.
func (p *Pull) changes(moved bool) (sentences []string) {
	if moved {
		sentences = append(sentences, fmt.Sprintf("somebody changed the base of %s from %s to %s: the work goes on against %s, and whether it conflicts with %s is not looked at", p.URL, p.For, p.Base, p.For, p.Base))
	}
	if p.Drafted != "" {
		sentences = append(sentences, fmt.Sprintf("%s made %s a draft: what is said there counts all the same", text.OneLine(p.Drafted, 40), p.URL))
	}
	if p.Ours != "" && p.Head != p.Ours {
		sentences = append(sentences, fmt.Sprintf("somebody pushed to the branch of %s: the checks of their commit are theirs, and the next session begins with it", p.URL))
	}
	return sentences
}

// number makes the texts of the items fit to be given to the agent, drops the oldest of
// too many, and numbers the rest.
func (n *News) number() {
	sum, first := 0, len(n.Items)
	for i := len(n.Items) - 1; i >= 0 && len(n.Items)-i <= maxItems; i-- {
		item := &n.Items[i]
		limit := maxText
		if item.Kind == prompt.FeedbackCheck {
			limit = MaxOutput
		}
		item.Author, item.Path = text.OneLine(item.Author, 100), text.OneLine(item.Path, 300)
		item.Text = text.Cut(text.Lines(item.Text), limit, "")
		item.Code = text.Cut(text.Lines(item.Code), maxText, "")
		if sum += len(item.Text) + len(item.Code); sum > maxAllText {
			break
		}
		first = i
	}
	if first > 0 && len(n.Items) > 0 {
		n.Ignored = append(n.Ignored, fmt.Sprintf("%d older items of feedback are not given to the agent, since there are more than it can be given at once", first))
	}
	n.Items = n.Items[first:]
	for i := range n.Items {
		n.Items[i].ID = strconv.Itoa(i + 1)
	}
}
