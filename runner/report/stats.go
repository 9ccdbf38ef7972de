package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Stats holds numbers about the work on issues in a period, ready to be shown.
type Stats struct {
	Since    Time                    `json:"since"`
	Until    Time                    `json:"until"`
	Begins   Time                    `json:"history_begins"` // first end of the history; null for an empty history
	Merged   int                     `json:"merged"`
	Closed   int                     `json:"closed"`
	Done     int                     `json:"done"`
	Parked   map[schedule.Reason]int `json:"parked"` // by reason
	FirstTry int                     `json:"merged_at_first_try"`
	// The sums are over the merged pull requests.
	Sessions int `json:"sessions_of_merged"`
	Rounds   int `json:"feedback_rounds_of_merged"`
	Tokens   `json:"tokens_of_merged"`
	ToPull   Times    `json:"seconds_to_pull_request"`
	ToMerge  Times    `json:"seconds_to_merge"`
	Weeks    []Week   `json:"weeks"`    // weeks with an end, the latest first
	Warnings []string `json:"warnings"` // parts of the history that are not counted, one sentence each

	usage  schedule.Usage // of the merged pull requests
	prices schedule.Prices
}

// Times describes how long something took.
type Times struct {
	Count  int     `json:"count"` // number of measured cases
	Median float64 `json:"median"`
	Most   float64 `json:"p90"` // nine of ten took at most this
}

// Week holds the ends of one week.
type Week struct {
	Monday string `json:"monday"` // first day, in UTC
	Merged int    `json:"merged"`
	Closed int    `json:"closed"`
	Done   int    `json:"done"`
	Parked int    `json:"parked"`
	// The sums are over merged and closed pull requests and issues that are done.
	Sessions int `json:"sessions"`
	Tokens

	usage schedule.Usage
}

// maxClockSkew bounds how far the clock of a run that recorded an end may have been ahead.
const maxClockSkew = 10 * time.Minute

// StatsOf returns the numbers of the ends from since to now, with the prices of today.
func StatsOf(s *schedule.State, since, now time.Time, prices schedule.Prices) Stats {
	ends, unread := s.AllEnds()
	stats := Stats{Since: Time{since.UTC()}, Until: Time{now.UTC()}, Parked: map[schedule.Reason]int{}, Weeks: []Week{}, Warnings: []string{}, prices: prices}
	if unread > 0 {
		stats.Warnings = append(stats.Warnings, fmt.Sprintf("%s of the history cannot be read, because a newer version wrote it or it is damaged: about %d ends are not counted",
			text.Count(unread, "part"), unread*schedule.EndsInPack))
	}
	future := 0
	var toMerge []time.Duration
	toPull := map[pullKey]time.Duration{} // an issue can have several ends with the same pull request
	weeks := map[string]Week{}
	for _, e := range ends {
		if e.At.After(now.Add(maxClockSkew)) {
			future++
			continue
		}
		if stats.Begins.IsZero() || e.At.Before(stats.Begins.Time) {
			stats.Begins = Time{e.At}
		}
		if e.End != schedule.EndParked {
			addOpened(toPull, e.Issue, e.Course, since)
		}
		if e.At.Before(since) {
			continue
		}
		week := weeks[monday(e.At)]
		switch e.End {
		case schedule.EndMerged:
			stats.addMerged(e)
			week.Merged++
			if took := e.At.Sub(e.Ready); !e.Ready.IsZero() && took >= 0 {
				toMerge = append(toMerge, took)
			}
		case schedule.EndClosed:
			stats.Closed++
			week.Closed++
		case schedule.EndDone:
			stats.Done++
			week.Done++
		case schedule.EndParked:
			stats.Parked[e.Reason]++
			week.Parked++
		default:
			continue // an end of a newer version
		}
		if e.End != schedule.EndParked {
			week.Sessions += e.Sessions
			week.usage = week.usage.Plus(e.Usage)
		}
		weeks[monday(e.At)] = week
	}
	for id, d := range s.Deliveries {
		if course := s.Conversations[id].Course; d.Number > 0 {
			if c, claimed := s.Claims[id]; claimed {
				course = c.Course
			}
			addOpened(toPull, d.Identifier, course, since)
		}
	}
	if future > 0 {
		stats.Warnings = append(stats.Warnings, text.Count(future, "end")+" with a time in the future, which a wrong clock has recorded: not counted")
	}
	stats.Tokens = TokensOf(stats.usage, prices)
	stats.ToPull, stats.ToMerge = timesOf(slices.Collect(maps.Values(toPull))), timesOf(toMerge)
	for _, day := range slices.Backward(slices.Sorted(maps.Keys(weeks))) {
		week := weeks[day]
		week.Monday, week.Tokens = day, TokensOf(week.usage, prices)
		stats.Weeks = append(stats.Weeks, week)
	}
	return stats
}

// pullKey identifies a pull request by its issue and the time when it was opened.
type pullKey struct {
	issue  string
	opened time.Time
}

// addOpened adds the time until a pull request was opened, if that was not before since.
func addOpened(times map[pullKey]time.Duration, issue string, c schedule.Course, since time.Time) {
	if took := c.Opened.Sub(c.Ready); !c.Opened.Before(since) && !c.Ready.IsZero() && took >= 0 {
		times[pullKey{issue, c.Opened}] = took
	}
}

func (s *Stats) addMerged(e schedule.IssueEnd) {
	s.Merged++
	s.Sessions += e.Sessions
	s.Rounds += e.Rounds
	s.usage = s.usage.Plus(e.Usage)
	if e.Rounds == 0 && e.Failed == 0 {
		s.FirstTry++
	}
}

