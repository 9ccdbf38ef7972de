package main

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// behindProxy makes the HTTPS of jobs go through a proxy that looks into it, as that of a
// company does: it has a certificate of its own for these hosts, and leads each to
// another address.
func (m *machine) behindProxy(hosts map[string]string) {
	m.t.Helper()
	lead := map[string]http.Handler{}
	var names []string
	for host, address := range hosts {
		u, err := url.Parse(address)
		if err != nil {
			m.t.Fatal(err)
		}
		lead[host], names = httputil.NewSingleHostReverseProxy(u), append(names, host)
	}
	pair := githubCertificate(m.t, names...)
	inside := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lead[r.Host] == nil {
			http.NotFound(w, r)
			return
		}
		lead[r.Host].ServeHTTP(w, r)
	}))
	inside.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	inside.Config.ErrorLog = log.New(io.Discard, "", 0)
	inside.StartTLS()
	m.t.Cleanup(inside.Close)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, port, err := net.SplitHostPort(r.Host); r.Method != http.MethodConnect || err != nil || port != "443" || lead[host] == nil {
			http.Error(w, "this proxy is for HTTPS to known hosts", http.StatusForbidden)
			return
		}
		if err := tunnel(w, inside.Listener.Addr().String()); err != nil {
			m.t.Error(err)
		}
	}))
	m.t.Cleanup(outside.Close)
	certificate := filepath.Join(m.home, "proxy.pem")
	m.writeFile(certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))+string(m.releases.cert))
	m.jobEnv = append(m.jobEnv, "HTTPS_PROXY="+outside.URL, "SSL_CERT_FILE="+certificate)
}

// tunnel connects a client of a proxy with an address until one of the two ends.
func tunnel(w http.ResponseWriter, address string) error {
	to, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer to.Close()
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return err
	}
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{to, from}, {from, to}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // either may hang up
			ended <- struct{}{}
		}()
	}
	<-ended
	return nil
}

const linearKey = "lin_api_0123456789abcdefghij"

// linearProject is Linear with the project of the sample workflow. What it must be like is the
// business of tracker/linear's own tests.
type linearProject struct {
	*httptest.Server
	schema *ast.Schema

	mu            sync.Mutex
	team, project trackertest.Object
	states        []trackertest.Object
	issues        []trackertest.Object
	comments      map[string][]trackertest.Object // by id of the issue
	said          int                             // by people
}

func newLinear(t testing.TB) *linearProject {
	t.Helper()
	schema, err := trackertest.LoadSchema(filepath.Join(root, "testdata", "api", "linear.graphql"))
	if err != nil {
		t.Fatal(err)
	}
	l := &linearProject{schema: schema, comments: map[string][]trackertest.Object{}}
	for _, name := range []string{"Todo", "In Progress", "In Review", "Done", "Canceled", "Duplicate", "Backlog"} {
		l.states = append(l.states, trackertest.Object{"id": "state " + name, "name": name})
	}
	l.team = trackertest.Object{"id": "team-eng", "key": "ENG", "states": trackertest.Connection(l.states, nil)}
	l.project = trackertest.Object{"name": "Shop", "slugId": "0c79b11b75ea", "teams": trackertest.Connection([]trackertest.Object{l.team}, nil)}
	root := trackertest.Object{
		"projects": trackertest.Resolver(func(a map[string]any) any {
			return trackertest.Connection(trackertest.Filter([]trackertest.Object{l.project}, a["filter"]), nil)(a)
		}),
		"issues": trackertest.Resolver(func(a map[string]any) any {
			return trackertest.Connection(trackertest.Filter(l.issues, a["filter"]), nil)(a)
		}),
		"issueUpdate": trackertest.Resolver(func(a map[string]any) any {
			same := func(id any) func(trackertest.Object) bool {
				return func(o trackertest.Object) bool { return o["id"] == id }
			}
			i, s := slices.IndexFunc(l.issues, same(a["id"])), slices.IndexFunc(l.states, same(a["input"].(map[string]any)["stateId"]))
			if i < 0 || s < 0 {
				return errors.New("Entity not found")
			}
			l.issues[i]["state"] = l.states[s]
			return trackertest.Object{"success": true}
		}),
		"comments": trackertest.Resolver(func(a map[string]any) any {
			all := slices.Concat(slices.Collect(maps.Values(l.comments))...)
			return trackertest.Connection(trackertest.Filter(all, a["filter"]), nil)(a)
		}),
		"commentCreate": trackertest.Resolver(func(a map[string]any) any {
			input := a["input"].(map[string]any)
			issue := slices.IndexFunc(l.issues, func(o trackertest.Object) bool { return o["id"] == input["issueId"] })
			if issue < 0 {
				return errors.New("Entity not found")
			}
			l.say(issue, fmt.Sprint(input["id"]), keysOwner, fmt.Sprint(input["body"]))
			return trackertest.Object{"success": true}
		}),
		"commentUpdate": trackertest.Resolver(func(a map[string]any) any {
			for _, list := range l.comments {
				if i := slices.IndexFunc(list, func(o trackertest.Object) bool { return o["id"] == a["id"] }); i >= 0 {
					at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
					list[i]["body"], list[i]["updatedAt"], list[i]["editedAt"] = a["input"].(map[string]any)["body"], at, at
					return trackertest.Object{"success": true}
				}
			}
			return errors.New("Entity not found")
		}),
	}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.answer(w, r, root) }))
	t.Cleanup(l.Close)
	return l
}

