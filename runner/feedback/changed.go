package feedback

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// pullPrefix begins the names of comments on the pull request in [Unanswered].Read.
const pullPrefix = "pull "

// compare returns the names of the comments that count, for the next run to compare with, and a
// sentence for each edit and deletion by people since an earlier run. It looks only at comments
// that are not older than the mark ReadUpTo. Where not all comments were read now, it keeps the
// old names. If no name is new and nothing changed, it returns the old list.
func compare(s Said, items []Item, rules Rules, c schedule.Conversation) (names, changes []string) {
	from := c.ReadUpTo.At.Unix()
	now := make(map[string]Item, len(items)) // keys are the place and the id of items
	for _, item := range items {
		name := item.name()
		now[idOf(name)] = item
		if c := item.comment; !c.Own && rules.count(c) && strings.TrimSpace(c.Text) != "" && c.At.Unix() >= from {
			names = append(names, name)
		}
	}
	isNew := slices.ContainsFunc(names, func(name string) bool {
		_, known := slices.BinarySearch(c.Read, name)
		return !known
	})
	edited, gone := counted{}, 0
	for _, name := range c.Read {
		isPull := strings.HasPrefix(name, pullPrefix)
		item, there := now[idOf(name)]
		switch {
		case timeOf(name).Unix() < from:
		case !isPull && s.Comments.Truncated, isPull && !s.Pull.isWhole():
			names = append(names, name) // it may exist, because not everything was read
		case !there:
			gone++
		case timeOf(name).Before(timeOf(item.name())) && rules.count(item.comment):
			edited.add(item.Author)
		}
	}
	if len(edited) > 0 {
		changes = append(changes, edited.String("comment")+": edited after the old text had been read; the new text counts")
	}
	if gone > 0 {
		changes = append(changes, plural(gone, "comment")+": deleted after the text had been read; what was done for it stays, and no later session is given it")
	}
	if !isNew && len(changes) == 0 {
		return c.Read, nil
	}
	slices.SortFunc(names, func(a, b string) int { return timeOf(b).Compare(timeOf(a)) }) // the newest first
	names = names[:min(len(names), maxNames)]
	slices.Sort(names)
	return slices.Compact(names), changes
}

// name returns the name of a comment in [Unanswered].Read.
func (i Item) name() string {
	if i.OnPull {
		return pullPrefix + nameOf(i.comment)
	}
	return nameOf(i.comment)
}

func idOf(name string) string { return name[:max(strings.LastIndexByte(name, '@'), 0)] }

// Notes returns sentences for the report on the surprising parts of the items that an agent is
// given: quoted commands, code that has moved, and logs that were cut.
func Notes(items []Item) (sentences []string) {
	quoted, moved, cut := counted{}, counted{}, counted{}
	for _, item := range items {
		if item.quotes {
			quoted.add(item.Author)
		}
		if item.moved {
			moved.add(item.Author)
		}
		if item.cut {
			cut.add(item.Author)
		}
	}
	if len(quoted) > 0 {
		sentences = append(sentences, quoted.String("comment")+": a command that is quoted, or not in the first line, is not obeyed; the agent is given it as text")
	}
	if len(moved) > 0 {
		sentences = append(sentences, moved.String("comment on the code")+": the code at this place has changed since, and the agent is told so")
	}
	if len(cut) > 0 {
		sentences = append(sentences, fmt.Sprintf("the log of %s is long: only its end was read", text.Some(cut.names(), maxNamesInText)))
	}
	return sentences
}

// quotesCommand reports whether a line of a text would be a command if it were its first
// line. The text itself is not a command.
func quotesCommand(text string) bool {
	for line := range strings.Lines(text) {
		if word, _, ok := splitCommand(strings.TrimLeft(line, "> \t`")); ok && word != "" {
			return true
		}
	}
	return false
}
