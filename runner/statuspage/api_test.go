package statuspage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const secret = "hunter2hunter2"

// sample returns the progress of a run in which everything happens once.
func sample() progress.Progress {
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	return progress.Progress{
		At: noon, Started: at(-3600), Workflow: "/srv/WORKFLOW.md", Tracker: "github", Slots: 3, Root: "/srv/workspaces", Comments: schedule.AnyComments,
		NextPoll: at(20), Deadline: at(3600),
		Trouble: []progress.Trouble{{Source: progress.Tracker, Text: "tracker_unreadable: 502; wait, or check the token"}},
		Pause:   schedule.Pause{Why: "usage limit reached", Since: at(-60), Until: at(600)},
		Sessions: []progress.Session{{
			Claim: schedule.Claim{
				ID: "11", Identifier: "GH-1", Title: "Fix the cart", URL: "https://github.com/acme/shop/issues/1", State: "Todo", Phase: schedule.Running,
				Since: at(-90), Heard: at(-2), Turns: 3, Live: schedule.Usage{Input: 500, Output: 200}, Attempt: 1, Sessions: 2, Tokens: 1700,
			},
			ID: "thread-turn", PID: 42, Status: schedule.StatusStreamingTurn, Started: at(-90), Event: "notification", Summary: "running `make`",
			Doing: "running `make`", Log: "/srv/sessions/GH-1/1.jsonl",
			Events: progress.Events{{At: at(-80), ID: "11", Identifier: "GH-1", Kind: "session_started"}, {At: at(-1), ID: "11", Identifier: "GH-1", Kind: "notification", Text: "running `make`"}},
		}},
		Waiting: []schedule.Claim{{
			ID: "12", Identifier: "GH-2", Title: "Sell more", URL: "https://github.com/acme/shop/issues/2", State: "Todo", Phase: schedule.Waiting,
			Since: at(-5), Attempt: 2, Due: at(60), Why: "turn_failed: exit status 1", Sessions: 2, Failures: 2, Tokens: 900,
		}},
		Parked: []schedule.Claim{{
			ID: "13", Identifier: "GH-3", Title: "Pay", URL: "https://github.com/acme/shop/issues/3", State: "Todo", Phase: schedule.Parked,
			Since: at(-30), Attempt: 1, Why: "needs input: Which bank?", Sessions: 1, Tokens: 100,
		}},
		Queue:  progress.Queue{Length: 41, Listed: at(-12), Next: []schedule.Claim{{ID: "15", Identifier: "GH-5", Title: "Count the stock", URL: "https://github.com/acme/shop/issues/5", State: "Todo"}}},
		NoRoom: schedule.Why{Reason: schedule.NoSlots, Detail: "no available orchestrator slots"},
		Asked:  map[tracker.ID]string{"13": "Which bank?\nOld or new?"},
		Deliveries: map[tracker.ID]schedule.Delivery{
			"13": {Identifier: "GH-3", Branch: "symphony/GH-3", Base: "main", Head: "abc123", Number: 7, URL: "https://github.com/acme/shop/pull/7", At: at(-40)},
			"14": {Identifier: "GH-4", Title: "Name the shelves", IssueURL: "https://github.com/acme/shop/issues/4", Branch: "symphony/GH-4", Base: "main", Head: "def456", URL: "/srv/GH-4.patch", At: at(-400), Refused: "2 files are protected"},
		},
		Checks: map[tracker.ID]schedule.Checks{"13": schedule.ChecksGreen},
		Spent:  schedule.Spent{Sessions: 4, Usage: schedule.Usage{Input: 2000, Output: 700}, Time: 10 * time.Second},
		Today:  schedule.Day{Date: "2026-01-02", Sessions: 9, Usage: schedule.Usage{Input: 9000, Output: 1000}, Time: 20 * time.Second},
		Limits: []byte(`{"primary": {"usedPercent": 43}}`), Completed: []tracker.ID{"14"},
		Events: progress.Events{{At: at(-90), ID: "11", Identifier: "GH-1", Kind: "dispatched", Text: "a slot is free"}},
	}
}

