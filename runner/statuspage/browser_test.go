package statuspage

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/browsertest"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
)

// serve serves a progress until the test ends.
func serve(t testing.TB, p progress.Progress) (s *Server, url string) {
	t.Helper()
	s = New(redact.New(secret), make(chan struct{}, 1))
	s.Show(p)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		server.Close()
	})
	return s, server.URL
}

// looks is how every page must be good to look at.
var looks = map[string]browsertest.Look{
	"light-1280": {Width: 1280, Height: 900},
	"dark-1280":  {Width: 1280, Height: 900, Dark: true},
	"light-390":  {Width: 390, Height: 844},
	"dark-390":   {Width: 390, Height: 844, Dark: true},
}

// live is the sample as of now, so that its times are near.
func live() progress.Progress {
	p := sample()
	shift := time.Since(noon)
	for _, at := range []*time.Time{&p.At, &p.Started, &p.NextPoll, &p.Deadline, &p.Pause.Since, &p.Pause.Until} {
		*at = at.Add(shift)
	}
	move := func(c *schedule.Claim) {
		for _, at := range []*time.Time{&c.Since, &c.Heard, &c.Due} {
			if !at.IsZero() {
				*at = at.Add(shift)
			}
		}
	}
	events := func(all progress.Events) {
		for i := range all {
			all[i].At = all[i].At.Add(shift)
		}
	}
	for i := range p.Sessions {
		move(&p.Sessions[i].Claim)
		p.Sessions[i].Started = p.Sessions[i].Started.Add(shift)
		events(p.Sessions[i].Events)
	}
	for i := range p.Waiting {
		move(&p.Waiting[i])
	}
	for i := range p.Parked {
		move(&p.Parked[i])
	}
	for id, d := range p.Deliveries {
		d.At = d.At.Add(shift)
		p.Deliveries[id] = d
	}
	events(p.Events)
	return p
}

// busy is a run without trouble that has much to do.
func busy() progress.Progress {
	p := live()
	p.Trouble, p.Pause, p.Slots = nil, schedule.Pause{}, 5
	p.Limits = []byte(`{"primary":{"usedPercent":43,"windowDurationMins":300,"resetsAt":` + fmt.Sprint(time.Now().Add(2*time.Hour).Unix()) + `},"secondary":{"usedPercent":7,"windowDurationMins":10080}}`)
	for n, doing := range []string{"editing internal/cart/total.go", "", "“The totals are rounded twice: once per line and once for the sum. I will keep only the second.”"} {
		s := p.Sessions[0]
		s.Claim.ID, s.Claim.Identifier = tracker.ID(fmt.Sprint("2", n)), fmt.Sprint("GH-", 20+n)
		s.Claim.Title = []string{"The cart forgets the voucher when the address changes", "A", "Rounding: totals of a cart with many lines differ from the invoice by up to three cents, depending on the order of lines"}[n]
		s.Doing, s.Log, s.Status = doing, "", schedule.StatusLaunchingAgentProcess
		p.Sessions = append(p.Sessions, s)
	}
	p.Sessions[3].Claim.Phase, p.Sessions[3].Claim.Why = schedule.Stopping, "the issue is closed"
	for n := range 30 {
		c := p.Waiting[0]
		c.ID, c.Identifier = tracker.ID(fmt.Sprint("3", n)), fmt.Sprint("GH-", 30+n)
		p.Waiting = append(p.Waiting, c)
	}
	for n := range 4 {
		p.Elsewhere = append(p.Elsewhere, schedule.Claim{
			ID: tracker.ID(fmt.Sprint("4", n)), Identifier: fmt.Sprint("GH-", 80+n), Title: "Work for a shard of a fleet", State: "In Progress", URL: "https://github.com/acme/shop/issues/80",
			Phase: schedule.Running, Since: p.At.Add(-7 * time.Minute), Owner: schedule.Owner{Run: "12345678901", Attempt: 1, Shard: 1 + n/2},
		})
	}
	p.Queue = progress.Queue{Length: 991, Listed: p.At.Add(-3 * time.Minute)}
	for n := range progress.MaxNext {
		p.Queue.Next = append(p.Queue.Next, schedule.Claim{
			ID: tracker.ID(fmt.Sprint("5", n)), Identifier: fmt.Sprint("GH-", 200+n), Title: "Make the invoice add up again when a voucher covers a part of the delivery", State: "Todo", URL: "https://github.com/acme/shop/issues/200",
		})
	}
	for n := range 12 {
		p.Events = append(p.Events, progress.Event{At: p.At.Add(time.Duration(n-12) * time.Second), ID: "12", Identifier: "GH-2", Kind: "completed", Text: "exit status 1 in the hook before_run"})
	}
	return p
}

