package statuspage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// listen opens the updates of a page and returns a function that waits for the next one.
// It returns nil when there are no more.
func listen(t *testing.T, url string) (next func() *update) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%s: %s %s", url, answer.Status, kind)
	}
	lines := bufio.NewReader(answer.Body)
	return func() *update {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return nil
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var u update
				if err := json.Unmarshal([]byte(data), &u); err != nil {
					t.Fatalf("%v: %s", err, data)
				}
				return &u
			}
		}
	}
}

func (u *update) ids() []string {
	var ids []string
	for _, s := range u.Sections {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestAnOpenPageIsSentTheSectionsThatChanged(t *testing.T) {
	t.Parallel()
	p := sample()
	s, url := serve(t, p)
	s.every = time.Millisecond
	next := listen(t, url+"/events")
	if got, want := next().ids(), []string{"health", "running", "parked", "waiting", "queue", "elsewhere", "delivered", "events"}; !slices.Equal(got, want) {
		t.Errorf("first %v, want %v", got, want)
	}
	s.Show(p) // the same again is nothing new
	p.Sessions = []progress.Session{p.Sessions[0]}
	p.Sessions[0].Doing = "reading total.go"
	s.Show(p)
	u := next()
	if got := u.ids(); !slices.Equal(got, []string{"running"}) || !strings.Contains(string(u.Sections[0].HTML), "reading total.go") {
		t.Errorf("then %v: %v", got, u.Sections)
	}
	p.Sessions = nil
	s.Show(p)
	if u := next(); !slices.Contains(u.ids(), "health") || u.Title != "Trouble · 1 parked · 0 sessions · Symphony" {
		t.Errorf("at last %v, with the title %q", u.ids(), u.Title)
	}
	s.Close()
	if next() != nil {
		t.Error("the updates do not end with the server")
	}
}

// A page of somebody else can load a page of ours in a frame, as often as it likes.
func TestUpdatesAreNotSentToAFrame(t *testing.T) {
	t.Parallel()
	_, url := serve(t, sample())
	for _, path := range []string{"/events", "/running/events", "/issues/GH-1/events"} {
		for _, site := range []string{"cross-site", "none"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Sec-Fetch-Site", site)
			req.Header.Set("Sec-Fetch-Mode", "navigate")
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s from %s: %s", path, site, answer.Status)
			}
		}
	}
}

func TestAPageThatIsOpenedBeforeTheStateIsReadGetsItThen(t *testing.T) {
	t.Parallel()
	s := New(redact.New(), nil)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() { s.Close(); server.Close() })
	next := listen(t, server.URL+"/events")
	s.Show(sample())
	if got := next().ids(); len(got) != 8 {
		t.Errorf("got %v", got)
	}
	if answer := askServer(t, New(redact.New(), nil), http.MethodGet, "/", "Accept", "text/html"); answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Refresh") == "" || !strings.Contains(answer.Body.String(), "</html>") {
		t.Errorf("the page before: %d %v", answer.Code, answer.Header())
	}
}

func TestAPageWithoutNewsIsSentASignOfLife(t *testing.T) {
	t.Parallel()
	s, url := serve(t, sample())
	s.every, s.heartbeat = time.Millisecond, time.Millisecond
	client := http.Client{Timeout: time.Minute} // which is the failure
	answer, err := client.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	signs := 0
	for signs < 3 && lines.Scan() {
		if lines.Text() == ":" { // a comment, which a browser ignores
			signs++
		}
	}
	if signs < 3 {
		t.Errorf("%d signs of life, then %v", signs, lines.Err())
	}
}

func TestALookAtTheHeadersOfUpdatesIsNoOpenPage(t *testing.T) {
	t.Parallel()
	_, url := serve(t, sample())
	client := http.Client{Timeout: time.Minute}
	for range maxClients + 1 {
		if answer, err := client.Head(url + "/events"); err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(answer, err)
		}
	}
}

