package github

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheAdapterConformsWithOpenAndClosed(t *testing.T) {
	t.Parallel()
	trackertest.Run(t, func(t *testing.T) trackertest.Harness {
		return harness(t, nil, "open", "closed", func(i *fakeIssue, state string) { i.State = state })
	})
}

func TestTheAdapterConformsWithLabels(t *testing.T) {
	t.Parallel()
	trackertest.Run(t, func(t *testing.T) trackertest.Harness {
		return harness(t, map[string]any{"state_label_prefix": "status:"}, "In Progress", "closed", func(i *fakeIssue, state string) {
			i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return strings.HasPrefix(l, "status:") })
			if i.State = stateOpen; state == stateClosed {
				i.State = stateClosed
			} else {
				i.Labels = append(i.Labels, "status:"+state)
			}
		})
	})
}

func TestTheAdapterConformsWithABoard(t *testing.T) {
	t.Parallel()
	provider := map[string]any{"project": map[string]any{"number": 3, "field": "Stage"}}
	trackertest.Run(t, func(t *testing.T) trackertest.Harness {
		return harness(t, provider, "Todo", "closed", func(i *fakeIssue, state string) {
			if i.State = stateOpen; state == stateClosed {
				i.State = stateClosed
			} else {
				i.Status[3] = state
			}
		})
	})
}

// harness returns a fake and an adapter for it; set gives an issue its state.
func harness(t *testing.T, provider map[string]any, active, done string, set func(*fakeIssue, string)) trackertest.Harness {
	f := newFake(t)
	f.AddBoard(3, map[string][]string{"Stage": {"Todo", "Review", "Done"}})
	f.AddLabel("Needs: Review", "bug", "kept", "status:"+active, "status:In Review")
	cfg := f.config(provider, []string{active}, []string{done})
	open := func(handOver string) tracker.Adapter {
		t.Helper()
		o := cfg.Options
		o.HandOver = handOver
		adapter, err := cfg.Open(o, f.Client(), slog.New(slog.NewTextHandler(f.log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		return adapter
	}
	handOver := open
	if provider == nil {
		handOver = nil
	}
	return trackertest.Harness{
		Adapter: open(""), HandOver: handOver,
		Active:     active,
		Done:       done,
		Label:      "Needs: Review",
		Comments:   func(id tracker.ID) []string { return f.texts(atoi(string(id))) },
		Discussion: f.discussion(),
		LoseAnswer: func() { f.Fail("POST /issues/{n}/comments", storetest.Fault{Lose: true}) },
		Put: func(issue tracker.Issue) tracker.ID {
			number, err := strconv.Atoi(string(issue.ID))
			if err != nil {
				number = f.put(nil)
			}
			f.Change(number, func(i *fakeIssue) { setFrom(i, issue, set) })
			return tracker.ID(strconv.Itoa(number))
		},
		Delete:  func(id tracker.ID) { f.Change(atoi(string(id)), func(i *fakeIssue) { i.Gone = http.StatusGone }) },
		Corrupt: func(id tracker.ID) { f.Change(atoi(string(id)), func(i *fakeIssue) { i.Corrupt = true }) },
		Refuse:  func() { f.failWith(http.StatusForbidden, nil, `{"message": "Resource not accessible"}`) },
		Limit:   func() { f.failWith(http.StatusForbidden, map[string]string{"Retry-After": "60"}, `{}`) },
		FailMidway: func() {
			f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("page") == "" && !strings.HasSuffix(r.URL.Path, "2") {
					return false
				}
				w.WriteHeader(http.StatusForbidden)
				return true
			})
		},
		Hang: func() <-chan struct{} {
			waiting := make(chan struct{})
			f.setFault(func(_ http.ResponseWriter, r *http.Request) bool {
				select {
				case <-waiting:
				default:
					close(waiting)
				}
				<-r.Context().Done()
				return true
			})
			return waiting
		},
		Requests: func() int {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.requests)
		},
		Calls:  map[string]string{"github_api": `{"path": "/repos/{owner}/{repo}/issues"}`, tracker.UpdateTool: `{"comment": "Done."}`},
		Secret: fakeToken,
		Log:    f.log.String,
	}
}

// setFrom sets the issue of the fake to what the suite asks for.
func setFrom(i *fakeIssue, issue tracker.Issue, set func(*fakeIssue, string)) {
	i.Title, i.Body, i.Labels, i.BlockedBy = issue.Title, issue.Description, slices.Clone(issue.Labels), nil
	if issue.Priority != nil {
		i.Labels = append(i.Labels, fmt.Sprintf("P%d", *issue.Priority-1))
	}
	for _, b := range issue.BlockedBy {
		i.BlockedBy = append(i.BlockedBy, atoi(string(b.ID)))
	}
	for to, at := range map[*time.Time]time.Time{&i.Created: issue.CreatedAt, &i.Updated: issue.UpdatedAt} {
		if !at.IsZero() {
			*to = at
		}
	}
	set(i, issue.State)
}
