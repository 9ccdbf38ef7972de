package report_test

import (
	"html"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/texttest"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestPagesHoldNoMarkupOfStrangers(t *testing.T) {
	t.Parallel()
	for _, text := range texttest.Nasty[13:] {
		for _, page := range pages(text) {
			checkMarkdown(t, page)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		checkMarkdown(t, report.Of(anyTick().Draw(t, "tick")).Markdown(links))
		view := report.State(anyState().Draw(t, "state"), anyTime().Draw(t, "now"))
		l := report.Links{Server: texttest.Fragments().Draw(t, "server"), Repository: texttest.Fragments().Draw(t, "repository"), Branch: texttest.Fragments().Draw(t, "branch")}
		checkMarkdown(t, view.Markdown(l))
		checkMarkdown(t, view.Markdown(links))
	})
}

func FuzzMarkdown(f *testing.F) {
	for _, text := range append(texttest.Nasty, addresses...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := row(text, text, schedule.IssueFailed, done)
		r.URL, r.Why, r.Refused, r.PullRequest = text, text, text, text
		r.Delivery = schedule.Delivery{Branch: text, Head: text, URL: text, Number: len(text) % 2}
		r.Kept = report.Kept{Folder: text, Commands: []string{text}}
		tick := report.Tick{Listed: true, Rows: []report.Row{r}, Warnings: []string{text}}
		checkMarkdown(t, report.Of(tick).Markdown(links))
	})
}

// What the checker knows of Markdown: our own HTML, links, commands and words in
// bold, and what is done to the words of others.
var (
	ourHTML  = regexp.MustCompile(`<details><summary>[A-Za-z0-9 :]+</summary>|</details>`)
	ourLink  = regexp.MustCompile(`\[((?:[^\[\]\\^]|\\.)(?:[^\[\]\\]|\\.)*)\]\(https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:[/?#][A-Za-z0-9._~/:?#=%+,;&-]*)?\)`)
	ourCode  = regexp.MustCompile("`(?:symphony state (?:retry [A-Za-z0-9._-]+|resume)(?: --state branch:[A-Za-z0-9._/-]+)?|state\\.json)`")
	ourBold  = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	escaped  = regexp.MustCompile("\\\\[\\\\`*_~\\[\\]#!.)+^-]")
	unlinked = regexp.MustCompile(`(?i)@&#8203;|:&#8203;//|www&#8203;\.`)
	entity   = regexp.MustCompile(`&(?:amp|lt|gt|#124);`)
	linked   = regexp.MustCompile(`(?i)@|://|www\.|&#8203;`)
	opening  = regexp.MustCompile(`^(?:[-+](?: |$|-)|[0-9]+[.)](?: |$)| )`)
)

// checkMarkdown checks a page by rules that are simpler than those of the printer.
func checkMarkdown(t interface{ Errorf(string, ...any) }, page string) {
	page, ended := strings.CutSuffix(page, "\n")
	if !ended || !strings.HasPrefix(page, "#") {
		t.Errorf("no whole page: %q", page)
	}
	open := 0 // foldable sections
	for block := range strings.SplitSeq(page, "\n\n") {
		lines := strings.Split(block, "\n")
		if strings.HasPrefix(block, "```") {
			checkCode(t, lines)
			continue
		}
		open += strings.Count(block, "<details>") - strings.Count(block, "</details>")
		for _, line := range lines {
			texttest.CheckVisible(t, line)
			switch {
			case strings.HasPrefix(line, "|"):
				if strings.Count(line, "|") != strings.Count(lines[0], "|") || !strings.HasSuffix(line, "|") {
					t.Errorf("not the cells of %q: %q", lines[0], line)
				}
				for _, cell := range strings.Split(line, "|") {
					if cell = strings.TrimSpace(cell); cell != "--:" { // that one is ours: of others it would be escaped
						checkWords(t, cell, line)
					}
				}
			case strings.HasPrefix(lines[0], "- ") && strings.Contains(line, "- "):
				checkWords(t, strings.TrimPrefix(strings.TrimPrefix(line, "  "), "- "), line)
			case len(lines) > 1:
				t.Errorf("a block that goes on: %q", block)
			default:
				checkWords(t, strings.TrimLeft(line, "#"), line)
			}
		}
	}
	if open != 0 {
		t.Errorf("%d sections are not closed: %q", open, page)
	}
}

// checkCode reports a block of commands that ends before its last line.
func checkCode(t interface{ Errorf(string, ...any) }, lines []string) {
	for _, line := range lines {
		texttest.CheckVisible(t, line)
	}
	fence := lines[len(lines)-1]
	if lines[0] != fence+"sh" || strings.Trim(fence, "`") != "" || strings.Contains(strings.Join(lines[1:len(lines)-1], "\n"), fence) {
		t.Errorf("not the commands alone: %q", lines)
	}
}