// crowd is a run with n claims.
func crowd(n int) progress.Progress {
	p := live()
	p.Waiting = nil
	for i := range n {
		p.Waiting = append(p.Waiting, schedule.Claim{
			ID: tracker.ID(fmt.Sprint("I_kwDO", i)), Identifier: fmt.Sprint("GH-", i+100), Title: fmt.Sprint("Make the invoice number ", i, " add up again"), State: "Todo", Phase: schedule.Waiting,
			URL: fmt.Sprint("https://github.com/acme/shop/issues/", i), Attempt: 1, Due: p.At.Add(time.Duration(i) * time.Second), Why: "no slot is free", Tokens: int64(i) * 100,
		})
	}
	return p
}

// hostile is the sample with markup, scripts and escapes wherever a stranger writes.
func hostile() progress.Progress {
	const evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{.}}\"'><svg/onload=alert(3)>`${alert(4)}`\x1b[31m"
	p := live()
	p.Workflow, p.Trouble[0].Text, p.Pause.Why, p.Tracker = evil, evil, evil, evil
	s := &p.Sessions[0]
	s.Claim.Title, s.Claim.Identifier, s.Claim.State, s.Claim.URL = evil, evil, evil, "javascript:alert(5)"
	s.Doing, s.Summary, s.ID, s.Event, s.Events[0].Text, s.Events[0].Kind = evil, evil, evil, evil, evil, evil
	p.Elsewhere = []schedule.Claim{{ID: evil, Identifier: evil, Title: evil, State: evil, URL: "javascript:alert(7)", Since: p.At, Owner: schedule.Owner{Run: evil, Shard: 3}}}
	p.Queue = progress.Queue{Length: 1, Next: []schedule.Claim{{ID: evil, Identifier: evil, Title: evil, State: evil, URL: "javascript:alert(8)"}}}
	p.Waiting[0].Why, p.Waiting[0].Identifier, p.Waiting[0].ID = evil, evil+"2", evil
	p.Parked[0].Why, p.Asked["13"] = evil, evil
	p.Deliveries["13"] = schedule.Delivery{Identifier: evil, Branch: evil, Number: 7, URL: "javascript:alert(6)", Refused: evil, At: p.At}
	p.Events[0].Text, p.Events[0].Kind, p.Events[0].Identifier = evil, evil, evil
	return p
}

func TestPagesAreGoodForEverybodyAtEveryWidth(t *testing.T) {
	browser := browsertest.Start(t) // one at a time: each takes all of a machine
	log := filepath.Join(t.TempDir(), "1.jsonl")
	writeLog(t, log, sessionLog)
	withLog := busy()
	withLog.Logs, withLog.Sessions[0].Log = filepath.Dir(log), log
	for name, c := range map[string]struct {
		progress progress.Progress
		path     string
	}{
		"empty":    {progress.Progress{At: time.Now(), Slots: 3, NextPoll: time.Now().Add(time.Minute), Workflow: "WORKFLOW.md", Tracker: "github"}, "/"},
		"busy":     {busy(), "/"},
		"trouble":  {live(), "/"},
		"hostile":  {hostile(), "/"},
		"issue":    {withLog, "/issues/GH-1"},
		"parked":   {busy(), "/issues/GH-3"},
		"no-issue": {live(), "/issues/GH-999"},
		"log-html": {path: transcriptPage(t)},
	} {
		_, url := serve(t, c.progress)
		isFile := strings.HasPrefix(c.path, "file:")
		if isFile {
			url = ""
		}
		for look, l := range looks {
			if name != "busy" && look != "light-390" && look != "dark-1280" {
				continue // the same parts as the others
			}
			t.Run(name+"-"+look, func(t *testing.T) {
				page := browser.Open(t, url+c.path, l)
				if name != "no-issue" && !isFile {
					page.Until("document.getElementById('live').dataset.state === 'on'")
				}
				page.Shot("page-" + name + "-" + look)
				page.Eval("document.querySelectorAll('details').forEach((folded) => folded.open = true)", nil)
				if wide := page.TooWide(); len(wide) > 0 {
					t.Errorf("wider than %d pixels:\n%s", l.Width, strings.Join(wide, "\n"))
				}
				if problems := page.Problems(); len(problems) > 0 && name != "no-issue" {
					t.Errorf("the browser says:\n%s", strings.Join(problems, "\n"))
				}
				if violations := page.Violations(); len(violations) > 0 {
					t.Error(strings.Join(violations, "\n"))
				}
			})
		}
	}
}

