package statuspage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/browsertest"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
)

const token = "correct-horse-battery"

// operated returns a server that takes commands, and a function that returns what it passed on.
// Every command is answered with err.
func operated(t testing.TB, p progress.Progress, err error) (s *Server, taken func() []string) {
	t.Helper()
	s = New(redact.New(secret), make(chan struct{}, 1))
	requests, all := make(chan progress.Request), make(chan string, 100)
	s.Take(Control{Token: token, Requests: requests})
	s.Show(p)
	go func() {
		for {
			select {
			case r := <-requests:
				all <- fmt.Sprintf("%s %s %q by %s", r.ID, r.Order.Command, r.Order.Answer, r.Order.By)
				r.Done <- err
			case <-t.Context().Done():
				return
			}
		}
	}()
	return s, func() (texts []string) {
		for len(all) > 0 {
			texts = append(texts, <-all)
		}
		return texts
	}
}

// commandOn sends a command as the page does, with headers that change the request.
func commandOn(t testing.TB, s *Server, issue, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/"+issue+"/command", strings.NewReader(body))
	r.Host = "127.0.0.1:4000"
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Origin": "http://127.0.0.1:4000", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors",
	} {
		r.Header.Set(name, value)
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, r)
	return answer
}

// bodyOf returns the body of a command on an issue as it stands.
func bodyOf(t testing.TB, p progress.Progress, issue, word, answer string) string {
	t.Helper()
	body, err := json.Marshal(commandJSON{word, answer, show(p).find(issue).AsOf()})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestTheOperatorGivesTheCommandsOfCommentsOnAPage(t *testing.T) {
	t.Parallel()
	p := sample()
	s, taken := operated(t, p, nil)
	for _, c := range []struct{ issue, word, answer, want string }{
		{"GH-1", "stop", "", `11 stop "" by the operator of this machine`},
		{"GH-2", "park", "", `12 park "" by the operator of this machine`},
		{"GH-2", "retry", "", `12 retry "" by the operator of this machine`},
		{"GH-3", "resume", "", `13 resume "" by the operator of this machine`},
		{"GH-3", "answer", " The old one,\nplease.\x1b[31m\n", `13 resume "The old one,\nplease.[31m" by the operator of this machine`},
	} {
		answer := commandOn(t, s, c.issue, bodyOf(t, p, c.issue, c.word, c.answer))
		if diff := cmp.Diff([]string{c.want}, taken()); answer.Code != http.StatusAccepted || diff != "" {
			t.Errorf("%s %s: %d %s %s", c.word, c.issue, answer.Code, answer.Body, diff)
		}
	}
}

func TestACommandThatTheOperatorDidNotGiveIsRefused(t *testing.T) {
	t.Parallel()
	p := sample()
	s, taken := operated(t, p, nil)
	stop := bodyOf(t, p, "GH-1", "stop", "")
	for name, c := range map[string]struct {
		issue, body string
		headers     []string
		status      int
	}{
		"a page of another site":          {"GH-1", stop, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		"a page of another port":          {"GH-1", stop, []string{"Origin", "http://127.0.0.1:9999", "Sec-Fetch-Site", "same-site"}, 403},
		"another site, an old browser":    {"GH-1", stop, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", ""}, 403},
		"a sandboxed frame":               {"GH-1", stop, []string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}, 403},
		"a name that leads here":          {"GH-1", stop, []string{"Host", "rebound.example:4000", "Origin", "http://rebound.example:4000"}, 403},
		"no token":                        {"GH-1", stop, []string{"Authorization", ""}, 403},
		"an empty token":                  {"GH-1", stop, []string{"Authorization", "Bearer "}, 403},
		"the token of another run":        {"GH-1", stop, []string{"Authorization", "Bearer " + token + "2"}, 403},
		"the token in the address":        {"GH-1/command?token=" + token + "#", stop, []string{"Authorization", ""}, 403},
		"the token in a cookie":           {"GH-1", stop, []string{"Authorization", "", "Cookie", "token=" + token}, 403},
		"a form":                          {"GH-1", "command=stop", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		"text that a form may send":       {"GH-1", stop, []string{"Content-Type", "text/plain"}, 415},
		"how another issue stands":        {"GH-1", bodyOf(t, p, "GH-2", "stop", ""), nil, 409},
		"nothing of how it stands":        {"GH-1", `{"command":"stop"}`, nil, 409},
		"a command for another phase":     {"GH-3", bodyOf(t, p, "GH-3", "stop", ""), nil, 400},
		"an unknown command":              {"GH-1", bodyOf(t, p, "GH-1", "destroy", ""), nil, 400},
		"an answer to nobody":             {"GH-1", bodyOf(t, p, "GH-1", "answer", "x"), nil, 400},
		"an empty answer":                 {"GH-3", bodyOf(t, p, "GH-3", "answer", " \n"), nil, 400},
		"a long answer":                   {"GH-3", bodyOf(t, p, "GH-3", "answer", strings.Repeat("x", maxAnswer+1)), nil, 400},
		"an unknown field":                {"GH-1", strings.Replace(stop, "{", `{"id":"12",`, 1), nil, 400},
		"a body without an end":           {"GH-1", `{"command":"` + strings.Repeat("x", maxCommandBody+1), nil, 400},
		"an issue that nobody works on":   {"GH-9", stop, nil, 404},
		"an issue that is only delivered": {"GH-4", bodyOf(t, p, "GH-4", "retry", ""), nil, 400},
	} {
		answer := commandOn(t, s, c.issue, c.body, c.headers...)
		if given := taken(); answer.Code != c.status || len(given) > 0 || strings.Contains(answer.Body.String(), token) || answer.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %s, and it gave %q", name, answer.Code, answer.Body, given)
		}
	}
	if answer := commandOn(t, New(redact.New(), nil), "GH-1", stop); answer.Code == http.StatusAccepted {
		t.Error("a server without a token takes commands")
	}
	readOnly := New(redact.New(), nil)
	readOnly.Show(p)
	if answer := commandOn(t, readOnly, "GH-1", stop, "Authorization", "Bearer "); answer.Code != http.StatusForbidden {
		t.Errorf("a server that takes no commands: %d", answer.Code)
	}
}

func TestACommandThatIsSentAgainChangesNothing(t *testing.T) {
	t.Parallel()
	p := sample()
	s, taken := operated(t, p, nil)
	body := bodyOf(t, p, "GH-3", "resume", "")
	if answer := commandOn(t, s, "GH-3", body); answer.Code != http.StatusAccepted || len(taken()) != 1 {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	p.Parked[0].Since = p.Parked[0].Since.Add(time.Minute) // it went on, and asks again
	p.Parked[0].Sessions++
	s.Show(p)
	if answer := commandOn(t, s, "GH-3", body); answer.Code != http.StatusConflict || len(taken()) != 0 {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	p.Sessions[0].Claim.Since = p.Sessions[0].Claim.Since.Add(time.Minute) // as its time is counted
	if before := show(sample()).find("GH-1").AsOf(); before != show(p).find("GH-1").AsOf() {
		t.Error("a session that goes on is another one")
	}
	gone, _ := operated(t, p, progress.ErrNoClaim)
	if answer := commandOn(t, gone, "GH-1", bodyOf(t, p, "GH-1", "stop", "")); answer.Code != http.StatusConflict {
		t.Errorf("an issue that is gone: %d %s", answer.Code, answer.Body)
	}
}

func TestTheOperatorAnswersInABrowser(t *testing.T) {
	browser := browsertest.Start(t)
	p := live()
	s, taken := operated(t, p, nil)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() { s.Close(); server.Close() })
	const isShown = "document.getElementById('control').checkVisibility()"
	var shown bool
	stranger := browser.Open(t, server.URL+"/issues/GH-3", looks["light-390"])
	stranger.Until("document.getElementById('live').dataset.state === 'on'")
	if stranger.Eval(isShown, &shown); shown {
		t.Error("a page without the token shows the commands")
	}
	page := browser.Open(t, server.URL+"/#token="+token, looks["light-390"])
	page.Until("document.getElementById('live').dataset.state === 'on'")
	var address, referrer string
	page.Eval("location.href", &address)
	page.Follow(server.URL + "/issues/GH-3")
	page.Until("document.getElementById('live').dataset.state === 'on'")
	page.Eval("document.referrer", &referrer)
	if strings.Contains(address+referrer, "token") {
		t.Errorf("the address is %s, the referrer %s", address, referrer)
	}
	page.Until(isShown)
	page.Shot("page-control-light-390")
	page.Eval("document.getElementById('answer').value = 'The old one.'; document.querySelector('[data-word=answer]').click()", nil)
	page.Until("document.getElementById('noted').textContent === 'Noted: Answer.'")
	if diff := cmp.Diff([]string{`13 resume "The old one." by the operator of this machine`}, taken()); diff != "" {
		t.Error(diff)
	}
	if violations := page.Violations(); len(violations) > 0 {
		t.Error(strings.Join(violations, "\n"))
	}
	if problems := append(page.Problems(), page.TooWide()...); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	s.Take(Control{Token: "of another run", Requests: s.control.Requests})
	page.Eval("document.querySelector('[data-word=retry]').click()", nil)
	page.Until("document.getElementById('noted').textContent.includes('#token=') && localStorage.getItem('token') === null")
	if given := taken(); len(given) > 0 {
		t.Errorf("%q with an old token", given)
	}
}