func TestTheNumberOfOpenPagesIsBounded(t *testing.T) {
	t.Parallel()
	_, url := serve(t, sample())
	var all []*http.Response
	for range maxClients {
		answer, err := http.Get(url + "/events")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
		all = append(all, answer)
	}
	status := func() int {
		answer, err := http.Get(url + "/events")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("one more page: %d", got)
	}
	if answer, err := http.Get(url + "/api/v1/state"); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the API meanwhile: %v %v", answer, err)
	}
	for _, answer := range all {
		answer.Body.Close()
	}
	for status() != http.StatusOK { // ends when the server has noticed that one has gone
	}
}

func TestAPageThatDoesNotReadIsDropped(t *testing.T) {
	t.Parallel()
	p := crowd(200)
	s, url := serve(t, p)
	s.every, s.patience = time.Millisecond, 50*time.Millisecond
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(1 << 10)
	fmt.Fprintf(conn, "GET /waiting/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil { // it is a client now
		t.Fatal(err)
	}
	open := func() int {
		s.clients.mu.Lock()
		defer s.clients.mu.Unlock()
		return len(s.clients.wakes)
	}
	for n := 0; open() > 0; n++ { // until the buffers are full; the test's deadline is the failure
		p.Waiting = slices.Clone(p.Waiting)
		p.Waiting[0].Why = fmt.Sprint("reason ", n)
		s.Show(p)
		runtime.Gosched()
	}
}

func TestAnOpenPageOfAnIssueIsSentItsTranscriptAsItGrows(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, second := filepath.Join(folder, "1.jsonl"), filepath.Join(folder, "2.jsonl")
	p := sample()
	p.Logs, p.Sessions[0].Log = folder, first
	s, url := serve(t, p)
	s.every = time.Millisecond
	next := listen(t, url+"/issues/gh-1/events")
	say := func(path, text string) {
		writeLog(t, path, `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"`+text+`","text":"`+text+`"}}}}`+"\n")
	}
	show := func(doing, log string) {
		p.Sessions = []progress.Session{p.Sessions[0]}
		p.Sessions[0].Doing, p.Sessions[0].Log = doing, log
		s.Show(p)
	}
	if u := next(); !slices.Equal(u.ids(), []string{"about", "control", "history", "sessions"}) || u.Transcript != nil {
		t.Errorf("before the log: %v, %v", u.ids(), u.Transcript)
	}
	check := func(what string, restart bool, want string) {
		t.Helper()
		u := next()
		if u == nil || u.Transcript == nil || u.Transcript.Restart != restart || len(u.Transcript.Entries) != 1 || !strings.Contains(string(u.Transcript.Entries[0]), want) {
			t.Errorf("%s: %+v", what, u)
		}
	}
	say(first, "one <b>"+secret)
	show("a", first)
	check("the log begins", true, "one &lt;b&gt;***")
	say(first, "two")
	show("b", first)
	check("the log grows", false, "two")
	say(second, "three")
	show("c", second)
	check("the next session", true, "three")
	p.Sessions, p.Waiting = nil, append(p.Waiting, schedule.Claim{ID: "11", Identifier: "GH-1", Phase: schedule.Waiting, Why: "continuation"})
	say(second, "four")
	s.Show(p)
	check("the last words of a session that has ended", false, "four")
}

