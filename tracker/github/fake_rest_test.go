package github

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if v != nil {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			panic(err)
		}
	}
}

var notFound = map[string]any{"message": "Not Found"}

func (f *fake) routes(mux *http.ServeMux) {
	base := "/repos/" + fakeRepo
	handle := func(pattern string, answer func(r *http.Request) (int, any)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+base+path, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			status, v := answer(r)
			if list, ok := v.([]any); ok {
				v = f.paged(w, r, list)
			}
			reply(w, status, v)
		})
	}
	handle("GET /issues", func(r *http.Request) (int, any) {
		return http.StatusOK, f.listed(cmp.Or(r.URL.Query().Get("state"), stateOpen), r.URL.Query().Get("labels"))
	})
	handle("GET /issues/{n}", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		switch {
		case i == nil:
			return http.StatusNotFound, notFound
		case i.gone != 0:
			return i.gone, map[string]any{"message": "Moved Permanently", "url": f.server.URL + "/repositories/2/issues/1"}
		}
		return http.StatusOK, f.rest(i)
	})
	handle("GET /issues/{n}/dependencies/blocked_by", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		if f.noBlockers || i == nil {
			return http.StatusNotFound, notFound
		}
		list := []any{}
		for _, n := range i.blockedBy {
			list = append(list, f.rest(f.issues[n]))
		}
		return http.StatusOK, list
	})
	handle("GET /labels", func(*http.Request) (int, any) {
		list := []any{}
		for i, name := range f.allLabels() {
			list = append(list, restLabel(i, name))
		}
		return http.StatusOK, list
	})
	handle("GET /labels/{name}", func(r *http.Request) (int, any) {
		same := func(name string) bool {
			return name == r.PathValue("name") || !f.exactLabels && strings.EqualFold(name, r.PathValue("name"))
		}
		all := f.allLabels()
		if i := slices.IndexFunc(all, same); i >= 0 {
			return http.StatusOK, restLabel(i, all[i])
		}
		return http.StatusNotFound, notFound
	})
	handle("GET /collaborators/{login}/permission", func(r *http.Request) (int, any) {
		login := r.PathValue("login")
		role, ok := f.permissions[login]
		if !ok {
			return http.StatusNotFound, notFound
		}
		return http.StatusOK, map[string]any{"permission": role, "role_name": role, "user": nil}
	})
	mux.HandleFunc("POST /graphql", f.graphql)
	f.toolRoutes(handle)
}

// listed returns the issues in a state that have all of the labels, which are
// separated by commas and compared letter by letter.
func (f *fake) listed(state, labels string) []any {
	bears := func(i *fakeIssue) bool {
		for label := range strings.SplitSeq(labels, ",") {
			if label != "" && !slices.Contains(i.labels, label) {
				return false
			}
		}
		return true
	}
	list := []any{}
	for _, n := range slices.Sorted(maps.Keys(f.issues)) {
		if i := f.issues[n]; i.gone == 0 && (state == "all" || i.state == state) && bears(i) {
			list = append(list, f.rest(i))
		}
	}
	return list
}

