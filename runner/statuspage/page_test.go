package statuspage

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestEveryAnswerForbidsWhatAPageDoesNotNeed(t *testing.T) {
	t.Parallel()
	p := sample()
	for _, path := range []string{"/", "/issues/GH-1", "/issues/none", "/icon.svg", "/api/v1/state", "/api/v1/none", "/nothing"} {
		h := ask(t, &p, http.MethodGet, path).Header()
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none';", "script-src 'sha256-", "style-src 'sha256-", "base-uri 'none';", "form-action 'none';", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy has no %q: %s", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: %s", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s: %q", path, name, h.Get(name))
			}
		}
	}
}

func TestAWindowThatAnotherPageMayHoldIsTakenAway(t *testing.T) {
	t.Parallel()
	p := sample()
	for from, want := range map[string]string{"none": "", "same-origin": "", "same-site": "same-origin", "cross-site": "same-origin", "": "same-origin", "other": "same-origin"} {
		if got := ask(t, &p, http.MethodGet, "/", "Sec-Fetch-Site", from).Header().Get("Cross-Origin-Opener-Policy"); got != want {
			t.Errorf("Sec-Fetch-Site %q: Cross-Origin-Opener-Policy %q, want %q", from, got, want)
		}
	}
}

func TestAPageSaysWhatKeepsWorkFromStarting(t *testing.T) {
	t.Parallel()
	soon := schedule.Pause{Why: "usage limit reached", Until: noon.Add(time.Hour)}
	for name, c := range map[string]struct {
		change func(*progress.Progress)
		want   []string
		not    string
	}{
		"nothing":              {func(p *progress.Progress) {}, []string{"good", "Working on 1 issue"}, "Pause"},
		"a pause":              {func(p *progress.Progress) { p.Pause = soon }, []string{"bad", "Paused: no session can work", "usage limit reached", "To try at once, run: symphony state resume. Else one session tries again"}, "Agent"},
		"a pause that is over": {func(p *progress.Progress) { p.Pause = soon; p.Pause.Until = noon }, []string{"good"}, "usage limit reached"},
		"the pause's error":    {func(p *progress.Progress) { p.Pause = soon; p.Trouble = trouble1(progress.Agent, soon.Why) }, []string{"usage limit reached"}, "<b>Agent"},
		"a workflow":           {func(p *progress.Progress) { p.Trouble = trouble1(progress.Workflow, "line 3: no prompt") }, []string{"bad", "<b>Workflow</b>", "line 3: no prompt", "Fix the file"}, ""},
		"a tracker":            {func(p *progress.Progress) { p.Trouble = trouble1(progress.Tracker, "502") }, []string{"bad", "<b>Tracker</b>", "502", "It is read again"}, ""},
		"a repository":         {func(p *progress.Progress) { p.Trouble = trouble1(progress.Repository, "no route") }, []string{"bad", "<b>Repository</b>", "no route", "It is fetched again"}, ""},
		"a state":              {func(p *progress.Progress) { p.Trouble = trouble1(progress.State, "no space left") }, []string{"bad", "<b>State</b>", "no space left", "It is saved again"}, ""},
		"a budget": {func(p *progress.Progress) {
			p.Trouble = trouble1(progress.Budget, "budget.max_tokens_per_day is spent")
		}, []string{"bad", "Nothing new starts: a budget is spent", "<b>Budget</b>", "budget.max_tokens_per_day is spent", "Raise it"}, "until this is fixed"},
		"a worker host": {func(p *progress.Progress) {
			p.Trouble = trouble1(progress.Hosts, "left alone after a failure: build2 until 2026-01-02T12:01:00Z (ssh: connection refused)")
		}, []string{"bad", "A worker host does not work", "<b>Worker hosts</b>", "build2 until", "connection refused", "Their issues start on other hosts"}, "until this is fixed"},
		"no worker host": {func(p *progress.Progress) {
			p.Trouble = trouble1(progress.Hosts, "left alone after a failure: build2 until 2026-01-02T12:01:00Z (x)")
			p.NoRoom.Reason = schedule.HostsDown
		}, []string{"bad", "Nothing new starts until this is fixed"}, ""},
		"no poll yet":   {func(p *progress.Progress) { p.NextPoll = time.Time{} }, []string{"calm", "Starting"}, "data-as=\"in\" datetime=\"0001"},
		"nothing to do": {func(p *progress.Progress) { p.Sessions, p.Waiting, p.Parked, p.Queue = nil, nil, nil, progress.Queue{} }, []string{"calm", "Nothing to do", "Nothing runs.", "Nothing waits.", "Nothing is parked."}, ""},
	} {
		p := sample()
		p.Trouble, p.Pause = nil, schedule.Pause{}
		c.change(&p)
		page := ask(t, &p, http.MethodGet, "/").Body.String()
		_, health, _ := strings.Cut(page, `<section id="health" class="health `)
		for _, want := range c.want {
			if !strings.Contains(health, want) {
				t.Errorf("%s: the page does not say %q:\n%s", name, want, health)
			}
		}
		if c.not != "" && strings.Contains(health, c.not) {
			t.Errorf("%s: the page says %q", name, c.not)
		}
	}
}

