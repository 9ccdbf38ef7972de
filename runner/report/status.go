package report

import (
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// What the rows of the tables of a status page may take, in bytes: together with
// all else less than [MaxStatus].
const (
	longRoom  = 18 << 10
	shortRoom = 8 << 10
)

// MaxStatus bounds a status page, in bytes, whatever the state holds.
const MaxStatus = 64 << 10

// Markdown is the status page that is committed beside the state, in GitHub's
// Markdown: what is parked and why, what runs and in which run, what waits until
// when, the spending of each day and the last ticks. It depends on the state
// alone and not on the time at which it is made, so it says no "ago": the page of
// a state that did not change is the same.
func (v StateView) Markdown(l Links) string {
	s := &sheet{level: "##"}
	s.block("# Symphony")
	s.block("What is kept between runs, as of the last change. This page is for people: `state.json` beside it is what counts.")
	if len(v.claims) == 0 {
		s.block("**No claims.**")
	} else {
		s.block("**" + literal(v.summary(), itemWidth) + "**")
	}
	if pause := v.state.Pause; pause.Why != "" {
		s.block("**Nothing starts before " + moment(pause.Until) + " UTC**; then one session tries first whether this is mended: " + literal(pause.Why, whyWidth))
	}
	v.statusParked(s, l)
	v.statusRunning(s, l)
	v.statusWaiting(s)
	v.statusDays(s)
	v.statusPast(s, l)
	return s.String()
}

// moment is an instant in UTC on a page that is read at any time.
func moment(at time.Time) markdown {
	if at.IsZero() {
		return ""
	}
	return literal(at.UTC().Format("2006-01-02 15:04:05"), nameWidth)
}

// in are the claims of these phases.
func (v StateView) in(phases ...schedule.Phase) []schedule.Claim {
	var claims []schedule.Claim
	for _, c := range v.claims {
		for _, phase := range phases {
			if c.Phase == phase {
				claims = append(claims, c)
			}
		}
	}
	return claims
}

func (v StateView) statusParked(s *sheet, l Links) {
	claims := v.in(schedule.Parked)
	if len(claims) == 0 {
		return
	}
	s.heading("Parked: waits for a person")
	g := grid{heads: []string{"Issue", "Title", "Why", "Since (UTC)", " Sessions", " Tokens"}, room: longRoom}
	for _, c := range g.first(claims) {
		g.add(claimed(c), literal(c.Title, titleWidth), literal(c.Why, whyWidth), moment(c.Since), count(int64(c.Sessions)), count(c.Tokens))
	}
	g.write(s)
	id := "ID"
	if len(claims) == 1 {
		id = argument(name(claims[0].Identifier, claims[0].ID))
	}
	s.block("To let one go on, answer or change it in the tracker, or run " + l.retry(id) + ".")
}

func (v StateView) statusRunning(s *sheet, l Links) {
	claims := v.in(schedule.Running, schedule.Stopping)
	if len(claims) == 0 {
		return
	}
	s.heading("Running")
	g := grid{heads: []string{"Issue", "Title", "State", "Phase", "Since (UTC)", "Run", " Attempt"}, room: shortRoom}
	for _, c := range g.first(claims) {
		phase := literal(string(c.Phase), nameWidth)
		if why := literal(c.Why, whyWidth); why != "" {
			phase += ": " + why
		}
		g.add(claimed(c), literal(c.Title, titleWidth), literal(c.State, nameWidth), phase, moment(c.Since), l.owner(c.Owner), count(int64(c.Attempt)))
	}
	g.write(s)
}

func (v StateView) statusWaiting(s *sheet) {
	claims := v.in(schedule.Waiting)
	if len(claims) == 0 {
		return
	}
	s.heading("Waiting")
	g := grid{heads: []string{"Issue", "Title", "Until (UTC)", "Why", " Attempt", " Tokens"}, room: longRoom}
	for _, c := range g.first(claims) {
		g.add(claimed(c), literal(c.Title, titleWidth), moment(c.Due), literal(c.Why, whyWidth), count(int64(c.Attempt)), count(c.Tokens))
	}
	g.write(s)
	s.block("A tick after that time takes it up, when a slot is free.")
}

func (v StateView) statusDays(s *sheet) {
	if len(v.state.Days) == 0 {
		return
	}
	s.heading("Spending")
	g := grid{heads: []string{"Day (UTC)", " Sessions", " Tokens", " Agent time"}, room: shortRoom}
	for i := len(v.state.Days) - 1; i >= 0; i-- {
		day := v.state.Days[i]
		g.add(literal(day.Date, nameWidth), count(int64(day.Sessions)), count(day.Usage.Total()),
			literal(Duration(day.Time), nameWidth))
	}
	g.write(s)
}

func (v StateView) statusPast(s *sheet, l Links) {
	past := v.past()
	if len(past) == 0 {
		return
	}
	s.heading("Last ticks that did something")
	g := grid{heads: []string{"Started (UTC)", " Took", "Run", " Sessions", " Completed", " Parked", " Tokens", "Ended by"}, room: shortRoom}
	for _, tick := range past {
		run := markdown("")
		if tick.Run != "" {
			run = l.run(tick.Run, tick.Attempt)
		}
		g.add(moment(tick.Started), literal(Duration(tick.Ended.Sub(tick.Started)), nameWidth), run, count(int64(tick.Sessions)),
			count(int64(tick.Done)), count(int64(tick.Parked)), count(tick.Tokens), literal(tick.Stopped, nameWidth))
	}
	g.write(s)
}

// first are the claims that a table shows if it has the room.
func (g *grid) first(claims []schedule.Claim) []schedule.Claim {
	shown := claims[:min(len(claims), maxIssues)]
	g.left = len(claims) - len(shown)
	return shown
}

func claimed(c schedule.Claim) markdown { return link(name(c.Identifier, c.ID), c.URL, nameWidth) }
