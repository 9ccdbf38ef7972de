package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Frame is the content of a display at one moment.
type Frame struct {
	Progress progress.Progress
	Now      time.Time           // its location is the location of all times shown
	Log      []string            // log lines, the oldest first; may be nil
	Ending   bool                // the run is being ended, and a second key kills it
	NoKeys   bool                // the key q is not read
	Redact   func(string) string // hides secrets; nil hides none
}

// The size from which a frame shows more, and bounds of its parts.
const (
	roomy       = 12 // lines from which sections have headings
	maxTrouble  = 3  // lines of a trouble
	maxGoOn     = 3  // lines of the sentence below the parked issues
	maxEvents   = 5
	maxQueue    = 5 // issues of the queue; the header has their number
	maxColumns  = 500
	maxRows     = 500
	silentAfter = time.Minute // a session in a turn that says nothing for so long matters
)

// Render returns the frame as lines of text with ANSI styles, joined by line feeds: at
// most rows lines of at most columns columns.
func (f Frame) Render(columns, rows int) string {
	columns, rows = min(columns, maxColumns), min(rows, maxRows)
	if columns < 1 || rows < 1 {
		return ""
	}
	p := painter{Frame: f, columns: columns, isRoomy: rows >= roomy}
	if rows == 1 {
		return strings.Join(append(p.footer(), p.header(1)...)[:1], "\n")
	}
	top := p.header(1)
	if p.isRoomy {
		top = p.header(min(3, rows/8+1))
	}
	bottom := p.footer()
	if !f.Ending && rows < 4 {
		bottom = nil
	}
	p.goOn = p.howToGoOn()
	rest := rows - len(top) - len(bottom)
	top = append(top, p.trouble(min(max(1, rest/3), rest))...)
	rest = rows - len(top) - len(bottom)

	sections := p.sections()
	grant(sections, rest)
	var body []string
	for _, s := range sections {
		body = append(body, s.draw(&p)...)
	}
	lines := slices.Concat(p.log(rest-len(body)), top, body, bottom)
	return strings.Join(lines, "\n")
}

// section is a part of the frame with a row for each of its items.
type section struct {
	items   int
	least   int // lines that it gets before others get more
	extra   int // lines besides the items
	granted int // lines
	// rows returns the heading, if there is room for one, and n rows, which are those
	// that matter most.
	rows func(n int) []string // n is 1 or more
	noun string               // word for the items in the line "and n more"; empty for no such line
}

func (s *section) want() int {
	if s.items == 0 {
		return 0
	}
	return s.items + s.extra
}

// grant distributes lines among sections: each gets its least, then the first ones get all
// their lines.
func grant(sections []*section, lines int) {
	for _, least := range []bool{true, false} {
		for _, s := range sections {
			most := s.want()
			if least {
				most = min(most, s.least+s.extra)
			}
			more := min(max(0, most-s.granted), lines)
			s.granted += more
			lines -= more
		}
	}
}

func (s *section) draw(p *painter) []string {
	if s.granted == 0 || s.items == 0 {
		return nil
	}
	shown := s.granted - s.extra
	if shown >= s.items {
		return s.rows(s.items)
	}
	if s.noun == "" {
		if shown < 1 {
			return nil
		}
		return s.rows(shown)
	}
	if shown <= 1 {
		return []string{p.line(styleDim, fmt.Sprintf("… %d %s", s.items, s.noun))}
	}
	return append(s.rows(shown-1), p.line(styleDim, fmt.Sprintf("… %d more %s", s.items-(shown-1), s.noun)))
}

// sections returns the parts below the header, the most important first.
func (p *painter) sections() []*section {
	heading := 0
	if p.isRoomy {
		heading = 1
	}
	sessions := &section{items: len(p.Progress.Sessions), least: 8, extra: heading, rows: p.sessionRows, noun: "sessions"}
	parked := &section{items: len(p.Progress.Parked), least: 3, extra: heading + len(p.goOn), rows: p.parkedRows, noun: "parked"}
	waiting := &section{items: len(p.Progress.Waiting), least: 2, extra: heading, rows: p.waitingRows, noun: "waiting"}
	queue := &section{items: min(len(p.Progress.Queue.Next), maxQueue), least: 1, extra: heading, rows: p.queueRows}
	elsewhere := &section{items: len(p.Progress.Elsewhere), least: 1, extra: heading, rows: p.elsewhereRows, noun: "elsewhere"}
	events := &section{items: min(len(p.Progress.Events), maxEvents), least: 3, extra: heading, rows: p.eventRows}
	return []*section{sessions, parked, waiting, queue, elsewhere, events}
}

