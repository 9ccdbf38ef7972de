package linear

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

func (c client) call(t *testing.T, arguments string) tracker.ToolResult {
	t.Helper()
	return c.Tools[0].Call(t.Context(), tracker.Issue{}, json.RawMessage(arguments))
}

// code returns the code of an error payload.
func code(t *testing.T, result tracker.ToolResult) string {
	t.Helper()
	var payload struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(result.Text), &payload); err != nil || payload.Error.Message == "" || result.OK {
		t.Errorf("OK %t, %s: want an error payload (%v)", result.OK, result.Text, err)
	}
	return payload.Error.Code
}

const (
	firstID  = "5b2f7d3e-0000-4000-8000-000000000001"
	finish   = `{"query": "mutation($id: String!, $s: String!) { issueUpdate(id: $id, input: {stateId: $s}) { success issue { state { name } } } }", "variables": {"id": "` + firstID + `", "s": "state-done"}}`
	finished = `{"data":{"issueUpdate":{"issue":{"state":{"name":"Done"}},"success":true}}}`
)

func TestTheToolExecutesOneOperation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ arguments, want string }{
		"query":          {`{"query": "{ viewer { name } }"}`, `{"data":{"viewer":{"name":"Me"}}}`},
		"string":         {`"query Who { viewer { name } }"`, `{"data":{"viewer":{"name":"Me"}}}`},
		"null variables": {`{"query": "{ viewer { name } }", "variables": null}`, `{"data":{"viewer":{"name":"Me"}}}`},
		"no variables":   {`{"query": "{ viewer { name } }", "variables": {}}`, `{"data":{"viewer":{"name":"Me"}}}`},
		"fragments": {`{"query": "query($id: String!) { issue(id: $id) { ...t } } fragment t on Issue { title ... on Issue { n: identifier } }", "variables": {"id": "` + firstID + `"}}`,
			`{"data":{"issue":{"n":"ENG-1","title":"one"}}}`},
		"mutation": {finish, finished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.add(tracker.Issue{Title: "one", State: "Todo"})
			got := f.serve(t).call(t, test.arguments)
			if diff := cmp.Diff(tracker.ToolResult{OK: true, Wrote: test.want == finished, Text: test.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if f.counted() != 1 {
				t.Errorf("%d requests, want 1", f.counted())
			}
		})
	}
}

func TestInvalidInputIsRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	for name, arguments := range map[string]string{
		"nothing":              ``,
		"null":                 `null`,
		"no query":             `{}`,
		"empty query":          `{"query": ""}`,
		"blank query":          `{"query": " \n"}`,
		"blank string":         `" "`,
		"query is no text":     `{"query": {"a": 1}}`,
		"two queries":          `{"query": "query A { viewer { id } } query B { viewer { id } }"}`,
		"query and mutation":   `{"query": "query A { viewer { id } } mutation B { issueUpdate(id: \"1\", input: {}) { success } }"}`,
		"fragments alone":      `{"query": "fragment t on Issue { title }"}`,
		"a comment":            `{"query": "# nothing"}`,
		"subscription":         `{"query": "subscription { issueUpdated { id } }"}`,
		"schema":               `{"query": "type Query { a: Int }"}`,
		"not GraphQL":          `"DROP TABLE"`,
		"unclosed":             `{"query": "{ viewer { id }"}`,
		"operationName":        `{"query": "query A { viewer { id } }", "operationName": "A"}`,
		"variables in a list":  `{"query": "{ viewer { id } }", "variables": [1]}`,
		"variables as text":    `{"query": "{ viewer { id } }", "variables": "{}"}`,
		"variables as number":  `{"query": "{ viewer { id } }", "variables": 1}`,
		"two values":           `{"query": "{ viewer { id } }"} {}`,
		"array":                `["{ viewer { id } }"]`,
		"too long":             `{"query": "{ viewer { id } } #` + strings.Repeat("x", maxQuery) + `"}`,
		"too many tokens":      `{"query": "{` + strings.Repeat("a ", maxTokens+1) + `}"}`,
		"too deep":             `{"query": "` + strings.Repeat("{a", maxTokens) + `"}`,
		"control character":    `{"query": "{ viewer \u0000 }"}`,
		"invalid UTF-8 in it":  "{\"query\": \"{ viewer \xff }\"}",
		"unfinished arguments": `{"query": "{ viewer { id } }"`,
	} {
		if got := code(t, c.call(t, arguments)); got != "invalid_input" {
			t.Errorf("%s: code %q, want invalid_input", name, got)
		}
	}
	if f.counted() != 0 {
		t.Errorf("%d requests were made", f.counted())
	}
}

func TestGraphQLErrorsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"alone":    `{"errors":[{"message":"Field \"nme\" does not exist","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`,
		"and data": `{"data":{"viewer":{"id":"1"},"issue":null},"errors":[{"message":"Entity not found","path":["issue"]}]}`,
	} {
		for _, status := range []int{200, 400} {
			f := newFake(t)
			f.broken = answer(status, body)
			got := f.serve(t).call(t, `"{ viewer { nme } }"`)
			if diff := cmp.Diff(tracker.ToolResult{Text: body}, got); diff != "" {
				t.Errorf("%s, %d (-want +got):\n%s", name, status, diff)
			}
		}
	}
	f := newFake(t)
	got := f.serve(t).call(t, `"{ viewer { nme } }"`)
	if got.OK || !strings.Contains(got.Text, `Cannot query field \"nme\" on type \"User\"`) {
		t.Errorf("got %+v", got)
	}
}

func TestAFailedExchangeIsAnErrorPayload(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault http.HandlerFunc
		want  string
	}{
		"status":       {answer(404, `gone`), "linear_api_status"},
		"unauthorised": {answer(401, ``), "linear_api_status"},
		"HTML":         {answer(200, `<html>`, "Content-Type", "text/html"), "linear_unknown_payload"},
		"no data":      {answer(200, `{"data":null,"errors":[]}`), "linear_unknown_payload"},
		"reset":        {reset, "linear_api_request"},
		"rate limit":   {answer(429, ``, "Retry-After", "90"), "tracker_rate_limited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, f *fake, c client) {
				f.broken = test.fault
				result := c.call(t, `"{ viewer { id } }"`)
				if got := code(t, result); got != test.want {
					t.Errorf("code %q, want %q", got, test.want)
				}
				if name == "rate limit" && !strings.Contains(result.Text, "1m30s") {
					t.Errorf("%s: does not say how long to wait", result.Text)
				}
			})
		})
	}
}

func TestAQueryIsTriedAgainAndAMutationNever(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{
		"500": answer(500, ``), "reset": reset, "hang": hang, "short rate limit": answer(429, ``, "Retry-After", "1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, f *fake, c client) {
				f.add(tracker.Issue{Title: "one", State: "Todo"})
				f.faults = []http.HandlerFunc{fault, fault}
				if result := c.call(t, `"{ viewer { id } }"`); !result.OK || f.counted() != 3 {
					t.Errorf("a query: %+v after %d requests, want success after 3", result, f.counted())
				}
				f.faults = []http.HandlerFunc{fault}
				start := time.Now()
				code(t, c.call(t, finish))
				if f.counted() != 4 || time.Since(start) > 30*time.Second {
					t.Errorf("a mutation: %d requests in %v, want one", f.counted()-3, time.Since(start))
				}
			})
		})
	}
}

func TestALongAnswerIsCut(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.broken = answer(200, `{"data":{"ab":"`+strings.Repeat("ü", maxResult)+`"}}`)
	got := f.serve(t).call(t, `"{ a }"`)
	head, marker, found := strings.Cut(got.Text, "\n")
	if !got.OK || !found || len(head) > maxResult || len(head) < maxResult-utf8.UTFMax || !utf8.ValidString(head) {
		t.Errorf("OK %t, %d bytes before the marker", got.OK, len(head))
	}
	if want := fmt.Sprintf("[cut: %d of %d bytes: ask for less]", len(head), 2*maxResult+18); marker != want {
		t.Errorf("marker %q, want %q", marker, want)
	}
	f.broken = answer(200, `{"data":{"a":"`+strings.Repeat("x", maxResult-17)+`"}}`)
	if got := f.serve(t).call(t, `"{ a }"`); len(got.Text) != maxResult {
		t.Errorf("an answer that just fits has %d bytes, want %d", len(got.Text), maxResult)
	}
}

// FuzzAnswer checks that for every answer a read returns complete issues or an
// error, and that the tool returns text.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"data":null,"errors":[]}`,
		`{"data":{"issues":{"nodes":[{"id":"1","labels":[],"inverseRelations":{"nodes":[null]}}],"pageInfo":{"hasNextPage":false}}}}`,
		`{"data":{"issues":{"nodes":{},"pageInfo":[{}]}}}`,
		`{"data":{"issues":[[]]}}`,
		`{"errors":[{"message":"x","extensions":{"code":"RATELIMITED"}}]}`,
	} {
		f.Add(200, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		status = 200 + (status%300+300)%300 // what is worth a retry would wait
		base := roundTrip(func(req *http.Request) *http.Response {
			recorder := httptest.NewRecorder()
			answer(status, body)(recorder, req)
			return recorder.Result()
		})
		cfg := Config{Endpoint: defaultEndpoint, APIKey: apiKey, ProjectSlug: slug}
		adapter, err := cfg.Open(tracker.Options{}, &http.Client{Transport: base}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		issues, err := adapter.IssuesByState(t.Context(), []string{"Todo"})
		if err != nil && issues != nil {
			t.Error("issues beside an error")
		}
		for _, issue := range issues {
			if missing := issue.MissingFields(); missing != nil {
				t.Errorf("an issue without %v", missing)
			}
		}
		if result := adapter.Tools[0].Call(t.Context(), tracker.Issue{}, []byte(`"{ a }"`)); result.Text == "" {
			t.Error("the tool says nothing")
		}
	})
}

type roundTrip func(*http.Request) *http.Response

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req), nil }
