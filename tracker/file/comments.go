package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/tracker"
)

// The authors of the comments that are not people's.
const (
	programAuthor = "symphony"
	agentAuthor   = "agent"
)

// unnamedAuthor is the author of a reply that somebody wrote below a comment of the
// program without a heading.
const unnamedAuthor = "somebody"

// oneHeading matches the heading of a comment: a time and any author, or an author of one
// word, since other texts have headings too. The groups are the time and the author.
const oneHeading = `###[ \t]+(?:(\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?)[ \t]+(\S(?:[^\r\n]{0,98}\S)?)|(@?\p{L}[\p{L}\p{N}._@-]{0,98}))[ \t]*\r?$`

// commentsHeading matches the beginning of the comments. It needs both headings,
// because people may describe an issue under "## Comments".
var commentsHeading = lazy.Regexp(`(?m)^## Comments[ \t]*\r?\n(?:[ \t]*\r?\n)*` + oneHeading)

var commentHeading = lazy.Regexp(`(?m)^` + oneHeading)

// markerLine matches the line that ends a comment of the program.
var markerLine = sync.OnceValue(func() *regexp.Regexp {
	marker := strings.Replace(regexp.QuoteMeta(tracker.CommentMarker("KEY")), "KEY", "[a-z][a-z0-9-]*", 1)
	return regexp.MustCompile(`(?m)^` + marker + `[ \t]*\r?$`)
})

// comment is a comment in the body of a document, which it does not copy.
type comment struct {
	heading    int // start of its heading in the body
	start, end int // text of the comment, with the space around it
	time       string
	timeAt     int // start of the time, or the place where it has to be written
	author     string
	unnamed    bool // it has no heading: heading, start and timeAt are the start of its text
}

func (d document) comments() []comment {
	first := commentsHeading().FindIndex(d.body)
	if first == nil {
		return nil
	}
	var list []comment
	from := first[0]
	for _, at := range commentHeading().FindAllSubmatchIndex(d.body[from:], -1) {
		c := comment{heading: from + at[0], start: from + at[1], end: len(d.body)}
		if at[2] >= 0 {
			c.timeAt, c.time, c.author = from+at[2], string(d.body[from+at[2]:from+at[3]]), string(d.body[from+at[4]:from+at[5]])
		} else {
			c.timeAt, c.author = from+at[6], string(d.body[from+at[6]:from+at[7]])
		}
		if bytes.HasSuffix(d.body[:c.start], []byte("\r")) {
			c.start-- // it belongs to the line end
		}
		if len(list) > 0 {
			list[len(list)-1].end = c.heading
		}
		list = append(list, c)
	}
	return d.withReplies(list)
}

// withReplies returns the comments with the texts that people wrote below a comment of the
// program without a heading of their own. The text before its last marker is the program's,
// whatever the texts that it quotes look like.
func (d document) withReplies(list []comment) []comment {
	all := make([]comment, 0, len(list))
	for _, c := range list {
		all = append(all, c)
		if c.author != programAuthor {
			continue
		}
		markers := markerLine().FindAllIndex(d.body[c.start:c.end], -1)
		if len(markers) == 0 {
			continue
		}
		end := c.start + markers[len(markers)-1][1]
		reply := bytes.TrimLeft(d.body[end:c.end], " \t\r\n")
		if len(reply) == 0 {
			continue
		}
		all[len(all)-1].end = end
		at := bytes.LastIndexByte(d.body[:c.end-len(reply)], '\n') + 1 // a heading has to begin its line
		all = append(all, comment{heading: at, start: at, end: c.end, timeAt: at, author: unnamedAuthor, unnamed: true})
	}
	return all
}

// isOwn reports whether the program or its agent wrote the comment.
func (c comment) isOwn() bool {
	return strings.EqualFold(c.author, programAuthor) || strings.EqualFold(c.author, agentAuthor)
}

// text returns the text of the comment, as it is written.
func (d document) text(c comment) string {
	return strings.Trim(toValidText(d.body[c.start:c.end]), " \t\r\n")
}

// writtenTime returns the time in the heading; ok is false for a date and for nothing.
func (c comment) writtenTime() (at time.Time, ok bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, c.time); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// longestDay is the time from the start of a day in UTC until that day has ended everywhere.
const longestDay = 36 * time.Hour

// wholeSecond returns the first time not before at that a heading can hold. Every comment gets
// its time so: an answer is never older than its question.
func wholeSecond(at time.Time) time.Time {
	second := at.UTC().Truncate(time.Second)
	if second.Before(at) {
		second = second.Add(time.Second)
	}
	return second
}

// at returns the time when the comment was written: the time in its heading, but not later than
// the file was changed, and the latter where the heading has no time. A date without
// a time leaves open when on that day.
func (c comment) at(modified time.Time) time.Time {
	saved := wholeSecond(modified)
	if at, ok := c.writtenTime(); ok && !at.After(saved) {
		return at
	}
	if day, err := time.Parse(time.DateOnly, c.time); err == nil && day.Add(longestDay).Before(saved) {
		return day.Add(longestDay)
	}
	return saved
}

// writeTimes returns the body with the time in the heading of each comment of people that lacks
// it, or the heading, or whose time cannot be right. The next change of the file would make
// these comments new again. No other byte is changed.
func (d document) writeTimes(modified time.Time) []byte {
	body := d.body
	for _, c := range slices.Backward(d.comments()) {
		at := c.at(modified)
		if written, ok := c.writtenTime(); c.isOwn() || ok && written.Equal(at) {
			continue
		}
		stamp := at.Format(time.RFC3339)
		switch {
		case c.unnamed:
			stamp = string(d.lines("### " + stamp + " " + c.author + "\n\n"))
		case c.time == "":
			stamp += " "
		}
		body = slices.Concat(body[:c.timeAt], []byte(stamp), body[c.timeAt+len(c.time):])
	}
	return body
}

// conversation returns the comments since a time, of which the file was changed last at
// modified.
func (d document) conversation(modified, since time.Time) tracker.Comments {
	var all tracker.Comments
	same := map[string]int{}
	for _, c := range d.comments() {
		text := d.text(c)
		sum := sha256.Sum256([]byte(c.author + "\x00" + text))
		id := hex.EncodeToString(sum[:10])
		if same[id]++; same[id] > 1 {
			id = fmt.Sprintf("%s-%d", id, same[id])
		}
		if at := c.at(modified); !at.Before(since) {
			all.List = append(all.List, tracker.Comment{ID: id, Author: toValidText([]byte(c.author)), Own: c.isOwn(), Bot: c.isOwn(), Text: text, At: at})
		}
	}
	slices.SortStableFunc(all.List, func(a, b tracker.Comment) int { return a.At.Compare(b.At) })
	if more := len(all.List) - tracker.MaxComments; more > 0 {
		all.List, all.Truncated = all.List[more:], true
	}
	return all
}