// cost returns the price of a usage behind its tokens, empty without prices.
func cost(u schedule.Usage, prices schedule.Prices) string {
	if words := prices.Words(u); words != "" {
		return " (" + words + ")"
	}
	return ""
}

// header returns the facts about the whole run, in at most n lines.
func (p *painter) header(n int) []string {
	g := p.Progress
	pieces := []string{cmp.Or(p.clean(baseName(g.Workflow)), "symphony")}
	if g.Tracker != "" {
		pieces = append(pieces, p.clean(g.Tracker))
	}
	pieces = append(pieces, fmt.Sprintf("%d of %d slots", len(g.Sessions), g.Slots), text.Number(g.Spent.Usage.Total())+" tokens"+cost(g.Spent.Usage, g.Prices))
	if k := len(g.Elsewhere); k > 0 {
		pieces = append(pieces, fmt.Sprintf("%d elsewhere", k))
	}
	if k := len(g.Parked); k > 0 {
		pieces = append(pieces, fmt.Sprintf("%d parked", k))
	}
	if k := len(g.Waiting); k > 0 {
		pieces = append(pieces, fmt.Sprintf("%d waiting", k))
	}
	if k := g.Queue.Length; k > 0 {
		pieces = append(pieces, fmt.Sprintf("%d queued", k))
	}
	if !g.Deadline.IsZero() {
		pieces = append(pieces, "deadline "+p.in(g.Deadline))
	}
	if !g.NextPoll.IsZero() {
		pieces = append(pieces, "next poll "+p.in(g.NextPoll))
	}
	if limits := p.limits(); limits != "" {
		pieces = append(pieces, limits)
	}
	if today := g.Today.Usage.Total(); today != g.Spent.Usage.Total() && today > 0 {
		pieces = append(pieces, text.Number(today)+" tokens"+cost(g.Today.Usage, g.Prices)+" today")
	}
	var lines []string
	for len(pieces) > 0 && len(lines) < n {
		k, used := 1, text.Columns(pieces[0])
		for ; k < len(pieces); k++ {
			if used += text.Columns(separator) + text.Columns(pieces[k]); used > p.columns {
				break
			}
		}
		line := strings.Join(pieces[:k], separator)
		pieces = pieces[k:]
		style := styleDim
		if len(lines) == 0 {
			style = styleTitle
		}
		lines = append(lines, p.line(style, line))
	}
	return lines
}

const separator = " · "

// notice is an obstacle that keeps work from starting.
type notice struct {
	style      style
	lead       string // start of the first line; its width indents the others
	until, why string
}

func (p *painter) notices() []notice {
	var notices []notice
	for _, t := range p.Progress.Trouble {
		notices = append(notices, notice{style: styleBad, lead: "✗ " + string(t.Source) + ": ", why: text.InWords(t.Text)})
	}
	if pause := p.Progress.Pause; pause.Why != "" {
		n := notice{style: styleWarn, lead: "‖ paused: ", why: text.InWords(pause.Why)}
		switch {
		case pause.Until.After(p.Now):
			n.until = "until " + p.clock(pause.Until)
			if resume := report.StateCommand(p.Progress.Program, p.Progress.State, "resume"); resume != "" {
				n.until += ", or " + resume
			}
			n.until += ": "
		case !pause.Until.IsZero():
			n.lead = "‖ one session tries first whether this is fixed: "
		}
		notices = append(notices, n)
	}
	return notices
}

// trouble returns the obstacles that keep work from starting, in at most n lines: the first
// line of each part, then the rest of the first ones.
func (p *painter) trouble(n int) []string {
	notices := p.notices()
	granted := make([]int, len(notices))
	for _, most := range []int{1, maxTrouble} {
		for i := range notices {
			more := min(len(p.noticeLines(notices[i], most))-granted[i], n)
			granted[i] += more
			n -= more
		}
	}
	var lines []string
	for i, most := range granted {
		if most > 0 {
			lines = append(lines, p.noticeLines(notices[i], most)...)
		}
	}
	return lines
}

