package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// What the rows of the tables of a status page may take, in bytes: together with
// all else less than [MaxStatus].
const (
	longRoom  = 16 << 10
	shortRoom = 7 << 10
)

// MaxStatus bounds a status page, in bytes, whatever the state holds.
const MaxStatus = 64 << 10

// shownTicks is how many of the last deliveries, days and ticks a terminal shows; the JSON
// and the status page have all that are kept.
const shownTicks = 7

// StateView is the state that is kept between runs, ready to be shown.
type StateView struct {
	state      *schedule.State
	claims     []schedule.Claim
	deliveries []Delivery
	now        time.Time

	Program  string            // the words of a shell that start this program; empty for symphony
	Place    string            // where the state is, as --state takes it; empty for the default of every command
	Comments schedule.Comments // where people write what the program reads; zero if the workflow is not known
	Prices   schedule.Prices   // nil if the workflow is not known
}

// State returns a view of the state as it is at now.
func State(s *schedule.State, now time.Time) StateView {
	v := StateView{state: s, now: now}
	for _, c := range s.Claims {
		v.claims = append(v.claims, c)
	}
	v.claims = schedule.Sorted(v.claims, func(a, b *schedule.Claim) int {
		return cmp.Or(
			cmp.Compare(phaseRank(a.Phase), phaseRank(b.Phase)), latestParked(*a, *b),
			a.Due.Compare(b.Due), tracker.CompareNaturally(a.Identifier, b.Identifier), cmp.Compare(a.ID, b.ID),
		)
	})
	v.deliveries = DeliveriesOf(s.Deliveries, s.Checks())
	return v
}

// latestParked compares two claims by when they were parked, the latest first: a list that
// is cut shows what is new. Claims that are not parked are equal to all others.
func latestParked(a, b schedule.Claim) int {
	if a.Phase != schedule.Parked || b.Phase != schedule.Parked {
		return 0
	}
	return b.Since.Compare(a.Since)
}

func phaseRank(phase schedule.Phase) int {
	return slices.Index([]schedule.Phase{schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked}, phase)
}

// Text returns the state for a terminal with the given number of columns, 40 at
// least: what is parked and why, what runs, what waits, the spending of the last
// days and the last ticks.
func (v StateView) Text(width int) string {
	w := newTextWriter(width, v.now)
	w.print(v.document(Links{}, false))
	return w.String()
}

// Markdown returns the status page that is committed beside the state, in
// GitHub's Markdown: what [StateView.Text] shows, with links to runs. It says when it was
// made, and its ages are as of then: it is made when the state is saved, and read later.
func (v StateView) Markdown(l Links) string {
	w := &markdownWriter{level: "##", now: v.now}
	w.lines("# Symphony")
	w.lines("What is kept between runs, as of **" + moment(v.now) + " UTC**, when it changed last; ages are as of then. This page is for people: `state.json` beside it is what counts.")
	v.Place = l.state()
	here := l
	here.Branch = "" // this is its page
	if places := here.places(); len(places) > 0 {
		w.print(document{paragraph(places)})
	}
	w.print(v.document(l, true))
	return w.String()
}

// document returns the state: the claims, what needs a person first, then the
// spending and the last ticks.
func (v StateView) document(l Links, page bool) document {
	d := document{paragraph{strong(v.summary())}}
	v.claims = slices.Clone(v.claims)
	for i, c := range v.claims {
		v.claims[i].Why = text.InWords(c.Why)
	}
	if pause := v.state.Pause; pause.Why != "" {
		pause.Why = text.InWords(pause.Why)
		p := paragraph{strong("Paused"), own(" until "), instantSpan(pause.Until), own("; after that one session tries first whether this is fixed: "), foreign(pause.Why)}
		if !pause.Until.After(v.now) {
			p = paragraph{strong("The pause ended"), own(" at "), instantSpan(pause.Until), own("; one session tries first whether this is fixed: "), foreign(pause.Why)}
		}
		d.add(p)
		if pause.Until.After(v.now) {
			d.add(v.ways().endPause().block())
		}
	}
	addHosts(&d, v.downHosts())
	v.parked(&d, page)
	v.running(&d, l)
	v.waiting(&d, l)
	v.delivered(&d)
	if page {
		v.stats(&d)
	}
	v.days(&d)
	v.ticks(&d, l)
	return d
}

