package githubtest

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"
)

// Artifact is an upload of a workflow run.
type Artifact struct {
	Run     int64
	Name    string
	Files   map[string]string
	Packed  []byte // the whole archive; nil for an archive of Files
	Size    int64  // the size that GitHub reports; 0 for the real one
	Expired bool
}

type artifact struct {
	Artifact
	id     int
	packed []byte
	made   time.Time
}

// artifacts has the uploads of workflow runs, which are on another host.
type artifacts struct {
	*server
	list   []*artifact
	host   string // address of the server that has them
	keptAt string // address in GitHub's answers; empty: on that server
}

// AddArtifact adds an artifact of a workflow run.
func (g *artifacts) AddArtifact(a Artifact) {
	g.t.Helper()
	packed := a.Packed
	if packed == nil {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range slices.Sorted(maps.Keys(a.Files)) {
			f, err := w.Create(name)
			if err == nil {
				_, err = f.Write([]byte(a.Files[name]))
			}
			if err != nil {
				g.t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			g.t.Fatal(err)
		}
		packed = b.Bytes()
	}
	if a.Size == 0 {
		a.Size = int64(len(packed))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = append(g.list, &artifact{a, g.newID(), packed, g.tick()})
}

// KeepArtifactsAt makes GitHub redirect to the artifacts at an address, which has to lead to
// the one that is returned.
func (g *artifacts) KeepArtifactsAt(address string) (host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keptAt = address
	return g.host
}

// addArtifacts adds the requests for artifacts. An artifact is on another host.
func (g *artifacts) addArtifacts() {
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			g.t.Errorf("the host of the artifacts got a token")
		}
		g.mu.Lock()
		a := g.artifact(r.URL.Path)
		g.mu.Unlock()
		if a == nil || r.URL.RawQuery != signature {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeContent(w, r, "artifact.zip", time.Time{}, bytes.NewReader(a.packed))
	}))
	g.t.Cleanup(host.Close)
	g.host = host.URL
	g.handle("actions: read", "GET /actions/runs/{id}/artifacts", func(r *http.Request) (int, any) {
		list := []object{}
		for _, a := range g.list {
			if fmt.Sprint(a.Run) != r.PathValue("id") {
				continue
			}
			at := fmt.Sprintf("%s%s/repos/%s/actions/artifacts/%d", g.address, g.root, g.Repo(), a.id)
			list = append(list, object{
				"id": a.id, "node_id": fmt.Sprint("A", a.id), "name": a.Name, "size_in_bytes": a.Size, "url": at, "archive_download_url": at + "/zip",
				"expired": a.Expired, "created_at": stamp(a.made), "updated_at": stamp(a.made), "expires_at": stamp(a.made.AddDate(0, 0, 90)),
			})
		}
		return http.StatusOK, object{"total_count": len(list), "artifacts": list}
	})
	g.HandleFor("actions: read", "GET /actions/artifacts/{id}/zip", "GET "+g.root+"/repos/"+g.Repo()+"/actions/artifacts/{id}/zip", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		a := g.artifact("/" + r.PathValue("id"))
		g.mu.Unlock()
		switch {
		case a == nil:
			write(w, r, http.StatusNotFound, []byte(`{"message": "Not Found"}`))
		case a.Expired:
			write(w, r, http.StatusGone, []byte(`{"message": "Artifact has expired"}`))
		default:
			g.mu.Lock()
			at := cmp.Or(g.keptAt, host.URL)
			g.mu.Unlock()
			w.Header().Set("Location", fmt.Sprintf("%s/%d?%s", at, a.id, signature))
			w.WriteHeader(http.StatusFound)
		}
	}))
}

// artifact returns the artifact at a path of its host, nil if there is none. g.mu must be
// held.
func (g *artifacts) artifact(path string) *artifact {
	for _, a := range g.list {
		if path == fmt.Sprintf("/%d", a.id) {
			return a
		}
	}
	return nil
}