func TestPagesCanBeReadAtEveryWidth(t *testing.T) {
	browser := browsertest.Start(t)
	_, url := serve(t, busy())
	for _, path := range []string{"/", "/waiting", "/delivered", "/issues/GH-1", "/issues/GH-3"} {
		page := browser.Open(t, url+path, browsertest.Look{Width: 320, Height: 800})
		page.Until("document.getElementById('live').dataset.state === 'on'")
		tallest := 0
		for width := 320; width <= 1280; width += 20 {
			page.Resize(width, 800)
			var height int
			page.Eval("document.documentElement.scrollHeight", &height)
			tallest = max(tallest, height)
			if height > tallest*11/10 || width == 320 && height > 9000 {
				t.Errorf("%s: %d pixels high at a width of %d", path, height, width)
			}
			for _, bad := range [][]string{page.TooWide(), page.TooNarrow()} {
				if len(bad) > 0 {
					t.Errorf("%s at a width of %d:\n%s", path, width, strings.Join(bad, "\n"))
				}
			}
			if slices.Contains([]int{320, 480, 760, 780, 900, 1060, 1080, 1280}, width) {
				page.Shot(fmt.Sprint("width", strings.ReplaceAll(path, "/", "-"), "-", width))
			}
		}
	}
}

// transcriptPage returns the address of a page that stands alone, as symphony log --html
// writes it, with an entry of every kind.
func transcriptPage(t *testing.T) string {
	t.Helper()
	log, err := os.Open(filepath.Join("..", "transcript", "testdata", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	path := filepath.Join(t.TempDir(), "page.html")
	page, err := os.Create(path)
	if err == nil {
		err = errors.Join(transcript.CopyPage(page, log, false, redact.New().String), page.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

func TestPagesOfAThousandClaimsAreShown(t *testing.T) {
	browser := browsertest.Start(t)
	_, url := serve(t, crowd(1000))
	for path, want := range map[string]int{"/": maxRows, "/waiting?page=2": pageRows} {
		for _, look := range []string{"light-1280", "dark-390"} {
			t.Run(path+look, func(t *testing.T) {
				page := browser.Open(t, url+path, looks[look])
				page.Until("document.getElementById('live').dataset.state === 'on'")
				page.Shot("page-crowd" + strings.NewReplacer("/", "-", "?", "-").Replace(path) + look)
				if wide := page.TooWide(); len(wide) > 0 {
					t.Errorf("wider than the window:\n%s", strings.Join(wide, "\n"))
				}
				var rows int
				page.Eval("document.querySelectorAll('#waiting tbody tr').length", &rows)
				if problems := page.Problems(); rows != want || len(problems) > 0 {
					t.Errorf("%d rows, %q", rows, problems)
				}
				if path != "/" && look == "dark-390" { // the rest is checked on the page of the run
					if violations := page.Violations(); len(violations) > 0 {
						t.Error(strings.Join(violations, "\n"))
					}
				}
			})
		}
	}
}

// BenchmarkFirstPaint opens pages of a thousand claims on loopback, each in a new window and
// with a progress that nobody has seen yet, and reports when the browser first paints: the
// best time, and that of one half of them. The browser does nothing else by then. A visit by
// a link of another server takes longer: see isOwnVisit.
func BenchmarkFirstPaint(b *testing.B) {
	browser := browsertest.Start(b)
	p := crowd(1000)
	s, url := serve(b, p)
	for name, c := range map[string]struct {
		path  string
		visit func(*browsertest.Page, string)
	}{
		"first page":          {"/", (*browsertest.Page).Go},
		"first part":          {"/waiting", (*browsertest.Page).Go},
		"last part":           {"/waiting?page=10", (*browsertest.Page).Go},
		"first page, by link": {"/", (*browsertest.Page).Follow},
	} {
		b.Run(name, func(b *testing.B) {
			var times []float64
			for b.Loop() {
				s.Show(p)
				page := browser.Open(b, "about:blank", looks["light-1280"])
				time.Sleep(time.Second) // until the browser is done with the window
				c.visit(page, url+c.path)
				page.Until("performance.getEntriesByName('first-contentful-paint').length > 0")
				var painted float64
				page.Eval("performance.getEntriesByName('first-contentful-paint')[0].startTime", &painted)
				times = append(times, painted)
				page.Go("about:blank") // which ends the updates of the page
			}
			slices.Sort(times)
			b.ReportMetric(times[0], "best-ms")
			b.ReportMetric(times[len(times)/2], "median-ms")
		})
	}
}

func TestAPageOfAnotherServerKeepsNoHoldOfAWindow(t *testing.T) {
	browser := browsertest.Start(t)
	_, url := serve(t, live())
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
	}))
	t.Cleanup(other.Close)
	page := browser.Open(t, other.URL, looks["light-1280"])
	for address, until := range map[string]string{
		other.URL + "/2":     "opened.location.pathname === '/2' && opened.document.readyState === 'complete' && !opened.closed",
		url:                  "opened.closed", // as it seems to the page that opened it
		url + "/issues/GH-1": "opened.closed",
	} {
		page.Eval(fmt.Sprintf("opened = window.open(%q); 0", address), nil)
		page.Until(until)
	}
}

func TestAPageChangesWithoutAReload(t *testing.T) {
	browser := browsertest.Start(t)
	log := filepath.Join(t.TempDir(), "1.jsonl")
	writeLog(t, log, sessionLog)
	p := busy()
	p.Logs, p.Sessions[0].Log = filepath.Dir(log), log
	s, url := serve(t, p)
	page, issue := browser.Open(t, url, looks["light-1280"]), browser.Open(t, url+"/issues/GH-1", looks["light-1280"])
	for _, one := range []*browsertest.Page{page, issue} {
		one.Until("document.getElementById('live').dataset.state === 'on'")
		one.Eval("window.untouched = true", nil)
	}
	page.Eval("document.querySelector('#running a').focus()", nil)
	issue.Eval("document.querySelector('#history details').open = true", nil)

	writeLog(t, log, `{"t_ms":9000,"dir":"<","msg":{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"agentMessage","id":"m9","text":"The cart adds up now."}}}}`+"\n")
	p.Sessions = append([]progress.Session{}, p.Sessions...)
	p.Sessions[0].Doing = "“The cart adds up now.”"
	p.Waiting = p.Waiting[1:]
	s.Show(p)
	page.Until("document.getElementById('running').innerText.includes('The cart adds up now.')")
	page.Until("!document.querySelector('#waiting [data-key=\"12\"]') && document.querySelector('#waiting [data-key=\"30\"]')")
	issue.Until("document.getElementById('entries').innerText.includes('The cart adds up now.')")
	issue.Until("document.getElementById('about').innerText.includes('The cart adds up now.')")
	for _, one := range []*browsertest.Page{page, issue} {
		one.Until("window.untouched")
	}
	page.Until("document.activeElement === document.querySelector('#running a')")
	issue.Until("document.querySelector('#history details').open")

	// The date of a time is there when somebody points at it, and stays.
	page.Eval("document.querySelector('time').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))", nil)
	p.NextPoll = p.NextPoll.Add(time.Hour)
	s.Show(p)
	page.Until("document.getElementById('health').innerText.includes('in 1h')")
	page.Until("document.querySelector('time').title.includes(String(new Date().getFullYear()))")

	// An issue that is due says what it waits for, also when only that changes.
	p.Waiting = slices.Clone(p.Waiting)
	for i := range p.Waiting {
		p.Waiting[i].Due = time.Now().Add(-time.Minute)
	}
	for reason, words := range map[schedule.Reason]string{schedule.NoSlots: "for a slot", schedule.Paused: "after pause"} {
		p.NoRoom.Reason = reason
		s.Show(p)
		page.Until("document.querySelector('#waiting tbody .n:nth-of-type(4)').innerText === '" + words + "'")
	}

	// Without the server it says so, and of when the rest is.
	s.Close()
	page.Until("document.getElementById('live').dataset.state === 'off'")
}

// TestAPageAsksForFewFonts bounds what a page asks for before its first paint: for each
// size and weight of a font the process of a page waits for the one of the browser.
func TestAPageAsksForFewFonts(t *testing.T) {
	browser := browsertest.Start(t)
	_, url := serve(t, busy())
	page := browser.Open(t, url, looks["light-1280"])
	var fonts []string
	page.Eval(`(() => {
		const fonts = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) {
			const of = texts.currentNode.parentElement, style = getComputedStyle(of);
			if (texts.currentNode.data.trim() && of.checkVisibility()) fonts.add([style.fontFamily, style.fontSize, style.fontWeight].join(' '));
		}
		return [...fonts].sort();
	})()`, &fonts)
	if len(fonts) > 6 {
		t.Errorf("%d fonts: %q", len(fonts), fonts)
	}
}

func TestTextOfStrangersDoesNothingInABrowser(t *testing.T) {
	browser := browsertest.Start(t)
	p := hostile()
	log := filepath.Join(t.TempDir(), "1.jsonl")
	writeLog(t, log, `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"<script>alert(7)</script><img src=x onerror=alert(8)>"}}}}`+"\n")
	p.Logs, p.Sessions[0].Log, p.Sessions[0].Claim.ID = filepath.Dir(log), log, "11"
	s, url := serve(t, p)
	for _, path := range []string{"/", "/issues/11"} {
		page := browser.Open(t, url+path, looks["light-1280"])
		page.Until("document.getElementById('live').dataset.state === 'on'")
		p.At = p.At.Add(time.Second)
		p.Sessions = append([]progress.Session{}, p.Sessions...)
		p.Sessions[0].Summary += "!"
		p.Sessions[0].Doing += "!"
		s.Show(p) // so that an update brings it too
		page.Until("document.body.innerText.includes('alert(4)}`[31m!')")
		var links, made int
		page.Eval("[...document.links].filter((a) => !/^https?:$/.test(a.protocol)).length", &links)
		page.Eval("document.querySelectorAll('img, svg, main script, [onerror], [onload]').length", &made)
		if problems := page.Problems(); links+made > 0 || len(problems) > 0 {
			t.Errorf("%s: %d links, %d elements, %q", path, links, made, problems)
		}
	}
}

func TestPagesWorkWithoutAScript(t *testing.T) {
	browser := browsertest.Start(t)
	log := filepath.Join(t.TempDir(), "1.jsonl")
	writeLog(t, log, sessionLog)
	p := busy()
	p.Logs, p.Sessions[0].Log = filepath.Dir(log), log
	_, url := serve(t, p)
	look := looks["light-390"]
	look.NoScript = true
	for path, want := range map[string]string{"/": "Fix the cart", "/issues/GH-1": "make test"} {
		page := browser.Open(t, url+path, look)
		var text, refresh string
		page.Eval("document.body.innerText", &text)
		page.Eval("document.querySelector('meta[http-equiv=refresh]').content", &refresh)
		if !strings.Contains(text, want) || !strings.Contains(text, "Times are in UTC.") || strings.Contains(text, "Poll now") || refresh != "10" {
			t.Errorf("%s: refreshed after %q:\n%s", path, refresh, text)
		}
		if wide := page.TooWide(); len(wide) > 0 {
			t.Errorf("%s is too wide:\n%s", path, strings.Join(wide, "\n"))
		}
	}
}

// sessionLog is a short session as package attempt writes it.
const sessionLog = `{"t_ms":0,"dir":">","msg":{"id":1,"method":"turn/start","params":{"threadId":"t","input":[{"type":"text","text":"Fix the cart."}]}}}
{"t_ms":100,"dir":"<","msg":{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}}
{"t_ms":900,"dir":"<","msg":{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"agentMessage","id":"m1","text":"I will look at the tests first."}}}}
{"t_ms":1000,"dir":"<","msg":{"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"commandExecution","id":"c1","command":"make test","status":"inProgress"}}}}
{"t_ms":2500,"dir":"<","msg":{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"commandExecution","id":"c1","command":"make test","status":"failed","exitCode":2,"durationMs":1500,"aggregatedOutput":"--- FAIL: TestTotal\n    total_test.go:12: got 3, want 4\nFAIL"}}}}
{"t_ms":4000,"dir":"<","msg":{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"fileChange","id":"f1","status":"completed","changes":[{"path":"cart/total.go","kind":{"type":"update"},"diff":"@@ -1,2 +1,2 @@\n func Total() int {\n-\treturn 3\n+\treturn 4\n"}]}}}}
`

// writeLog appends lines to an event log, and makes its folder.
func writeLog(t testing.TB, path, lines string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(lines)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