func TestAnOpenPageOfASessionOfThisProcessNeedsNoFile(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Logs = t.TempDir()
	live := transcript.NewLive(nil)
	p.Sessions[0].Log, p.Sessions[0].Live = filepath.Join(p.Logs, "GH-1", "1.jsonl"), live
	say := func(text string) {
		live.Line([]byte(`{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"` + text + `"}}}}`))
	}
	f := follower{folder: p.Logs}
	read := func() (shown []string, restart, omitted bool) {
		v := viewOf(p, redact.New())
		i := v.findPage("GH-1")
		more := f.read(v.logOf(i, ""), i.live())
		if more == nil {
			return nil, false, false
		}
		for _, e := range more.Entries {
			shown = append(shown, string(e))
		}
		return shown, more.Restart, more.Omitted
	}
	say("one")
	if shown, restart, omitted := read(); len(shown) != 1 || !strings.Contains(shown[0], "one") || !restart || omitted {
		t.Errorf("%q, restart %v, omitted %v", shown, restart, omitted)
	}
	if shown, restart, _ := read(); len(shown) > 0 || restart {
		t.Errorf("without news: %q", shown)
	}
	for range 2000 {
		say("more")
	}
	if shown, restart, omitted := read(); len(shown) != maxEntries || !restart || !omitted {
		t.Errorf("after a flood: %d entries, restart %v, omitted %v", len(shown), restart, omitted)
	}
	say("the last words")
	p.Sessions = nil
	p.Waiting = append(p.Waiting, schedule.Claim{ID: "11", Identifier: "GH-1", Phase: schedule.Waiting})
	if more := f.read(f.name, nil); more == nil || len(more.Entries) != 1 || more.Restart {
		t.Errorf("after the session: %+v", more)
	}
}

func TestThePageOfAnIssueThatDoesNotRunShowsItsLastSession(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Logs = t.TempDir()
	for n, text := range []string{"the first session", "the last session"} {
		name := filepath.Join(p.Logs, transcript.Name("GH-3", noon.Add(time.Duration(n)*time.Hour), n+1))
		writeLog(t, name, `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"`+text+`"}}}}`+"\n")
	}
	page := ask(t, &p, http.MethodGet, "/issues/GH-3").Body.String()
	if !strings.Contains(page, "the last session") || strings.Contains(page, "the first session") || !strings.Contains(page, "times in UTC") {
		t.Error(page)
	}
	_, url := serve(t, p)
	if u := listen(t, url+"/issues/GH-3/events")(); u.Transcript == nil || len(u.Transcript.Entries) != 1 {
		t.Errorf("live: %+v", u.Transcript)
	}
	if api := ask(t, &p, http.MethodGet, "/api/v1/GH-3").Body.String(); !strings.Contains(api, transcript.Name("GH-3", noon.Add(time.Hour), 2)) {
		t.Error(api)
	}
}

func TestOfALongLogAPageShowsTheEnd(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Logs = t.TempDir()
	p.Sessions[0].Log = filepath.Join(p.Logs, "1.jsonl")
	var log strings.Builder
	for n := 0; log.Len() < maxRead+maxRead/2; n++ {
		fmt.Fprintf(&log, `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m%d","text":"message %d%s"}}}}`+"\n", n, n, strings.Repeat(" x", 2000))
	}
	fmt.Fprintln(&log, `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"last","text":"the last message"}}}}`)
	writeLog(t, p.Sessions[0].Log, log.String())
	page := ask(t, &p, http.MethodGet, "/issues/GH-1").Body.String()
	for text, want := range map[string]bool{"message 0 ": false, "the last message": true, "could not be read": false, `id="omitted">`: true, "damaged": false} {
		if strings.Contains(page, text) != want {
			t.Errorf("%q is on the page: %v", text, !want)
		}
	}
	if n := strings.Count(page, "<article"); n == 0 || n > maxEntries {
		t.Errorf("%d entries", n)
	}
}

func TestALogThatIsNoFileOfTheFolderIsNotRead(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Logs = t.TempDir()
	other := filepath.Join(t.TempDir(), "other.jsonl")
	writeLog(t, other, sessionLog)
	link := filepath.Join(p.Logs, "link.jsonl")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{p.Logs, "/dev/zero", filepath.Join(p.Logs, "gone"), other, link} {
		p.Sessions[0].Log = path
		if page := ask(t, &p, http.MethodGet, "/issues/GH-1"); page.Code != http.StatusOK || strings.Contains(page.Body.String(), "<article") {
			t.Errorf("%s: %d\n%s", path, page.Code, page.Body)
		}
	}
}