func TestAPageHasNoCategoriesBeforeItsSentences(t *testing.T) {
	t.Parallel()
	p := sample()
	const why = "turn: turn_failed: other: no such model"
	p.Waiting[0].Why, p.Parked[0].Why, p.Pause.Why, p.Trouble[0].Text, p.Events[0].Text = why, why, why, why, why
	for path, times := range map[string]int{"/": 5, "/issues/GH-2": 1, "/issues/GH-3": 1} {
		page := ask(t, &p, http.MethodGet, path).Body.String()
		if got := strings.Count(page, "no such model"); got != times || strings.Contains(page, "turn_failed") || strings.Contains(page, "turn failed") {
			t.Errorf("%s: %d times, want %d:\n%s", path, got, times, page)
		}
	}
	for _, path := range []string{"/api/v1/state", "/api/v1/GH-2"} {
		if answer := ask(t, &p, http.MethodGet, path).Body.String(); !strings.Contains(answer, why) {
			t.Errorf("%s has no categories: %s", path, answer)
		}
	}
}

func TestAPageHasTheTimeOfTheAgents(t *testing.T) {
	t.Parallel()
	p := sample()
	for spent, want := range map[time.Duration]string{0: "", 62 * time.Second: "<dt>Time of agents</dt><dd>1m02s <small>in ended sessions</small></dd>"} {
		p.Spent.Time = spent
		page := ask(t, &p, http.MethodGet, "/").Body.String()
		if has := strings.Contains(page, "Time of agents"); has != (want != "") || !strings.Contains(page, want) {
			t.Errorf("after %v:\n%s", spent, page)
		}
	}
}

