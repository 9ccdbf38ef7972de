package github

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// openapiEnv names GitHub's description: generated/api.github.com.json of the
// npm package @octokit/openapi@23.0.2.
const openapiEnv = "SYMPHONY_GITHUB_OPENAPI"

// compared are the paths of the description that the adapter itself uses.
var compared = []string{
	"/repos/{owner}/{repo}/issues",
	"/repos/{owner}/{repo}/issues/{issue_number}",
	"/repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by",
	"/repos/{owner}/{repo}/collaborators/{username}/permission",
}

// description is loaded once: it takes seconds.
var description = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(os.Getenv(openapiEnv))
	if err != nil {
		return nil, err
	}
	doc.Servers = nil
	return doc, nil
})

var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := description()
	if err != nil {
		return nil, err
	}
	part := *doc
	part.Paths = openapi3.NewPaths()
	for _, path := range compared {
		part.Paths.Set(path, doc.Paths.Value(path))
	}
	return gorillamux.NewRouter(&part)
})

// describedExchange compares every exchange of the fake with the description.
func describedExchange(t testing.TB) func(*http.Request, []byte, int, http.Header, []byte) {
	if os.Getenv(openapiEnv) == "" {
		return nil
	}
	r, err := router()
	if err != nil {
		t.Fatal(err)
	}
	return func(req *http.Request, body []byte, status int, header http.Header, answer []byte) {
		copied := req.Clone(req.Context())
		copied.Body = io.NopCloser(bytes.NewReader(body))
		copied.URL = &url.URL{Path: req.URL.Path, RawQuery: req.URL.RawQuery}
		route, params, err := r.FindRoute(copied)
		if errors.Is(err, routers.ErrPathNotFound) || errors.Is(err, routers.ErrMethodNotAllowed) || status >= 400 {
			return
		}
		if err != nil {
			t.Errorf("%s %s: %v", req.Method, req.URL, err)
			return
		}
		if bytes.Contains(answer, []byte(`"title":7`)) {
			return // corrupt on purpose
		}
		options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
		asked := &openapi3filter.RequestValidationInput{Request: copied, PathParams: params, Route: route, Options: options}
		if err := openapi3filter.ValidateRequest(copied.Context(), asked); err != nil {
			t.Errorf("%s %s: %v", req.Method, req.URL, err)
		}
		err = openapi3filter.ValidateResponse(copied.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: asked, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(answer)), Options: options,
		})
		if err != nil {
			t.Errorf("%s %s: answer %d: %v", req.Method, req.URL, status, err)
		}
	}
}

func TestTheFakeSpeaksAsGitHubDescribes(t *testing.T) {
	if os.Getenv(openapiEnv) == "" {
		t.Skipf("%s names no file: the fake is not compared with GitHub's OpenAPI description", openapiEnv)
	}
	f := newFake(t)
	f.permissions["writer"] = "write"
	f.put(nil)
	f.put(func(i *ticket) {
		i.blockedBy, i.labels, i.edits = []int{1}, []string{"bug"}, []deed{{by: user("writer"), at: i.created}}
	})
	f.change(1, func(i *ticket) { i.state = stateClosed })
	r := f.open()
	f.read(r, "1", "2", "3")
	f.list(r, "open", "closed")
	asked := strings.Join(f.asked(), "\n")
	for _, path := range []string{"issues?", "issues/2 ", "issues/2/dependencies/blocked_by?", "collaborators/writer/permission "} {
		if !strings.Contains(asked, "GET /repos/acme/shop/"+path) {
			t.Errorf("%s was not asked for", path)
		}
	}
}

// TestEveryRuleIsAboutSomethingThatGitHubHas finds misspelt rows and rows that
// allow more than was meant.
func TestEveryRuleIsAboutSomethingThatGitHubHas(t *testing.T) {
	if os.Getenv(openapiEnv) == "" {
		t.Skipf("%s names no file: the tool's rules are not compared with GitHub's OpenAPI description", openapiEnv)
	}
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\{[^}]*\}`)
	for _, allowed := range rules() {
		var found []string
		for path, item := range doc.Paths.Map() {
			rest, ok := strings.CutPrefix(path, "/repos/{owner}/{repo}")
			if !ok || item.GetOperation(allowed.method) == nil || strings.HasSuffix(path, "{base}...{head}") { // named twice
				continue
			}
			if strings.HasPrefix(rest, "/git/") {
				rest = strings.ReplaceAll(rest, "{ref}", "heads/7")
			}
			rest = strings.TrimPrefix(variable.ReplaceAllString(rest, "7"), "/")
			example := target{fakeRepo, nil}
			if rest != "" {
				example.rest = strings.Split(rest, "/")
			}
			if example.matches(allowed.path) {
				found = append(found, path)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s %s allows %q, want one operation", allowed.method, allowed.path, found)
		}
	}
}
