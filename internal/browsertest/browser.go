// Package browsertest drives a real browser in tests: a headless Chromium, over a pipe, in
// Chromium's own DevTools protocol. A test that asks for a browser is skipped where there
// is none.
//
// [Start] finds the browser by SYMPHONY_TEST_CHROMIUM or in PATH. A [Page] is opened in a
// window of any width, in light or dark, with scripts or without; it is read in
// JavaScript, checked for faults that keep people from using it ([Page.Violations],
// with axe-core at SYMPHONY_TEST_AXE), and photographed for those who want to look
// ([Page.Shot], into the folder SYMPHONY_SHOTS).
package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// answerTime bounds how long a test waits for the browser: a machine may be busy.
const answerTime = time.Minute

// Browser is a browser that runs until its test ends.
type Browser struct {
	outMu sync.Mutex // held while something is written: the browser may answer meanwhile
	out   io.Writer

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	pages   map[string]*Page // pages by session
	gone    error            // reason why no more answers come; nil while they do
}

// message is a message of the protocol, in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser for a test, or skips the test: where there is none, and in a run
// that must be short.
func Start(t testing.TB) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	path := os.Getenv("SYMPHONY_TEST_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		t.Skip("there is no Chromium in PATH, and SYMPHONY_TEST_CHROMIUM names none")
	}
	home := t.TempDir()
	args := []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + home, "--no-first-run", "--disable-gpu", "--disable-extensions",
		"--disable-background-networking", "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb", "about:blank",
	}
	if os.Getuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // its sandbox refuses to work for root
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(cmd.Environ(), "HOME="+home)
	toBrowser, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // file descriptors 3 and 4 of the browser
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &Browser{out: write, waiting: map[int]chan message{}, pages: map[string]*Page{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.read(read)
	}()
	t.Cleanup(func() {
		b.call("", "Browser.close", nil, nil)
		write.Close()
		if !within(10*time.Second, ended) {
			cmd.Process.Kill()
		}
		cmd.Wait()
		read.Close()
	})
	return b
}

func within(d time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// read passes on the browser's messages, until it ends.
func (b *Browser) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.gone = fmt.Errorf("the browser ended: %w", err)
			for _, answer := range b.waiting {
				close(answer)
			}
			clear(b.waiting)
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		if answer := b.waiting[m.ID]; answer != nil {
			delete(b.waiting, m.ID)
			answer <- m
		} else if page := b.pages[m.Session]; page != nil {
			page.note(m)
		}
		b.mu.Unlock()
	}
}

// call calls a method of the browser, or of a page's session.
func (b *Browser) call(session, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if params == nil {
		raw = nil
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	if b.gone != nil {
		defer b.mu.Unlock()
		return b.gone
	}
	b.last++
	text, err := json.Marshal(message{ID: b.last, Session: session, Method: method, Params: raw})
	b.waiting[b.last] = answer
	b.mu.Unlock()
	if err == nil {
		b.outMu.Lock()
		_, err = b.out.Write(append(text, 0))
		b.outMu.Unlock()
	}
	if err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser has ended", method)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(answerTime):
		return fmt.Errorf("%s: no answer in %s", method, answerTime)
	}
}

// Look describes the window and the preferences with which a page is opened.
type Look struct {
	Width    int // pixels
	Height   int
	Dark     bool
	NoScript bool
}

// Open opens an address in a page of its own, and returns when it is loaded.
func (b *Browser) Open(t testing.TB, url string, look Look) *Page {
	t.Helper()
	var target struct{ TargetID string }
	var session struct{ SessionID string }
	must(t, b.call("", "Target.createTarget", fields{"url": "about:blank", "newWindow": true}, &target))
	must(t, b.call("", "Target.attachToTarget", fields{"targetId": target.TargetID, "flatten": true}, &session))
	p := &Page{t: t, browser: b, session: session.SessionID, loaded: make(chan struct{}, 8)}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	t.Cleanup(func() { b.call("", "Target.closeTarget", fields{"targetId": target.TargetID}, nil) })
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.call("Emulation.setFocusEmulationEnabled", fields{"enabled": true}, nil) // the page looks active, also beside other pages
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	p.call("Emulation.setEmulatedMedia", fields{"features": []fields{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.Resize(look.Width, look.Height)
	if look.NoScript {
		p.call("Emulation.setScriptExecutionDisabled", fields{"value": true}, nil)
	}
	p.Go(url)
	return p
}

// fields is the parameters of a call.
type fields map[string]any

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Page is a page of a browser.
type Page struct {
	t       testing.TB
	browser *Browser
	session string
	loaded  chan struct{}

	mu       sync.Mutex
	problems []string
}

func (p *Page) call(method string, params, result any) {
	p.t.Helper()
	must(p.t, p.browser.call(p.session, method, params, result))
}

// note records an event of the page: that it is loaded, or a problem.
func (p *Page) note(m message) {
	var event struct {
		Entry            struct{ Source, Level, Text, URL string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Type string
		Args []struct{ Value, Description any }
	}
	_ = json.Unmarshal(m.Params, &event) // an event of another shape has none of these
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Log.entryAdded":
		if event.Entry.Level != "info" && event.Entry.Level != "verbose" {
			p.problems = append(p.problems, event.Entry.Source+": "+event.Entry.Text+" "+event.Entry.URL)
		}
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, event.ExceptionDetails.Text+" "+event.ExceptionDetails.Exception.Description)
	case "Runtime.consoleAPICalled":
		p.problems = append(p.problems, fmt.Sprint("console.", event.Type, " ", event.Args))
	case "Page.javascriptDialogOpening":
		p.problems = append(p.problems, "a dialog was opened")
	}
}

// Problems returns the complaints of the browser so far: errors of scripts,
// violations of the Content-Security-Policy, dialogs, anything that was logged.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

// Go navigates to an address as if it was typed, and returns when it is loaded.
func (p *Page) Go(url string) {
	p.t.Helper()
	var answer struct{ ErrorText string }
	p.call("Page.navigate", fields{"url": url}, &answer)
	if answer.ErrorText != "" {
		p.t.Fatalf("open %s: %s", url, answer.ErrorText)
	}
	p.untilLoaded(url)
}

// Resize gives the window another size, in pixels.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", fields{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
}

// Follow goes to an address as a link of the shown page does, and returns when it is loaded.
func (p *Page) Follow(url string) {
	p.t.Helper()
	p.Eval(fmt.Sprintf("void (location = %q)", url), nil)
	p.untilLoaded(url)
}

func (p *Page) untilLoaded(url string) {
	p.t.Helper()
	select {
	case <-p.loaded:
	case <-time.After(answerTime):
		p.t.Fatalf("%s is not loaded after %s", url, answerTime)
	}
}

// Eval stores the value of an expression of JavaScript; for a promise its value when it is
// kept. The expression may do what a page may not without a person, such as open a window.
func (p *Page) Eval(expression string, value any) {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", fields{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &answer)
	if e := answer.ExceptionDetails; e != nil {
		p.t.Fatalf("%.200s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if value != nil && len(answer.Result.Value) > 0 {
		must(p.t, json.Unmarshal(answer.Result.Value, value))
	}
}

// Until waits until a condition in JavaScript holds.
func (p *Page) Until(condition string) {
	p.t.Helper()
	var held bool
	p.Eval(fmt.Sprintf(`new Promise((done) => {
		const end = Date.now() + %d;
		const look = () => (%s) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 20);
		look();
	})`, (answerTime/2).Milliseconds(), condition), &held)
	if !held {
		p.t.Fatalf("it never was so that %s", condition)
	}
}