func TestAPageShowsHowLongTheQueueIsAndWhoIsNext(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Waiting, p.Sessions, p.Parked, p.Trouble, p.Pause = nil, nil, nil, nil, schedule.Pause{}
	page := ask(t, &p, http.MethodGet, "/").Body.String()
	for _, want := range []string{
		`<dt>Waiting</dt><dd>41 <small>41 not begun</small></dd>`, "41 issues wait for a slot, in this order", "Nothing waits to be tried again.",
		`<a href="https://github.com/acme/shop/issues/5" rel="noreferrer">GH-5</a> <span class="title">Count the stock</span>`, "40 more that wait",
		`<h2 id="health-name">41 issues wait for a slot</h2>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	p.Queue = progress.Queue{}
	if page := ask(t, &p, http.MethodGet, "/").Body.String(); !strings.Contains(page, `aria-labelledby="queue-name" hidden`) || strings.Contains(page, "not begun") {
		t.Errorf("with an empty queue:\n%s", page)
	}
}

func trouble1(source progress.Source, text string) []progress.Trouble {
	return []progress.Trouble{{Source: source, Text: text}}
}

func TestAPageSaysHowToLetAParkedIssueGoOn(t *testing.T) {
	t.Parallel()
	for want, not := range map[string]string{schedule.AnyComments.GoOn(): schedule.GoOnByEdit, schedule.GoOnByEdit: schedule.AnyComments.GoOn()} {
		p := sample()
		if want == schedule.GoOnByEdit {
			p.Comments = schedule.Comments{}
		}
		for _, path := range []string{"/", "/issues/GH-3"} {
			page := ask(t, &p, http.MethodGet, path).Body.String()
			if !strings.Contains(page, want) || strings.Contains(page, not) || !strings.Contains(page, "Which bank?\nOld or new?") || !strings.Contains(page, "symphony state retry") {
				t.Errorf("%s does not say %q:\n%s", path, want, page)
			}
		}
	}
}

func TestTheCommandsOfAPageStartThisProgramAndReachItsState(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Program, p.State, p.Logs = "/opt/our/symphony", "file:state.json", "/srv/sessions"
	p.Parked = append(p.Parked, schedule.Claim{ID: "15", Identifier: "a;b", Phase: schedule.Parked})
	for path, want := range map[string][]string{
		"/":            {"<code>/opt/our/symphony state retry ID --state file:state.json</code>"},
		"/issues/GH-3": {"<code>/opt/our/symphony state retry GH-3 --state file:state.json</code>", "<code>/opt/our/symphony log --logs /srv/sessions GH-3</code>"},
		"/issues/a;b":  {"<code>/opt/our/symphony state retry ID --state file:state.json</code>", "<code>/opt/our/symphony log --logs /srv/sessions ID</code>"},
	} {
		page := ask(t, &p, http.MethodGet, path).Body.String()
		for _, command := range want {
			if !strings.Contains(page, command) {
				t.Errorf("%s has no %s:\n%s", path, command, page)
			}
		}
	}
	p.State = "cache:/nobody/reaches/it"
	if page := ask(t, &p, http.MethodGet, "/").Body.String(); strings.Contains(page, "state retry") {
		t.Errorf("a command that does not reach the state:\n%s", page)
	}
}

func TestAQuestionIsShownOnceAndItsReasonIfItIsAnother(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]int{"the agent asks: Which bank? Old or new?": 0, "stopped by kim": 1} {
		p := sample()
		p.Parked[0].Why = why
		for _, path := range []string{"/", "/issues/GH-3"} {
			page := ask(t, &p, http.MethodGet, path).Body.String()
			if strings.Count(page, why) != want || strings.Count(page, "Which bank?") != 1 || strings.Count(page, "The agent asks:") != 1-want {
				t.Errorf("%s, parked because of %q:\n%s", path, why, page)
			}
		}
	}
}

func TestThePagesNameTheWorkerHostOfASession(t *testing.T) {
	t.Parallel()
	p := sample()
	if state := ask(t, &p, http.MethodGet, "/api/v1/state").Body.String(); strings.Contains(state, "worker_host") {
		t.Errorf("a host that there is not: %s", state)
	}
	p.Sessions[0].Claim.Host = "me@build1:2222"
	for path, want := range map[string]string{
		"/": "on <bdi>me@build1:2222</bdi>", "/issues/GH-1": "<dt>Host</dt><dd><code>me@build1:2222</code>",
		"/api/v1/state": `"worker_host":"me@build1:2222"`, "/api/v1/GH-1": `"worker_host":"me@build1:2222"`,
	} {
		if page := ask(t, &p, http.MethodGet, path).Body.String(); !strings.Contains(page, want) {
			t.Errorf("%s has no %s:\n%s", path, want, page)
		}
	}
}

func TestAPageNamesTheShardsThatWorkElsewhere(t *testing.T) {
	t.Parallel()
	p := sample()
	if page := ask(t, &p, http.MethodGet, "/").Body.String(); !strings.Contains(page, `aria-labelledby="elsewhere-name" hidden>`) {
		t.Errorf("a run that shares its state with nobody:\n%s", page)
	}
	for i := range maxElsewhere + 2 {
		p.Elsewhere = append(p.Elsewhere, schedule.Claim{
			ID: tracker.ID(fmt.Sprint("e", i)), Identifier: fmt.Sprintf("GH-%d", 900+i), URL: "https://github.com/acme/shop/issues/9", Phase: schedule.Running,
			Since: sample().At, Owner: schedule.Owner{Run: "123", Attempt: 1, Shard: 1 + i/2},
		})
	}
	if state := ask(t, &p, http.MethodGet, "/api/v1/state").Body.String(); strings.Count(state, `"place":"shard `) != maxElsewhere+2 {
		t.Errorf("the state does not name all of them:\n%s", state)
	}
	page := ask(t, &p, http.MethodGet, "/").Body.String()
	if !strings.Contains(page, `aria-labelledby="elsewhere-name">`) || strings.Count(page, "<td>shard 2 of run 123<") != 2 || strings.Count(page, " of run 123<") != maxElsewhere ||
		!strings.Contains(page, `<a href="https://github.com/acme/shop/issues/9" rel="noreferrer">GH-900</a>`) || !strings.Contains(page, "<p>2 more that run elsewhere</p>") {
		t.Errorf("the page of a run beside a fleet:\n%s", page)
	}
}

