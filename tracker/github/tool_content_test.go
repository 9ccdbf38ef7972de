package github

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// crowded is a server that takes so many posts at once, and refuses others for a minute.
type crowded struct {
	room  int
	posts int
}

func (s *crowded) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-RateLimit-Remaining", "4000")
	if s.room == 0 {
		s.room = 1
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message": "You have exceeded a secondary rate limit and have been temporarily blocked from content creation."}`)
		return
	}
	s.room--
	s.posts++
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"id": 1}`)
}

// TestWhatTheToolPostsWaitsForTheLimitsOfContent is about every call that creates what people
// are told of: it waits like the posts of the program itself, and counts for their limits.
func TestWhatTheToolPostsWaitsForTheLimitsOfContent(t *testing.T) {
	t.Parallel()
	for path, content := range map[string]string{
		"issues":                     `{"title": "One"}`,
		"issues/1/comments":          `{"body": "Hello."}`,
		"pulls":                      `{"title": "One", "head": "fix", "base": "main"}`,
		"pulls/1/comments":           `{"body": "Hello.", "path": "cart.go", "line": 1}`,
		"pulls/1/comments/2/replies": `{"body": "Hello."}`,
		"pulls/1/reviews":            `{"body": "Hello.", "event": "COMMENT"}`,
		"pulls/1/reviews/2/events":   `{"body": "Hello.", "event": "COMMENT"}`,
		"releases":                   `{"tag_name": "v1"}`,
	} {
		server := &crowded{room: 1}
		trackertest.Bubble(t, server, func(t *testing.T, base http.RoundTripper) {
			cfg := Config{Repo: "acme/shop", APIURL: "https://api.example.org", Token: "token", ToolScope: ScopeToken}
			cfg.Content = client.NewContentPace(0)
			r, err := newRepository(cfg, base, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			tool := r.tool()
			call := func(within time.Duration) (bool, string) {
				ctx, end := context.WithTimeout(t.Context(), within)
				defer end()
				result := tool.Call(ctx, ownIssueOfTests, json.RawMessage(fmt.Sprintf(`{"method": "POST", "path": "/repos/acme/shop/%s", "body": %s}`, path, content)))
				return result.OK, result.Text
			}
			began := time.Now()
			for i := range 2 {
				if ok, text := call(tool.Timeout); !ok {
					t.Errorf("%s: post %d: %s", path, i, text)
				}
			}
			if took := time.Since(began); server.posts != 2 || took < time.Minute {
				t.Errorf("%s: %d posts after %v", path, server.posts, took)
			}
			if ok, text := call(30 * time.Second); ok || !strings.Contains(text, "nothing was posted") || strings.Contains(text, "GitHub refused") {
				t.Errorf("%s: in less time: %s", path, text)
			}
			for cfg.Content.Take(time.Now()) == 0 {
			}
			server.room = 100
			if ok, text := call(time.Second); ok || server.posts != 2 || !strings.Contains(text, "GitHub takes no more comments and pull requests of this account for") {
				t.Errorf("%s: beyond the limits: %s", path, text)
			}
		})
	}
}