// checkWords reports markup that is not ours.
func checkWords(t interface{ Errorf(string, ...any) }, text, line string) {
	text = strings.ReplaceAll(ourHTML.ReplaceAllString(text, ""), "<span>$</span>", "S") // a character like others
	text = ourLink.ReplaceAllString(text, "$1")
	text = ourBold.ReplaceAllString(ourCode.ReplaceAllString(text, ""), "$1")
	if text != "---" && opening.MatchString(strings.TrimPrefix(text, " ")) {
		t.Errorf("an item, a rule or code: %q", line)
	}
	text = unlinked.ReplaceAllString(text, " ")
	if found := linked.FindString(text); found != "" {
		t.Errorf("a mention or a link, %q: %q", found, line)
	}
	text = entity.ReplaceAllString(escaped.ReplaceAllString(text, ""), "")
	if at := strings.IndexAny(text, "\\`*_~[]#!<>|&$"); at >= 0 {
		t.Errorf("markup, %q: %q", text[at:], line)
	}
}

// pages returns pages that show the text of a stranger in every place.
func pages(text string) []string {
	long := text + " " + strings.Repeat("y", 90)
	plan := tick(func(t *report.Tick) {
		t.DryRun = true
		t.Verdicts = []schedule.Verdict{verdict(text, text, "", schedule.Release, schedule.NotActive, text), verdict(text, text, "", schedule.Dispatch, "", "")}
		t.Verdicts[0].Issue.URL, t.Verdicts[1].Issue.URL = at("1"), ""
	})
	worked := tick(func(t *report.Tick) {
		t.Pause = schedule.Pause{Why: long, Until: end.Add(time.Hour)}
		r := row(text, text, schedule.IssueFailed, waits(text, end))
		r.Why, r.URL = text, at("1")
		done := row("2", text, schedule.Done, schedule.Next{Why: schedule.Why{Reason: schedule.Terminal}})
		done.URL, done.State = "", text
		done.Delivery = schedule.Delivery{Branch: text, Head: "1f"}
		refused := with(row(text, text, schedule.IssueFailed, waits(text, end)), func(r *report.Row) {
			r.ID, r.URL, r.PullRequest = "3", at("1"), text
			r.Refused = "- x" + strings.Join(strings.Fields(text), " ") + "\n- y\n"
			r.Delivery = schedule.Delivery{Branch: text, Head: "1f", Number: 3, URL: at("3")}
			r.Kept = report.Kept{Folder: text, Commands: []string{"x" + strings.ReplaceAll(text, "`", "")}}
		})
		t.Rows = []report.Row{r, done, refused}
		t.Notices = []string{text}
		t.Claims["P"] = schedule.Claim{ID: "P", Why: text, Tokens: 5, Sessions: 1, URL: at("2")}
		t.Claims["W"] = schedule.Claim{ID: "W", Why: text, Due: end.Add(time.Minute)}
		t.Budget = schedule.Budget{TokensPerIssue: 7, TokensPerDay: 8}
		for i, id := range []tracker.ID{"P", "W", "1", "2", "3"} {
			v := verdict(text, text, []schedule.Phase{schedule.Parked, schedule.Waiting, "", "", ""}[i], "", schedule.NotDispatchable, text+strings.Repeat("z", i))
			v.Issue.ID, v.Issue.URL = id, at("1")
			t.Verdicts = append(t.Verdicts, v)
		}
		t.Verdicts = append(t.Verdicts, verdict(text, text, "", "", schedule.NotActive, text))
		t.Verdicts[5].Issue.URL = ""
		t.Errors, t.Warnings = []string{text}, []string{text}
	})
	paused := tick(func(t *report.Tick) {
		t.Pause = schedule.Pause{Why: long, Until: end.Add(time.Hour)}
		t.Verdicts = []schedule.Verdict{verdict("1", "", "", "", schedule.Paused, text)}
		t.Verdicts[0].Issue.URL = ""
	})
	s := schedule.New(schedule.Owner{})
	for i, phase := range []schedule.Phase{schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked} {
		id := tracker.ID(rune('a' + i))
		s.Claims[id] = schedule.Claim{
			ID: id, Identifier: text, Title: text, URL: at("1"), State: text, Why: text, Phase: phase,
			Owner: schedule.Owner{Run: []string{text, ""}[i%2], Host: text},
		}
	}
	s.Deliveries = map[tracker.ID]schedule.Delivery{
		"a": {Identifier: text, Branch: text, Head: text, Number: 1, URL: at("1"), Refused: "- x\n- y " + text},
		"x": {Identifier: text, Branch: text, Pushing: text, URL: text},
	}
	s.Pause = schedule.Pause{Why: text}
	s.Days = []schedule.Day{{Date: text}}
	s.History = []schedule.TickRecord{{Run: text, Stopped: text}}
	return []string{
		report.Of(plan).Markdown(links), report.Of(worked).Markdown(links), report.Of(paused).Markdown(links),
		report.State(s, end).Markdown(report.Links{Server: text, Repository: text, Branch: "state"}),
	}
}

