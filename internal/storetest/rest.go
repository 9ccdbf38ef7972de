package storetest

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

func (h *Hub) getRepository(*http.Request) (int, any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	owner, name, _ := strings.Cut(h.repo, "/")
	return http.StatusOK, jsonObject{
		"id": 1, "node_id": "R_1", "name": name, "full_name": h.repo, "owner": jsonObject{"login": owner, "id": 1},
		"default_branch": h.trunk, "archived": h.archived, "private": true,
	}
}

func reference(branch, commit string) jsonObject {
	return jsonObject{"ref": "refs/heads/" + branch, "object": jsonObject{"type": "commit", "sha": commit}}
}

func (h *Hub) getRef(r *http.Request) (int, any) {
	branch := r.PathValue("branch")
	head := h.git().head(branch)
	if head == "" {
		return http.StatusNotFound, errorMessage("Not Found")
	}
	return http.StatusOK, reference(branch, head)
}

func (h *Hub) getContents(r *http.Request) (int, any) {
	ref, file := r.FormValue("ref"), r.PathValue("path")
	if ref == "" {
		ref = "HEAD"
	}
	id, kind, content := h.git().readObject(ref + ":" + file)
	if kind != "blob" {
		return http.StatusNotFound, errorMessage("Not Found")
	}
	if accept := r.Header.Get("Accept"); strings.Contains(accept, ".raw") {
		return http.StatusOK, rawBody(content)
	}
	a := jsonObject{"type": "file", "name": path.Base(file), "path": file, "sha": id, "size": len(content), "encoding": "base64"}
	if a["content"] = base64.StdEncoding.EncodeToString([]byte(content)); len(content) > 1<<20 {
		a["encoding"], a["content"] = "none", "" // GitHub does the same
	}
	return http.StatusOK, a
}

func (h *Hub) getCommits(r *http.Request) (int, any) {
	sha, limit := r.FormValue("sha"), r.FormValue("per_page")
	if sha == "" {
		sha = "HEAD"
	}
	if limit == "" {
		limit = "30"
	}
	out, err := h.git().command("rev-list", "--max-count="+limit, "--end-of-options", sha).Output()
	if err != nil {
		return http.StatusNotFound, errorMessage("Not Found")
	}
	list := []any{}
	for id := range strings.FieldsSeq(string(out)) {
		list = append(list, jsonObject{"sha": id})
	}
	return http.StatusOK, list
}

func badJSON() (int, any) { return http.StatusBadRequest, errorMessage("Problems parsing JSON") }

func unprocessable(text string) (int, any) { return http.StatusUnprocessableEntity, errorMessage(text) }

func (h *Hub) postTree(r *http.Request) (int, any) {
	var body struct {
		Base string `json:"base_tree"`
		Tree []struct{ Path, Mode, Type, Content string }
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return badJSON()
	}
	files := map[string]string{}
	if body.Base != "" {
		if _, kind, _ := h.git().readObject(body.Base); kind == "" {
			return unprocessable("base_tree is not a valid tree oid")
		}
		files = h.git().readTree(body.Base)
	}
	for _, e := range body.Tree {
		if e.Mode != "100644" || e.Type != "blob" || e.Path == "" {
			return unprocessable("tree.mode, tree.type or tree.path is not supported")
		}
		files[e.Path] = h.git().writeObject("blob", e.Content)
	}
	entries := []any{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		entries = append(entries, jsonObject{"path": path, "mode": "100644", "type": "blob", "sha": files[path]})
	}
	return http.StatusCreated, jsonObject{"sha": h.git().writeTree(files), "tree": entries, "truncated": false}
}

func (h *Hub) postCommit(r *http.Request) (int, any) {
	var body struct {
		Message, Tree     string
		Parents           []string
		Author, Committer jsonObject
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return badJSON()
	}
	if body.Message == "" {
		return unprocessable("message is missing")
	}
	if _, kind, _ := h.git().readObject(body.Tree); kind != "tree" {
		return unprocessable("Tree SHA does not exist")
	}
	for _, name := range body.Parents {
		if _, kind, _ := h.git().readObject(name); kind != "commit" {
			return unprocessable("Parent SHA does not exist or is not a commit object")
		}
	}
	commit := h.git().writeObject("commit", formatCommit(body.Tree, body.Message, body.Parents...))
	verification := jsonObject{"verified": true, "reason": "valid"}
	if body.Author != nil || body.Committer != nil || !h.signs() {
		verification = jsonObject{"verified": false, "reason": "unsigned"}
	}
	return http.StatusCreated, jsonObject{
		"sha": commit, "message": body.Message, "tree": jsonObject{"sha": body.Tree}, "verification": verification,
	}
}

func (h *Hub) postRef(r *http.Request) (int, any) {
	var body struct{ Ref, SHA string }
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return badJSON()
	}
	branch, ok := strings.CutPrefix(body.Ref, "refs/heads/")
	_, kind, _ := h.git().readObject(body.SHA)
	switch {
	case kind != "commit":
		return unprocessable("Object does not exist")
	case h.isProtected(branch):
		return ruleViolated()
	case !ok || !h.git().moveBranch(branch, "", body.SHA):
		return unprocessable("Reference already exists")
	}
	return http.StatusCreated, reference(branch, body.SHA)
}

func (h *Hub) patchRef(r *http.Request) (int, any) {
	var body struct {
		SHA   string
		Force *bool
	}
	branch := r.PathValue("branch")
	head := h.git().head(branch)
	bad := json.NewDecoder(r.Body).Decode(&body) != nil
	_, kind, _ := h.git().readObject(body.SHA)
	switch {
	case bad || body.Force == nil || *body.Force:
		return http.StatusBadRequest, errorMessage("storetest: force must be false")
	case kind != "commit":
		return unprocessable("Object does not exist")
	case head == "":
		return unprocessable("Reference does not exist")
	case h.isProtected(branch):
		return ruleViolated()
	case !h.git().moveBranch(branch, head, body.SHA):
		return unprocessable("Update is not a fast forward")
	}
	return http.StatusOK, reference(branch, body.SHA)
}

func ruleViolated() (int, any) {
	return unprocessable("Repository rule violations found\n\nChanges must be made through a pull request.\n\n")
}
