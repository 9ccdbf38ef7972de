package main

//go:generate env DRAW_PICTURES=1 go test -count=1 -run ^TestDraw .

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/browsertest"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/statuspage"
	"github.com/symphony-runner/symphony/runner/terminal"
	"github.com/symphony-runner/symphony/tracker"
)

// picturedIssues are worked on in the run of which README.md shows pictures: two sessions
// are at work, one has failed, one asks, and one issue waits for a slot.
var picturedIssues = map[string]string{
	"SHOP-7":  "---\ntitle: The cart forgets what is in it\nstate: Todo\npriority: 1\n---\n- [ ] Spend `48200` tokens\n- [ ] Run `npm test`\n",
	"SHOP-9":  "---\ntitle: Show prices with tax\nstate: Todo\npriority: 2\n---\n- [ ] Spend `131500` tokens\n- [ ] Say `The tax of a cart is rounded twice: I keep the second rounding.`\n- [ ] Hang\n",
	"SHOP-10": "---\ntitle: Import the old orders\nstate: Todo\npriority: 1\n---\n- [ ] Spend `9700` tokens\n- [ ] Fail with `serverOverloaded`\n",
	"SHOP-12": "---\ntitle: Pick a colour for the buttons\nstate: Todo\npriority: 1\n---\n- [ ] Spend `3100` tokens\n- [ ] Call `ask` with `{\"question\": \"Which colour do the buttons get?\", \"choices\": [\"blue\", \"green\"]}`\n",
}

// picturedAt is the time at which the pictures show the run.
var picturedAt = time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC)

// pictured performs a real run with the agent of this program, until nothing in it moves
// any more, and returns what the displays get.
func pictured(t *testing.T) progress.Progress {
	t.Helper()
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), picturedIssues)
	p.replace("  kind: file\n", "  kind: file\nagent: {max_concurrent_agents: 4}\npolling: {interval_ms: 60000}\n")
	p.write("bin/npm", "#!/bin/sh\nexec sleep 600\n")
	if err := os.Chmod(filepath.Join(p.dir, "bin", "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.dir, "bin") + ":" + os.Getenv("PATH")
	p.write(".bash_profile", "PATH="+shellQuote(path)+"\n")
	ctx, interrupts := wiring.NewInterrupts(t.Context())
	a := &app{logFormat: "text", Process: wiring.Process{Stdout: io.Discard, Stderr: io.Discard, Stdin: strings.NewReader(""), Environ: []string{"HOME=" + p.dir, "PATH=" + path, "TMPDIR=" + t.TempDir()}, Interrupts: interrupts}}
	a.DetectActions()
	a.redactor = a.EnvironmentSecrets()
	workflow := filepath.Join(p.dir, "WORKFLOW.md")
	source := a.workflows(workflow)
	wf, err := source.Current()
	if err != nil {
		t.Fatal(err)
	}
	state, err := a.statePlace().Open(wf, wiring.StateOfRun)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	r, err := a.runner(source, wf, state, a.console(false, workflow), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(ctx, time.Minute)
	var still sync.Once
	var got progress.Progress
	r.Progress = func(now progress.Progress) {
		isStill := len(now.Sessions) == 2 && len(now.Waiting) == 1 && len(now.Parked) == 1
		for _, s := range now.Sessions {
			isStill = isStill && (strings.Contains(s.Doing, "npm test") || strings.Contains(s.Doing, "rounded twice")) && s.Claim.Tokens > 0
		}
		if isStill {
			still.Do(func() { got = now; end() })
		}
	}
	defer end()
	if _, err := r.Run(ctx); got.At.IsZero() {
		t.Fatalf("the run ended: %v", err)
	}
	return got
}

// settled returns a progress in which everything that differs between two runs is the
// same: times are counted from at.
func settled(p progress.Progress, at time.Time) progress.Progress {
	p.Sessions, p.Waiting, p.Parked = slices.Clone(p.Sessions), slices.Clone(p.Waiting), slices.Clone(p.Parked)
	shift := func(minutes int) time.Time { return at.Add(-time.Duration(minutes) * time.Minute) }
	p.At, p.Started, p.NextPoll, p.Workflow, p.Root, p.Logs = at, shift(31), at.Add(42*time.Second), "/home/kim/shop/WORKFLOW.md", "", ""
	claim := func(c *schedule.Claim) {
		c.Owner, c.Lease, c.Thread, c.Content = schedule.Owner{}, time.Time{}, "", ""
		c.Since, c.Heard = shift(9), at.Add(-3*time.Second)
		if !c.TurnSince.IsZero() {
			c.TurnSince = shift(3)
		}
		if !c.Due.IsZero() {
			c.Due = at.Add(8 * time.Second)
		}
	}
	for i := range p.Sessions {
		s := &p.Sessions[i]
		claim(&s.Claim)
		s.Started = shift(4 + 7*i)
		s.ID, s.PID, s.Log = fmt.Sprintf("01a2%04x", i), 4100+i, ""
		s.Events = nil
	}
	for i := range p.Waiting {
		claim(&p.Waiting[i])
	}
	for i := range p.Parked {
		claim(&p.Parked[i])
	}
	p.Spent.Time, p.Today.Time = 19*time.Minute, 3*time.Hour
	p.Today.Date = at.Format(time.DateOnly)
	p.Limits = []byte(`{"primary":{"usedPercent":43,"windowDurationMins":300},"secondary":{"usedPercent":7,"windowDurationMins":10080}}`)
	// The sessions ran at the same time: the nth event of one stands before the next of another.
	nth := map[tracker.ID]int{}
	order := map[int]int{}
	for i, e := range p.Events {
		order[i] = nth[e.ID]
		nth[e.ID]++
	}
	indexes := make([]int, len(p.Events))
	for i := range indexes {
		indexes[i] = i
	}
	slices.SortStableFunc(indexes, func(a, b int) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), strings.Compare(p.Events[a].Identifier, p.Events[b].Identifier))
	})
	events := make(progress.Events, len(indexes))
	for i, from := range indexes {
		events[i] = p.Events[from]
		events[i].At = at.Add(time.Duration(i-len(indexes)) * 11 * time.Second)
	}
	p.Events = events
	return p
}