// add opens an issue in Todo.
func (l *linearProject) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, none := len(l.issues)+1, trackertest.Connection([]trackertest.Object{}, nil)
	id := fmt.Sprintf("5b2f7d3e-0000-4000-8000-%012d", n)
	identifier := fmt.Sprintf("ENG-%d", n)
	l.issues = append(l.issues, trackertest.Object{
		"id": id, "identifier": identifier, "number": float64(n), "title": fmt.Sprintf("Work %d", n), "description": text,
		"priority": 0.0, "branchName": "kim/x", "url": "https://linear.app/acme/issue/" + identifier, "trashed": nil, "assignee": nil,
		"createdAt": "2026-03-01T12:00:00.000Z", "updatedAt": "2026-03-01T12:00:00.000Z", "state": l.states[0], "team": l.team, "project": l.project,
		"labels": none, "inverseRelations": none, "attachments": none, "comments": trackertest.Resolver(func(a map[string]any) any {
			return trackertest.Connection(trackertest.Filter(l.comments[id], a["filter"]), nil)(a)
		}),
	})
}

// keysOwner is the person whose key the program has.
const keysOwner = "kim"

// comment has a member comment on an issue.
func (l *linearProject) comment(number int, by, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said++
	l.say(number-1, fmt.Sprintf("0c0ffee0-0000-4000-8000-%012d", l.said), by, text)
}

// say adds a comment with an id to an issue. l.mu must be held.
func (l *linearProject) say(issue int, said, by, text string) {
	id, at := l.issues[issue]["id"].(string), time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	l.comments[id] = append([]trackertest.Object{{ // the newest comes first
		"id": said, "body": text, "url": "https://linear.app/acme/comment/" + said, "createdAt": at, "updatedAt": at, "editedAt": nil,
		"user":     trackertest.Object{"displayName": by, "active": true, "guest": false, "app": false, "isMe": by == keysOwner},
		"botActor": trackertest.Object(nil), "externalUser": trackertest.Object(nil), "issue": trackertest.Object{"id": id}, "reactions": []trackertest.Object{},
	}}, l.comments[id]...)
}

// move has a person give an issue a state.
func (l *linearProject) move(number int, state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.states, func(s trackertest.Object) bool { return s["name"] == state })
	l.issues[number-1]["state"] = l.states[at]
}

// stateOf returns the name of the state of an issue.
func (l *linearProject) stateOf(number int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.issues[number-1]["state"].(trackertest.Object)["name"].(string)
}

// answer carries out one query or mutation.
func (l *linearProject) answer(w http.ResponseWriter, r *http.Request, root trackertest.Object) {
	var in struct {
		Query     string
		Variables map[string]any
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	if err != nil || r.Header.Get("Authorization") != linearKey {
		http.Error(w, `{"errors": [{"message": "Authentication required"}]}`, http.StatusUnauthorized)
		return
	}
	document, errs := gqlparser.LoadQueryWithRules(l.schema, in.Query, rules.NewDefaultRules())
	if errs != nil {
		http.Error(w, mustText(map[string]any{"errors": []any{map[string]any{"message": errs.Error()}}}), http.StatusBadRequest)
		return
	}
	values, err := validator.VariableValues(l.schema, document.Operations[0], in.Variables)
	if err != nil {
		http.Error(w, mustText(map[string]any{"errors": []any{map[string]any{"message": err.Error()}}}), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	data, failed := trackertest.Execute(document.Operations[0], root, values)
	result := map[string]any{"data": data}
	if len(failed) > 0 {
		result["errors"] = failed
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprint(w, mustText(result))
}

func mustText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
