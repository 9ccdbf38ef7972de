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

// The bounds of the items for the agent, the newest first.
const (
	maxItems   = 50
	maxText    = 4_000  // bytes of a comment, and of the code it is about
	maxOutput  = 16_000 // bytes of the conclusion and the output of a check
	maxAllText = 60_000 // bytes of all items
)

// Rules names the bots whose word counts besides the word of people with write access.
type Rules struct {
	Bots []string // logins; the login of an App is its slug, with or without [bot]
}

// Unanswered holds the comments and checks on an issue that nobody has answered.
type Unanswered struct {
	Feedback schedule.Feedback
	Items    []Item   // oldest first, checks and a conflict last
	Orders   []Order  // orders that were not obeyed, oldest first
	Ignored  []string // texts that do not count, with the reason; one sentence each
	Changes  []string // edits and deletions by people since an earlier run read the texts; one sentence each
	Read     []string // [schedule.Conversation.Read] after this
	Settled  bool     // the pull request need not be read again until it changes
}

// Judge returns the unanswered part of everything that was said about an issue. c is
// the conversation as sessions, commands and earlier runs have left it.
func Judge(s Said, c schedule.Conversation, rules Rules, now time.Time) Unanswered {
	var u Unanswered
	if s.isUnread() { // one mark covers everything that was said
		if s.Pull != nil {
			u.Feedback.Pull, u.Feedback.PullBy, u.Feedback.PullAt = s.Pull.State, s.Pull.By, s.Pull.Ended
		}
		u.Ignored, u.Read = unread(s), c.Read
		return u
	}
	items := s.items()
	comments := make([]tracker.Comment, 0, len(items))
	ignored := distrusted{}
	obeyed := c.CommandsUpTo
	if obeyed.At.IsZero() {
		obeyed = c.ReadUpTo
	}
	said, news := false, false
	u.Feedback.Prompted = true
	for _, item := range items {
		comments = append(comments, item.comment)
		if order, ok := orderOf(item); ok {
			if isAfter(item.comment, obeyed) {
				u.Orders = append(u.Orders, order)
			}
			_, item.Text, _ = splitCommand(item.comment.Text)
		}
		switch {
		case item.comment.Own || !isAfter(item.comment, c.ReadUpTo):
			continue
		case !rules.count(item.comment):
			ignored.add(item.comment)
			continue
		case strings.TrimSpace(item.Text) == "":
			continue
		}
		item.quotes = item.order && quotesCommand(item.Text)
		if item.Kind == prompt.FeedbackComment && c.Asked != "" {
			item.Kind = prompt.FeedbackAnswer
		}
		item.isNew = isAfter(item.comment, c.PromptedUpTo)
		news = news || item.isNew && !item.quiet
		u.Items = append(u.Items, item)
		said = said || !item.quiet
		u.Feedback.Prompted = u.Feedback.Prompted && (item.quiet || !item.isNew)
		u.Feedback.Fresh = u.Feedback.Fresh || !item.quiet && (c.ParkedUpTo.IsZero() || isAfter(item.comment, c.ParkedUpTo))
	}
	u.Read, u.Changes = compare(s, items, rules, c)
	u.Feedback.Mark = extend(c.ReadUpTo, comments, now)
	u.Feedback.Mark.Checks, u.Feedback.Mark.Conflict = c.ReadUpTo.Checks, c.ReadUpTo.Conflict
	u.readOrders(obeyed, comments, now)
	waits := u.readPull(s.Pull, c, rules, said, now)
	if said {
		u.Feedback.Round = schedule.RoundSaid
	}
	if u.Feedback.Round == "" {
		u.Items = nil
	}
	mark := u.Feedback.Mark
	u.Feedback.Prompted = u.Feedback.Prompted && u.Feedback.Round != "" && mark.Checks == c.PromptedUpTo.Checks && mark.Conflict == c.PromptedUpTo.Conflict
	u.Feedback.Summary = summarize(u.Items)
	u.number()
	if news {
		u.Feedback.News = summarize(u.News())
	}
	u.Ignored = append(u.Ignored, ignored.sentences()...)
	u.Ignored = append(u.Ignored, unread(s)...)
	u.Settled = u.Feedback.Round == "" && len(u.Orders) == 0 && !waits
	return u
}

// News returns the items that people added after the latest session was given the others. The
// question to which an answer may belong was asked before that session.
func (u Unanswered) News() []Item {
	var news []Item
	for _, item := range u.Items {
		if !item.isNew {
			continue
		}
		if item.Kind == prompt.FeedbackAnswer {
			item.Kind = prompt.FeedbackComment
		}
		news = append(news, item)
	}
	return news
}