func (v StateView) summary() string {
	if len(v.claims) == 0 {
		return "No claims."
	}
	count := map[schedule.Phase]int{}
	for _, c := range v.claims {
		count[c.Phase]++
	}
	text := text.Count(len(v.claims), "claim")
	lead := ": "
	for _, phase := range []schedule.Phase{schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked} {
		if n := count[phase]; n > 0 {
			text += fmt.Sprintf("%s%d %s", lead, n, phase)
			lead = ", "
		}
	}
	return text + "."
}

func (v StateView) in(phases ...schedule.Phase) []schedule.Claim {
	var claims []schedule.Claim
	for _, c := range v.claims {
		if slices.Contains(phases, c.Phase) {
			claims = append(claims, c)
		}
	}
	return claims
}

// parked adds the claims that wait for a person. The three tables of claims are
// declared one by one, because they have few columns in common.
func (v StateView) parked(d *document, page bool) {
	claims := v.in(schedule.Parked)
	if len(claims) == 0 {
		return
	}
	t := table{room: longRoom, columns: []column{
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 12, max: 40, drop: 3, width: titleWidth},
		{head: "Since", kind: instantColumn, drop: 4},
		{head: "Sessions", kind: numberColumn, drop: 1},
		{head: "Tokens", kind: numberColumn, drop: 2},
		{head: "Cost", kind: numberColumn, drop: 2},
		{head: "Why", min: 14, width: whyWidth, prose: true},
	}}
	for _, c := range claims {
		t.add(phrase{claimLink(c)}, cell(c.Title), instantCell(c.Since), number(c.Sessions), number(c.Tokens), price(c.Spent(), v.Prices), cell(v.parkedReason(c)))
	}
	if page { // a phone shows only the columns to the left
		t.move(len(t.columns)-1, 1)
	}
	id := "ID"
	if len(claims) == 1 {
		id = argument(name(claims[0].Identifier, claims[0].ID))
	}
	body := document{t, v.ways().goOn(id).block()}
	if page { // nobody scrolls past a hundred rows to see how
		slices.Reverse(body)
	}
	d.add(section{heading: "Parked", detail: "waits for a person", body: body})
}

// parkedReason returns the reason why a claim is parked. The reasons of a refusal, which are a list,
// are on one line.
func (v StateView) parkedReason(c schedule.Claim) string {
	refusal := v.state.Deliveries[c.ID].Refused
	text := withoutReasons(c.Why, refusal)
	switch {
	case text == c.Why:
		return text
	case text == "":
		return inOneLine(refusal)
	}
	return text + ": " + inOneLine(refusal)
}

// ways returns the ways in which people reach the run. A state does not say where they comment, but
// whether the people of an issue were reached, whose answers the program reads.
func (v StateView) ways() ways {
	reached := func(c schedule.Claim) bool {
		return v.state.Conversations[c.ID].Posted != "" || v.state.Deliveries[c.ID].Number > 0
	}
	comments := v.Comments
	if comments == (schedule.Comments{}) && slices.ContainsFunc(v.claims, reached) {
		comments = schedule.AnyComments
	}
	return ways{comments, v.Program, v.Place}
}

func (v StateView) running(d *document, l Links) {
	claims := v.in(schedule.Running, schedule.Stopping)
	if len(claims) == 0 {
		return
	}
	t := table{room: shortRoom, columns: []column{
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 12, max: 40, drop: 2, width: titleWidth},
		{head: "State", min: 11, max: 16, drop: 3},
		{head: "Phase"},
		{head: "Since", kind: instantColumn, drop: 5},
		{head: "Attempt", kind: numberColumn, drop: 1},
		{head: "Run", drop: 4},
		{head: "Host", min: 8, max: 24, drop: 4},
		{head: "Why", min: 14, width: whyWidth, prose: true},
	}}
	for _, c := range claims {
		t.add(phrase{claimLink(c)}, cell(c.Title), cell(c.State), cell(string(c.Phase)), instantCell(c.Since), number(c.Attempt), l.owner(c.Owner), cell(c.Host), cell(c.Why))
	}
	d.add(section{heading: "Running", body: document{t}})
}

