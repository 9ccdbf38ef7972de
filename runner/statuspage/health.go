package statuspage

import (
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// This file has the fields and methods that the templates read.

// verdict is the first line of the page.
type verdict struct{ Class, Text string }

// problem is what keeps work from starting, and what happens next.
type problem struct {
	Source, Text, Hint string
	Until              time.Time // zero if it does not end by itself
}

// Verdict returns the condition of the run, in words.
func (v *view) Verdict() verdict {
	switch {
	case v.isPaused():
		return verdict{"bad", "Paused: no session can work"}
	case len(v.Trouble) == 1 && progress.Source(v.Trouble[0].Source) == progress.Budget:
		return verdict{"bad", "Nothing new starts: a budget is spent"}
	case len(v.Trouble) == 1 && progress.Source(v.Trouble[0].Source) == progress.Hosts && v.raw.NoRoom.Reason != schedule.HostsDown:
		return verdict{"bad", "A worker host does not work"}
	case len(v.Trouble) > 0:
		return verdict{"bad", "Nothing new starts until this is fixed"}
	case v.NextPoll.IsZero():
		return verdict{"calm", "Starting: the tracker is being read"}
	case len(v.Running) > 0:
		return verdict{"good", "Working on " + text.Count(len(v.Running), "issue")}
	case len(v.Waiting) > 0:
		return verdict{"calm", text.Count(len(v.Waiting), "issue") + " to be tried again"}
	case v.QueueLength > 0:
		return verdict{"calm", v.QueueWords}
	case len(v.Parked) > 0:
		return verdict{"calm", "Nothing to do until a person answers"}
	}
	return verdict{"calm", "Nothing to do"}
}

func (v *view) isPaused() bool { return v.Pause != "" && v.raw.Pause.Until.After(v.raw.At) }

// Problems returns the obstacles that keep work from starting.
func (v *view) Problems() []problem {
	var all []problem
	if v.isPaused() {
		hint := "One session tries again"
		if resume := v.line(report.StateCommand(v.raw.Program, v.raw.State, "resume"), maxLine); resume != "" {
			hint = "To try at once, run: " + resume + ". Else one session tries again"
		}
		all = append(all, problem{"Pause", v.Pause, hint, v.raw.Pause.Until})
	}
	for _, t := range v.Trouble {
		switch progress.Source(t.Source) {
		case progress.Workflow:
			all = append(all, problem{"Workflow", t.Text, "Fix the file: it is read again by itself. Sessions in progress go on with what it said before.", time.Time{}})
		case progress.Tracker:
			all = append(all, problem{"Tracker", t.Text, "It is read again", v.NextPoll})
		case progress.Repository:
			all = append(all, problem{"Repository", t.Text, "It is fetched again", v.NextPoll})
		case progress.Workspaces:
			all = append(all, problem{"Workspaces", t.Text, "Their folder is made again", v.NextPoll})
		case progress.State:
			all = append(all, problem{"State", t.Text, "It is saved again", v.NextPoll})
		case progress.Hosts:
			all = append(all, problem{"Worker hosts", t.Text, "Their issues start on other hosts; then one session tries each.", time.Time{}})
		case progress.Budget:
			all = append(all, problem{"Budget", t.Text, "Raise it in WORKFLOW.md to go on at once.", time.Time{}})
		case progress.Agent:
			if !v.isPaused() || t.Text != v.Pause {
				all = append(all, problem{"Agent", t.Text, "", time.Time{}})
			}
		default:
			all = append(all, problem{t.Source, t.Text, "", time.Time{}})
		}
	}
	for i := range all {
		all[i].Text = text.InWords(all[i].Text)
	}
	return all
}

func (v *view) ShownQueue() []*issue { return v.Queue[:min(len(v.Queue), maxQueue)] }
func (v *view) MoreQueue() int       { return v.QueueLength - len(v.ShownQueue()) }
func (v *view) WaitingCount() int    { return len(v.Waiting) + v.QueueLength }

// A page shows a part of a long list, so that it is small however much there is.
const (
	maxRows  = 25 // of each table on the page of the run; the others are on pages of their own
	pageRows = 50 // of a table on one of those
	maxQueue = 10 // of the issues that start next
)

// shownView is a view as one page shows it.
type shownView struct {
	*view
	path string // of the page
	part int    // of its list; 1 is the first
}

// Retry returns the command that lets an issue go on, for which ID stands.
func (v shownView) Retry() string { return v.retryCommand("ID") }

// rows is the part of a list that a page shows.
type rows struct {
	Rows       []*issue
	More       int    // that another page has all of; 0 on that page
	From, Of   int    // the place of the first one in the list, from 1, and the length of the list
	Prev, Next string // the addresses of the parts before and after; empty for none
}

// To returns the place of the last row in the list.
func (r rows) To() int { return r.From + len(r.Rows) - 1 }

// Some returns the rows of a list that the page shows.
func (v shownView) Some(list []*issue) rows {
	if v.path == "/" {
		shown := list[:min(len(list), maxRows)]
		return rows{Rows: shown, More: len(list) - len(shown)}
	}
	before := (v.part - 1) * pageRows
	r := rows{Rows: list[before:min(before+pageRows, len(list))], From: before + 1, Of: len(list)}
	if v.part > 1 {
		r.Prev = partPath(v.path, v.part-1)
	}
	if v.part < partsOf(list) {
		r.Next = partPath(v.path, v.part+1)
	}
	return r
}

// partsOf returns in how many parts pages show a list, at least 1.
func partsOf(list []*issue) int { return max((len(list)+pageRows-1)/pageRows, 1) }

// partPath returns the address of the page with a part of a list.
func partPath(path string, part int) string {
	if part <= 1 {
		return path
	}
	return path + "?page=" + strconv.Itoa(part)
}

// maxRecent is how many events are shown.
const maxRecent = 50

// happened is an event on a page.
type happened struct {
	event
	Path string // of the page of its issue; empty for no link
}

// Recent returns the latest events of the run, the latest first.
func (v *view) Recent() []happened { return recent(v.Events, v.pathOf) }

func recent(events []event, pathOf func(event) string) []happened {
	var all []happened
	for i := len(events) - 1; i >= 0 && len(all) < maxRecent; i-- {
		e := events[i]
		e.Text = text.InWords(e.Text)
		all = append(all, happened{e, pathOf(e)})
	}
	return all
}

// pathOf returns the path of the page of the issue of an event, which may be a former one;
// empty for an event of no issue.
func (v *view) pathOf(e event) string {
	if i := v.find(e.ID); i != nil {
		return i.Path
	}
	if e.Name == "" {
		return ""
	}
	return issuePath(e.Name)
}

// Words returns the kind of an event in words.
func (e event) Words() string { return strings.ReplaceAll(e.Kind, "_", " ") }