// TestARealParserFindsNoMarkupOfStrangers asks GitHub's own parser, where it is
// installed (Debian and Ubuntu: cmark-gfm), whether the text of a stranger
// changes anything on a page but the words on it.
func TestARealParserFindsNoMarkupOfStrangers(t *testing.T) {
	t.Parallel()
	parser, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("cmark-gfm is not installed")
	}
	parse := func(t *rapid.T, page string) (tags, words string) {
		cmd := exec.Command(parser, "--unsafe", "-e", "footnotes", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tasklist")
		cmd.Stdin = strings.NewReader(page)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		tag := regexp.MustCompile(`<[^>]*>`)
		text := strings.NewReplacer("<span>", "", "</span>", "").Replace(string(out))
		return strings.Join(tag.FindAllString(text, -1), "\n"),
			strings.ReplaceAll(html.UnescapeString(tag.ReplaceAllString(text, "")), "\u200b", "")
	}
	var plain []string
	rapid.Check(t, func(t *rapid.T) {
		if plain == nil {
			for _, page := range pages("x") {
				tags, _ := parse(t, page)
				plain = append(plain, tags)
			}
		}
		s := rapid.OneOf(texttest.Fragments(), rapid.StringOfN(rapid.RuneFrom([]rune("\\`*_~[]#!<>|&$@:/.-+=()0w^\"' ax;\n")), 1, 12, -1)).Draw(t, "text")
		said := strings.Join(strings.Fields(text.Fit(s, 40)), " ")
		if said == "" || strings.Contains("PW123", s) { // the pages have issues of these names
			return
		}
		for i, page := range pages(s) {
			got, words := parse(t, page)
			if diff := cmp.Diff(plain[i], got); diff != "" {
				t.Fatalf("%q changes the page (-want +got):\n%s\n%s", s, diff, page)
			}
			if i != 2 && !strings.Contains(words, said) { // the third does not name the issue
				t.Fatalf("%q is not to be read on the page:\n%s", said, words)
			}
		}
	})
}

func TestOnlyPlainWebAddressesBecomeLinks(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"https://x.example/) [y](https://evil.example": "https://x.example/%29%20%5By%5D%28https://evil.example",
		"https://x.example/a|b`c\"<d>\\*_ \u202e":      "https://x.example/a%7Cb%60c%22%3Cd%3E%5C%2A_%20%E2%80%AE",
		"http://x.example:8080/?a=1&lt;b":              "http://x.example:8080/?a=1&amp;lt;b",
		"https://x.example/#@acme":                     "https://x.example/#%40acme",
	}
	target := regexp.MustCompile(`\]\((.*?)\)`)
	for _, address := range addresses {
		place := schedule.Delivery{Branch: "symphony/X", Head: "1f", Number: 1, URL: address}
		state := schedule.New(schedule.Owner{})
		state.Deliveries = map[tracker.ID]schedule.Delivery{"X": place}
		one := func(edit func(*report.Row)) string {
			return report.Of(tick(func(t *report.Tick) {
				r := row("X", "", schedule.Done, done)
				r.URL = ""
				t.Rows = []report.Row{with(r, edit)}
			})).Markdown(report.Links{})
		}
		for where, page := range map[string]string{
			"the issue":             one(func(r *report.Row) { r.URL = address }),
			"the pull request":      one(func(r *report.Row) { r.Delivery = place }),
			"a pull request before": report.State(state, end).Markdown(report.Links{}),
		} {
			got := ""
			if m := target.FindStringSubmatch(page); m != nil {
				got = m[1]
			}
			if got != want[address] {
				t.Errorf("%s: %q leads to %q, not to %q", where, address, got, want[address])
			}
		}
	}
}

func TestTheNameOfAnIssueBeginsNoFootnote(t *testing.T) {
	t.Parallel()
	page := report.Of(tick(func(t *report.Tick) { t.Rows = []report.Row{row("^]:", "", schedule.Done, done)} })).Markdown(links)
	if strings.Contains(page, "[^") || !strings.Contains(page, `[\^\]:](`) {
		t.Errorf("the page has a footnote:\n%s", page)
	}
}
