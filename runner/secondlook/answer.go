package secondlook

import (
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/text"
)

// Schema is the JSON schema of the answer.
//
//go:embed schema.json
var Schema []byte

// ErrAnswer marks an answer that cannot be used.
var ErrAnswer = errors.New("review_answer")

// The bounds of an answer.
const (
	maxAnswer   = 256 << 10 // bytes
	maxFindings = 50
	maxText     = 1000 // characters of a finding
	maxPath     = 300  // characters
	maxTitle    = 200
	maxSummary  = 4000
)

// Finding is one remark on the work.
type Finding struct {
	Path   string // file in the work; empty for the work as a whole
	Line   int    // 0 for none
	Severe bool   // it must be fixed before the work is merged
	Text   string // one line
}

// Answer is what the reviewer says.
type Answer struct {
	Ready          bool      // by the reviewer's own verdict
	Findings       []Finding // the severe ones first
	Unknown        int       // findings about files that the work does not have, which are left out
	TooMany        int       // findings beyond the first, which are left out
	Title, Summary string
}

// Parse reads an answer. exists reports whether the work, or what it begins with, has a file. It
// fails with [ErrAnswer].
func Parse(answer string, exists func(path string) bool) (Answer, error) {
	unusable := func(why string) (Answer, error) {
		return Answer{}, fmt.Errorf("%w: %s", ErrAnswer, why)
	}
	if len(answer) > maxAnswer {
		return unusable(fmt.Sprintf("it has more than %d bytes", maxAnswer))
	}
	var got struct {
		Verdict  *string
		Findings *[]struct {
			Path     string
			Line     int
			Severity string
			Text     string
		}
		Title, Summary string
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		return unusable("it is not the JSON that was asked for")
	}
	if got.Verdict == nil || got.Findings == nil || *got.Verdict != "ready" && *got.Verdict != "not_ready" {
		return unusable("it has no verdict or no findings")
	}
	a := Answer{
		Ready: *got.Verdict == "ready", Title: text.OneLine(got.Title, maxTitle), Summary: text.Truncate(strings.TrimSpace(text.Lines(got.Summary)), maxSummary),
	}
	for _, f := range *got.Findings {
		found := Finding{Path: strings.TrimPrefix(f.Path, "./"), Line: max(f.Line, 0), Severe: f.Severity == "severe", Text: text.OneLine(f.Text, maxText)}
		switch {
		case !found.Severe && f.Severity != "minor":
			return unusable("a finding is neither severe nor minor")
		case found.Text == "":
		case found.Path != "" && (text.OneLine(found.Path, maxPath) != found.Path || !exists(found.Path)):
			a.Unknown++
		default:
			a.Findings = append(a.Findings, found)
		}
	}
	slices.SortStableFunc(a.Findings, func(x, y Finding) int {
		switch {
		case x.Severe == y.Severe:
			return 0
		case x.Severe:
			return -1
		}
		return 1
	})
	if a.TooMany = len(a.Findings) - maxFindings; a.TooMany > 0 {
		a.Findings = a.Findings[:maxFindings]
	}
	a.TooMany = max(a.TooMany, 0)
	return a, nil
}

// Severe returns the findings that must be fixed.
func (a Answer) Severe() []Finding {
	n := slices.IndexFunc(a.Findings, func(f Finding) bool { return !f.Severe })
	if n < 0 {
		n = len(a.Findings)
	}
	return a.Findings[:n]
}

// ForAuthor returns the findings as the author of the work gets them.
func (a Answer) ForAuthor() string {
	var b strings.Builder
	b.WriteString("The work was not published yet. A second look at it, by a model that reads it without having made it, found:\n")
	for i, f := range a.Findings {
		severity := "minor"
		if f.Severe {
			severity = "severe"
		}
		fmt.Fprintf(&b, "\n%d. %s%s: %s", i+1, severity, f.place(", in "), f.Text)
	}
	return b.String() + "\n\nThese are the words of a model that can be wrong: check each finding. Fix what is right; leave what is not."
}

// ForPeople returns the sentence on the second look in a pull request, and the list of its findings,
// empty for none, in harmless Markdown. reader names the model that has read the work.
func (a Answer) ForPeople(reader string) (said, findings string) {
	severe := len(a.Severe())
	said = reader + " read this work and found nothing that must be fixed"
	switch {
	case severe > 0:
		said = reader + " read this work and found " + text.Count(severe, "severe problem") + ", which the agent has left as it is"
	case !a.Ready:
		said = reader + " read this work and found nothing severe, and does not call it ready"
	}
	if a.Unknown > 0 {
		said += fmt.Sprintf("; left out, because they name files that do not exist: %s", text.Count(a.Unknown, "finding"))
	}
	if a.TooMany > 0 {
		said += fmt.Sprintf("; left out, because there are too many: %s", text.Count(a.TooMany, "finding"))
	}
	if len(a.Findings) == 0 {
		return said, ""
	}
	var b strings.Builder
	for _, f := range a.Findings {
		mark := ""
		if f.Severe {
			mark = "**severe** "
		}
		b.WriteString("- " + mark + defuse.Body(f.place("")+f.Text) + "\n")
	}
	findings = strings.TrimSpace(b.String())
	if severe == 0 {
		return said, "<details><summary>" + text.Count(len(a.Findings), "minor finding") + " of the second look</summary>\n\n" + findings + "\n\n</details>"
	}
	return said, "The second look found:\n\n" + findings
}

// place returns the place of a finding after a word, as code; empty for the work as a whole.
func (f Finding) place(before string) string {
	if f.Path == "" {
		return ""
	}
	at := strings.ReplaceAll(f.Path, "`", "'")
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	if before == "" {
		return "`" + at + "` "
	}
	return before + "`" + at + "`"
}