func monday(at time.Time) string {
	at = at.UTC()
	return at.AddDate(0, 0, -(int(at.Weekday())+6)%7).Format(time.DateOnly)
}

func timesOf(took []time.Duration) Times {
	if len(took) == 0 {
		return Times{}
	}
	slices.Sort(took)
	return Times{len(took), Seconds(took[(len(took)-1)/2]), Seconds(took[(len(took)*9+9)/10-1])}
}

func minuteOf(at Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

func (t Times) words() string {
	if t.Count == 0 {
		return "not known"
	}
	shown := func(seconds float64) string { return text.Duration(time.Duration(seconds * float64(time.Second))) }
	if t.Count == 1 {
		return shown(t.Median)
	}
	return "half within " + shown(t.Median) + ", nine of ten within " + shown(t.Most)
}

// Text returns the numbers for a terminal with the given number of columns.
func (s Stats) Text(width int) string {
	w := newTextWriter(width, s.Until.Time)
	d := document{paragraph{strong("Since " + minuteOf(s.Since))}}
	s.addTo(&d)
	w.print(d)
	return w.String()
}

func (s Stats) isEmpty() bool {
	return len(s.Weeks) == 0 && s.ToPull.Count == 0 && len(s.Warnings) == 0
}

func (s Stats) addTo(d *document) {
	if s.isEmpty() {
		d.add(paragraph{own("No issue was merged, closed, done or parked since then.")})
	} else {
		t := table{room: shortRoom, columns: []column{{head: "Issues", min: 16}, {head: "Number", min: 14, width: whyWidth}}}
		for _, row := range s.rows() {
			t.add(cell(row[0]), cell(row[1]))
		}
		d.add(t)
	}
	if len(s.Weeks) > 1 {
		d.add(s.weeks())
	}
	if begins := s.Begins; begins.After(s.Since.Time) {
		d.add(paragraph{own("The history begins at " + minuteOf(begins) + ".")})
	}
	for _, warning := range s.Warnings {
		d.add(paragraph{own(sentence(warning))})
	}
}

func (s Stats) rows() [][2]string {
	rows := [][2]string{
		{"Merged", strconv.Itoa(s.Merged)},
		{"Closed without a merge", strconv.Itoa(s.Closed)},
		{"Done without a pull request", strconv.Itoa(s.Done)},
		{"Parked", s.parkedWords()},
	}
	if n := s.Merged; n > 0 {
		rows = append(rows,
			[2]string{"Merged at the first try", fmt.Sprintf("%d of %d", s.FirstTry, n)},
			[2]string{"Rounds of feedback per merge", perMerge(s.Rounds, n)},
			[2]string{"Sessions per merge", perMerge(s.Sessions, n)},
			[2]string{"Tokens per merge", text.Number(s.Total / int64(n))},
		)
		if len(s.prices) > 0 {
			cost := s.prices.Of(s.usage)
			cost.USD /= schedule.Money(n)
			rows = append(rows, [2]string{"Cost per merge", cost.String()})
		}
	}
	return append(rows, [2]string{"From ready to pull request", s.ToPull.words()}, [2]string{"From ready to merge", s.ToMerge.words()})
}

func perMerge(sum, merged int) string { return fmt.Sprintf("%.1f", float64(sum)/float64(merged)) }

// parkedTexts holds the words for the reasons of parked issues.
var parkedTexts = map[schedule.Reason]string{
	schedule.Reason(schedule.NeedsInput): "for a question",
	schedule.ParkedForFailures:           "for failures",
	schedule.ParkedForIdle:               "for sessions that changed nothing",
	schedule.IssueBudget:                 "for the budget",
	schedule.RoundsSpent:                 "for rounds of feedback",
	schedule.Commanded:                   "by a command",
}

// parkedWords returns the number of times that issues were parked, with the reasons, the most
// frequent first.
func (s Stats) parkedWords() string {
	sum := 0
	reasons := slices.SortedFunc(maps.Keys(s.Parked), func(a, b schedule.Reason) int {
		return cmp.Or(cmp.Compare(s.Parked[b], s.Parked[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range reasons {
		sum += s.Parked[reason]
		parts = append(parts, fmt.Sprintf("%d %s", s.Parked[reason], cmp.Or(parkedTexts[reason], string(reason))))
	}
	if sum == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", sum, strings.Join(parts, ", "))
}

func (s Stats) weeks() table {
	t := table{room: shortRoom, columns: []column{
		{head: "Week of"}, {head: "Merged", kind: numberColumn}, {head: "Closed", kind: numberColumn, drop: 3}, {head: "Done", kind: numberColumn, drop: 4},
		{head: "Parked", kind: numberColumn}, {head: "Sessions", kind: numberColumn, drop: 2}, {head: "Tokens", kind: numberColumn, drop: 1}, {head: "Cost", kind: numberColumn, drop: 5},
	}}
	for _, w := range s.Weeks {
		t.add(cell(w.Monday), number(w.Merged), number(w.Closed), number(w.Done), number(w.Parked), number(w.Sessions), number(w.Total), price(w.usage, s.prices))
	}
	return t
}

// pageDays is the number of days that the section of the state page is about.
const pageDays = 30

// stats adds the numbers of the last days to the state page.
func (v StateView) stats(d *document) {
	s := StatsOf(v.state, v.now.AddDate(0, 0, -pageDays), v.now, v.Prices)
	if s.isEmpty() {
		return
	}
	var body document
	s.addTo(&body)
	d.add(section{heading: "Numbers", detail: fmt.Sprintf("last %d days", pageDays), body: body})
}
