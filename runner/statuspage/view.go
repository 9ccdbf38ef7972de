package statuspage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// The longest texts that are shown, in columns.
const (
	maxName     = 100 // of an issue, a state, a branch
	maxTitle    = 300
	maxLine     = 1000 // reasons, messages, paths
	maxQuestion = 8 << 10
)

// view is a progress in which all text is fit to be shown and holds no secret. It does
// not change, and it says nothing that changes with the time alone.
type view struct {
	raw progress.Progress // for numbers and times alone

	Workflow, Tracker string
	Trouble           []trouble
	Pause             string // why; empty for none
	Running           []*issue
	Elsewhere         []elsewhere
	Waiting           []*issue
	Parked            []*issue
	Delivered         []*issue // the latest first; those that have a claim too are the same values
	Completed         []string // ids
	Events            []event
	Limits            json.RawMessage

	byName map[string]*issue // and by id
}

// issue is an issue with a claim or a delivery.
type issue struct {
	claim   schedule.Claim    // for numbers and times; zero for an issue without a claim
	session *progress.Session // for the same; nil for an issue without a session

	ID, Name, Title string
	Path            string // of its page
	URL             string // empty unless it is a web address
	State, Why      string
	Doing, Summary  string
	Event, Session  string
	Log             string
	Question        string
	Events          []event
	Delivery        *delivery // nil for none
}

// maxElsewhere bounds how many claims of other processes a page shows.
const maxElsewhere = 50

// elsewhere is the claim of another process, whose session this run cannot see.
type elsewhere struct {
	ID, Name, Title, State string
	URL                    string // empty unless it is a web address
	Place                  string // the process
	Since                  time.Time
}

type delivery struct {
	Branch, Base, Head, Refused string
	URL                         string // of the pull request; empty unless it is a web address
	Patch                       string // its path, if there is one in place of a pull request
	Number                      int
	At                          time.Time
	Pushing                     bool
}

type event struct {
	At         time.Time
	ID         string
	Name       string // of the issue
	Kind, Text string
}

type trouble struct{ Source, Text string }

// viewOf returns the view of a progress.
func viewOf(p progress.Progress, r *redact.Redactor) *view {
	line := func(s string, n int) string { return clean(r, s, n) }
	v := &view{
		raw: p, Workflow: line(p.Workflow, maxLine), Tracker: line(p.Tracker, maxName), Pause: line(p.Pause.Why, maxLine),
		Limits: cleanJSON(r, p.Limits), byName: map[string]*issue{},
	}
	for _, t := range p.Trouble {
		v.Trouble = append(v.Trouble, trouble{string(t.Source), line(t.Text, maxLine)})
	}
	events := func(all []progress.Event) []event {
		list := make([]event, 0, len(all))
		for _, e := range all {
			list = append(list, event{e.At, line(string(e.ID), maxName), line(cmp.Or(e.Identifier, string(e.ID)), maxName), line(e.Kind, maxName), line(e.Text, maxLine)})
		}
		return list
	}
	v.Events = events(p.Events)
	byID := map[tracker.ID]*issue{}
	var all []*issue
	add := func(list *[]*issue, c schedule.Claim) *issue {
		i := &issue{
			claim: c, ID: line(string(c.ID), maxName), Name: line(cmp.Or(strings.TrimSpace(c.Identifier), string(c.ID)), maxName),
			Title: line(c.Title, maxTitle), URL: webAddress(r, c.URL), State: line(c.State, maxName), Why: line(c.Why, maxLine),
			Question: cleanLines(r, p.Asked[c.ID], maxQuestion),
		}
		*list, all = append(*list, i), append(all, i)
		byID[c.ID] = i
		return i
	}
	for n := range p.Sessions {
		s := &p.Sessions[n]
		i := add(&v.Running, s.Claim)
		i.session, i.Doing, i.Summary, i.Event = s, line(s.Doing, maxLine), line(s.Summary, maxLine), line(s.Event, maxName)
		i.Session, i.Log, i.Events = line(s.ID, maxName), line(s.Log, maxLine), events(s.Events)
	}
	for _, c := range p.Elsewhere {
		v.Elsewhere = append(v.Elsewhere, elsewhere{
			ID: line(string(c.ID), maxName), Name: line(cmp.Or(strings.TrimSpace(c.Identifier), string(c.ID)), maxName), Title: line(c.Title, maxTitle),
			State: line(c.State, maxName), URL: webAddress(r, c.URL), Place: line(progress.Place(c.Owner), maxName), Since: c.Since,
		})
	}
	for _, c := range p.Waiting {
		add(&v.Waiting, c)
	}
	for _, c := range p.Parked {
		add(&v.Parked, c)
	}
	for _, id := range latestFirst(p.Deliveries) {
		d := p.Deliveries[id]
		if d.IsOnlyLost() {
			continue
		}
		i := byID[id]
		if i == nil {
			i = add(new([]*issue), schedule.Claim{ID: id, Identifier: d.Identifier})
		}
		i.Delivery = &delivery{
			Branch: line(d.Branch, maxName), Base: line(d.Base, maxName), Head: line(d.Head, maxName), Refused: line(d.Refused, maxLine),
			URL: webAddress(r, d.URL), Number: d.Number, At: d.At, Pushing: d.Pushing != "",
		}
		if i.Delivery.URL == "" {
			i.Delivery.Patch = line(d.URL, maxLine)
		}
		v.Delivered = append(v.Delivered, i)
	}
	for _, id := range p.Completed {
		v.Completed = append(v.Completed, line(string(id), maxName))
	}
	for _, i := range all {
		v.byName[strings.ToLower(i.ID)] = i
	}
	for _, i := range all {
		if name := strings.ToLower(i.Name); v.byName[name] == nil {
			v.byName[name] = i
		}
		i.Path = issuePath(i.Name)
		if v.find(i.Name) != i { // another one has this name
			i.Path = issuePath(i.ID)
		}
		for _, e := range v.Events {
			if e.ID == i.ID {
				i.Events = append(i.Events, e)
			}
		}
		slices.SortStableFunc(i.Events, func(a, b event) int { return a.At.Compare(b.At) })
	}
	return v
}

