package statuspage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The longest texts that are shown, in columns.
const (
	maxName     = 100 // of an issue, a state, a branch
	maxTitle    = 300
	maxLine     = 1000 // reasons, messages, paths
	maxQuestion = 8 << 10
)

// view is a progress as pages and documents show it: all text is fit to be shown and holds
// no secret. It does not change, and it says nothing that changes with the time alone. The
// texts of an issue are made fit when they are asked for: a page shows few of many issues.
type view struct {
	raw      progress.Progress // its texts are not fit to be shown
	redactor *redact.Redactor

	Workflow, Tracker string
	Trouble           []trouble
	Pause             string // why; empty for none
	Running           []*issue
	Waiting           []*issue
	Parked            []*issue
	Elsewhere         []*issue // claims of other processes, whose sessions this run cannot see
	Queue             []*issue // that start next, fewer than there are
	Delivered         []*issue // the latest first; those that have a claim too are the same values
	Completed         []string // ids
	Events            []event
	Limits            json.RawMessage
	Windows           []progress.Window // of Limits

	Slots                       int
	QueueLength                 int
	QueueWords                  string    // the reason why the queue waits
	Listed                      time.Time // time of the last list of candidates
	NextPoll, Deadline, Started time.Time
	Spent                       schedule.Spent
	Today                       schedule.Day

	byName map[string]*issue // and by id
	turn   string            // when an issue that is due gets its turn
}

// maxElsewhere bounds how many claims of other processes a page shows.
const maxElsewhere = 50

// event is something that happened.
type event struct {
	At   report.Time `json:"at"`
	Kind string      `json:"event"`
	Text string      `json:"message"`
	ID   string      `json:"issue_id"`
	Name string      `json:"issue_identifier"`
}

type trouble struct {
	Source string `json:"source"`
	Text   string `json:"message"`
}

func viewOf(p progress.Progress, r *redact.Redactor) *view {
	v := &view{
		raw: p, redactor: r, byName: map[string]*issue{}, turn: p.Turn(), Trouble: []trouble{}, Completed: []string{},
		Slots: p.Slots, QueueLength: p.Queue.Length, QueueWords: p.QueueWords(), Listed: p.Queue.Listed,
		NextPoll: p.NextPoll, Deadline: p.Deadline, Started: p.Started, Spent: p.Spent, Today: p.Today,
	}
	v.Workflow, v.Tracker, v.Pause = v.line(p.Workflow, maxLine), v.line(p.Tracker, maxName), v.line(p.Pause.Why, maxLine)
	v.Limits, v.Events = cleanJSON(r, p.Limits), v.events(p.Events)
	v.Windows = progress.Windows(v.Limits)
	for _, t := range p.Trouble {
		v.Trouble = append(v.Trouble, trouble{string(t.Source), v.line(t.Text, maxLine)})
	}
	for _, id := range p.Completed {
		v.Completed = append(v.Completed, v.line(string(id), maxName))
	}
	v.addIssues()
	return v
}

// addIssues fills the lists of issues, and gives each issue its page.
func (v *view) addIssues() {
	for n := range v.raw.Sessions {
		i := v.issueOf(&v.raw.Sessions[n].Claim)
		i.session = &v.raw.Sessions[n]
		v.Running = append(v.Running, i)
	}
	v.Waiting, v.Parked = v.issuesOf(v.raw.Waiting), v.issuesOf(v.raw.Parked)
	v.Elsewhere, v.Queue = v.issuesOf(v.raw.Elsewhere), v.issuesOf(v.raw.Queue.Next)
	all := slices.Concat(v.Running, v.Waiting, v.Parked)
	byID := make(map[tracker.ID]*issue, len(all))
	for _, i := range all {
		byID[i.claim.ID] = i
	}
	for _, d := range report.DeliveriesOf(v.raw.Deliveries, v.raw.Checks) {
		i := byID[d.ID]
		if i == nil {
			i = v.unclaimed(d.ID, d.Identifier)
			i.claim.Title, i.claim.URL = d.Title, d.URL
			all = append(all, i)
		}
		i.delivery = &d
		v.Delivered = append(v.Delivered, i)
	}
	for _, i := range all {
		v.byName[strings.ToLower(i.ID)] = i
	}
	for _, i := range all {
		v.addName(i.Name, i)
		if i.Name != i.claim.Identifier { // it is too long to be shown, or not fit
			v.addName(i.claim.Identifier, i)
		}
		if v.find(i.Name) != i { // another one has this name
			i.Path = issuePath(i.ID)
		}
	}
}

