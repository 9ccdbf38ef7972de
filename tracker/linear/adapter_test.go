package linear

import (
	"net/http"
	"slices"
	"testing"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheAdapterConforms(t *testing.T) {
	t.Parallel()
	trackertest.Run(t, func(t *testing.T) trackertest.Harness {
		f := newFake(t)
		f.labels = []object{{"id": "label-1", "name": "Needs Review", "isGroup": false, "team": object(nil)}}
		c := f.serve(t)
		return trackertest.Harness{
			Adapter: c.Adapter,
			HandOver: func(state string) tracker.Adapter {
				return f.serve(t, func(c *Config) { c.HandOver = state }).Adapter
			},
			Active: "Todo",
			Done:   "Done",
			Label:  "Needs Review",
			Comments: func(id tracker.ID) []string {
				f.mu.Lock()
				defer f.mu.Unlock()
				var texts []string
				for _, c := range f.comments[string(id)] {
					texts = append(texts, c["body"].(string))
				}
				return texts
			},
			Discussion: f.discussion(),
			LoseAnswer: func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.loses = true
			},
			Put: func(issue tracker.Issue) tracker.ID {
				if issue.ID == "" {
					return tracker.ID(f.add(issue)["id"].(string))
				}
				f.fill(f.find(string(issue.ID)), issue)
				return issue.ID
			},
			Delete: func(id tracker.ID) {
				f.issues = slices.DeleteFunc(f.issues, func(o object) bool { return o["id"] == string(id) })
			},
			Corrupt: func(id tracker.ID) { f.find(string(id))["title"] = "" },
			Refuse:  func() { f.broken = answer(401, `{"errors":[{"message":"no such key `+apiKey+`"}]}`) },
			Limit: func() {
				f.broken = answer(400, `{"errors":[{"message":"slow down","extensions":{"code":"RATELIMITED"}}]}`, "Retry-After", "60")
			},
			FailMidway: func() {
				f.faults = []http.HandlerFunc{nil, answer(400, `{}`), nil, answer(400, `{}`)}
			},
			Hang: func() <-chan struct{} {
				waiting := make(chan struct{})
				f.faults = []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) {
					close(waiting)
					<-r.Context().Done()
				}}
				return waiting
			},
			Requests: f.counted,
			Calls: map[string]string{
				"linear_graphql": `{"query": "query($id: String!) { issue(id: $id) { title } }", "variables": {"id": "5b2f7d3e-0000-4000-8000-000000000001"}}`,
			},
			Secret: apiKey,
			Log:    c.log.String,
		}
	})
}
