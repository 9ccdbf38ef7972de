package terminal_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/terminal"
	"github.com/symphony-runner/symphony/tracker"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 11, 22, 14, 5, 6, 0, time.UTC)

// sizes are those at which each frame is drawn.
var sizes = []struct{ columns, rows int }{{80, 24}, {40, 12}, {120, 50}, {20, 5}, {1, 1}}

// session returns a session that began some seconds ago.
func session(identifier, title string, seconds int, doing string) progress.Session {
	return progress.Session{
		Claim: schedule.Claim{
			ID: tracker.ID(identifier), Identifier: identifier, Title: title, State: "In Progress", Phase: schedule.Running,
			Turns: 2, Live: schedule.Usage{Input: 12000, Output: 345}, TurnSince: now, Heard: now,
		},
		Status: schedule.StatusStreamingTurn, Started: now.Add(-time.Duration(seconds) * time.Second), Doing: doing,
	}
}

func claim(identifier, title, why string, due time.Duration) schedule.Claim {
	return schedule.Claim{ID: tracker.ID(identifier), Identifier: identifier, Title: title, State: "Todo", Attempt: 1, Why: why, Due: now.Add(due)}
}

// busy returns a run of which everything is to be shown.
func busy() terminal.Frame {
	starting := session("GH-11", "Start slowly", 3, "")
	starting.Status, starting.Claim.Live = schedule.StatusLaunchingAgentProcess, schedule.Usage{}
	stopping := session("GH-12", "Stop", 4000, "running `sleep 1000`")
	stopping.Model, stopping.Claim.Phase, stopping.Claim.Why = "gpt-5.6-sol, effort high", schedule.Stopping, "stalled: silent for 5m"
	return terminal.Frame{
		Now: now,
		Progress: progress.Progress{
			At: now, Workflow: "/home/kim/shop/WORKFLOW.md", Tracker: "github", Comments: schedule.AnyComments, Slots: 10,
			NextPoll: now.Add(12400 * time.Millisecond), Deadline: now.Add(17 * time.Minute),
			Sessions: []progress.Session{
				session("GH-9", "Fix the login of people with two accounts", 65, "running `npm test -- --watch=false`"),
				session("GH-10", "修正ログイン画面の表示が崩れる問題", 600, "Now I look at how the session cookie is made."),
				starting, stopping,
			},
			Waiting: []schedule.Claim{
				claim("GH-3", "Later", "turn_failed: other: exit code 1", 42*time.Second),
				claim("GH-4", "Soon", "the last session ended normally", -time.Second),
			},
			NoRoom: schedule.Why{Reason: schedule.NoSlots},
			Queue:  progress.Queue{Length: 991, Next: []schedule.Claim{claim("GH-13", "Count the stock", "", 0), claim("GH-14", "Name the shelves", "", 0)}},
			Parked: []schedule.Claim{claim("GH-1", "Choose", "the agent asks", 0), claim("GH-2", "Spend", "budget: 2M tokens spent", 0)},
			Asked:  map[tracker.ID]string{"GH-1": "Which colour should the button have?"},
			Spent:  schedule.Spent{Usage: schedule.Usage{Input: 27000, Output: 800}},
			Today:  schedule.Day{Usage: schedule.Usage{Input: 1_200_000}},
			Limits: []byte(`{"primary":{"usedPercent":34.4,"windowDurationMins":300,"resetsAt":0},"secondary":{"usedPercent":100,"windowDurationMins":10080,"resetsAt":1795370400}}`),
			Events: progress.Events{
				{At: now.Add(-65 * time.Second), ID: "9", Identifier: "GH-9", Kind: schedule.Dispatch.Happened()},
				{At: now.Add(-10 * time.Second), ID: "3", Identifier: "GH-3", Kind: "failed", Text: "turn_failed: other: exit code 1"},
			},
		},
		Log: []string{"14:04:01 GH-9 dispatched", "14:04:56 warn: GH-3 failed: exit code 1"},
	}
}