// ask returns the answer to a request of a server that shows the progress; nil is none yet.
func ask(t testing.TB, p *progress.Progress, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	s := New(redact.New(secret), make(chan struct{}, 1))
	if p != nil {
		s.Show(*p)
	}
	return askServer(t, s, method, path, headers...)
}

func askServer(t testing.TB, s *Server, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	request.Host = "localhost:4000"
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, request)
	return answer
}

// fields returns a JSON document as values.
func fields(t *testing.T, document any) (got map[string]any) {
	t.Helper()
	text, err := json.Marshal(document)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func show(p progress.Progress) *view { return viewOf(p, redact.New(secret)) }

// parse returns the value of a text of JSON.
func parse(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The claims and the deliveries of sample.
const (
	claim11 = `"issue_id": "11", "issue_identifier": "GH-1", "issue_url": "https://github.com/acme/shop/issues/1", "title": "Fix the cart", "state": "Todo",
		"phase": "running", "since": "2026-01-02T11:58:30Z", "error": "", "attempt": 1, "due_at": null, "thread": "", "sessions": 2, "failures": 0, "idle_sessions": 0,
		"issue_total_tokens": 1700, "issue_models": [], "issue_cost": null, "lease_until": null, "owner": {}`
	claim12 = `"issue_id": "12", "issue_identifier": "GH-2", "issue_url": "https://github.com/acme/shop/issues/2", "title": "Sell more", "state": "Todo",
		"phase": "waiting", "since": "2026-01-02T11:59:55Z", "error": "turn_failed: exit status 1", "attempt": 2, "due_at": "2026-01-02T12:01:00Z", "thread": "",
		"sessions": 2, "failures": 2, "idle_sessions": 0, "issue_total_tokens": 900, "issue_models": [], "issue_cost": null, "lease_until": null, "owner": {}`
	claim13 = `"issue_id": "13", "issue_identifier": "GH-3", "issue_url": "https://github.com/acme/shop/issues/3", "title": "Pay", "state": "Todo",
		"phase": "parked", "since": "2026-01-02T11:59:30Z", "error": "needs input: Which bank?", "attempt": 1, "due_at": null, "thread": "",
		"sessions": 1, "failures": 0, "idle_sessions": 0, "issue_total_tokens": 100, "issue_models": [], "issue_cost": null, "lease_until": null, "owner": {}`
	delivery13 = `"issue_id": "13", "issue_identifier": "GH-3", "issue_url": "https://github.com/acme/shop/issues/3", "title": "Pay", "branch": "symphony/GH-3", "base": "main",
		"head": "abc123", "pull_request_number": 7, "pull_request_url": "https://github.com/acme/shop/pull/7", "patch": "", "pushed_at": "2026-01-02T11:59:20Z",
		"pushing": false, "checks": "green", "refused": ""`
	delivery14 = `"issue_id": "14", "issue_identifier": "GH-4", "issue_url": "https://github.com/acme/shop/issues/4", "title": "Name the shelves", "branch": "symphony/GH-4",
		"base": "main", "head": "def456", "pull_request_number": 0, "pull_request_url": "", "patch": "/srv/GH-4.patch", "pushed_at": "2026-01-02T11:53:20Z",
		"pushing": false, "checks": "", "refused": "2 files are protected"`
)

func TestTheStateHasEveryFieldOfTheSpecificationAndOurs(t *testing.T) {
	t.Parallel()
	want := parse(t, `{
		"generated_at": "2026-01-02T12:00:00Z",
		"counts": {"running": 1, "retrying": 1, "parked": 1, "queued": 41, "completed": 1},
		"queue": {
			"length": 41, "waits_for": "41 issues wait for a slot", "listed_at": "2026-01-02T11:59:48Z",
			"next": [{"issue_id": "15", "issue_identifier": "GH-5", "issue_url": "https://github.com/acme/shop/issues/5", "title": "Count the stock", "state": "Todo"}]
		},
		"running": [{
			`+claim11+`, "session_id": "thread-turn", "turn_count": 3, "last_event": "notification", "last_message": "running `+"`make`"+`",
			"started_at": "2026-01-02T11:58:30Z", "last_event_at": "2026-01-02T11:59:59Z",
			"tokens": {"input_tokens": 500, "output_tokens": 200, "total_tokens": 700, "models": [], "cost": null},
			"attempt_status": "StreamingTurn", "codex_app_server_pid": 42, "doing": "running `+"`make`"+`"
		}],
		"retrying": [{`+claim12+`, "last_error": "turn_failed: exit status 1"}],
		"codex_totals": {"sessions": 4, "input_tokens": 2000, "output_tokens": 700, "total_tokens": 2700, "models": [], "cost": null, "seconds_running": 100},
		"rate_limits": {"primary": {"usedPercent": 43}},
		"parked": [{`+claim13+`, "question": "Which bank?\nOld or new?", "go_on": "`+schedule.AnyComments.GoOn()+`"}],
		"elsewhere": [], "deliveries": [{`+delivery13+`}, {`+delivery14+`}],
		"completed": ["14"],
		"recent_events": [{"at": "2026-01-02T11:58:30Z", "event": "dispatched", "message": "a slot is free", "issue_id": "11", "issue_identifier": "GH-1"}],
		"trouble": [{"source": "tracker", "message": "tracker_unreadable: 502; wait, or check the token"}],
		"pause": {"since": "2026-01-02T11:59:00Z", "until": "2026-01-02T12:10:00Z", "error": "usage limit reached"},
		"today": {"date": "2026-01-02", "sessions": 9, "input_tokens": 9000, "output_tokens": 1000, "total_tokens": 10000, "models": [], "cost": null, "seconds_running": 110},
		"max_concurrent_agents": 3, "next_poll_at": "2026-01-02T12:00:20Z", "deadline_at": "2026-01-02T13:00:00Z", "started_at": "2026-01-02T11:00:00Z",
		"workflow": "/srv/WORKFLOW.md", "tracker": "github"
	}`)
	if diff := cmp.Diff(want, fields(t, show(sample()).stateJSON(noon))); diff != "" {
		t.Error(diff)
	}
}

func TestAClaimThatIsDueSaysWhyItDoesNotStart(t *testing.T) {
	t.Parallel()
	for due, want := range map[time.Duration]string{time.Minute: "turn_failed: exit status 1", 0: "no available orchestrator slots"} {
		p := sample()
		p.Waiting[0].Due = noon.Add(due)
		p.Held = map[tracker.ID]schedule.Why{"12": p.NoRoom}
		row := show(p).stateJSON(noon).Retrying[0]
		if row.Why != want || row.LastError != "turn_failed: exit status 1" {
			t.Errorf("due in %v: %+v", due, row)
		}
	}
}

func TestTheStateOfAnIdleRunHasZerosAndEmptyLists(t *testing.T) {
	t.Parallel()
	want := parse(t, `{
		"generated_at": "2026-01-02T12:00:00Z", "counts": {"running": 0, "retrying": 0, "parked": 0, "queued": 0, "completed": 0}, "running": [], "retrying": [],
		"codex_totals": {"sessions": 0, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "models": [], "cost": null, "seconds_running": 0}, "rate_limits": null,
		"queue": {"length": 0, "waits_for": "", "listed_at": null, "next": []}, "parked": [], "elsewhere": [], "deliveries": [], "completed": [], "recent_events": [], "trouble": [], "pause": null,
		"today": {"date": "", "sessions": 0, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "models": [], "cost": null, "seconds_running": 0},
		"max_concurrent_agents": 0, "next_poll_at": null, "deadline_at": null, "started_at": null, "workflow": "", "tracker": ""
	}`)
	if diff := cmp.Diff(want, fields(t, show(progress.Progress{}).stateJSON(noon))); diff != "" {
		t.Error(diff)
	}
	fresh := progress.Progress{Sessions: []progress.Session{{Claim: schedule.Claim{ID: "1", Identifier: "A-1"}}}}
	row := parse(t, `{
		"issue_id": "1", "issue_identifier": "A-1", "issue_url": "", "title": "", "state": "", "phase": "", "since": null, "error": "", "attempt": 0, "due_at": null, "thread": "",
		"sessions": 0, "failures": 0, "idle_sessions": 0, "issue_total_tokens": 0, "issue_models": [], "issue_cost": null, "lease_until": null, "owner": {}, "session_id": "", "turn_count": 0, "last_event": "", "last_message": "",
		"started_at": null, "last_event_at": null, "tokens": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "models": [], "cost": null},
		"attempt_status": "", "codex_app_server_pid": 0, "doing": ""
	}`)
	if diff := cmp.Diff(any(row), fields(t, show(fresh).stateJSON(noon))["running"].([]any)[0]); diff != "" {
		t.Errorf("a session that has just begun: %s", diff)
	}
}

func TestAnIssueHasEveryFieldOfTheSpecificationAndOurs(t *testing.T) {
	t.Parallel()
	v := show(sample())
	for name, want := range map[string]string{
		"GH-1": `{` + claim11 + `, "status": "running", "workspace": {"path": "/srv/workspaces/GH-1"},
			"attempts": {"restart_count": 1, "current_retry_attempt": 1},
			"running": {` + claim11 + `,
				"session_id": "thread-turn", "turn_count": 3, "last_event": "notification", "last_message": "running ~make~",
				"started_at": "2026-01-02T11:58:30Z", "last_event_at": "2026-01-02T11:59:59Z", "tokens": {"input_tokens": 500, "output_tokens": 200, "total_tokens": 700, "models": [], "cost": null},
				"attempt_status": "StreamingTurn", "codex_app_server_pid": 42, "doing": "running ~make~"
			},
			"retry": null,
			"logs": {"codex_session_logs": [{"label": "latest", "path": "/srv/sessions/GH-1/1.jsonl", "url": "http://localhost:4000/issues/GH-1"}]},
			"recent_events": [
				{"at": "2026-01-02T11:58:30Z", "event": "dispatched", "message": "a slot is free", "issue_id": "11", "issue_identifier": "GH-1"},
				{"at": "2026-01-02T11:58:40Z", "event": "session_started", "message": "", "issue_id": "11", "issue_identifier": "GH-1"},
				{"at": "2026-01-02T11:59:59Z", "event": "notification", "message": "running ~make~", "issue_id": "11", "issue_identifier": "GH-1"}
			],
			"last_error": "", "tracked": {}, "parked": null, "delivery": null
		}`,
		"GH-2": `{` + claim12 + `, "status": "retrying", "workspace": {"path": "/srv/workspaces/GH-2"},
			"attempts": {"restart_count": 1, "current_retry_attempt": 2}, "running": null,
			"retry": {` + claim12 + `, "last_error": "turn_failed: exit status 1"},
			"logs": {"codex_session_logs": []}, "recent_events": [], "last_error": "turn_failed: exit status 1", "tracked": {}, "parked": null, "delivery": null
		}`,
		"13": `{` + claim13 + `, "status": "parked", "workspace": {"path": "/srv/workspaces/GH-3"},
			"attempts": {"restart_count": 0, "current_retry_attempt": 1}, "running": null, "retry": null,
			"logs": {"codex_session_logs": []}, "recent_events": [], "last_error": "needs input: Which bank?", "tracked": {},
			"parked": {` + claim13 + `, "question": "Which bank?\nOld or new?", "go_on": "` + schedule.AnyComments.GoOn() + `"},
			"delivery": {` + delivery13 + `}
		}`,
		"gh-4": `{
			"issue_id": "14", "issue_identifier": "GH-4", "issue_url": "https://github.com/acme/shop/issues/4", "title": "Name the shelves", "state": "",
			"phase": "", "since": null, "error": "", "attempt": 0, "due_at": null, "thread": "", "sessions": 0, "failures": 0, "idle_sessions": 0, "issue_total_tokens": 0, "issue_models": [], "issue_cost": null,
			"lease_until": null, "owner": {}, "status": "delivered", "workspace": {"path": "/srv/workspaces/GH-4"},
			"attempts": {"restart_count": 0, "current_retry_attempt": 0}, "running": null, "retry": null,
			"logs": {"codex_session_logs": []}, "recent_events": [], "last_error": "", "tracked": {}, "parked": null, "delivery": {` + delivery14 + `}
		}`,
	} {
		i := v.find(name)
		if i == nil {
			t.Errorf("%s is not found", name)
			continue
		}
		whole := parse(t, strings.ReplaceAll(want, "~", "`"))
		whole["as_of"] = i.AsOf()
		if diff := cmp.Diff(whole, fields(t, v.detailJSON(i, "http://localhost:4000"))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnIssueIsFoundByTheNameThatItsTrackerKnows(t *testing.T) {
	t.Parallel()
	long, invisible := "fix-"+strings.Repeat("the-cart-", 20), "A\u200b-1"
	p := progress.Progress{Parked: []schedule.Claim{{ID: "1", Identifier: long, Phase: schedule.Parked}, {ID: "2", Identifier: invisible, Phase: schedule.Parked}}}
	for name, id := range map[string]string{long: "1", strings.ToUpper(long): "1", invisible: "2", "a-1": "2"} {
		answer := ask(t, &p, "GET", "/api/v1/"+url.PathEscape(name))
		if got := parse(t, answer.Body.String()); answer.Code != http.StatusOK || got["issue_id"] != id {
			t.Errorf("%q: %d %s", name, answer.Code, answer.Body)
		}
	}
}

func TestTimesHaveNoMoreThanMilliseconds(t *testing.T) {
	t.Parallel()
	p := progress.Progress{Spent: schedule.Spent{Time: 10774 * time.Millisecond}}
	if answer := ask(t, &p, "GET", "/api/v1/state").Body.String(); !strings.Contains(answer, `"seconds_running":10.774}`) {
		t.Error(answer)
	}
}

func TestTheTimeOfASessionThatIsBeingStoppedIsCountedOnce(t *testing.T) {
	t.Parallel()
	p := progress.Progress{
		Spent: schedule.Spent{Time: 85 * time.Second}, // of the stopped session, up to the stop
		Sessions: []progress.Session{
			{Claim: schedule.Claim{ID: "1", Phase: schedule.Stopping, Since: noon.Add(-5 * time.Second)}, Started: noon.Add(-90 * time.Second)},
			{Claim: schedule.Claim{ID: "2", Phase: schedule.Running, Since: noon.Add(-10 * time.Second)}, Started: noon.Add(-10 * time.Second)},
			{Started: noon.Add(-time.Hour)}, // another run has its claim
		},
	}
	if got := show(p).stateJSON(noon).Totals.Seconds; got != 100 {
		t.Errorf("%v s, want 100", got)
	}
}

func TestEveryErrorOfTheAPIIsJSON(t *testing.T) {
	t.Parallel()
	p := sample()
	for _, c := range []struct {
		progress     *progress.Progress
		method, path string
		headers      []string
		status       int
		code, allow  string
	}{
		{progress: nil, method: "GET", path: "/api/v1/state", status: 503, code: "unavailable"},
		{progress: &p, method: "POST", path: "/api/v1/state", status: 405, code: "method_not_allowed", allow: "GET, HEAD"},
		{progress: &p, method: "DELETE", path: "/api/v1/GH-1", status: 405, code: "method_not_allowed", allow: "GET, HEAD"},
		{progress: &p, method: "GET", path: "/api/v1/refresh", status: 405, code: "method_not_allowed", allow: "POST"},
		{progress: &p, method: "GET", path: "/api/v1/GH-9", status: 404, code: "issue_not_found"},
		{progress: &p, method: "GET", path: "/api/v1/GH-1/log", status: 404, code: "not_found"},
		{progress: &p, method: "GET", path: "/api/v2/state", status: 404, code: "not_found"},
		{progress: &p, method: "GET", path: "/api", status: 404, code: "not_found"},
		{progress: &p, method: "GET", path: "/api/v1/state", headers: []string{"Host", "rebound.example"}, status: 403, code: "forbidden"},
		{progress: &p, method: "GET", path: "/api/v1/state", headers: []string{"Host", "127.0.0.1.nip.io:4000"}, status: 403, code: "forbidden"},
		{progress: &p, method: "POST", path: "/api/v1/refresh", headers: []string{"Origin", "https://evil.example"}, status: 403, code: "forbidden"},
		{progress: &p, method: "GET", path: "/api/v1/state", headers: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, status: 403, code: "forbidden"},
	} {
		name := fmt.Sprint(c.method, " ", c.path, " ", c.headers)
		answer := ask(t, c.progress, c.method, c.path, c.headers...)
		var body struct{ Error map[string]string }
		if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
			t.Errorf("%s: %v: %s", name, err, answer.Body)
		}
		if answer.Code != c.status || body.Error["code"] != c.code || body.Error["message"] == "" || len(body.Error) != 2 || answer.Header().Get("Allow") != c.allow || answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s %v", name, answer.Code, answer.Body, answer.Header())
		}
	}
}

func TestTextOfStrangersIsOneSafeLineWithoutSecrets(t *testing.T) {
	t.Parallel()
	hostile := "\x1b[31m" + secret[:7] + "\u200b" + secret[7:] + "\u202e\nX"
	p := sample()
	p.Workflow, p.Pause.Why, p.Trouble[0].Text, p.Events[0].Text, p.Events[0].Kind, p.Limits = hostile, hostile, hostile, hostile, hostile, []byte(`{"a":"`+secret+`"}`)
	s := &p.Sessions[0]
	s.Claim.Title, s.Claim.State, s.Claim.URL, s.Claim.Identifier, s.Claim.Thread = hostile, hostile, "javascript:alert(1)", hostile, hostile
	s.Doing, s.Summary, s.Event, s.ID, s.Log, s.Events[0].Text = hostile, hostile, hostile, hostile, hostile, hostile
	p.Queue.Next[0] = schedule.Claim{ID: "q", Identifier: hostile, Title: hostile, State: hostile, URL: "javascript:alert(1)"}
	p.Elsewhere = []schedule.Claim{{ID: "e", Identifier: hostile, Title: hostile, State: hostile, URL: "https://evil.example/?" + secret, Owner: schedule.Owner{Run: hostile, Job: hostile, Host: hostile, Shard: 3}}}
	p.Waiting[0].Why, p.Parked[0].Why, p.Asked["13"] = hostile, hostile, hostile
	p.Deliveries["13"] = schedule.Delivery{Identifier: hostile, Branch: hostile, Base: hostile, Head: hostile, Number: 1, URL: "https://github.com@evil.example/", Refused: hostile}
	p.Deliveries["14"] = schedule.Delivery{Identifier: hostile, URL: "https://evil.example/?" + secret}
	v := show(p)
	documents := []any{v.stateJSON(noon)}
	for _, i := range v.byName {
		documents = append(documents, v.detailJSON(i, ""))
	}
	for _, document := range documents {
		forEachText(fields(t, document), func(path, text string) {
			question := strings.HasSuffix(path, ".question")
			if strings.Contains(text, secret) || strings.ContainsAny(text, "\x1b\u200b\u202e") || strings.Contains(text, "\n") && !question {
				t.Errorf("%s is %q", path, text)
			}
			if strings.HasSuffix(path, "_url") && text != "" && !strings.HasPrefix(text, "https://github.com/") {
				t.Errorf("%s leads to %q", path, text)
			}
		})
	}
	if got := v.Running[0].Title(); got != "[31m*** X" {
		t.Errorf("the title is %q", got)
	}
}

// forEachText calls visit with every text in a JSON value.
func forEachText(value any, visit func(path, text string)) {
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case string:
			visit(path, v)
		case []any:
			for i, one := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), one)
			}
		case map[string]any:
			for name, one := range v {
				walk(path+"."+name, one)
			}
		}
	}
	walk("", value)
}

func TestTheReadmeNamesWhatTheAPISays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of == reflect.TypeFor[report.Time]() || seen[of] {
			return
		}
		seen[of] = true
		for field := range of.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("README.md does not name %s", name)
			}
			check(field.Type)
		}
	}
	for _, document := range []any{stateJSON{}, detailJSON{}, refreshJSON{}} {
		check(reflect.TypeOf(document))
	}
	for _, source := range []progress.Source{progress.Tracker, progress.Workflow, progress.Repository, progress.Workspaces, progress.State, progress.Agent, progress.Budget} {
		if !strings.Contains(string(text), "`"+string(source)+"`") {
			t.Errorf("README.md does not name the source %s", source)
		}
	}
}
