// Package lfstest has a server of Git LFS for tests. It keeps objects on a host of its own,
// as hosting services do, and is strict: an object comes and goes only with the permission
// that the list of objects has given.
package lfstest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// permission is the credential in the list of objects, for the storage.
const permission = "one-object-for-some-minutes"

const mediaType = "application/vnd.git-lfs+json"

// Server is a server of Git LFS: Batch answers lists of objects, at the address of the
// repository, and the server itself keeps the objects. Any goroutine may call any method.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	objects  map[string][]byte
	requests []string
	disturb  func(w http.ResponseWriter, r *http.Request) bool
	change   func(Object) Object
}

// Object is an object in a list.
type Object struct {
	OID     string            `json:"oid"`
	Size    int64             `json:"size"`
	Actions map[string]Action `json:"actions,omitempty"`
	Error   *Error            `json:"error,omitempty"`
}

// Action is a permitted request for an object.
type Action struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header,omitempty"`
}

// Error is the reason why a client may not have an object.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// New starts the storage for the length of the test.
func New(t testing.TB) *Server {
	s := &Server{objects: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serveObject))
	t.Cleanup(s.Close)
	return s
}

// OID returns the id of an object.
func OID(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Pointer returns the pointer that stands for a content.
func Pointer(content string) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", OID(content), len(content))
}

// Put adds an object, and returns its pointer.
func (s *Server) Put(content string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[OID(content)] = []byte(content)
	return Pointer(content)
}

// Has reports whether the server has an object.
func (s *Server) Has(content string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.objects[OID(content)]
	return ok
}

// Objects returns the contents of all objects, sorted.
func (s *Server) Objects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var contents []string
	for _, content := range s.objects {
		contents = append(contents, string(content))
	}
	return slices.Sorted(slices.Values(contents))
}

// Change changes each object in the lists to come.
func (s *Server) Change(change func(Object) Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change = change
}

// Disturb has a function answer requests, of lists and of objects, in place of the server
// if it returns true.
func (s *Server) Disturb(disturb func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disturb = disturb
}

// Requests returns the requests since the last call: LIST with the operation and the number
// of objects, or the method.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

func (s *Server) disturbed(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	disturb := s.disturb
	s.mu.Unlock()
	return disturb != nil && disturb(w, r)
}

// Batch answers a list of objects. The caller decides who may ask.
func (s *Server) Batch(w http.ResponseWriter, r *http.Request) {
	if s.disturbed(w, r) {
		return
	}
	w.Header().Set("Content-Type", mediaType)
	var ask struct {
		Operation string   `json:"operation"`
		Transfers []string `json:"transfers"`
		Objects   []Object `json:"objects"`
	}
	if r.Header.Get("Accept") != mediaType || r.Header.Get("Content-Type") != mediaType || json.NewDecoder(r.Body).Decode(&ask) != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"message": "this is no list of objects"}`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, fmt.Sprintf("LIST %s %d", ask.Operation, len(ask.Objects)))
	for i, o := range ask.Objects {
		_, there := s.objects[o.OID]
		action := Action{s.URL + "/" + o.OID, map[string]string{"X-Permission": permission}}
		switch {
		case ask.Operation == "download" && there:
			o.Actions = map[string]Action{"download": action}
		case ask.Operation == "download":
			o.Error = &Error{http.StatusNotFound, "Object does not exist on the server"}
		case !there:
			o.Actions = map[string]Action{"upload": action, "verify": action}
		}
		if s.change != nil {
			o = s.change(o)
		}
		ask.Objects[i] = o
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": ask.Objects, "hash_algo": "sha256"})
}

// serveObject gives, takes and verifies objects.
func (s *Server) serveObject(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method)
	s.mu.Unlock()
	if s.disturbed(w, r) {
		return
	}
	if r.Header.Get("X-Permission") != permission || r.Header.Get("Authorization") != "" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	oid := strings.TrimPrefix(r.URL.Path, "/")
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	content, there := s.objects[oid]
	switch {
	case r.Method == http.MethodPut && OID(string(body)) == oid:
		s.objects[oid] = body
	case r.Method == http.MethodPost && there && strings.Contains(string(body), oid):
	case r.Method == http.MethodGet && there:
		_, _ = w.Write(content)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
}
