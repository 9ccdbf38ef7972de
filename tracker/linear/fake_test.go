package linear

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

const (
	apiKey = "lin_api_0123456789abcdefghijklmnopqrstuvwxyzABCD"
	slug   = "0c79b11b75ea"
)

// fake is Linear: one organization with a project, a team, two users and
// issues. It serves HTTP, refuses every query that the schema does not allow,
// and fails on demand.
type fake struct {
	schema *ast.Schema

	mu       sync.Mutex
	issues   []object // in the order of creation, which is that of lists
	projects []object
	states   []object
	users    []object
	labels   []object            // of the workspace and its teams
	comments map[string][]object // by id of the issue
	said     int                 // comments so far
	loses    bool                // the answer to the next new comment
	faults   []http.HandlerFunc  // each answers one request; a nil one leaves it alone
	broken   http.HandlerFunc    // answers all
	requests int
	asked    []string          // the queries, as they came
	cursor   func(end int) any // of the pages; nil is the usual one
	files    map[string]string // content by path
	signed   int               // answers with signed addresses
}

func newFake(t testing.TB) *fake {
	schema, err := trackertest.LoadSchema("../../testdata/api/linear.graphql")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{schema: schema, comments: make(map[string][]object)}
	for _, state := range []object{
		{"name": "Backlog", "type": "backlog"}, {"name": "Todo", "type": "unstarted"}, {"name": "In Progress", "type": "started"},
		{"name": "In Review", "type": "started"}, {"name": "Done", "type": "completed"}, {"name": "Canceled", "type": "canceled"},
	} {
		state["id"] = "state-" + strings.ToLower(state["name"].(string))
		f.states = append(f.states, state)
	}
	f.users = []object{newUser("Me"), newUser("Kim")}
	f.users[0]["isMe"] = true
	team := object{"id": "team-eng", "key": "ENG", "states": f.connection(&f.states)}
	f.projects = []object{
		{"id": "project-symphony", "name": "Symphony", "slugId": slug, "teams": f.connection(&[]object{team})},
		{"id": "project-other", "name": "Other", "slugId": "ffff00001111", "teams": f.connection(&[]object{team})},
	}
	return f
}

// connection returns pages of the items that exist when they are requested.
func (f *fake) connection(items *[]object) resolver {
	return func(arguments map[string]any) any { return trackertest.Connection(*items, f.cursor)(arguments) }
}

// add creates an issue like the one given and returns it, to be changed.
func (f *fake) add(like tracker.Issue) object {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.create(like)
}

// create does what add does. f.mu must be held.
func (f *fake) create(like tracker.Issue) object {
	n := len(f.issues) + 1
	o := object{
		"id": fmt.Sprintf("5b2f7d3e-0000-4000-8000-%012d", n), "identifier": fmt.Sprintf("ENG-%d", n), "number": float64(n),
		"team": object{"id": "team-eng", "key": "ENG", "states": f.connection(&f.states)}, "project": f.projects[0],
		"trashed": nil, "assignee": nil, "url": fmt.Sprintf("https://linear.app/acme/issue/ENG-%d", n),
		"branchName": fmt.Sprintf("kim/eng-%d", n),
	}
	o["comments"], o["attachments"] = f.commentsOf(o["id"].(string)), f.connection(&[]object{})
	f.issues = append(f.issues, o)
	f.fill(o, like)
	return o
}

// fill replaces what the issue says.
func (f *fake) fill(o object, like tracker.Issue) {
	o["title"], o["description"], o["priority"], o["state"] = like.Title, like.Description, 0.0, f.state(like.State)
	if like.Priority != nil {
		o["priority"] = float64(*like.Priority)
	}
	for field, at := range map[string]time.Time{"createdAt": like.CreatedAt, "updatedAt": like.UpdatedAt} {
		o[field] = at.Format("2006-01-02T15:04:05.000Z")
	}
	labels := []object{}
	for _, label := range like.Labels {
		labels = append(labels, object{"id": "label-" + label, "name": label, "isGroup": false, "team": object(nil)})
	}
	o["labels"] = f.connection(&labels)
	relations := []object{}
	for _, blocker := range like.BlockedBy {
		relations = append(relations, object{"type": "blocks", "issue": f.find(string(blocker.ID))})
	}
	o["inverseRelations"] = f.connection(&relations)
}

func (f *fake) state(name string) object {
	i := slices.IndexFunc(f.states, func(o object) bool { return o["name"] == name })
	return f.states[i]
}

func (f *fake) find(id string) object {
	for _, o := range f.issues {
		if o["id"] == id {
			return o
		}
	}
	return nil
}