func (r Rules) count(c tracker.Comment) bool {
	return c.Distrust == "" || c.Bot && r.names(c.Author)
}

func (r Rules) names(login string) bool {
	return slices.ContainsFunc(r.Bots, func(bot string) bool {
		return strings.EqualFold(strings.TrimSuffix(bot, "[bot]"), strings.TrimSuffix(login, "[bot]"))
	})
}

// readOrders sets Command to the last order that changes the plan, and CommandsUpTo to the mark
// after all orders. Of people who contradict each other the last one counts.
func (u *Unanswered) readOrders(obeyed schedule.Mark, comments []tracker.Comment, now time.Time) {
	if len(u.Orders) == 0 {
		return
	}
	u.Feedback.CommandsUpTo = extend(obeyed, comments, now)
	by := map[string]bool{}
	for _, o := range u.Orders {
		if o.Known && o.Command != schedule.CommandStatus {
			u.Feedback.Command, u.Feedback.By = o.Command, o.By
			by[o.By] = true
		}
	}
	if len(by) > 1 {
		u.Ignored = append(u.Ignored, fmt.Sprintf("%d people gave different commands: the last one counts, /symphony %s by %s", len(by), u.Feedback.Command, u.Feedback.By))
	}
}

// readPull adds the state of the pull request apart from its comments, and reports whether more
// is to be expected of its checks.
func (u *Unanswered) readPull(p *Pull, c schedule.Conversation, rules Rules, said bool, now time.Time) (waits bool) {
	if p == nil {
		return false
	}
	u.Feedback.Pull, u.Feedback.PullBy, u.Feedback.PullAt = p.State, p.By, p.Ended
	if p.State != schedule.PullOpen {
		return false
	}
	moved := p.For != "" && p.Base != p.For
	if p.Complete { // otherwise it was said when it was read
		u.Ignored = append(u.Ignored, p.changes(moved)...)
	}
	f := failuresOf(p, rules, now)
	u.Ignored = append(u.Ignored, f.ignored()...)
	if f.digest != "" && f.digest != c.ReadUpTo.Checks && (f.ended || said) {
		u.Items = append(u.Items, f.items()...)
		u.Feedback.Mark.Checks, u.Feedback.Round = f.digest, schedule.RoundChecks
	} else if f.digest != "" && !f.ended && f.digest != c.ReadUpTo.Checks {
		waits = true
		u.Ignored = append(u.Ignored, fmt.Sprintf("%s of %s failed, and %d still run: they are waited for, at most %v", quote(f.names()), p.URL, p.Running, patience))
	}
	if p.Conflicts && !moved && p.Head != c.ReadUpTo.Conflict {
		u.Items = append(u.Items, Item{Feedback: prompt.Feedback{
			OnPull: true, Kind: prompt.FeedbackConflict, Author: p.Base, URL: p.URL,
			Text: fmt.Sprintf("The branch conflicts with %s: merge origin/%s into it, and resolve the conflicts.", p.Base, p.Base),
		}})
		u.Feedback.Mark.Conflict, u.Feedback.Round = p.Head, schedule.RoundChecks
	}
	return waits
}

// changes returns a sentence for each change of a pull request by people that the program
// does not follow. moved says that they changed its base.
func (p *Pull) changes(moved bool) (sentences []string) {
	if moved {
		sentences = append(sentences, fmt.Sprintf("somebody changed the base of %s from %s to %s: the agent keeps working against %s; conflicts with %s are not checked", p.URL, p.For, p.Base, p.For, p.Base))
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
func (u *Unanswered) number() {
	sum, first := 0, len(u.Items)
	for i := len(u.Items) - 1; i >= 0 && len(u.Items)-i <= maxItems; i-- {
		item := &u.Items[i]
		limit := maxText
		if item.Kind == prompt.FeedbackCheck {
			limit = maxOutput
		}
		item.Author, item.Path = text.OneLine(item.Author, 100), text.OneLine(item.Path, 300)
		item.Text = text.Cut(text.Lines(item.Text), limit, "")
		item.Code = text.Cut(text.Lines(item.Code), maxText, "")
		if sum += len(item.Text) + len(item.Code); sum > maxAllText {
			break
		}
		first = i
	}
	if first > 0 && len(u.Items) > 0 {
		u.Ignored = append(u.Ignored, fmt.Sprintf("%d older items of feedback are not given to the agent, since there are more than it can be given at once", first))
	}
	u.Items = u.Items[first:]
	for i := range u.Items {
		u.Items[i].ID = strconv.Itoa(i + 1)
	}
}
