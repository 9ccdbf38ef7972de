package linear

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

// FuzzAnswer: whatever comes as an answer, a read gives issues that are
// complete, or an error, and the tool gives text.
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
		adapter, err := Open(cfg, &http.Client{Transport: base}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		issues, err := adapter.IssuesByState(t.Context(), []string{"Todo"})
		if err != nil && issues != nil {
			t.Error("issues beside an error")
		}
		for _, issue := range issues {
			if missing := issue.Missing(); missing != nil {
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