func TestIssuesOfOneNameHaveAPageEach(t *testing.T) {
	t.Parallel()
	p := progress.Progress{Waiting: []schedule.Claim{
		{ID: "1", Identifier: "A/1 ?", Title: "first"}, {ID: "2", Identifier: "A/1 ?", Title: "second"}, {ID: "3", Identifier: "2", Title: "third"},
	}}
	v := show(p)
	for n, i := range v.Waiting {
		if page := ask(t, &p, http.MethodGet, i.Path); page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "<bdi>"+p.Waiting[n].Title+"</bdi></span></h1>") {
			t.Errorf("%s: %d", i.Path, page.Code)
		}
	}
}

func TestWhatThePageOfTheRunHasNoRoomForIsOnAnother(t *testing.T) {
	t.Parallel()
	p := crowd(maxRows + 3)
	first, all := ask(t, &p, http.MethodGet, "/").Body.String(), ask(t, &p, http.MethodGet, "/waiting").Body.String()
	if n := strings.Count(first, "/issues/GH-1"); n < maxRows || strings.Contains(first, p.Waiting[maxRows].Identifier+"<") || !strings.Contains(first, `<a href="/waiting">3 more that wait</a>`) {
		t.Errorf("the page of the run:\n%s", first)
	}
	for _, c := range p.Waiting {
		if !strings.Contains(all, c.Identifier+"<") {
			t.Errorf("the page of what waits does not show %s", c.Identifier)
		}
	}
	if strings.Contains(all, "more that wait") || strings.Contains(all, "Delivered") {
		t.Errorf("the page of what waits:\n%s", all)
	}
}

func TestALongListIsShownInParts(t *testing.T) {
	t.Parallel()
	p := crowd(2*pageRows + 1)
	names := regexp.MustCompile(`<a href="/issues/(GH-[0-9]+)">`)
	links := regexp.MustCompile(`<a href="([^"]*)" rel="(prev|next)">`)
	var shown, want []string
	for _, c := range p.Waiting {
		want = append(want, c.Identifier)
	}
	path, visited := "/waiting", 0
	for ; path != "" && visited < 5; visited++ {
		page := ask(t, &p, http.MethodGet, path).Body.String()
		for _, name := range names.FindAllStringSubmatch(page, -1) {
			shown = append(shown, name[1])
		}
		at := path
		path = ""
		for _, link := range links.FindAllStringSubmatch(page, -1) {
			if link[2] == "next" {
				path = link[1]
			} else if back := ask(t, &p, http.MethodGet, link[1]).Body.String(); !strings.Contains(back, ` rel="next">`) {
				t.Errorf("%s leads back to %s, which has no next part", at, link[1])
			}
		}
	}
	if diff := cmp.Diff(want, shown); diff != "" || visited != 3 {
		t.Errorf("%d parts\n%s", visited, diff)
	}
	last := ask(t, &p, http.MethodGet, "/waiting?page=3").Body.String()
	if !strings.Contains(last, "101 to 101 of 101") || !strings.Contains(last, `data-live="/waiting/events?page=3"`) {
		t.Errorf("the last part:\n%s", last)
	}
	for path, want := range map[string]string{
		"/waiting?page=99999999999999999999": "1 to 50 of 101", "/waiting?page=-1": "1 to 50 of 101", "/waiting?page=x": "1 to 50 of 101", "/waiting?page=0": "1 to 50 of 101", "/waiting?page=2147483647": "101 to 101 of 101",
	} {
		if got := ask(t, &p, http.MethodGet, path).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s is not %s", path, want)
		}
	}
	for _, path := range []string{"/", "/running", "/delivered"} {
		if page := ask(t, &p, http.MethodGet, path).Body.String(); strings.Contains(page, `class="parts"`) {
			t.Errorf("%s has parts", path)
		}
	}
}

