package store

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hub is GitHub as far as this package needs it: the git data API over a real
// repository, the workflow runs, and faults on demand.
type hub struct {
	*bare
	*httptest.Server

	mu       sync.Mutex
	counts   map[string]int     // requests by operation
	faults   map[string][]fault // by operation, the next one first
	trunk    string             // the default branch
	archived bool
	isolated bool           // the token may not see the repository
	runs     map[string]any // answers of the Actions API by path
}

// fault is what goes wrong with one request.
type fault struct {
	before func()      // happens just before it is answered
	after  func()      // happens when it has been done
	status int         // is answered instead, without doing anything
	says   string      // the message of that answer
	errors string      // is answered instead, as GraphQL's objection
	header http.Header // of that answer
	lose   bool        // it is done, and the connection breaks before the answer
	hang   bool        // it is done, and no answer comes
}

const (
	hubToken = "ghs_0123456789abcdefSECRET"
	hubRepo  = "octo/state-keeper"
	hubPath  = "/api/v3/repos/" + hubRepo
)

func newHub(t testing.TB) *hub {
	h := &hub{bare: newBare(t), trunk: "main", counts: map[string]int{}, faults: map[string][]fault{}, runs: map[string]any{}}
	mux := http.NewServeMux()
	for pattern, handler := range map[string]struct {
		op    string
		reply func(*http.Request) (int, any)
	}{
		"GET " + hubPath: {"repository", h.getRepository},
		"GET " + hubPath + "/git/ref/heads/{ref...}":    {"ref", h.getRef},
		"GET " + hubPath + "/contents/{path...}":        {"contents", h.getContents},
		"GET " + hubPath + "/commits":                   {"history", h.getCommits},
		"POST " + hubPath + "/git/trees":                {"tree", h.postTree},
		"POST " + hubPath + "/git/commits":              {"commit", h.postCommit},
		"POST " + hubPath + "/git/refs":                 {"create", h.postRef},
		"PATCH " + hubPath + "/git/refs/heads/{ref...}": {"move", h.patchRef},
		"POST /api/graphql":                             {"graphql", h.postGraphQL},
		"GET " + hubPath + "/actions/{path...}":         {"actions", h.getActions},
	} {
		mux.Handle(pattern, h.serve(handler.op, handler.reply))
	}
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h
}

// serve answers an operation, with its faults.
func (h *hub) serve(op string, reply func(*http.Request) (int, any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.counts[op]++
		var f fault
		if queue := h.faults[op]; len(queue) > 0 {
			f, h.faults[op] = queue[0], queue[1:]
		}
		isolated := h.isolated
		h.mu.Unlock()

		if f.before != nil {
			f.before()
		}
		status, v := f.status, any(message(f.says))
		switch {
		case status != 0:
		case f.errors != "":
			status, v = http.StatusOK, answer{"data": nil, "errors": []any{message(f.errors)}}
		case r.Header.Get("Authorization") != "Bearer "+hubToken:
			status, v = http.StatusUnauthorized, message("Bad credentials")
		case isolated:
			status, v = http.StatusNotFound, message("Not Found")
		default:
			status, v = reply(r)
		}
		if f.after != nil {
			f.after()
		}
		if f.hang {
			<-r.Context().Done()
		}
		if f.lose || f.hang {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), f.header)
		if file, ok := v.(string); ok {
			w.WriteHeader(status)
			w.Write([]byte(file))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	})
}

type answer = map[string]any

func message(text string) answer { return answer{"message": text} }

// fail queues faults for an operation.
func (h *hub) fail(op string, faults ...fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[op] = append(h.faults[op], faults...)
}

// asked is the requests since it was called last, by operation.
func (h *hub) asked() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := h.counts
	h.counts = map[string]int{}
	return counts
}

func (h *hub) getRepository(*http.Request) (int, any) {
	return 200, answer{"node_id": "R_1", "default_branch": h.trunk, "archived": h.archived}
}

func (h *hub) getRef(r *http.Request) (int, any) {
	name := r.PathValue("ref")
	head := h.head(name)
	if head == "" {
		return 404, message("Not Found")
	}
	return 200, answer{"ref": "refs/heads/" + name, "object": answer{"type": "commit", "sha": head}}
}

func (h *hub) getContents(r *http.Request) (int, any) {
	if r.Header.Get("Accept") != "application/vnd.github.raw+json" {
		return 415, message("not asked for the file itself")
	}
	_, kind, content := h.read(r.FormValue("ref") + ":" + r.PathValue("path"))
	if kind != "blob" {
		return 404, message("Not Found")
	}
	return 200, content
}

func (h *hub) getCommits(r *http.Request) (int, any) {
	out, err := h.command("rev-list", "--max-count="+r.FormValue("per_page"), r.FormValue("sha")).Output()
	if err != nil {
		return 404, message("Not Found")
	}
	list := []any{}
	for id := range strings.FieldsSeq(string(out)) {
		list = append(list, answer{"sha": id})
	}
	return 200, list
}