func (v StateView) waiting(d *document, l Links) {
	claims := v.in(schedule.Waiting)
	if len(claims) == 0 {
		return
	}
	t := table{room: longRoom, columns: []column{
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 12, max: 40, drop: 3, width: titleWidth},
		{head: "Due", kind: instantColumn},
		{head: "Attempt", kind: numberColumn, drop: 1},
		{head: "Tokens", kind: numberColumn, drop: 2},
		{head: "Cost", kind: numberColumn, drop: 2},
		{head: "Why", min: 14, width: whyWidth, prose: true},
	}}
	for _, c := range claims {
		t.add(phrase{claimLink(c)}, cell(c.Title), instantCell(c.Due), number(c.Attempt), number(c.Tokens), price(c.Spent(), v.Prices), l.lostShard(c.Why))
	}
	d.add(section{heading: "Waiting", detail: "a tick starts what is due", body: document{t}})
}

func (v StateView) delivered(d *document) {
	if len(v.deliveries) == 0 {
		return
	}
	t := table{room: shortRoom, short: shownTicks, columns: []column{
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 12, max: 40, drop: 4, width: titleWidth},
		{head: "Where", min: 12, max: 40, width: titleWidth},
		{head: "Branch", min: 16, max: 40, drop: 1},
		{head: "Checks", min: 5, drop: 3},
		{head: "Pushed", kind: instantColumn, drop: 2},
		{head: "Refused", min: 14, width: whyWidth, prose: true},
	}}
	for _, p := range v.deliveries {
		var where, branch phrase
		switch {
		case p.Number > 0:
			where, branch = phrase{pullRequestLink(p.Number, p.PullURL)}, cell(p.Branch)
		case p.Patch != "":
			where = cell(p.Patch)
		case p.Head != "", p.Pushing:
			where = cell(p.Branch)
		}
		if p.Pushing {
			where = append(where, own(" being pushed"))
		}
		row := tableRow{cells: []phrase{
			{issueName(p.Identifier, p.ID, cmp.Or(v.state.Claims[p.ID].URL, p.URL))}, cell(p.Title), where, branch, cell(string(p.Checks)), instantCell(p.PushedAt.Time), cell(inOneLine(p.Refused)),
		}}
		if p.PullURL != "" {
			row.remarks = []remark{{text: p.PullURL, lines: maxReason, linked: true}}
		}
		t.rows = append(t.rows, row)
	}
	d.add(section{heading: "Delivered", detail: "where the work is", body: document{t}})
}

// days adds the spending of the last days, the latest first, and what is reserved.
func (v StateView) days(d *document) {
	var body document
	if len(v.state.Days) > 0 {
		t := table{room: shortRoom, short: shownTicks, columns: []column{
			{head: "Day (UTC)"}, {head: "Sessions", kind: numberColumn}, {head: "Tokens", kind: numberColumn}, {head: "Cost", kind: numberColumn}, {head: "Agent time", kind: numberColumn},
		}}
		for _, day := range slices.Backward(v.state.Days) {
			t.add(cell(day.Date), number(day.Sessions), number(day.Usage.Total()), price(day.Usage, v.Prices), duration(day.Time))
		}
		body.add(t)
	}
	if r := v.state.Reserved(); r.Shards > 0 {
		body.add(paragraph{own(reservedFor(r) + ": " + reservedWords(r) + ".")})
	}
	if len(body) > 0 {
		d.add(section{heading: "Spending", body: body})
	}
}

// ticks adds the last ticks that did something, the latest first.
func (v StateView) ticks(d *document, l Links) {
	if len(v.state.History) == 0 {
		return
	}
	t := table{room: shortRoom, short: shownTicks, columns: []column{
		{head: "Started", kind: instantColumn}, {head: "Took", kind: numberColumn, drop: 2}, {head: "Sessions", kind: numberColumn, drop: 4},
		{head: "Completed", kind: numberColumn, drop: 5}, {head: "Failed", kind: numberColumn, drop: 7}, {head: "Parked", kind: numberColumn, drop: 6}, {head: "Tokens", kind: numberColumn},
		{head: "Ended by", min: 8, max: 16, drop: 3}, {head: "Run", drop: 1},
	}}
	for _, tick := range slices.Backward(v.state.History) {
		t.add(instantCell(tick.Started), duration(tick.Ended.Sub(tick.Started)), number(tick.Sessions), number(tick.Done),
			number(tick.Failed), number(tick.Parked), number(tick.Tokens), cell(tick.Stopped), l.run(tick.Run, tick.Attempt))
	}
	d.add(section{heading: "Last ticks that did something", body: document{t}})
}

func instantCell(at time.Time) phrase { return phrase{instantSpan(at)} }

func claimLink(c schedule.Claim) span { return issueName(c.Identifier, c.ID, c.URL) }
