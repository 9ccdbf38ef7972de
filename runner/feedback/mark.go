package feedback

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	// late bounds the delay of a comment behind a newer one: issues and pull requests are read
	// one after the other, from servers that copy from each other.
	late = 2 * time.Minute
	// maxNames bounds the comments that a mark knows by name.
	maxNames = 100
)

// nameOf returns the name of a comment in a mark. An edited comment has another one.
func nameOf(c tracker.Comment) string {
	return c.ID + "@" + strconv.FormatInt(c.At.Unix(), 10)
}

// begin returns the time after which comments are after a mark that does not name them. The
// trackers' clocks have whole seconds: a comment in the second in which a conversation began
// belongs to it.
func begin(m schedule.Mark) time.Time {
	if second := m.At.Truncate(time.Second); second.Before(m.At) {
		return second.Add(-time.Nanosecond)
	}
	return m.At
}

// isAfter reports whether a comment was published or edited after the mark was made.
func isAfter(c tracker.Comment, m schedule.Mark) bool {
	_, known := slices.BinarySearch(m.IDs, nameOf(c))
	return c.At.After(begin(m)) && !known
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func timeOf(name string) time.Time {
	seconds, _ := strconv.ParseInt(name[strings.LastIndexByte(name, '@')+1:], 10, 64)
	return time.Unix(seconds, 0)
}

// extend returns the mark after m and after all these comments. A comment with a time after
// now, by a wrong clock or a forged state, is remembered by its name only, so that it does not
// put later comments before the mark.
func extend(m schedule.Mark, comments []tracker.Comment, now time.Time) schedule.Mark {
	names := slices.Clone(m.IDs)
	for _, c := range comments {
		if isAfter(c, m) {
			names = append(names, nameOf(c))
		}
	}
	if len(names) == len(m.IDs) {
		return m
	}
	slices.SortFunc(names, func(a, b string) int { return timeOf(b).Compare(timeOf(a)) }) // the newest first
	at := earlier(timeOf(names[0]), now).Add(-late)
	if len(names) > maxNames {
		if oldest := earlier(timeOf(names[maxNames]), now); oldest.After(at) {
			at = oldest
		}
		names = names[:maxNames]
	}
	if at.After(begin(m)) { // begin may be earlier in the same second: a flood is cut there
		m.At = at.UTC()
	}
	from := begin(m)
	m.IDs = slices.DeleteFunc(names, func(name string) bool { return !timeOf(name).After(from) })
	slices.Sort(m.IDs)
	m.IDs = slices.Compact(m.IDs)
	return m
}