func (h *hub) postTree(r *http.Request) (int, any) {
	var body struct {
		Base string `json:"base_tree"`
		Tree []struct{ Path, Mode, Type, Content string }
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return 400, message("Problems parsing JSON")
	}
	files := map[string]string{}
	if body.Base != "" {
		if _, kind, _ := h.read(body.Base); kind == "" {
			return 422, message("base_tree is not a valid tree oid")
		}
		files = h.files(body.Base)
	}
	for _, e := range body.Tree {
		if e.Mode != "100644" || e.Type != "blob" {
			return 422, message("tree.mode or tree.type is not supported")
		}
		files[e.Path] = h.write("blob", e.Content)
	}
	entries := []any{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		entries = append(entries, answer{"path": path, "mode": "100644", "type": "blob", "sha": files[path]})
	}
	return 201, answer{"sha": h.tree(files), "tree": entries, "truncated": false}
}

func (h *hub) postCommit(r *http.Request) (int, any) {
	var body struct {
		Message, Tree string
		Parents       []string
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return 400, message("Problems parsing JSON")
	}
	for _, name := range append(body.Parents, body.Tree) {
		if _, kind, _ := h.read(name); kind == "" {
			return 422, message("The object does not exist")
		}
	}
	return 201, answer{"sha": h.write("commit", commitText(body.Tree, body.Message, body.Parents...))}
}

func (h *hub) postRef(r *http.Request) (int, any) {
	var body struct{ Ref, SHA string }
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return 400, message("Problems parsing JSON")
	}
	name, ok := strings.CutPrefix(body.Ref, "refs/heads/")
	if !ok || !h.bare.move(name, "", body.SHA, false) {
		return 422, message("Reference already exists")
	}
	return 201, answer{"ref": body.Ref, "object": answer{"sha": body.SHA}}
}

func (h *hub) patchRef(r *http.Request) (int, any) {
	var body struct {
		SHA   string
		Force *bool
	}
	name := r.PathValue("ref")
	head := h.head(name)
	switch {
	case json.NewDecoder(r.Body).Decode(&body) != nil || body.Force == nil || *body.Force:
		return 400, message("force must be false")
	case head == "":
		return 422, message("Reference does not exist")
	case !h.bare.move(name, head, body.SHA, false):
		return 422, message("Update is not a fast forward")
	}
	return 200, answer{"ref": "refs/heads/" + name, "object": answer{"sha": body.SHA}}
}

func (h *hub) postGraphQL(r *http.Request) (int, any) {
	var body struct {
		Query     string
		Variables struct {
			Input struct {
				RepositoryID string `json:"repositoryId"`
				RefUpdates   []struct {
					Name, BeforeOid, AfterOid string
					Force                     bool
				} `json:"refUpdates"`
			}
		}
	}
	d := json.NewDecoder(r.Body)
	if d.Decode(&body) != nil || !strings.Contains(body.Query, "updateRefs(input: $input)") || body.Variables.Input.RepositoryID != "R_1" {
		return 200, answer{"errors": []any{message("Could not resolve to a node")}}
	}
	for _, u := range body.Variables.Input.RefUpdates {
		if !h.bare.move(strings.TrimPrefix(u.Name, "refs/heads/"), u.BeforeOid, u.AfterOid, u.Force) {
			return 200, answer{"data": answer{"updateRefs": nil}, "errors": []any{message("the ref is not at beforeOid")}}
		}
	}
	return 200, answer{"data": answer{"updateRefs": answer{"clientMutationId": nil}}}
}

func (h *hub) getActions(r *http.Request) (int, any) {
	if v, ok := h.runs[r.PathValue("path")]; ok {
		return 200, v
	}
	return 404, message("Not Found")
}

// branchName has a slash and a sign that must be escaped in a URL.
const branchName = "symphony/state+%41"

// open is a run's store on the branch.
func (h *hub) open(t testing.TB) *Branch {
	t.Helper()
	b, err := OpenBranch(BranchConfig{Repo: hubRepo, Branch: branchName, APIURL: h.URL + "/api/v3/", Token: hubToken}, h.Client())
	if err != nil {
		t.Fatal(err)
	}
	b.api.pause = time.Millisecond
	return b
}

// put makes somebody else commit data as the state; nil deletes the branch.
func (h *hub) put(t testing.TB, data []byte) {
	t.Helper()
	if data == nil {
		h.must(t, "update-ref", "-d", "refs/heads/"+branchName)
		return
	}
	var parents []string
	if head := h.head(branchName); head != "" {
		parents = []string{head}
	}
	tree := h.tree(map[string]string{stateFile: h.write("blob", string(data))})
	h.must(t, "update-ref", "refs/heads/"+branchName, h.write("commit", commitText(tree, "Somebody else", parents...)))
}

// raw is the state that the branch holds, nil when there is no branch.
func (h *hub) raw(*testing.T) []byte {
	_, kind, content := h.read("refs/heads/" + branchName + ":" + stateFile)
	if kind != "blob" {
		return nil
	}
	return append([]byte{}, content...)
}