func TestRateLimitsAreShownInWords(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Limits = []byte(`{"primary":{"usedPercent":43.4,"windowDurationMins":300,"resetsAt":1795348800},"secondary":{"usedPercent":7,"windowDurationMins":10080}}`)
	page := ask(t, &p, http.MethodGet, "/").Body.String()
	for _, want := range []string{"Rate limit of 5 hours", "43 %", `datetime="2026-11-22T12:00:00Z"`, "Rate limit of 7 days", "7 %"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "usedPercent") {
		t.Error("the page shows raw JSON")
	}
}

func TestEveryTemplateFitsItsData(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]progress.Progress{
		"nothing": {}, "sample": sample(), "crowd": crowd(pageRows + 1), "a delivery alone": {Deliveries: map[tracker.ID]schedule.Delivery{"1": {Pushing: "abc"}}},
	} {
		v := show(p)
		pages := []string{render("problem", problemPage{page{Title: "T"}, "M"})}
		for path, of := range runPages {
			for part := range of.parts(v) {
				pages = append(pages, render("page", overviewOf(v, path, part+1)))
			}
		}
		for _, i := range v.byName {
			pages = append(pages, render("issue-page", issuePageOf(v, i, "")))
		}
		for _, page := range pages {
			if !strings.HasSuffix(strings.TrimSpace(page), "</html>") || strings.Contains(page, "template:") || strings.Contains(page, "0001-01-01") || strings.Contains(page, "ZgotmplZ") {
				t.Errorf("%s:\n%s", name, page)
			}
		}
	}
}

// BenchmarkShow is what a change costs while nobody looks.
func BenchmarkShow(b *testing.B) {
	s, _ := serve(b, crowd(1000))
	p := crowd(1000)
	b.ReportAllocs()
	for b.Loop() {
		s.Show(p)
	}
}

// BenchmarkPage is what the page costs after a change; a second reader gets the same.
func BenchmarkPage(b *testing.B) {
	p := crowd(1000)
	for _, c := range []struct{ name, path string }{{"page", "/"}, {"all", "/waiting"}, {"state", "/api/v1/state"}, {"issue", "/issues/GH-100"}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				size = ask(b, &p, http.MethodGet, c.path).Body.Len()
			}
			b.ReportMetric(float64(size), "B/answer")
		})
	}
}

func TestThePageShowsTheCostOfTokens(t *testing.T) {
	t.Parallel()
	p := progress.Progress{
		Prices: schedule.Prices{"m": {Rates: schedule.Rates{Input: 10_000}}},
		Spent:  schedule.Spent{Usage: schedule.Usage{Input: 250, Tariffs: schedule.Tariffs{{Tariff: schedule.Tariff{Model: "m"}, Input: 250}}}},
		Today:  schedule.Day{Usage: schedule.Usage{Input: 300, Tariffs: schedule.Tariffs{{Tariff: schedule.Tariff{Model: "m"}, Input: 250}}}},
	}
	page := ask(t, &p, "GET", "/").Body.String()
	for _, want := range []string{"<dd>250 · $2.50 <small>", "<dd>300 · at least $2.50 <small>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
