package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// serves has a host answer calls as one does that somebody has taken over.
func (f *fixture) serves(calls func(*link) functions) {
	f.hosts.Dial = func(context.Context, string) (Conn, error) {
		here, there := net.Pipe()
		l, err := newLink(there, false)
		f.check(err)
		l.serve(calls(l), log.New(f.t.Output(), "", 0))
		f.serving.Go(func() {
			<-l.lost()
			l.close()
		})
		return &piped{Conn: here, done: make(chan struct{})}, nil
	}
}

// takenOver has a host answer the order of a session by a function.
func (f *fixture) takenOver(run func(l *link, send func(message))) {
	f.serves(func(l *link) functions {
		return functions{"run": streaming(func(_ context.Context, _ order, _ io.Reader, w http.ResponseWriter) error {
			run(l, func(m message) { _, _ = w.Write(lineOf(m)) })
			return nil
		})}
	})
}

// links returns the two sides of a connection. The first one answers.
func links(t *testing.T, f functions, panics io.Writer) (here, there *link) {
	t.Helper()
	a, b := net.Pipe()
	here, err := newLink(a, true)
	if err != nil {
		t.Fatal(err)
	}
	here.serve(f, log.New(panics, "", 0))
	t.Cleanup(here.close)
	there, err = newLink(b, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(there.close)
	return here, there
}

// TestAHostSpeaksForItsOwnSessionAlone gives outcomes of another issue, of work that was never published,
// and of kinds that do not exist, which no state could hold.
func TestAHostSpeaksForItsOwnSessionAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "Look around.\n")
	long := strings.Repeat("x", 1<<18)
	sent := schedule.Outcome{
		Class: schedule.Done, Issue: &tracker.Issue{ID: "ABC-2", Identifier: "ABC-2", State: "Done"}, Gone: true, Delivered: true,
		Why: long + "\n", Said: long, Thread: long, Turns: -1, Usage: schedule.Usage{Input: -5, Output: 7, Tariffs: schedule.Tariffs{{Input: -5}}}, Warnings: make([]string, 1000),
	}
	read := false
	f.takenOver(func(l *link, send func(message)) {
		if read {
			var issue *tracker.Issue
			f.check(l.call(context.Background(), "issue/read", none{}, &issue))
		}
		send(message{Update: &attempt.Update{Update: schedule.Update{Thread: long, Turns: 1 << 40, RateLimits: json.RawMessage(`"` + long + `"`)}, Summary: long, Warnings: []string{long}}})
		send(message{Outcome: &sent})
	})
	got := f.run(t.Context())
	if got.Class != schedule.Done || got.Issue != nil || got.Gone || got.Delivered || got.Turns != 0 || got.Usage.Input != 0 || got.Usage.Output != 7 || got.Usage.Tariffs[0].Input != 0 || len(got.Warnings) != maxWarnings {
		t.Errorf("%.2000v", got)
	}
	text, err := json.Marshal([]any{got, f.updates})
	f.check(err)
	if len(text) > 60<<10 {
		t.Errorf("%d bytes are left of it", len(text))
	}
	read = true
	if got = f.run(t.Context()); got.Issue == nil || got.Issue.ID != issueName || got.Issue.State != "Todo" {
		t.Errorf("%+v", got.Issue)
	}
	for name, change := range map[string]func(){"class": func() { sent.Class = "won" }, "cause": func() { sent.Class, sent.Cause = schedule.Systemic, "weather" }} {
		change()
		if got := f.run(t.Context()); got.Class != schedule.HostLost || got.Cause != "" || !strings.Contains(got.Why, "no kind") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTheEventLogOfAHostIsBounded sends lines that no session writes, and more than a log may have.
func TestTheEventLogOfAHostIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "Look around.\n")
	f.takenOver(func(_ *link, send func(message)) {
		for _, line := range []string{
			"no JSON\n", `{"t_ms":1,"outcome":{"class":"done"}}` + "\n", `{"t_ms":1,"session":{"identifier":"ABC-2"}}` + "\n", `{"t_ms":1,"msg":"` + strings.Repeat("x", 2<<20) + `"}` + "\n",
		} {
			send(message{Line: line})
		}
		full := `{"t_ms":1,"msg":"` + strings.Repeat("x", 1<<20-100) + `"}` + "\n"
		for range 40 {
			send(message{Line: full})
		}
		send(message{Outcome: &schedule.Outcome{Class: schedule.Done}})
	})
	got := f.run(t.Context())
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the event log ends early") {
		t.Errorf("%q", got.Warnings)
	}
	size, outcomes := 0, 0
	for _, l := range f.lines() {
		size += len(l.Msg)
		if l.Outcome != nil || l.Session != nil {
			outcomes++
		}
	}
	if size > 34<<20 || outcomes != 2 {
		t.Errorf("%d bytes, %d lines that are this side's", size, outcomes)
	}
}