// draws skips a test that draws a picture of README.md, unless `go generate` runs it.
func draws(t *testing.T) {
	if os.Getenv("DRAW_PICTURES") == "" {
		t.Skip("go generate draws the pictures")
	}
}

// writePicture writes a file that README.md shows.
func writePicture(t *testing.T, name, picture string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, ".github", name), []byte(picture), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDrawTheTerminalAndThePage draws both displays of a real run. Chromium photographs the
// page when it is not the one that was photographed last, by its digest.
func TestDrawTheTerminalAndThePage(t *testing.T) {
	draws(t)
	shown := pictured(t)
	still := settled(shown, picturedAt)
	frame := terminal.Frame{Progress: still, Now: still.At}.Render(screenColumns, screenRows)
	writePicture(t, "terminal.svg", drawScreen(frame))

	pages := statuspage.New(redact.New(), make(chan struct{}, 1))
	pages.Show(still)
	server := httptest.NewServer(pages.Handler())
	defer server.Close()
	defer pages.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	digest, photographed := fmt.Sprintf("%x\n", sha256.Sum256(page)), filepath.Join("testdata", "page.sha256")
	if readText(t, photographed) == digest {
		return
	}
	if err := os.WriteFile(photographed, []byte(digest), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SYMPHONY_SHOTS", filepath.Join(root, ".github"))
	pages.Show(settled(shown, time.Now())) // ages are counted in the browser
	browsertest.Start(t).Open(t, server.URL, browsertest.Look{Width: 1100, Height: 700}).Shot("page")
}

// The size of the pictured terminal, and of one of its cells in pixels.
const (
	screenColumns, screenRows = 116, 22
	cellWidth, cellHeight     = 7.8, 19
)

// drawScreen returns lines with ANSI styles as a picture of a terminal.
func drawScreen(frame string) string {
	var b strings.Builder
	lines := strings.Split(frame, "\n")
	for n, line := range lines {
		fmt.Fprintf(&b, "<text x=\"16\" y=\"%d\">", 28+n*cellHeight)
		class := ""
		for line != "" {
			code, text, _ := strings.Cut(strings.TrimPrefix(line, "\x1b["), "m")
			if !strings.HasPrefix(line, "\x1b[") {
				code, text = class, line
			}
			text, rest, styled := strings.Cut(text, "\x1b[")
			if class = code; text != "" {
				fmt.Fprintf(&b, "<tspan class=\"s%s\">%s</tspan>", code, html.EscapeString(text))
			}
			if line = ""; styled {
				line = "\x1b[" + rest
			}
		}
		b.WriteString("</text>\n")
	}
	width, height := 32+screenColumns*cellWidth, 28+len(lines)*cellHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%d" viewBox="0 0 %[1]g %[2]d" role="img" aria-label="The terminal during a run">
<style>
text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre }
.s1 { font-weight: 600 } .s2 { fill: #9198a1 } .s31 { fill: #ff7b72 } .s33 { fill: #e3b341 } .s36 { fill: #76e3ea }
</style>
<rect width="%[1]g" height="%[2]d" rx="6" fill="#0d1117"/>
%[3]s</svg>
`, width, height, b.String())
}