// noticeLines returns a part of the trouble in at most n lines, which is 1 or more.
func (p *painter) noticeLines(o notice, n int) []string {
	columns := p.columns - text.Columns(o.lead)
	lines := text.Wrap(p.clean(o.until+o.why), columns, n+1)
	if len(lines) > n {
		lines = text.Wrap(p.clean(o.until+report.Cause(p.clean(o.why))), columns, n)
	}
	if len(lines) == 0 {
		lines = []string{""}
	}
	indent := strings.Repeat(" ", text.Columns(o.lead))
	for i, line := range lines {
		lead := indent
		if i == 0 {
			lead = o.lead
		}
		lines[i] = p.line(o.style, lead+line)
	}
	return lines
}

// footer returns the line that explains a key, in its longest form that fits. It never cuts a
// form, because half of it does not explain the next key.
func (p *painter) footer() []string {
	keys, key := "q or Ctrl-C", "q"
	if p.NoKeys {
		keys, key = "Ctrl-C", "Ctrl-C"
	}
	if !p.Ending {
		return []string{p.line(styleDim, p.fullest(keys+" ends the run", key+" ends the run", key+" ends"))}
	}
	sessions, count := "", ""
	if n := len(p.Progress.Sessions); n > 0 {
		count = fmt.Sprintf(" %d", n)
		sessions = count + " sessions"
		if n == 1 {
			sessions = count + " session"
		}
	}
	return []string{p.line(styleWarn, p.fullest(
		"Ending"+sessions+", up to 10 s. "+keys+" again kills at once.",
		"Ending"+count+", up to 10 s; "+key+" again kills",
		key+" again kills",
		key+" kills",
	))}
}

// fullest returns the first of the forms that fits in a line, the last if none does.
func (p *painter) fullest(forms ...string) string {
	for _, form := range forms {
		if text.Columns(form) <= p.columns {
			return form
		}
	}
	return forms[len(forms)-1]
}

func (p *painter) log(n int) []string {
	n = min(n, len(p.Log))
	if n <= 0 {
		return nil
	}
	lines := make([]string, n)
	for i, line := range p.Log[len(p.Log)-n:] {
		lines[i] = p.line(stylePlain, p.clean(line))
	}
	return lines
}

// sessionRows returns the table of n sessions. Sessions that are being stopped or are silent
// are chosen before others, but keep their place in the table.
func (p *painter) sessionRows(n int) []string {
	rank := func(s *progress.Session) int {
		switch {
		case s.Claim.Phase == schedule.Stopping:
			return 0
		case !s.Claim.TurnSince.IsZero() && p.Now.Sub(s.Claim.Heard) > silentAfter:
			return 1
		}
		return 2
	}
	t := table{columns: []text.Column{
		{Head: "ISSUE", Min: 24, Max: 24},
		{Head: "STATE", Min: 14, Max: 14, Drop: 2},
		{Head: "TITLE", Min: 12, Drop: 4},
		{Head: "PHASE", Min: 18, Drop: 5},
		{Head: "HOST", Min: 8, Max: 24, Drop: 6},
		{Head: "MODEL", Min: 12, Max: 24, Drop: 1},
		{Head: "AGE", Right: true, Drop: 7},
		{Head: "TOKENS", Right: true, Drop: 3},
		{Head: "NOW", Min: 24, Max: 40, Shorten: report.Cause},
	}}
	for _, s := range choose(p.Progress.Sessions, n, rank) {
		now := p.clean(s.Doing)
		if s.Claim.Phase == schedule.Stopping {
			now = p.clean(titled(s.PhaseWords(), text.InWords(s.Claim.Why)))
		}
		t.add(p.clean(s.Claim.Identifier), p.clean(s.Claim.State), p.clean(s.Claim.Title), s.PhaseWords(), p.clean(s.Claim.Host), p.clean(s.Model),
			age(p.Now.Sub(s.Started)), text.Number(s.Claim.Live.Total()), cmp.Or(now, s.PhaseWords()))
	}
	return t.lines(p)
}

// waitingRows returns the table of the n claims that are due first.
func (p *painter) waitingRows(n int) []string {
	byDue := schedule.Sorted(p.Progress.Waiting, func(a, b *schedule.Claim) int { return a.Due.Compare(b.Due) })
	last := byDue[n-1].Due
	rank := func(c *schedule.Claim) int { return c.Due.Compare(last) }
	t := table{columns: []text.Column{
		{Head: "WAITING", Min: 24, Max: 24},
		{Head: "STATE", Min: 14, Max: 14, Drop: 2},
		{Head: "TITLE", Min: 12, Drop: 3},
		{Head: "ATTEMPT", Right: true, Drop: 1},
		{Head: "NEXT", Min: 12, Max: 12},
		{Head: "WHY", Min: 24, Max: 40, Shorten: report.Cause},
	}}
	for _, c := range choose(p.Progress.Waiting, n, rank) {
		next := p.in(c.Due)
		if !c.Due.After(p.Now) {
			next = p.turn()
		}
		t.add(p.clean(c.Identifier), p.clean(c.State), p.clean(c.Title), fmt.Sprint(c.Attempt), next, p.clean(text.InWords(c.Why)))
	}
	return t.lines(p)
}