func TestTheLogOfAHostIsBounded(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	s := &remoteSession{job: attempt.Job{Log: slog.New(slog.NewJSONHandler(&out, nil))}}
	s.log(&record{Level: 100, Message: "first", Attrs: []any{"a", map[string]any{"x": 1}, "b", 1.0, "c"}})
	if text := out.String(); !strings.Contains(text, `"level":"ERROR"`) || strings.Contains(text, `"x"`) {
		t.Error(text)
	}
	for range 20 {
		s.log(&record{Message: "more", Attrs: []any{"a", strings.Repeat("x", 1<<20)}})
	}
	if text := out.String(); len(text) > maxLogged+1<<20 || strings.Count(text, "is left out") != 1 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestCallsAreCounted calls the tools of the tracker, and reads the issue, more often than a session may.
func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "Look around.\n")
	f.job.Codex.MaxToolCalls, f.job.MaxTurns = 3, 1
	f.job.Reply = func(context.Context, string, string, bool) error { return nil }
	d := newDesk(f.job, f.dir)
	_, there := links(t, d.functions(), t.Output())
	made := map[string]int{}
	for range 50 {
		if there.call(t.Context(), "issue/tool", toolArguments{Name: "no_such_tool"}, nil) == nil {
			made["tools"]++
		}
		if there.call(t.Context(), "reply", replyArguments{ID: "1"}, nil) == nil {
			made["tools"]++
		}
		if there.call(t.Context(), "issue/read", none{}, nil) == nil {
			made["reads"]++
		}
	}
	if made["tools"] != 3 || made["reads"] != 11 {
		t.Errorf("%v", made)
	}
}

// TestNoCallOutlivesItsSession ends a session while its calls are being answered.
func TestNoCallOutlivesItsSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "Look around.\n")
	var answered atomic.Int32
	asked := make(chan struct{}, 2*maxCalls)
	f.job.Tracker.Tools = []tracker.Tool{{Name: "wait", Call: func(ctx context.Context, _ tracker.Issue, _ json.RawMessage) tracker.ToolResult {
		answered.Add(1)
		asked <- struct{}{}
		<-ctx.Done()
		answered.Add(-1)
		return tracker.ToolResult{}
	}}}
	var calling sync.WaitGroup
	f.takenOver(func(l *link, send func(message)) {
		for range maxCalls + 5 {
			calling.Go(func() { _ = l.call(context.Background(), "issue/tool", toolArguments{Name: "wait"}, nil) })
		}
		for range maxCalls {
			<-asked
		}
		send(message{Outcome: &schedule.Outcome{Class: schedule.Done}})
	})
	got := f.run(t.Context())
	if left := answered.Load(); got.Class != schedule.Done || left != 0 || len(asked) > 0 {
		t.Errorf("%d calls are being answered, %d more than at once; %+v", left, len(asked), got)
	}
	calling.Wait()
}

