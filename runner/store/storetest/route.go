package storetest

import "net/http"

// Op is a kind of request: its method, and its path below the repository without
// what varies in it.
type Op string

// The requests that the server knows.
const (
	Repository Op = "GET /"
	Ref        Op = "GET /git/ref"
	Contents   Op = "GET /contents"
	History    Op = "GET /commits"
	Tree       Op = "POST /git/trees"
	Commit     Op = "POST /git/commits"
	Create     Op = "POST /git/refs"
	Move       Op = "PATCH /git/refs"

	Runs      Op = "GET /actions/runs"
	LatestRun Op = "GET /actions/runs/{id}"
	Attempt   Op = "GET /actions/runs/{id}/attempts"
	Jobs      Op = "GET /actions/runs/{id}/attempts/jobs"
)

// route is one kind of request, the permission it takes, and its answer.
type route struct {
	op      Op
	pattern string
	need    string
	reply   func(*http.Request) (status int, v any)
}

func (h *Hub) addRoutes() {
	const read, change, actions = "contents: read", "contents: write", "actions: read"
	repo := h.root + "/repos/" + h.repo
	routes := []route{
		{Repository, "GET " + repo, "metadata: read", h.getRepository},
		{Ref, "GET " + repo + "/git/ref/heads/{branch...}", read, h.getRef},
		{Contents, "GET " + repo + "/contents/{path...}", read, h.getContents},
		{History, "GET " + repo + "/commits", read, h.getCommits},
		{Tree, "POST " + repo + "/git/trees", change, h.postTree},
		{Commit, "POST " + repo + "/git/commits", change, h.postCommit},
		{Create, "POST " + repo + "/git/refs", change, h.postRef},
		{Move, "PATCH " + repo + "/git/refs/heads/{branch...}", change, h.patchRef},

		{Runs, "GET " + repo + "/actions/runs", actions, h.getRuns},
		{LatestRun, "GET " + repo + "/actions/runs/{id}", actions, h.getRun},
		{Attempt, "GET " + repo + "/actions/runs/{id}/attempts/{attempt}", actions, h.getAttempt},
		{Jobs, "GET " + repo + "/actions/runs/{id}/attempts/{attempt}/jobs", actions, h.getJobs},
	}

	for _, r := range routes {
		h.handle(r.op, r.pattern, func(w http.ResponseWriter, req *http.Request) {
			if status, header, v := h.lastingFault(r, req); status != 0 {
				writeResponse(w, status, header, v)
				return
			}
			status, v := r.reply(req)
			writeResponse(w, status, nil, v)
		})
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		h.count(Op(req.Method+" "+req.URL.Path), req)
		writeResponse(w, http.StatusNotFound, nil, errorMessage("Not Found"))
	})
}

// handle adds a handler whose requests are counted, and can fail, as op.
func (h *Hub) handle(op Op, pattern string, handler http.HandlerFunc) {
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { h.serve(op, w, r, handler) })
}