// latestFirst returns the issues of deliveries, the one that was pushed last first.
func latestFirst(deliveries map[tracker.ID]schedule.Delivery) []tracker.ID {
	return slices.SortedFunc(maps.Keys(deliveries), func(a, b tracker.ID) int {
		x, y := deliveries[a], deliveries[b]
		return cmp.Or(y.At.Compare(x.At), tracker.CompareNaturally(x.Identifier, y.Identifier), cmp.Compare(a, b))
	})
}

// ShownElsewhere returns the claims of other processes that the page shows, and
// MoreElsewhere how many it leaves out.
func (v *view) ShownElsewhere() []elsewhere { return v.Elsewhere[:min(len(v.Elsewhere), maxElsewhere)] }
func (v *view) MoreElsewhere() int          { return len(v.Elsewhere) - len(v.ShownElsewhere()) }

// find returns an issue by its identifier or id; nil if there is none.
func (v *view) find(name string) *issue { return v.byName[strings.ToLower(name)] }

// heard returns when the session of an issue sent its last event; zero before the first.
func (i *issue) heard() time.Time {
	if n := len(i.session.Events); n > 0 {
		return i.session.Events[n-1].At
	}
	return i.claim.Heard
}

// runningFor returns the time of all sessions of the run, those in progress included.
func (v *view) runningFor(now time.Time) time.Duration { return v.raw.Spent.Time + v.uncounted(now) }

// uncounted returns the time of the sessions in progress.
func (v *view) uncounted(now time.Time) time.Duration {
	var sum time.Duration
	for _, s := range v.raw.Sessions {
		sum += s.Uncounted(now)
	}
	return sum
}

// clean returns a text as one line of at most n columns, without secrets. What is
// invisible is removed first, because it may stand inside a secret; and secrets are hidden
// before that too, because some are known by their lines.
func clean(r *redact.Redactor, s string, n int) string {
	if !isPlain(s) {
		s = report.Fit(r.String(s), math.MaxInt)
	}
	if s = r.String(s); len(s) <= n { // a character has at least as many bytes as columns
		return s
	}
	return report.Fit(s, n)
}

// isPlain reports whether s is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// cleanLines returns a text of several lines without secrets, see [clean], at most n bytes.
func cleanLines(r *redact.Redactor, s string, n int) string {
	return untrusted.Cut(r.String(untrusted.Lines(r.String(s))), n, "")
}

// cleanJSON returns JSON without secrets, nil if it is none without them.
func cleanJSON(r *redact.Redactor, raw []byte) json.RawMessage {
	var compact bytes.Buffer
	if json.Compact(&compact, r.Bytes(raw)) != nil {
		return nil
	}
	return compact.Bytes()
}

const maxAddress = 600 // bytes

// webAddress returns an address that a link may lead to, "" for anything else: a script, a
// file, or an address whose user name could be taken for its host.
func webAddress(r *redact.Redactor, address string) string {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxAddress || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || !isPlain(address) || r.String(address) != address {
		return ""
	}
	return u.String()
}