func (f *fake) visible() []object {
	return slices.DeleteFunc(slices.Clone(f.issues), func(o object) bool { return o["archivedAt"] != nil })
}

// root returns the object that operations select from.
func (f *fake) root() object {
	return object{
		"viewer": f.users[0],
		"issues": resolver(func(a map[string]any) any {
			return trackertest.Connection(trackertest.Filter(f.visible(), a["filter"]), f.cursor)(a)
		}),
		"projects": resolver(func(a map[string]any) any {
			return trackertest.Connection(trackertest.Filter(f.projects, a["filter"]), f.cursor)(a)
		}),
		"issue": resolver(func(a map[string]any) any {
			if o := f.find(a["id"].(string)); o != nil {
				return o
			}
			return errors.New("Entity not found: Issue")
		}),
		"commentCreate": resolver(func(a map[string]any) any {
			input := a["input"].(map[string]any)
			id, _ := input["issueId"].(string)
			o := f.find(id)
			if o == nil {
				return errors.New("Entity not found: Issue")
			}
			if slices.ContainsFunc(f.allComments(), func(c object) bool { return input["id"] != nil && c["id"] == input["id"] }) {
				return errors.New("Entity Comment already exists")
			}
			comment := f.say(id, object{"user": f.users[0], "body": input["body"]}, time.Now())
			if input["id"] != nil {
				comment["id"] = input["id"]
			}
			return object{"success": true, "comment": comment}
		}),
		"commentDelete": resolver(func(a map[string]any) any {
			f.retract(a["id"].(string))
			return object{"success": true}
		}),
		"reactionCreate": resolver(func(a map[string]any) any {
			input := a["input"].(map[string]any)
			for _, c := range f.allComments() {
				if c["id"] == input["commentId"] {
					c["reactions"] = append(c["reactions"].([]object), object{"id": input["id"]})
					c["updatedAt"] = fakeTime(time.Now())
					return object{"success": true}
				}
			}
			return errors.New("Entity not found: Comment")
		}),
		"comments": resolver(func(a map[string]any) any {
			return trackertest.Connection(trackertest.Filter(f.allComments(), a["filter"]), f.cursor)(a)
		}),
		"commentUpdate": resolver(func(a map[string]any) any {
			for _, c := range f.allComments() {
				if c["id"] == a["id"] {
					f.edit(c, a["input"].(map[string]any)["body"].(string), time.Now())
					return object{"success": true, "comment": c}
				}
			}
			return errors.New("Entity not found: Comment")
		}),
		"issueLabels": resolver(func(a map[string]any) any {
			return trackertest.Connection(trackertest.Filter(f.labels, a["filter"]), f.cursor)(a)
		}),
		"issueAddLabel": resolver(func(a map[string]any) any {
			return f.relabel(a, func(labels []object) []object {
				at := slices.IndexFunc(f.labels, func(l object) bool { return l["id"] == a["labelId"] })
				return append(labels, f.labels[at])
			})
		}),
		"issueRemoveLabel": resolver(func(a map[string]any) any {
			return f.relabel(a, func(labels []object) []object {
				return slices.DeleteFunc(labels, func(l object) bool { return l["id"] == a["labelId"] })
			})
		}),
		"issueLabelCreate": resolver(func(a map[string]any) any {
			label := object{"id": fmt.Sprintf("label-%d", len(f.labels)+1), "name": a["input"].(map[string]any)["name"]}
			f.labels = append(f.labels, label)
			return object{"success": true, "issueLabel": label}
		}),
		"issueLabelDelete": resolver(func(a map[string]any) any {
			f.labels = slices.DeleteFunc(f.labels, func(o object) bool { return o["id"] == a["id"] })
			return object{"success": true}
		}),
		"issueCreate": resolver(func(a map[string]any) any {
			input := a["input"].(map[string]any)
			at := slices.IndexFunc(f.states, func(s object) bool { return s["id"] == input["stateId"] })
			o := f.create(tracker.Issue{Title: input["title"].(string), State: f.states[at]["name"].(string)})
			labels := slices.DeleteFunc(slices.Clone(f.labels), func(l object) bool { return !slices.Contains(input["labelIds"].([]any), l["id"]) })
			o["labels"] = f.connection(&labels)
			return object{"success": true, "issue": o}
		}),
		"issueDelete": resolver(func(a map[string]any) any {
			if o := f.find(a["id"].(string)); o != nil {
				o["trashed"] = true
			}
			return object{"success": true}
		}),
		"issueUpdate": resolver(func(a map[string]any) any {
			o := f.find(a["id"].(string))
			if o == nil {
				return errors.New("Entity not found: Issue")
			}
			if id, ok := a["input"].(map[string]any)["stateId"].(string); ok {
				o["state"] = f.states[slices.IndexFunc(f.states, func(s object) bool { return s["id"] == id })]
			}
			return object{"success": true, "issue": o}
		}),
	}
}

