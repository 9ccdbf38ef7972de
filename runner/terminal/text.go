package terminal

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/progress"
)

// style is a style of text: the escape sequence that is written before it; after it, one
// ends the style. Only the sixteen colors of the terminal's own theme are used, which are
// readable on light and on dark.
type style string

const (
	stylePlain style = ""
	styleTitle style = "\x1b[1m"
	styleHead  style = "\x1b[2m" // faint
	styleDim         = styleHead
	styleIssue style = "\x1b[36m" // cyan
	styleWarn  style = "\x1b[33m" // yellow
	styleBad   style = "\x1b[31m" // red
)

// Render returns text in the style.
func (s style) Render(text string) string {
	if text == "" || s == stylePlain {
		return text
	}
	return string(s) + text + "\x1b[m"
}

// painter draws the parts of a frame of one size.
type painter struct {
	Frame
	columns int
	isRoomy bool
	goOn    []string // the lines below the parked issues
}

// maxText bounds the text of which a part is drawn, in columns.
const maxText = 1000

// clean returns text from outside without the sequences that steer a terminal and without
// secrets, of which some are known by their lines, and some are whole only when invisible
// characters are gone. It is cut last, and not to a width yet: a part of a secret would not be
// found.
func (p *painter) clean(s string) string {
	if s == "" {
		return ""
	}
	s = p.redacted(s)
	if !text.IsPlain(s) {
		s = p.redacted(text.Fit(strings.Map(unifyWidth, s), math.MaxInt))
	}
	return text.Fit(s, maxText)
}

func (p *painter) redacted(text string) string {
	if p.Redact == nil {
		return text
	}
	return p.Redact(text)
}

// unifyWidth replaces the characters that are not equally wide on all terminals: the
// letters that flags consist of, and skin tones. It keeps all others.
func unifyWidth(r rune) rune {
	switch {
	case r >= '\U0001F1E6' && r <= '\U0001F1FF':
		return r - '\U0001F1E6' + 'A'
	case r >= '\U0001F3FB' && r <= '\U0001F3FF':
		return -1
	}
	return r
}

// line returns one line of the frame, of clean text.
func (p *painter) line(s style, clean string) string { return s.Render(text.Fit(clean, p.columns)) }

// titled returns text below its title; the title alone if the text says nothing.
func titled(title, text string) string {
	if strings.TrimSpace(text) == "" {
		return title
	}
	return title + ": " + text
}

func age(d time.Duration) string { return text.Duration(max(0, d).Truncate(time.Second)) }

func (p *painter) in(at time.Time) string {
	if !at.After(p.Now) {
		return "now"
	}
	return "in " + age(at.Sub(p.Now)+time.Second-1)
}

func (p *painter) clock(at time.Time) string {
	at = at.In(p.Now.Location())
	if p.Now.Sub(at).Abs() > 12*time.Hour {
		return at.Format("Jan 2 15:04")
	}
	return at.Format("15:04:05")
}

// span returns a time in minutes, in whole hours or days if it can.
func span(minutes int64) string {
	switch {
	case minutes%(24*60) == 0:
		return fmt.Sprintf("%d d", minutes/(24*60))
	case minutes%60 == 0:
		return fmt.Sprintf("%d h", minutes/60)
	}
	return fmt.Sprintf("%d min", minutes)
}

func baseName(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}

func (p *painter) limits() string {
	var parts []string
	for _, w := range progress.Windows(p.Progress.Limits) {
		part := fmt.Sprintf("%.0f %%", w.Used)
		if w.Length > 0 {
			part += " of " + span(int64(w.Length/time.Minute))
		}
		if w.Used >= 100 && w.Resets.After(p.Now) {
			part += ", again " + p.clock(w.Resets)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "limits " + strings.Join(parts, ", ")
}