func (p *painter) queueRows(n int) []string {
	t := table{columns: []text.Column{
		{Head: "NEXT", Min: 24, Max: 24},
		{Head: "STATE", Min: 14, Max: 14, Drop: 1},
		{Head: p.Progress.QueueWords(), Min: 16},
	}}
	for _, c := range p.Progress.Queue.Next[:n] {
		t.add(p.clean(c.Identifier), p.clean(c.State), p.clean(c.Title))
	}
	return t.lines(p)
}

// turn returns the time when a claim that is due gets its turn, in words.
func (p *painter) turn() string {
	if p.Ending {
		return "next run"
	}
	return p.Progress.Turn()
}

func (p *painter) elsewhereRows(n int) []string {
	t := table{columns: []text.Column{
		{Head: "ELSEWHERE", Min: 24, Max: 24},
		{Head: "STATE", Min: 14, Max: 14, Drop: 2},
		{Head: "TITLE", Min: 12, Drop: 1},
		{Head: "SINCE", Right: true, Drop: 3},
		{Head: "IN", Min: 20},
	}}
	for _, c := range p.Progress.Elsewhere[:n] {
		t.add(p.clean(c.Identifier), p.clean(c.State), p.clean(c.Title), age(p.Now.Sub(c.Since)), p.clean(progress.Place(c.Owner)))
	}
	return t.lines(p)
}

// parkedRows returns the table of n parked claims and, if there is room, how to let them
// go on.
func (p *painter) parkedRows(n int) []string {
	t := table{columns: []text.Column{
		{Head: "PARKED", Min: 24, Max: 24},
		{Head: "STATE", Min: 14, Max: 14, Drop: 1},
		{Head: "TITLE", Min: 12, Drop: 2},
		{Head: "WAITS FOR A PERSON", Min: 24, Max: 40, Shorten: report.Cause},
	}}
	for _, c := range p.Progress.Parked[:n] {
		why := text.InWords(c.Why)
		if asked := p.Progress.Asked[c.ID]; asked != "" {
			why = "asks: " + asked
		}
		t.add(p.clean(c.Identifier), p.clean(c.State), p.clean(c.Title), p.clean(why))
	}
	return append(t.lines(p), p.goOn...)
}

// howToGoOn returns the way to let a parked issue go on, if there is one, and room.
func (p *painter) howToGoOn() []string {
	if !p.isRoomy || len(p.Progress.Parked) == 0 {
		return nil
	}
	lines := text.Wrap(p.clean("→ "+p.Progress.Comments.GoOn()), p.columns, maxGoOn)
	for i, line := range lines {
		lines[i] = p.line(styleWarn, line)
	}
	return lines
}

func (p *painter) eventRows(n int) []string {
	t := table{columns: []text.Column{
		{Head: "EVENTS", Drop: 1},
		{Head: "", Min: 24, Max: 24},
		{Head: "", Min: 16, Shorten: shortEvent},
	}}
	events := p.Progress.Events
	for _, e := range events[len(events)-n:] {
		t.add(p.clock(e.At), p.clean(e.Identifier), p.clean(titled(e.Kind, text.InWords(e.Text))))
	}
	return t.lines(p)
}

// shortEvent returns an event of a failure with its cause alone.
func shortEvent(text string) string {
	kind, why, _ := strings.Cut(text, ": ")
	return titled(kind, report.Cause(why))
}

// choose returns the n items of the lowest ranks in their order; of equal ranks it takes the
// first.
func choose[T any](items []T, n int, rank func(*T) int) []T {
	if n >= len(items) {
		return items
	}
	order, ranks := make([]int, len(items)), make([]int, len(items))
	for i := range order {
		order[i], ranks[i] = i, rank(&items[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	order = order[:max(0, n)]
	slices.Sort(order)
	chosen := make([]T, len(order))
	for i, at := range order {
		chosen[i] = items[at]
	}
	return chosen
}