// allComments returns the comments of all issues.
func (f *fake) allComments() []object {
	var all []object
	for _, id := range slices.Sorted(maps.Keys(f.comments)) {
		all = append(all, f.comments[id]...)
	}
	return all
}

// relabel answers a mutation that changes the labels of an issue.
func (f *fake) relabel(arguments map[string]any, change func([]object) []object) any {
	o := f.find(arguments["id"].(string))
	if o == nil {
		return errors.New("Entity not found: Issue")
	}
	labels := o["labels"].(resolver)(map[string]any{"first": 1000}).(object)["nodes"].([]object)
	labels = change(slices.Clone(labels))
	o["labels"] = f.connection(&labels)
	return object{"success": true, "issue": o}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Query     string
		Variables map[string]any
	}
	if r.Method == http.MethodGet {
		f.serveFile(w, r)
		return
	}
	body, err := io.ReadAll(r.Body) // to its end, or the server does not notice a client that gives up
	if err == nil {
		err = json.Unmarshal(body, &question)
	}
	if err != nil {
		answer(400, `{"errors":[{"message":"no JSON"}]}`)(w, r)
		return
	}
	if handler := f.fault(question.Query); handler != nil {
		handler(w, r)
		return
	}
	if r.Header.Get("Authorization") != apiKey {
		answer(401, `{"errors":[{"message":"Authentication required, not authenticated","extensions":{"code":"AUTHENTICATION_ERROR"}}]}`)(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	status, result := f.execute(question.Query, question.Variables)
	body, err = json.Marshal(result)
	if err != nil {
		panic(err)
	}
	if r.Header.Get("public-file-urls-expire-in") != "" {
		body = f.signFiles(body)
	}
	if f.loses && strings.Contains(question.Query, "commentCreate") {
		f.loses = false
		panic(http.ErrAbortHandler)
	}
	answer(status, string(body))(w, r)
}

// fault counts a request and returns the handler that answers it instead of the
// fake, or nil.
func (f *fake) fault(query string) http.HandlerFunc {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	f.asked = append(f.asked, query)
	if len(f.faults) == 0 {
		return f.broken
	}
	handler := f.faults[0]
	f.faults = f.faults[1:]
	return handler
}

func (f *fake) execute(query string, variables map[string]any) (int, object) {
	refuse := func(err error) (int, object) {
		return 400, object{"errors": []object{{"message": err.Error(), "extensions": object{"code": "GRAPHQL_VALIDATION_FAILED"}}}}
	}
	document, errs := gqlparser.LoadQueryWithRules(f.schema, query, rules.NewDefaultRules())
	if errs != nil {
		return refuse(errs)
	}
	operation := document.Operations[0]
	values, err := validator.VariableValues(f.schema, operation, variables)
	if err != nil {
		return refuse(err)
	}
	data, failed := trackertest.Execute(operation, f.root(), values)
	result := object{"data": data}
	if len(failed) > 0 {
		result["errors"] = failed
	}
	return 200, result
}

// answer returns a handler that sends one response; headers come in pairs.
func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// counted returns how many requests came so far.
func (f *fake) counted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// client is the adapter over a fake, with what it logs.
type client struct {
	tracker.Adapter
	cfg  Config
	http *http.Client
	log  *bytes.Buffer // its handler serialises writes; read it when no call runs
}

// serve opens the adapter over HTTP.
func (f *fake) serve(t testing.TB, change ...func(*Config)) client {
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return open(t, server.URL, server.Client(), change...)
}

func open(t testing.TB, endpoint string, over *http.Client, change ...func(*Config)) client {
	t.Helper()
	c := client{http: over, log: new(bytes.Buffer), cfg: Config{
		Endpoint: endpoint, APIKey: apiKey, ProjectSlug: slug,
		Options: tracker.Options{ActiveStates: []string{"Todo", "In Progress"}, TerminalStates: []string{"Done", "Cancelled", "Canceled"}},
	}}
	for _, edit := range change {
		edit(&c.cfg)
	}
	adapter, err := c.cfg.Open(c.cfg.Options, over, slog.New(slog.NewTextHandler(c.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.Adapter = adapter
	return c
}

// bubble runs a test in virtual time, connected to a fake.
func bubble(t *testing.T, run func(t *testing.T, f *fake, c client)) {
	t.Helper()
	f := newFake(t)
	trackertest.Bubble(t, f, func(t *testing.T, base http.RoundTripper) {
		run(t, f, open(t, "http://localhost/graphql", &http.Client{Transport: base}))
	})
}