// paged cuts a list into pages as the request asks.
func (f *fake) paged(w http.ResponseWriter, r *http.Request, list []any) []any {
	q := r.URL.Query()
	size, page := cmp.Or(atoi(q.Get("per_page")), 30), cmp.Or(atoi(q.Get("page")), 1)
	if f.perPage > 0 {
		size = min(size, f.perPage)
	}
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	if to < len(list) {
		q.Set("page", strconv.Itoa(page+1))
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next", <%s/x>; rel="last"`, f.server.URL, r.URL.Path, q.Encode(), f.server.URL))
	}
	return list[from:to]
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func nodeID(n int) string { return fmt.Sprintf("I_%d", n) }

// rest returns an issue as the REST API gives it.
func (f *fake) rest(i *fakeIssue) map[string]any {
	api := f.server.URL + "/repos/" + fakeRepo
	at := fmt.Sprintf("%s/issues/%d", api, i.number)
	labels := []any{}
	for k, name := range i.labels {
		labels = append(labels, restLabel(k, name))
	}
	open := 0
	for _, n := range i.blockedBy {
		if f.issues[n].state == stateOpen {
			open++
		}
	}
	v := map[string]any{
		"id": i.number, "node_id": nodeID(i.number), "number": i.number, "title": i.title, "body": i.body, "state": i.state,
		"url": at, "repository_url": api, "labels_url": at + "/labels{/name}", "comments_url": at + "/comments", "events_url": at + "/events",
		"html_url": fmt.Sprintf("https://github.com/%s/issues/%d", fakeRepo, i.number), "labels": labels, "assignee": nil,
		"milestone": nil, "locked": false, "comments": 0, "closed_at": nil, "author_association": i.association,
		"created_at": i.created.Format(time.RFC3339), "updated_at": i.updated.Format(time.RFC3339), "user": restUser(i.author),
	}
	if !f.noSummary {
		v["issue_dependencies_summary"] = map[string]any{"blocked_by": open, "total_blocked_by": len(i.blockedBy), "blocking": 0, "total_blocking": 0}
	}
	if i.pull {
		v["pull_request"] = map[string]any{"url": at, "html_url": at, "diff_url": at, "patch_url": at}
	}
	if i.corrupt {
		v["title"] = 7
	}
	return v
}

func restLabel(id int, name string) map[string]any {
	return map[string]any{
		"id": id, "node_id": fmt.Sprintf("L_%d", id), "url": "https://api.github.com/x", "name": name, "color": "ffffff", "default": false, "description": nil,
	}
}

// allLabels returns the labels of the repository, which include those of its issues.
func (f *fake) allLabels() []string {
	all := slices.Clone(f.labels)
	for _, i := range f.issues {
		all = append(all, i.labels...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// restUser returns a user as the REST API gives it, nil for a deleted account.
func restUser(a fakeUser) any {
	if a.Login == "" {
		return nil
	}
	v := map[string]any{"login": a.Login, "id": 1, "node_id": "U_" + a.Login, "type": a.Type, "site_admin": false, "gravatar_id": ""}
	for _, key := range []string{"avatar_url", "events_url", "followers_url", "following_url", "gists_url", "html_url", "organizations_url",
		"received_events_url", "repos_url", "starred_url", "subscriptions_url", "url"} {
		v[key] = "https://api.github.com/users/x"
	}
	return v
}

// toolRoutes adds the routes of the writes, and those on which the tests call the tools.
func (f *fake) toolRoutes(handle func(string, func(*http.Request) (int, any))) {
	body := func(r *http.Request) map[string]any {
		var v map[string]any
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			f.t.Errorf("%s %s: body: %v", r.Method, r.URL.Path, err)
		}
		return v
	}
	handle("GET ", func(*http.Request) (int, any) { return http.StatusOK, map[string]any{"default_branch": "main"} })
	handle("POST /issues", func(r *http.Request) (int, any) {
		v := body(r)
		i := &fakeIssue{
			number: len(f.issues) + 1, title: v["title"].(string), body: v["body"].(string), state: stateOpen,
			created: f.clock, updated: f.clock, author: fakeUser{"mem", "User"}, association: "MEMBER",
		}
		for _, label := range v["labels"].([]any) {
			i.labels = append(i.labels, label.(string))
		}
		f.issues[i.number] = i
		f.labels = append(f.labels, i.labels...)
		return http.StatusCreated, f.rest(i)
	})
	handle("PATCH /issues/{n}", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		i.state = body(r)["state"].(string)
		return http.StatusOK, f.rest(i)
	})
	handle("DELETE /labels/{name}", func(r *http.Request) (int, any) {
		f.labels = slices.DeleteFunc(f.labels, func(name string) bool { return name == r.PathValue("name") })
		return http.StatusNoContent, nil
	})
	handle("POST /issues/{n}/comments", func(r *http.Request) (int, any) {
		text := body(r)["body"].(string)
		f.comments = append(f.comments, text)
		if i := f.issues[atoi(r.PathValue("n"))]; i != nil {
			i.comments = append(i.comments, fakeIssueComment{by: f.account, body: text})
		}
		return http.StatusCreated, map[string]any{"id": len(f.comments)}
	})
	handle("DELETE /issues/{n}/labels/{name}", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		if i == nil || !slices.Contains(i.labels, r.PathValue("name")) {
			return http.StatusNotFound, notFound
		}
		i.labels = slices.DeleteFunc(i.labels, func(name string) bool { return name == r.PathValue("name") })
		return http.StatusOK, []any{}
	})
	handle("POST /issues/{n}/labels", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		if i == nil {
			return http.StatusNotFound, notFound
		}
		names, _ := body(r)["labels"].([]any)
		for _, name := range names {
			if !slices.Contains(i.labels, name.(string)) {
				i.labels = append(i.labels, name.(string))
			}
		}
		return http.StatusOK, []any{}
	})
	handle("GET /pulls/{n}", func(r *http.Request) (int, any) {
		head, there := f.heads[atoi(r.PathValue("n"))]
		if !there {
			return http.StatusNotFound, map[string]any{"message": "Not Found"}
		}
		repo, ref, _ := strings.Cut(head, ":")
		return http.StatusOK, map[string]any{"number": atoi(r.PathValue("n")), "head": map[string]any{"ref": ref, "repo": map[string]any{"full_name": repo}}}
	})
}