// frames returns the frames of the golden files.
func frames() map[string]terminal.Frame {
	ending := busy()
	ending.Ending = true
	troubled := busy()
	troubled.Progress.Trouble = []progress.Trouble{
		{Source: progress.Workflow, Text: "WORKFLOW.md:9: invalid_settings: agent.max_turns is \"many\": want a number of 1 or more; the last good settings stay in force until you fix it"},
		{Source: progress.Tracker, Text: "tracker_unreachable: no route to host; symphony reads it again at the next poll"},
	}
	troubled.Progress.NoRoom = schedule.Why{Reason: schedule.Paused}
	troubled.Progress.Pause = schedule.Pause{Why: "usageLimitExceeded: buy credits or wait", Until: now.Add(time.Hour)}
	many := busy()
	many.Progress.Sessions = nil
	for i := range 32 {
		many.Progress.Sessions = append(many.Progress.Sessions, session(fmt.Sprintf("GH-%d", i+1), "A title", 10*i, fmt.Sprintf("editing file%d.go", i)))
	}
	many.Progress.Sessions[30].Claim.Phase = schedule.Stopping
	many.Progress.Sessions[29].Claim.Heard = now.Add(-2 * time.Minute)
	return map[string]terminal.Frame{
		"busy": busy(), "ending": ending, "troubled": troubled, "many": many, "hostile": hostile(),
		"fleet": fleet(),
		"new":   {Now: now, Progress: progress.Progress{Workflow: "WORKFLOW.md", Slots: 3}},
	}
}

// fleet returns a run that shares its state with a fleet and another run.
func fleet() terminal.Frame {
	f := busy()
	f.Progress.Sessions = f.Progress.Sessions[:1]
	for i := range 5 {
		c := claim(fmt.Sprintf("GH-%d", 21+i), "Work for a shard", "", 0)
		c.Phase, c.Since, c.Owner = schedule.Running, now.Add(-7*time.Minute), schedule.Owner{Run: "1234567890", Attempt: 1, Shard: 1 + i/2}
		f.Progress.Elsewhere = append(f.Progress.Elsewhere, c)
	}
	f.Progress.Elsewhere[3].Owner.Shard, f.Progress.Elsewhere[4].Owner = 0, schedule.Owner{Host: "laptop", PID: 7}
	return f
}

func TestAClaimThatIsDueSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for reason, want := range map[schedule.Reason]string{
		"": "for its turn", schedule.NoSlots: "for a slot", schedule.NoHostSlots: "for a slot", schedule.HostsDown: "for a host", schedule.BatchSpent: "next tick", schedule.DayBudget: "tomorrow",
		schedule.Paused: "after pause", schedule.OnHold: "when fixed", schedule.Interrupted: "next run", schedule.OutOfTime: "next run",
	} {
		f := busy()
		f.Progress.NoRoom.Reason = reason
		if text := f.Render(100, 60); !regexp.MustCompile(`GH-4.* ` + want + ` `).MatchString(text) {
			t.Errorf("%q: it does not wait %s:\n%s", reason, want, text)
		}
	}
}

func TestATitleTakesTheRoomThatTheLastColumnLeaves(t *testing.T) {
	t.Parallel()
	const title = "Rounding: totals of a cart with many lines differ from the invoice by three cents"
	f := busy()
	f.Progress.Sessions = []progress.Session{session("GH-9", title, 65, "running `make`")}
	for columns := 160; columns <= 200; columns++ {
		if text := plain(f.Render(columns, 60)); !strings.Contains(text, title) || !strings.Contains(text, "running `make`") {
			t.Errorf("%d columns cut the title:\n%s", columns, text)
		}
	}
}

func TestAFrameNamesTheWorkerHostOfASession(t *testing.T) {
	t.Parallel()
	f := busy()
	if text := plain(f.Render(160, 60)); strings.Contains(text, "HOST") {
		t.Errorf("a column for hosts that there are not:\n%s", text)
	}
	f.Progress.Sessions[0].Claim.Host = "me@build1:2222"
	if text := plain(f.Render(160, 60)); !regexp.MustCompile(`(?m)^GH-9 .* me@build1:2222 `).MatchString(text) || !strings.Contains(text, "HOST") {
		t.Errorf("the host is not shown:\n%s", text)
	}
}

func TestAFrameShowsHowLongTheQueueIsAndWhoIsNext(t *testing.T) {
	t.Parallel()
	f := busy()
	for columns := 60; columns <= 160; columns++ {
		text := plain(f.Render(columns, 60))
		if !strings.Contains(text, "991 queued") || !regexp.MustCompile(`NEXT .* 991 issues wait for a slot\nGH-13 .*Count the stock\nGH-14 `).MatchString(text) {
			t.Errorf("%d columns:\n%s", columns, text)
		}
	}
}

