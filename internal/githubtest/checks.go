package githubtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// Check is a check run of a commit, or a commit status.
type Check struct {
	Status      bool   // a commit status, which has a Name, a State and a Summary alone
	Name        string // name of a job or a check run, or context of a commit status
	Workflow    string // workflow of a job of GitHub Actions; CI when empty
	File        string // file of the workflow; ci.yml when empty
	Event       string // event that started the workflow; pull_request when empty
	App         string // slug of the App whose check it is; GitHub Actions when empty
	By          string // account that set a commit status; a deleted account when empty
	State       string // conclusion of a check run, QUEUED or IN_PROGRESS; SUCCESS, FAILURE, ERROR or PENDING for a status
	Title       string
	Summary     string
	Steps       []Step
	Annotations []Annotation
	Log         string       // log of a job
	LogHost     http.Handler // answers in place of the host that has Log; nil for that
}

// Step is a step of a job.
type Step struct{ Name, Conclusion string }

// Annotation is a remark of a check on a line of a file.
type Annotation struct {
	Level, Path, Title, Message string
	Line                        int
}

type check struct {
	Check
	id                int
	started, finished time.Time
}

// checks has the checks of commits. Their logs are on another host.
type checks struct {
	*server
	of      map[string][]*check // by commit
	logHost *logHost
}

// SetCheck adds a check of a commit, and returns its number. A commit status replaces the
// status of its name, as at GitHub; a check run does not.
func (g *checks) SetCheck(commit string, c Check) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	added := &check{Check: c, id: g.newID()}
	if c.Status {
		g.of[commit] = slices.DeleteFunc(g.of[commit], func(old *check) bool { return old.Status && old.Name == c.Name })
	}
	g.of[commit] = append(g.of[commit], added)
	at := g.tick()
	if c.State != "QUEUED" {
		added.started = at
	}
	added.finish(at)
	return added.id
}

// FinishCheck ends a check run with a conclusion.
func (g *checks) FinishCheck(id int, conclusion string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.checkRun(id); c != nil {
		at := g.tick()
		if c.started.IsZero() {
			c.started = at
		}
		c.State = conclusion
		c.finish(at)
		return
	}
	g.t.Errorf("there is no check %d", id)
}

// finish sets when a check ended, unless it runs.
func (c *check) finish(at time.Time) {
	if !c.runs() {
		c.finished = at
	}
}

func (c *check) runs() bool {
	return slices.Contains([]string{"QUEUED", "IN_PROGRESS", "PENDING"}, c.State)
}

// checkRun returns a check by its number, nil if there is none. g.mu must be held.
func (g *checks) checkRun(id int) *check {
	for _, list := range g.of {
		for _, c := range list {
			if c.id == id {
				return c
			}
		}
	}
	return nil
}

// LogReads returns the requests to the host of the logs, as "/path range".
func (g *checks) LogReads() []string {
	g.logHost.mu.Lock()
	defer g.logHost.mu.Unlock()
	return slices.Clone(g.logHost.asked)
}

// logHost is the other host that has the logs. An address there is a secret.
type logHost struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

const signature = "sig=for-five-minutes"

// addLogs adds the request for the log of a job, which redirects to another host.
func (g *checks) addLogs() {
	g.logHost = &logHost{}
	g.logHost.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.logHost.mu.Lock()
		g.logHost.asked = append(g.logHost.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
		g.logHost.mu.Unlock()
		if r.Header.Get("Authorization") != "" {
			g.t.Errorf("the host of the logs got a token")
		}
		g.mu.Lock()
		c := g.checkRun(atoi(strings.TrimPrefix(r.URL.Path, "/logs/")))
		g.mu.Unlock()
		switch {
		case r.URL.RawQuery != signature || c == nil:
			w.WriteHeader(http.StatusForbidden)
		case c.LogHost != nil:
			c.LogHost.ServeHTTP(w, r)
		default:
			http.ServeContent(w, r, "log.txt", time.Time{}, strings.NewReader(c.Log))
		}
	}))
	g.t.Cleanup(g.logHost.Close)
	g.HandleFor("actions: read", "GET /actions/jobs/{id}/logs", "GET "+g.root+"/repos/"+g.Repo()+"/actions/jobs/{id}/logs", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		c := g.checkRun(atoi(r.PathValue("id")))
		none := c == nil || c.Log == "" && c.LogHost == nil || c.runs()
		g.mu.Unlock()
		if none {
			write(w, r, http.StatusNotFound, []byte(`{"message": "Not Found"}`))
			return
		}
		w.Header().Set("Location", fmt.Sprintf("%s/logs/%d?%s", g.logHost.URL, c.id, signature))
		w.WriteHeader(http.StatusFound)
	}))
}