// TestCallsAreWithinBounds sends requests that no program of ours makes.
func TestCallsAreWithinBounds(t *testing.T) {
	t.Parallel()
	var panics lockedBuffer
	_, there := links(t, functions{"x": function(func(_ context.Context, text string) (int, error) { return len(text), nil })}, &panics)
	if err := there.call(t.Context(), "x", strings.Repeat("x", maxBody), nil); err == nil {
		t.Error("arguments of any size are taken")
	}
	stream, err := there.session.Open()
	if err == nil {
		_, err = io.WriteString(stream, "CONNECT worker:1 HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n\r\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(stream); err != nil || !bytes.Contains(answer, []byte("there is no function")) || panics.String() != "" {
		t.Errorf("%s (%v)\n%s", answer, err, panics.String())
	}
}

// TestAFloodOfPingsEndsTheConnection sends pings in pieces of any size, and reads none of the answers.
func TestAFloodOfPingsEndsTheConnection(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	l, err := newLink(a, true)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	ping := []byte{0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	flood := bytes.Repeat(append([]byte{0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 5, 0, 2, 0, 1, 0}, ping...), 1000) // behind data of no stream
	b.SetDeadline(time.Now().Add(time.Minute))
	for len(flood) > 0 && err == nil {
		_, err = b.Write(flood[:min(7, len(flood))])
		flood = flood[min(7, len(flood)):]
	}
	<-l.lost()
	if err == nil || len(flood) < 20_000 {
		t.Errorf("%d bytes were not read (%v)", len(flood), err)
	}
}

// fakeWork is work that begins where the host says.
type fakeWork struct {
	attempt.Work
	from git.From
}

func (w fakeWork) About() git.Facts { return git.Facts{From: w.from} }
func (fakeWork) Close() error       { return nil }

type fakeSource struct{ attempt.Source }

func (fakeSource) Receive(_ context.Context, r io.Reader, from git.From) (attempt.Work, error) {
	_, err := io.Copy(io.Discard, r)
	return fakeWork{from: from}, err
}

// TestWorkBeginsWithItsSession has work published that a host has begun elsewhere: on another base, which
// decides the pull request and which changes are the agent's, and on a commit that would hide others.
func TestWorkBeginsWithItsSession(t *testing.T) {
	t.Parallel()
	base, err := git.ParseBranch("main")
	if err != nil {
		t.Fatal(err)
	}
	other, err := git.ParseBranch("other")
	if err != nil {
		t.Fatal(err)
	}
	head, older := git.ObjectID{1}, git.ObjectID{2}
	published := 0
	job := attempt.Job{Issue: tracker.Issue{Title: "A title"}, Repository: &attempt.Repository{Source: fakeSource{}, Deliver: func(_ context.Context, d attempt.Delivery) (attempt.Delivered, error) {
		published++
		if d.Receipt.Title != "A title" || strings.Contains(d.Receipt.Markdown(), "Closes #12") {
			t.Errorf("the receipt of the host: %+v", d.Receipt)
		}
		return attempt.Delivered{}, nil
	}}}
	for _, test := range []struct {
		from   git.From
		pushed git.ObjectID
		taken  bool
	}{
		{git.From{Start: head, Base: base}, git.ObjectID{}, true},
		{git.From{Start: older, Base: base}, git.ObjectID{}, true}, // of an earlier session
		{git.From{Start: head, Base: other}, git.ObjectID{}, false},
		{git.From{Start: head, Base: base}, head, true},
		{git.From{Start: older, Base: base}, head, false},
	} {
		published = 0
		job.Repository.Checkout = git.Checkout{Base: base, Head: head, Pushed: test.pushed}
		_, there := links(t, newDesk(job, t.TempDir()).functions(), t.Output())
		from := &source{link: there}
		taken, err := from.Receive(t.Context(), strings.NewReader("x"), test.from)
		if err != nil {
			t.Fatal(err)
		}
		_, err = from.deliver(t.Context(), attempt.Delivery{Work: taken, Receipt: receipt.Receipt{Title: "Another", Findings: "Closes #12"}})
		if (err == nil) != test.taken || (published == 1) != test.taken {
			t.Errorf("%+v: published %d times (%v)", test, published, err)
		}
		for range maxWorks - 1 {
			_, err = from.Receive(t.Context(), strings.NewReader("x"), test.from)
		}
		if _, more := from.Receive(t.Context(), strings.NewReader("x"), test.from); err != nil || more == nil {
			t.Errorf("works without end: %v, %v", err, more)
		}
	}
}

// TestOnlyPicturesOfTheSessionLeave asks for files beside the pictures that the session was given.
func TestOnlyPicturesOfTheSessionLeave(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "![a](a.png) ![its text](ABC-1.md)\n")
	var picture bytes.Buffer
	f.check(png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 2, 2))))
	f.check(os.WriteFile(f.path("issues/a.png"), picture.Bytes(), 0o600))
	f.check(os.WriteFile(f.path("issues/b.png"), picture.Bytes(), 0o600))
	f.job.Feedback = []prompt.Feedback{{Comment: "7", Text: "![b](b.png)"}}
	f.write("issues/ABC-2.md", "---\ntitle: Another\nstate: Todo\n---\nsecret\n")
	_, there := links(t, newDesk(f.job, f.dir).functions(), t.Output())
	for _, test := range []struct {
		picture tracker.Picture
		want    bool
	}{
		{tracker.Picture{Address: "a.png"}, true},
		{tracker.Picture{Address: "b.png", Comment: "7"}, true},
		{tracker.Picture{Address: "b.png"}, false},
		{tracker.Picture{Address: "ABC-1.md"}, false}, // shown, and no picture
		{tracker.Picture{Address: "ABC-2.md"}, false},
		{tracker.Picture{Address: "a.png", Comment: "8"}, false},
	} {
		for content, err := range (remotePictures{there, false}).Read(t.Context(), f.job.Issue, []tracker.Picture{test.picture}, 1<<40) {
			if (err == nil) != test.want || test.want != bytes.Equal(content, picture.Bytes()) {
				t.Errorf("%+v: %d bytes (%v)", test.picture, len(content), err)
			}
		}
	}
}