func TestTheCauseIsShownWithoutTheCategoriesBeforeIt(t *testing.T) {
	t.Parallel()
	const why = "turn: turn_failed: other: no such model: name another one"
	f := busy()
	waiting, parked := claim("GH-4", "Title", why, time.Minute), claim("GH-5", "Title", why, 0)
	f.Progress.Waiting, f.Progress.Parked, f.Progress.Asked = []schedule.Claim{waiting}, []schedule.Claim{parked}, nil
	f.Log = nil // which keeps them
	f.Progress.Events = []progress.Event{{At: now, Identifier: "GH-6", Kind: "failed", Text: why}, {At: now, Identifier: "GH-6", Kind: "dispatched"}}
	for columns := 40; columns <= 160; columns++ {
		text := f.Render(columns, 60)
		if columns >= 50 && !strings.Contains(text, "  failed: no such m") || strings.Contains(text, "turn_failed") {
			t.Errorf("%d columns show no event with the cause:\n%s", columns, text)
		}
		for _, id := range []string{"GH-4", "GH-5"} {
			if row := regexp.MustCompile(id + `\b.*`).FindString(text); !strings.Contains(row, "no such m") {
				t.Errorf("%d columns: %s", columns, row)
			}
		}
	}
}

func TestANarrowFrameShowsWhatIsWrongWithTheWorkflowAndWhyAnIssueIsParked(t *testing.T) {
	t.Parallel()
	const failures = "5 failures in a row (budget.max_attempts_per_issue), the last: turn: turn_failed: other: no such model: name another one"
	f := busy()
	f.Progress.Trouble = []progress.Trouble{{
		Source: progress.Workflow,
		Text:   "workflow /home/somebody/src/acme/a-shop-of-its-own/WORKFLOW.md: invalid_workflow_config:\n  line 3: agent.max_turns: 0 is below 1; write 1 or more\n  line 9: a second one",
	}}
	f.Progress.Pause = schedule.Pause{Why: "turn: turn_failed: usage_limit_exceeded_on_this_account: " + strings.Repeat("buy more credits ", 6), Until: now.Add(time.Hour)}
	f.Progress.Parked, f.Progress.Asked = []schedule.Claim{claim("GH-5", "Title", failures, 0)}, nil
	for columns := 40; columns <= 160; columns++ {
		text := strings.Join(strings.Fields(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(f.Render(columns, 60), "")), " ")
		for _, want := range []string{`✗ workflow: .*line 3: agent.max_turns: 0 is below`, `paused: until .*buy more`, `GH-5 .*no such m`} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%d columns do not show %q:\n%s", columns, want, text)
			}
		}
	}
}

func TestWhatKeepsWorkFromStartingEndsWithAnEllipsisWhereItIsCut(t *testing.T) {
	t.Parallel()
	f := busy()
	f.Progress.Trouble = []progress.Trouble{{Source: progress.Tracker, Text: strings.Repeat("word ", 80) + "end"}}
	for columns := 16; columns <= 200; columns++ {
		for _, rows := range []int{5, 12, 24, 60} {
			_, rest, _ := strings.Cut(plain(f.Render(columns, rows)), "✗ tracker: ")
			lines := regexp.MustCompile(`^.*(\n {11}.*)*`).FindString(rest)
			if !strings.HasSuffix(lines, "end") && !strings.HasSuffix(lines, "…") {
				t.Errorf("%d × %d: %s", columns, rows, lines)
			}
		}
	}
	if drawn := plain(f.Render(24, 60)); !regexp.MustCompile(`\n→ .*\n.*\n.*…\n`).MatchString(drawn) {
		t.Errorf("how to go on is cut without an ellipsis:\n%s", drawn)
	}
}

func TestEachPartOfWhatKeepsWorkFromStartingHasALineBeforeOneHasTwo(t *testing.T) {
	t.Parallel()
	f := frames()["troubled"]
	for columns := 20; columns <= 120; columns++ {
		drawn := plain(f.Render(columns, 12))
		for _, want := range []string{"✗ workflow: ", "✗ tracker: ", "‖ paused: "} {
			if !strings.Contains(drawn, want) {
				t.Errorf("%d columns do not show %q:\n%s", columns, want, drawn)
			}
		}
	}
}

