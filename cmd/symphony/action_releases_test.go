package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// releases are the tags and releases of this action, as its host serves them.
type releases struct {
	*httptest.Server
	t testing.TB

	mu    sync.Mutex
	refs  []string          // lines of git's info/refs
	files map[string][]byte // by path
	asked []string
}

func newReleases(t testing.TB) *releases {
	r := &releases{t: t, files: map[string][]byte{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked = append(r.asked, req.URL.Path)
		file, ok := r.files[req.URL.Path]
		if strings.HasSuffix(req.URL.Path, "/symphony-runner/symphony/info/refs") {
			file, ok = []byte(strings.Join(r.refs, "")), true
		}
		if !ok {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write(file)
	}))
	t.Cleanup(r.Close)
	return r
}

// add releases the binary as a version at a commit, with other tags there. The
// version's tag is an annotated one.
func (r *releases) add(version, commit string, tags ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refs = append(r.refs, fmt.Sprintf("%s\trefs/tags/%s\n%s\trefs/tags/%s^{}\n", strings.Repeat("f", 40), version, commit, version))
	for _, tag := range tags {
		r.refs = append(r.refs, fmt.Sprintf("%s\trefs/tags/%s\n", commit, tag))
	}
	asset := fmt.Sprintf("symphony_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	folder := "/symphony-runner/symphony/releases/download/" + version + "/"
	r.files[folder+asset] = archive()
	r.files[folder+"checksums.txt"] = fmt.Appendf(nil, "%s  other.tar.gz\n%x  %s\n", strings.Repeat("0", 64), sha256.Sum256(archive()), asset)
}

// change replaces files whose path ends so.
func (r *releases) change(suffix string, content []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range maps.Clone(r.files) {
		if strings.HasSuffix(path, suffix) {
			r.files[path] = content
			if content == nil {
				delete(r.files, path)
			}
		}
	}
}

// archive is the archive of a release.
var archive = sync.OnceValue(func() []byte {
	self, err := os.Executable() // which is the program when it is called symphony
	if err != nil {
		panic(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	tape := tar.NewWriter(zip)
	err = tape.WriteHeader(&tar.Header{Name: "symphony", Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = tape.Write(content)
	}
	if err != nil || tape.Close() != nil || zip.Close() != nil {
		panic("cannot make an archive")
	}
	return b.Bytes()
})
