package terminal

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// screenOf returns the model of a display that shows p in a window, without a terminal.
func screenOf(p progress.Progress) (*Display, model) {
	d := &Display{}
	d.Show(p)
	return d, updated(model{d: d}, tea.WindowSizeMsg{Width: 120, Height: 30})
}

func updated(m model, msg tea.Msg) model {
	next, _ := m.Update(msg)
	return next.(model)
}

// doing returns a progress of one session.
func doing(what string) progress.Progress {
	return progress.Progress{Slots: 2, Sessions: []progress.Session{{Claim: schedule.Claim{ID: "1", Identifier: "GH-1"}, Doing: what}}}
}

func TestWhatASessionDoesIsDrawnAtEverySecondTick(t *testing.T) {
	d, m := screenOf(doing("step 1"))
	drawn := 0
	for _, step := range []string{"step 2", "step 3", "step 4", "step 5"} {
		d.Show(doing(step))
		before := m.content
		if m = updated(m, tick(time.Time{})); m.content != before {
			drawn++
			if !strings.Contains(m.content, step) {
				t.Errorf("%s is not what is drawn:\n%s", step, m.content)
			}
		}
	}
	if drawn != 2 {
		t.Errorf("4 ticks drew %d frames, want 2", drawn)
	}
}

func TestWhatAPersonWaitsForIsDrawnAtTheNextTick(t *testing.T) {
	base := doing("step 1")
	d, m := screenOf(base)
	m = updated(m, tick(time.Time{})) // draws nothing
	m = updated(m, tick(time.Time{}))
	for _, c := range []struct {
		drawn string
		make  func(p *progress.Progress)
	}{
		{"GH-2", func(p *progress.Progress) {
			p.Sessions = append(p.Sessions[:1:1], progress.Session{Claim: schedule.Claim{ID: "2", Identifier: "GH-2"}})
		}},
		{"GH-3", func(p *progress.Progress) { p.Parked = []schedule.Claim{{ID: "3", Identifier: "GH-3"}} }},
		{"GH-4", func(p *progress.Progress) { p.Waiting = []schedule.Claim{{ID: "4", Identifier: "GH-4"}} }},
		{"GH-5", func(p *progress.Progress) { p.Elsewhere = []schedule.Claim{{ID: "5", Identifier: "GH-5"}} }},
		{"no route", func(p *progress.Progress) {
			p.Trouble = []progress.Trouble{{Source: progress.Tracker, Text: "no route"}}
		}},
		{"credits", func(p *progress.Progress) { p.Pause.Why = "buy credits" }},
		{"delivered", func(p *progress.Progress) { p.Events = progress.Events{{At: time.Now(), ID: "1", Kind: "delivered"}} }},
	} {
		p := base
		c.make(&p)
		d.Show(p)
		if m = updated(m, tick(time.Time{})); !strings.Contains(m.content, c.drawn) {
			t.Errorf("%s is not drawn:\n%s", c.drawn, m.content)
		}
	}
	d.ending = true
	if m = updated(m, tick(time.Time{})); !strings.Contains(m.content, "Ending 1 session") {
		t.Errorf("that the run ends is not drawn:\n%s", m.content)
	}
	d.log = []string{"GH-1 is handed over"}
	if m = updated(m, tick(time.Time{})); !strings.Contains(m.content, "handed over") {
		t.Errorf("a log line is not drawn:\n%s", m.content)
	}
}