func TestAWideFrameShowsPhasesAndTitlesWhole(t *testing.T) {
	t.Parallel()
	const title = "A title of more than forty characters, as people write them"
	f := busy()
	for i := range f.Progress.Sessions {
		f.Progress.Sessions[i].Claim.Title = title
	}
	if drawn := plain(f.Render(250, 50)); strings.Count(drawn, "  "+title+"  ") != 4 || !strings.Contains(drawn, "  launching agent process  ") {
		t.Errorf("cut:\n%s", drawn)
	}
}

// nasty is text that must not get through to a terminal, or not like this.
var nasty = []string{
	"\x1b[2J\x1b[1;1Hpwned \x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x1b[?1049l",
	"first\r\nGH-1  In Progress  all is well\r\x1b[A\x9b31mred",
	"user\u202egnp.exe\u202c \u200bzero\u200d\ufeff\u00ad z\u0300\u0301\u0302\u0303\u0304\u0305algo",
	"👩‍💻 ship it 🚀🚀🚀 ❤️ 🇩🇪 👍🏽",
	"修正ログイン画面の表示が崩れる問題を直してください、お願いします",
	strings.Repeat("unbroken", 200),
	"\xff\xfe broken utf-8 \xc3", "", " ",
}

// hostile returns a frame of which every text is nasty.
func hostile() terminal.Frame {
	f := busy()
	p := &f.Progress
	p.Sessions, p.Elsewhere, p.Waiting, p.Parked, p.Events = nil, nil, nil, nil, nil
	for i, text := range nasty {
		s := session(text, text, i, text)
		s.Claim.State = text
		p.Sessions = append(p.Sessions, s)
		p.Waiting = append(p.Waiting, claim(text, text, text, time.Minute))
		p.Parked = append(p.Parked, claim(text, text, text, 0))
		elsewhere := claim(text, text, text, 0)
		elsewhere.Owner = schedule.Owner{Run: text, Host: text, Shard: i}
		p.Elsewhere = append(p.Elsewhere, elsewhere)
		p.Events = append(p.Events, progress.Event{At: now, Identifier: text, Kind: text, Text: text})
		p.Trouble = append(p.Trouble, progress.Trouble{Source: progress.Tracker, Text: text})
	}
	p.Workflow, p.Tracker, p.Pause.Why = nasty[0], nasty[1], nasty[2]
	p.Asked = map[tracker.ID]string{tracker.ID(nasty[0]): nasty[1]}
	f.Log = nasty
	return f
}

func TestFramesReadAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, frame := range frames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, size := range sizes {
				drawn := frame.Render(size.columns, size.rows)
				fits(t, drawn, size.columns, size.rows)
				fmt.Fprintf(&b, "== %d × %d ==\n%s\n", size.columns, size.rows, plain(drawn))
			}
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got; -update writes it)\n%s", diff)
			}
		})
	}
}

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// plain returns text without its styles.
func plain(drawn string) string { return styles.ReplaceAllString(drawn, "") }

// fits fails the test if a frame is larger than its screen, or does anything to a
// terminal except writing text in styles.
func fits(t interface{ Errorf(string, ...any) }, drawn string, columns, rows int) {
	if drawn == "" {
		return
	}
	lines := strings.Split(drawn, "\n")
	if len(lines) > max(rows, 1) {
		t.Errorf("%d lines on %d rows:\n%s", len(lines), rows, plain(drawn))
	}
	for _, line := range lines {
		s := plain(line)
		if n := lipgloss.Width(s); n > columns || text.Columns(s) > columns {
			t.Errorf("%d columns of %d: %q", n, columns, s)
		}
		if visible := text.Fit(s, len(s)+1); visible != s {
			t.Errorf("%q is not what a terminal shows: that is %q", s, visible)
		}
	}
}