// TestAHostListsSoManyWorkspaces bounds the issues that a host has this side read.
func TestAHostListsSoManyWorkspaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.serves(func(*link) functions {
		return functions{"issues": function(func(context.Context, Place) (answer issuesAnswer, err error) {
			for i := range 2 * maxListed {
				answer.Known = append(answer.Known, workspace.Issue{ID: fmt.Sprint(i)})
				answer.Unknown = append(answer.Unknown, fmt.Sprint(i))
			}
			return answer, nil
		})}
	})
	known, unknown, err := f.hosts.Issues(t.Context(), "build1")
	f.serving.Wait()
	if err != nil || len(known) != maxListed || len(unknown) != maxListed {
		t.Errorf("%d, %d (%v)", len(known), len(unknown), err)
	}
}

// TestAHostThatHangsIsNotWaitedFor bounds what the plan waits for.
func TestAHostThatHangsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	var left time.Duration
	h := &Hosts{Dial: func(ctx context.Context, _ string) (Conn, error) {
		deadline, _ := ctx.Deadline() // of no time without one
		left = time.Until(deadline)
		return nil, io.EOF
	}}
	h.Workspaces.Hooks.Timeout = time.Hour
	if _, err := h.Remove(t.Context(), "build1", workspace.Issue{ID: "1"}); err == nil || left < time.Hour || left > time.Hour+removeTime {
		t.Errorf("a removal may take %v (%v)", left, err)
	}
	if _, err := h.Test(t.Context(), "build1"); err == nil || left <= 0 || left > trialTime {
		t.Errorf("a test may take %v (%v)", left, err)
	}
}
