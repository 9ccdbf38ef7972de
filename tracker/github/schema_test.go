package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// schemaEnv names the schema that GitHub publishes: schema.graphql of the npm
// package @octokit/graphql-schema@15.26.1.
const schemaEnv = "SYMPHONY_GITHUB_SCHEMA"

// published loads GitHub's schema once, because it is large.
var published = sync.OnceValues(func() (*ast.Schema, error) { return trackertest.LoadSchema(os.Getenv(schemaEnv)) })

func publishedSchema(t *testing.T) *ast.Schema {
	t.Helper()
	if os.Getenv(schemaEnv) == "" {
		t.Skipf("%s names no file: testdata/github.graphql is not compared with GitHub's schema", schemaEnv)
	}
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheQueriesFitTheSchemaThatGitHubPublishes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.UseSchema(publishedSchema(t))
	r := onBoard(f, map[string]any{"number": 3}, "Todo")
	f.put(func(i *fakeIssue) { i.Status[3] = "Todo" })
	f.list(r, "Todo")
	wantRequests(t, f, listPath+" 200", "POST /graphql 200", historyRequest, memRequest)
}

func TestTheSmallSchemaSaysWhatGitHubPublishes(t *testing.T) {
	t.Parallel()
	small, err := trackertest.LoadSchema("testdata/github.graphql")
	if err != nil {
		t.Fatal(err)
	}
	trackertest.CompareSchemas(t, "GitHub", small, publishedSchema(t))
}

// openapiEnv names GitHub's description: generated/api.github.com.json of the
// npm package @octokit/openapi@23.0.2.
const openapiEnv = "SYMPHONY_GITHUB_OPENAPI"

// compared lists the paths that the adapter itself uses. For the paths that only the
// tool uses, the fake's answers are too short to be compared.
var compared = []string{
	"/repos/{owner}/{repo}/issues",
	"/repos/{owner}/{repo}/issues/{issue_number}",
	"/repos/{owner}/{repo}/issues/{issue_number}/comments",
	"/repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by",
	"/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
	"/repos/{owner}/{repo}/collaborators/{username}/permission",
	"/repos/{owner}/{repo}/labels",
	"/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts",
	"/repos/{owner}/{repo}/labels/{name:.+}",
}

// description loads GitHub's OpenAPI description once, of other paths than those of a
// repository only their methods: the loader takes 20 s for all with the race detector.
var description = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := os.ReadFile(os.Getenv(openapiEnv))
	if err == nil {
		text, err = ofRepositories(text)
	}
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

var reference = regexp.MustCompile(`"\$ref":\s*"#/components/(\w+)/([^"]+)"`)

// ofRepositories returns a description with the operations of repositories and what they
// refer to. Examples, and the operations of other paths, say nothing.
func ofRepositories(description []byte) ([]byte, error) {
	doc := map[string]json.RawMessage{}
	var paths map[string]json.RawMessage
	var components map[string]map[string]json.RawMessage
	err := json.Unmarshal(description, &doc)
	if err == nil {
		err = errors.Join(json.Unmarshal(doc["paths"], &paths), json.Unmarshal(doc["components"], &components))
	}
	if err != nil {
		return nil, err
	}
	kept := map[string]map[string]json.RawMessage{}
	var keep func(json.RawMessage)
	keep = func(text json.RawMessage) {
		for _, ref := range reference.FindAllSubmatch(text, -1) {
			kind, name := string(ref[1]), string(ref[2])
			if _, done := kept[kind][name]; done {
				continue
			}
			if kept[kind] == nil {
				kept[kind] = map[string]json.RawMessage{}
			}
			part := components[kind][name]
			if kind == "examples" {
				part = json.RawMessage("{}")
			}
			kept[kind][name] = part
			keep(part)
		}
	}
	for path, item := range paths {
		if strings.HasPrefix(path, ofRepository) {
			keep(item)
			continue
		}
		var methods map[string]json.RawMessage
		if err := json.Unmarshal(item, &methods); err != nil {
			return nil, err
		}
		delete(methods, "parameters")
		for method := range methods {
			methods[method] = json.RawMessage(`{"responses": {}}`)
		}
		if paths[path], err = json.Marshal(methods); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{"openapi": doc["openapi"], "info": doc["info"], "paths": paths, "components": kept})
}

const ofRepository = "/repos/{owner}/{repo}"

// router finds the operations of a repository. A parameter for a branch or a file
// may contain slashes.
var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := description()
	if err != nil {
		return nil, err
	}
	part := *doc
	part.Paths = openapi3.NewPaths()
	for path, item := range doc.Paths.Map() {
		if strings.HasPrefix(path, ofRepository) {
			part.Paths.Set(strings.NewReplacer("{ref}", "{ref:.+}", "{path}", "{path:.+}", "/labels/{name}", "/labels/{name:.+}").Replace(path), item)
		}
	}
	return gorillamux.NewRouter(&part)
})

// describedExchange compares every exchange of the fake with the description.
func describedExchange(t testing.TB) func(*http.Request, []byte, int, http.Header, []byte) {
	if os.Getenv(openapiEnv) == "" {
		return nil
	}
	if _, err := router(); err != nil { // now, for no request may wait for it
		t.Fatal(err)
	}
	return func(req *http.Request, body []byte, status int, header http.Header, answer []byte) {
		if status >= 400 || req.URL.Path == "/graphql" || bytes.Contains(answer, []byte(`"title":7`)) {
			return // the last is corrupt on purpose
		}
		asked, err := described(req, body)
		if err != nil {
			t.Errorf("%s %s: %v", req.Method, req.URL, err)
			return
		}
		if req.Method != http.MethodGet || !slices.Contains(compared, asked.Route.Path) {
			return
		}
		err = openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: asked, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(answer)), Options: asked.Options,
		})
		if err != nil {
			t.Errorf("%s %s: answer %d: %v", req.Method, req.URL, status, err)
		}
	}
}

// described compares a request with the description. A key that is not in the
// description is an error too, because GitHub would ignore it.
func described(req *http.Request, body []byte) (*openapi3filter.RequestValidationInput, error) {
	r, err := router()
	if err != nil {
		return nil, err
	}
	copied := req.Clone(req.Context())
	copied.Body = io.NopCloser(bytes.NewReader(body))
	copied.URL = &url.URL{Path: req.URL.Path, RawQuery: req.URL.RawQuery}
	route, params, err := r.FindRoute(copied)
	if err != nil {
		return nil, err
	}
	asked := &openapi3filter.RequestValidationInput{
		Request: copied, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(copied.Context(), asked); err != nil {
		return nil, err
	}
	var keys map[string]any
	if json.Unmarshal(body, &keys) != nil {
		return asked, nil
	}
	for key := range keys {
		if !slices.Contains(properties(route.Operation), key) {
			return nil, fmt.Errorf("the description has no %s in its body", key)
		}
	}
	return asked, nil
}

// properties returns the keys that the body of an operation may have.
func properties(operation *openapi3.Operation) []string {
	if operation.RequestBody == nil {
		return nil
	}
	var keys []string
	schema := operation.RequestBody.Value.Content.Get("application/json").Schema.Value
	for _, one := range append(slices.Concat(schema.OneOf, schema.AnyOf), &openapi3.SchemaRef{Value: schema}) {
		keys = slices.AppendSeq(keys, maps.Keys(one.Value.Properties))
	}
	return keys
}