func TestNoFrameIsLargerThanItsScreen(t *testing.T) {
	t.Parallel()
	all := frames()
	rapid.Check(t, func(t *rapid.T) {
		f := all[rapid.SampledFrom([]string{"busy", "ending", "troubled", "many", "hostile", "new"}).Draw(t, "frame")]
		p := f.Progress
		keep := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
		p.Sessions = p.Sessions[:keep("sessions", len(p.Sessions))]
		p.Waiting = p.Waiting[:keep("waiting", len(p.Waiting))]
		p.Parked = p.Parked[:keep("parked", len(p.Parked))]
		p.Events = p.Events[:keep("events", len(p.Events))]
		p.Trouble = p.Trouble[:keep("trouble", len(p.Trouble))]
		if len(p.Sessions) > 0 {
			s := p.Sessions[0]
			s.Doing, s.Claim.Title, s.Claim.Identifier = rapid.String().Draw(t, "doing"), rapid.String().Draw(t, "title"), rapid.String().Draw(t, "identifier")
			p.Sessions = append([]progress.Session{s}, p.Sessions[1:]...)
		}
		f.Progress = p
		columns, rows := rapid.IntRange(-1, 310).Draw(t, "columns"), rapid.IntRange(-1, 110).Draw(t, "rows")
		fits(t, f.Render(columns, rows), columns, rows)
	})
}

func TestWhatASessionDoesIsTheLastToGo(t *testing.T) {
	t.Parallel()
	f := busy()
	f.Progress.Sessions = f.Progress.Sessions[:1]
	for columns := 40; columns <= 200; columns++ {
		if drawn := plain(f.Render(columns, 24)); !strings.Contains(drawn, "running `npm test -") {
			t.Errorf("%d columns do not say what GH-9 does:\n%s", columns, drawn)
		}
	}
	if drawn := plain(f.Render(20, 24)); !strings.Contains(drawn, "GH-9") || !strings.Contains(drawn, "running `n") {
		t.Errorf("20 columns:\n%s", drawn)
	}
}

func TestManySessionsShowThoseThatMatterAndCountTheRest(t *testing.T) {
	t.Parallel()
	drawn := plain(frames()["many"].Render(80, 24))
	for _, want := range []string{"GH-1 ", "GH-30 ", "GH-31 ", "more sessions", "32 of 10 slots"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %q in\n%s", want, drawn)
		}
	}
}

// What is cut off is redacted first: of half a secret nothing would be found.
func TestNoPartOfASecretIsShownAtAnyWidth(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2hunter2"
	f := busy()
	f.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	f.Progress.Workflow = secret
	f.Progress.Tracker = secret
	f.Progress.Pause.Why = secret
	f.Progress.Trouble = []progress.Trouble{{Source: progress.Tracker, Text: "a long text about " + secret}}
	f.Log = []string{secret}
	broken := secret[:7] + "\u200b" + secret[7:] // whole again when it is shown
	for i := range f.Progress.Sessions {
		s := &f.Progress.Sessions[i]
		s.Claim.Identifier, s.Claim.Title, s.Claim.State, s.Doing, s.Claim.Why = broken, "A "+broken, broken, "running "+broken, broken
	}
	for _, claims := range [][]schedule.Claim{f.Progress.Waiting, f.Progress.Parked} {
		for i := range claims {
			claims[i].Identifier, claims[i].Title, claims[i].Why = secret, secret, broken
		}
	}
	f.Progress.Asked["GH-1"] = secret
	f.Progress.Events[0].Text, f.Progress.Events[1].Identifier = secret, secret
	for columns := 1; columns < 200; columns++ {
		for _, rows := range []int{1, 5, 24, 60} {
			if drawn := plain(f.Render(columns, rows)); strings.Contains(drawn, "hunt") {
				t.Fatalf("%d × %d:\n%s", columns, rows, drawn)
			}
		}
	}
}

// A part is drawn of so much text at most, which takes several lines.
func TestASecretAtTheEndOfTheLongestTextIsNotShownInPart(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2hunter2"
	f := busy()
	f.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	for before := 950; before < 1000; before++ {
		f.Progress.Trouble = []progress.Trouble{{Source: progress.Tracker, Text: strings.Repeat("x ", before/2) + strings.Repeat("y", before%2) + secret}}
		if drawn := plain(f.Render(500, 60)); strings.Contains(drawn, "hunt") || !strings.Contains(drawn, "x x") {
			t.Fatalf("after %d characters:\n%s", before, drawn)
		}
	}
}