// addName lets find return an issue by a name, unless another one has it.
func (v *view) addName(name string, i *issue) {
	if name = strings.ToLower(name); name != "" && v.byName[name] == nil {
		v.byName[name] = i
	}
}

func (v *view) issuesOf(claims []schedule.Claim) []*issue {
	list := make([]*issue, 0, len(claims))
	for n := range claims {
		list = append(list, v.issueOf(&claims[n]))
	}
	return list
}

// issueOf returns the issue of a claim. Its page is that of its name.
func (v *view) issueOf(c *schedule.Claim) *issue {
	i := &issue{shownSession: shownSession{view: v}, claim: *c, ID: v.line(string(c.ID), maxName), Name: v.line(cmp.Or(strings.TrimSpace(c.Identifier), string(c.ID)), maxName)}
	i.Path = issuePath(i.Name)
	return i
}

func (v *view) unclaimed(id tracker.ID, identifier string) *issue {
	return v.issueOf(&schedule.Claim{ID: id, Identifier: identifier})
}

// events returns events with texts that are fit to be shown.
func (v *view) events(all []progress.Event) []event {
	list := make([]event, 0, len(all))
	for _, e := range all {
		list = append(list, event{
			report.Time{Time: e.At}, v.line(e.Kind, maxName), v.line(e.Text, maxLine), v.line(string(e.ID), maxName), v.line(cmp.Or(e.Identifier, string(e.ID)), maxName),
		})
	}
	return list
}

// ShownElsewhere returns the claims of other processes that the page shows, and MoreElsewhere how
// many it leaves out.
func (v *view) ShownElsewhere() []*issue { return v.Elsewhere[:min(len(v.Elsewhere), maxElsewhere)] }
func (v *view) MoreElsewhere() int       { return len(v.Elsewhere) - len(v.ShownElsewhere()) }

// find returns an issue by its identifier or id; nil if there is none.
func (v *view) find(name string) *issue { return v.byName[strings.ToLower(name)] }

func (v *view) uncounted(now time.Time) time.Duration {
	var sum time.Duration
	for _, s := range v.raw.Sessions {
		sum += s.Uncounted(now)
	}
	return sum
}

func (v *view) line(s string, n int) string { return clean(v.redactor, s, n) }

// clean returns a text as one line of at most n columns, without secrets. What is
// invisible is removed first, because it may stand inside a secret; and secrets are hidden
// before that too, because some are known by their lines.
func clean(r *redact.Redactor, s string, n int) string {
	if !text.IsPlain(s) {
		s = text.Fit(r.String(s), math.MaxInt)
	}
	return text.Fit(r.String(s), n)
}

// cleanLines returns a text of several lines without secrets, see [clean], at most n bytes.
func cleanLines(r *redact.Redactor, s string, n int) string {
	return text.Cut(r.String(text.Lines(r.String(s))), n, "")
}

// Cost returns the price of a usage, empty without budget.prices.
func (v *view) Cost(u schedule.Usage) string { return v.raw.Prices.Words(u) }

// cleanJSON returns JSON without secrets, or nil if it is not valid JSON without them.
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
	if err != nil || len(address) > maxAddress || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || !text.IsPlain(address) || r.String(address) != address {
		return ""
	}
	return u.String()
}