// rollup returns the checks of a commit as GraphQL gives them, null if there are none or
// the token may see none.
func (g *checks) rollup(commit string) any {
	list := g.of[commit]
	if len(list) == 0 {
		return trackertest.Object(nil)
	}
	state := "SUCCESS"
	for _, c := range list {
		switch {
		case slices.Contains([]string{"SUCCESS", "NEUTRAL", "SKIPPED"}, c.State):
		case c.runs() && state == "SUCCESS":
			state = "PENDING"
		case !c.runs():
			state = "FAILURE"
		}
	}
	if g.Denies("checks: read") && g.Denies("statuses: read") {
		return forbidden
	}
	return trackertest.Object{
		"id": "SCR_" + commit, "state": state,
		"contexts": trackertest.Resolver(func(arguments map[string]any) any {
			nodes := []trackertest.Object{}
			for _, c := range list {
				nodes = append(nodes, g.checkNode(c))
			}
			all := connection(nodes, asItIs, arguments)
			all["checkRunCountsByState"], all["statusContextCountsByState"] = countStates(list, false), countStates(list, true)
			return all
		}),
	}
}

// countStates returns the numbers of check runs, or commit statuses, by their state.
func countStates(list []*check, statuses bool) []trackertest.Object {
	counts := map[string]int{}
	for _, c := range list {
		if c.Status == statuses {
			counts[c.State]++
		}
	}
	answer := []trackertest.Object{}
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		answer = append(answer, trackertest.Object{"state": state, "count": counts[state]})
	}
	return answer
}

// forbidden is GraphQL's answer in place of a part that the token may not see.
var forbidden = trackertest.Failure{Type: "FORBIDDEN", Text: "Resource not accessible by integration"}

// checkNode returns a check as GraphQL gives it.
func (g *checks) checkNode(c *check) trackertest.Object {
	if c.Status {
		if g.Denies("statuses: read") {
			return trackertest.Object{trackertest.Failed: forbidden}
		}
		return trackertest.Object{
			"__typename": "StatusContext", "id": fmt.Sprintf("SC_%d", c.id), "context": c.Name, "state": c.State, "description": c.Summary,
			"targetUrl": fmt.Sprintf("https://ci.example.org/%d", c.id), "createdAt": stamp(c.started),
			"creator": actor(c.By),
		}
	}
	if g.Denies("checks: read") {
		return trackertest.Object{trackertest.Failed: forbidden}
	}
	status, conclusion := "COMPLETED", any(c.State)
	if c.runs() {
		status, conclusion = c.State, nil
	}
	page := fmt.Sprintf("%s/runs/%d", g.CloneURL(), c.id)
	node := trackertest.Object{
		"__typename": "CheckRun", "id": fmt.Sprintf("CR_%d", c.id), "name": c.Name, "status": status, "conclusion": conclusion, "title": c.Title, "summary": c.Summary,
		"startedAt": stamp(c.started), "completedAt": stamp(c.finished), "url": page, "detailsUrl": page,
		"steps": trackertest.Resolver(func(arguments map[string]any) any {
			nodes := []trackertest.Object{}
			for _, s := range c.Steps {
				nodes = append(nodes, trackertest.Object{"name": s.Name, "conclusion": s.Conclusion})
			}
			return connection(nodes, asItIs, arguments)
		}),
		"annotations": trackertest.Resolver(func(arguments map[string]any) any {
			nodes := []trackertest.Object{}
			for _, a := range c.Annotations {
				nodes = append(nodes, trackertest.Object{
					"annotationLevel": a.Level, "path": a.Path, "title": a.Title, "message": a.Message,
					"location": trackertest.Object{"start": trackertest.Object{"line": a.Line}},
				})
			}
			return connection(nodes, asItIs, arguments)
		}),
	}
	suite := trackertest.Object{"id": fmt.Sprintf("CS_%d", c.id), "app": trackertest.Object{"slug": c.App}, "workflowRun": trackertest.Object(nil)}
	if c.App == "" {
		suite["app"] = trackertest.Object{"slug": "github-actions"}
		suite["workflowRun"] = trackertest.Object{"event": cmp.Or(c.Event, "pull_request"), "workflow": trackertest.Object{
			"name": cmp.Or(c.Workflow, "CI"), "resourcePath": "/" + g.Repo() + "/actions/workflows/" + cmp.Or(c.File, "ci.yml"),
		}}
		node["detailsUrl"] = fmt.Sprintf("%s/actions/runs/%d/job/%d", g.CloneURL(), 1000+c.id, c.id)
		if g.Denies("actions: read") {
			suite["workflowRun"] = forbidden
		}
	}
	node["checkSuite"] = suite
	return node
}