func BenchmarkFrameOfAHundredSessions(b *testing.B) {
	f := busy()
	f.Progress.Sessions = nil
	for i := range 100 {
		f.Progress.Sessions = append(f.Progress.Sessions, session(fmt.Sprintf("GH-%d", i), "A title of some length", i, "running `go test ./...`"))
	}
	for _, size := range []struct{ columns, rows int }{{80, 24}, {200, 50}, {300, 110}} {
		b.Run(fmt.Sprintf("%dx%d", size.columns, size.rows), func(b *testing.B) {
			for b.Loop() {
				f.Render(size.columns, size.rows)
			}
		})
	}
}

// What a terminal makes of a frame is what the frame says: everything is as wide as it
// was counted, and nothing does anything.
func TestATerminalShowsAFrameCellByCell(t *testing.T) {
	t.Parallel()
	for name, frame := range frames() {
		for _, size := range sizes {
			drawn := frame.Render(size.columns, size.rows)
			screen := vt.NewEmulator(size.columns, size.rows)
			screen.SetCallbacks(vt.Callbacks{
				Title:     func(title string) { t.Errorf("%s sets the title %q", name, title) },
				AltScreen: func(bool) { t.Errorf("%s changes the screen", name) },
				Bell:      func() { t.Errorf("%s rings", name) },
			})
			screen.WriteString(strings.ReplaceAll(drawn, "\n", "\r\n"))
			var shown []string
			for y := range strings.Count(drawn, "\n") + 1 {
				var line strings.Builder
				for x := 0; x < size.columns; {
					cell := screen.CellAt(x, y)
					if cell == nil || cell.Width == 0 {
						line.WriteByte(' ')
						x++
						continue
					}
					line.WriteString(cell.Content)
					x += cell.Width
				}
				shown = append(shown, strings.TrimRight(line.String(), " "))
			}
			if diff := cmp.Diff(cells(plain(drawn)), cells(strings.Join(shown, "\n"))); diff != "" {
				t.Errorf("%s at %d × %d (-frame +terminal):\n%s", name, size.columns, size.rows, diff)
			}
		}
	}
}

// cells returns text without marks, which the emulator drops, and without spaces at the
// ends of lines.
func cells(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(text, "")
}

func TestTheFooterSaysWhatAKeyDoesAndIsNeverCut(t *testing.T) {
	t.Parallel()
	one := busy()
	one.Progress.Sessions = one.Progress.Sessions[:1]
	for name, frame := range map[string]terminal.Frame{"many sessions": busy(), "one session": one, "no session": {Now: now}} {
		for _, frame.Ending = range []bool{false, true} {
			before := ""
			for columns := 7; columns <= 100; columns++ {
				lines := strings.Split(plain(frame.Render(columns, 12)), "\n")
				footer := lines[len(lines)-1]
				does := "ends"
				if frame.Ending {
					does = "kills"
				}
				if !strings.Contains(footer, does) || strings.Contains(footer, "…") {
					t.Errorf("%s, ending: %t, %d columns: %q", name, frame.Ending, columns, footer)
				}
				if len(footer) < len(before) {
					t.Errorf("%s, ending: %t, %d columns say less than fewer: %q, %q", name, frame.Ending, columns, footer, before)
				}
				before = footer
			}
			if want := "Ctrl-C"; !strings.Contains(before, want) {
				t.Errorf("%s, ending: %t: there is room for %s: %q", name, frame.Ending, want, before)
			}
		}
	}
}

func TestTheFooterNamesNoKeyThatIsNotRead(t *testing.T) {
	t.Parallel()
	f := busy()
	f.NoKeys = true
	for _, f.Ending = range []bool{false, true} {
		for columns := 12; columns <= 100; columns++ {
			lines := strings.Split(plain(f.Render(columns, 12)), "\n")
			if footer := lines[len(lines)-1]; !strings.Contains(footer, "Ctrl-C") || regexp.MustCompile(`\bq\b|…`).MatchString(footer) {
				t.Errorf("ending: %t, %d columns: %q", f.Ending, columns, footer)
			}
		}
	}
}

func TestAPauseThatIsOverIsShownAsATry(t *testing.T) {
	t.Parallel()
	f := busy()
	f.Progress.Pause = schedule.Pause{Why: "not logged in", Until: now}
	if got := f.Render(100, 30); strings.Contains(got, "paused") || !strings.Contains(got, "one session tries first whether this is fixed: not logged in") {
		t.Errorf("shown:\n%s", got)
	}
}
