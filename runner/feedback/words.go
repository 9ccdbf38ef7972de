package feedback

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/tracker"
)

// maxNamesInText bounds the names that a sentence lists.
const maxNamesInText = 3

// nouns are the words of a summary for the kinds of feedback.
var nouns = []struct {
	kind prompt.FeedbackKind
	noun string
}{
	{prompt.FeedbackAnswer, "answer"}, {prompt.FeedbackComment, "comment"}, {prompt.FeedbackReview, "review"},
	{prompt.FeedbackThread, "comment on the code"}, {prompt.FeedbackCheck, "failed check"}, {prompt.FeedbackConflict, "conflict"},
}

// summarize describes items in one line: "2 comments by kim, 1 failed check (unit)".
func summarize(items []Item) string {
	var parts []string
	for _, row := range nouns {
		count, names := 0, map[string]bool{}
		for _, item := range items {
			if item.Kind == row.kind {
				count++
				names[text.OneLine(item.Author, 40)] = true
			}
		}
		if count == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", count, row.noun)
		if count > 1 {
			part = plural(count, row.noun)
			if !strings.Contains(part, "comments") {
				part += "s"
			}
		}
		who := text.Some(slices.Sorted(maps.Keys(names)), maxNamesInText)
		switch row.kind {
		case prompt.FeedbackCheck:
			part += " (" + who + ")"
		case prompt.FeedbackConflict:
			part += " with " + who
		default:
			part += " by " + who
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// quote returns names in quotation marks, the first few of them.
func quote(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", text.OneLine(name, 60))
	}
	return text.Some(quoted, maxNamesInText)
}

// counted counts comments by their authors.
type counted map[string]int

func (c counted) add(author string) {
	if author = text.OneLine(author, 40); author == "" {
		author = "a deleted account"
	}
	c[author]++
}

func (c counted) names() []string { return slices.Sorted(maps.Keys(c)) }

// String returns "2 comments by kim, lee"; noun is the word for the counted things.
func (c counted) String(noun string) string {
	sum := 0
	for _, n := range c {
		sum += n
	}
	return plural(sum, noun) + " by " + text.Some(c.names(), maxNamesInText)
}

func plural(n int, noun string) string {
	if n != 1 {
		noun = strings.Replace(noun, "comment", "comments", 1)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// distrusted counts the comments that do not count, by the reason.
type distrusted map[string]counted

func (d distrusted) add(c tracker.Comment) {
	if d[c.Distrust] == nil {
		d[c.Distrust] = counted{}
	}
	d[c.Distrust].add(c.Author)
}

// sentences returns a sentence for each reason for which comments do not count.
func (d distrusted) sentences() []string {
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(d)) {
		lines = append(lines, fmt.Sprintf("%s: neither shown to the agent nor counted, since %s", d[why].String("comment"), text.OneLine(why, 200)))
	}
	return lines
}

func unread(s Said) (sentences []string) {
	if s.isUnread() {
		sentences = append(sentences, "Some comments could not be read now (too many, or see the other warning). They will be read next time")
	}
	if s.Comments.Truncated || s.Pull != nil && s.Pull.Truncated {
		sentences = append(sentences, fmt.Sprintf("Only the newest %d comments were read", tracker.MaxComments))
	}
	return sentences
}
