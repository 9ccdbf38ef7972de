package publish

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// newDecorated returns a fixture whose pull requests get all that can be set.
func newDecorated(t *testing.T) verified {
	t.Helper()
	f := newVerified(t)
	f.Pull = PullRequests{Labels: []string{"agent", "review"}, Assignees: []string{"kim"}, Reviewers: []string{"lee", "acme/core"}}
	return f
}

func TestANewPullRequestWithAllThatCanBeSetCostsSixRequests(t *testing.T) {
	t.Parallel()
	f := newDecorated(t)
	w := f.session(f.adds("a", "1\n"))
	mark := len(f.github.Log())
	f.wantDecorated(f.publish(w), githubtest.Pull{Labels: []string{"agent", "review"}, Assignees: []string{"kim"}, Reviewers: []string{"lee", "core"}})
	rest, _ := f.requests(mark)
	if diff := cmp.Diff([]string{
		"GET /pulls", "POST /git/commits", "POST /git/refs", "POST /pulls", "PATCH /issues/1", "POST /pulls/1/requested_reviewers",
	}, rest); diff != "" {
		t.Error(diff)
	}
}

// wantDecorated fails the test unless there is one pull request, which has the labels,
// assignees and reviewers of want, and the Result has these warnings.
func (f verified) wantDecorated(r Result, want githubtest.Pull, warnings ...string) {
	f.t.Helper()
	pulls := f.github.Pulls()
	if len(pulls) != 1 || r.State != PullOpened {
		f.t.Fatalf("%s: %+v", r.State, pulls)
	}
	got := githubtest.Pull{Labels: pulls[0].Labels, Assignees: pulls[0].Assignees, Reviewers: pulls[0].Reviewers}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Error(diff)
	}
	if len(r.Warnings) != len(warnings) {
		f.t.Fatalf("warnings %q, want %q", r.Warnings, warnings)
	}
	for i, want := range warnings {
		if !strings.HasPrefix(r.Warnings[i], want) {
			f.t.Errorf("the warning %q does not begin with %q", r.Warnings[i], want)
		}
	}
}

// TestAPullRequestThatSomebodyOpenedKeepsItsLabelsAndAssignees has a person open it
// between the look for it and our request. Setting a list replaces the one that is there.
func TestAPullRequestThatSomebodyOpenedKeepsItsLabelsAndAssignees(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		labels, assignees []string // of the person
		want              githubtest.Pull
		requests          []string
	}{
		"others": {
			[]string{"urgent"}, []string{"ada"},
			githubtest.Pull{Labels: []string{"urgent", "agent", "review"}, Assignees: []string{"ada", "kim"}},
			[]string{"PATCH /issues/1"},
		},
		"some of ours": {
			[]string{"Agent", "urgent"}, []string{"ada"},
			githubtest.Pull{Labels: []string{"Agent", "urgent", "review"}, Assignees: []string{"ada", "kim"}},
			[]string{"PATCH /issues/1"},
		},
		"all of our labels": {
			[]string{"review", "agent"}, []string{"ada"},
			githubtest.Pull{Labels: []string{"review", "agent"}, Assignees: []string{"ada", "kim"}},
			[]string{"POST /issues/1/assignees"},
		},
		"all of our assignees": {
			[]string{"urgent"}, []string{"Kim"},
			githubtest.Pull{Labels: []string{"urgent", "agent", "review"}, Assignees: []string{"Kim"}},
			[]string{"POST /issues/1/labels"},
		},
		"all of ours": {[]string{"review", "agent"}, []string{"kim"}, githubtest.Pull{Labels: []string{"review", "agent"}, Assignees: []string{"kim"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newDecorated(t)
			test.want.Reviewers = []string{"lee", "core"}
			w := f.session(f.adds("a", "1\n"))
			f.github.Fail("POST /pulls", storetest.Fault{Before: func() {
				title, head, base := "Mine", "symphony/GH-7", "main"
				pull, err := f.GitHub.Pulls.Create(t.Context(), client.NewPullRequest{Title: &title, Head: &head, Base: &base})
				f.check(err)
				f.check(f.GitHub.Pulls.AddLabels(t.Context(), pull.GetNumber(), test.labels))
				f.check(f.GitHub.Pulls.AddAssignees(t.Context(), pull.GetNumber(), test.assignees))
			}})
			f.wantDecorated(f.publish(w), test.want)
			rest, _ := f.requests(0)
			if diff := cmp.Diff(append(test.requests, "POST /pulls/1/requested_reviewers"), rest[len(rest)-len(test.requests)-1:]); diff != "" {
				t.Errorf("%s\nall: %q", diff, rest)
			}
		})
	}
}

// TestWhatDecoratesAPullRequestFailsByItself expects that labels, assignees and reviewers
// that GitHub refuses cost none of the others, and that each is a warning.
func TestWhatDecoratesAPullRequestFailsByItself(t *testing.T) {
	t.Parallel()
	forbidden := storetest.Fault{Status: http.StatusForbidden, Says: "Resource not accessible by integration"}
	all := githubtest.Pull{Labels: []string{"agent", "review"}, Assignees: []string{"kim"}, Reviewers: []string{"lee", "core"}}
	for name, test := range map[string]struct {
		fail     func(*githubtest.GitHub)
		without  func(*githubtest.Pull)
		warnings []string
	}{
		"somebody who cannot be assigned": {
			func(g *githubtest.GitHub) { g.SetPermission("kim", "none") },
			func(p *githubtest.Pull) { p.Assignees = nil }, nil, // GitHub does not say so
		},
		"both at once": {
			func(g *githubtest.GitHub) { g.Fail("PATCH /issues/{n}", forbidden) },
			func(*githubtest.Pull) {}, nil,
		},
		"labels": {
			func(g *githubtest.GitHub) {
				g.Fail("PATCH /issues/{n}", forbidden)
				g.Fail("POST /issues/{n}/labels", forbidden)
			},
			func(p *githubtest.Pull) { p.Labels = nil },
			[]string{"pull request #1 has not got its labels (agent, review): "},
		},
		"assignees": {
			func(g *githubtest.GitHub) {
				g.Fail("PATCH /issues/{n}", forbidden)
				g.Fail("POST /issues/{n}/assignees", forbidden)
			},
			func(p *githubtest.Pull) { p.Assignees = nil },
			[]string{"pull request #1 has not got its assignees (kim): "},
		},
		"reviewers": {
			func(g *githubtest.GitHub) {
				g.Fail("POST /pulls/{n}/requested_reviewers", storetest.Fault{Status: http.StatusUnprocessableEntity, Says: "Reviews may only be requested from collaborators."})
			},
			func(p *githubtest.Pull) { p.Reviewers = nil },
			[]string{"pull request #1 has not got its reviewers (lee, acme/core): "},
		},
		"all": {
			func(g *githubtest.GitHub) {
				g.Deny("issues: write")
				g.Fail("POST /pulls/{n}/requested_reviewers", forbidden)
			},
			func(p *githubtest.Pull) { *p = githubtest.Pull{} },
			[]string{
				"pull request #1 has not got its labels (agent, review): ", "pull request #1 has not got its assignees (kim): ",
				"pull request #1 has not got its reviewers (lee, acme/core): ",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, want := newDecorated(t), all
			test.without(&want)
			w := f.session(f.adds("a", "1\n"))
			test.fail(f.github)
			f.wantDecorated(f.publish(w), want, test.warnings...)
		})
	}
}

// TestALostAnswerDoesNotRemoveWhatSomebodyAddsMeanwhile has a person add a label before
// the request would be repeated.
func TestALostAnswerDoesNotRemoveWhatSomebodyAddsMeanwhile(t *testing.T) {
	t.Parallel()
	f := newDecorated(t)
	w := f.session(f.adds("a", "1\n"))
	f.github.Fail("PATCH /issues/{n}", storetest.Fault{Status: http.StatusBadGateway, After: func() {
		f.check(f.GitHub.Pulls.AddLabels(t.Context(), 1, []string{"urgent"}))
	}})
	f.wantDecorated(f.publish(w), githubtest.Pull{Labels: []string{"urgent", "agent", "review"}, Assignees: []string{"kim"}, Reviewers: []string{"lee", "core"}})
}

// TestAPullRequestOfARunThatWasKilledGetsItsLabelsAndPeople kills a run when its pull
// request is there, and has the next one continue the delivery.
func TestAPullRequestOfARunThatWasKilledGetsItsLabelsAndPeople(t *testing.T) {
	t.Parallel()
	all := githubtest.Pull{Labels: []string{"agent", "review"}, Assignees: []string{"kim"}, Reviewers: []string{"lee", "core"}}
	session := func(f verified, last Record, file string) (Result, error) {
		w := f.session(f.adds(file, "1\n"))
		w.Last = last
		return f.Publish(f.t.Context(), w, now)
	}
	for next, publish := range map[string]func(verified, Record) (Result, error){
		"has more work":    func(f verified, last Record) (Result, error) { return session(f, last, "b") },
		"has nothing more": func(f verified, last Record) (Result, error) { return f.Settle(f.t.Context(), f.idle(last), now) },
	} {
		for _, killed := range []storetest.Op{"POST /pulls", "PATCH /issues/{n}"} {
			t.Run("the next session "+next+" after "+string(killed), func(t *testing.T) {
				t.Parallel()
				f := newDecorated(t)
				w := f.session(f.adds("a", "1\n"))
				f.github.Fail(killed, storetest.Fault{Before: func() { f.dead.Store(killed != "POST /pulls") }, After: func() { f.dead.Store(true) }, Lose: true})
				save := w.Save
				w.Save = func(ctx context.Context, r Record) error {
					if f.dead.Load() {
						return errors.New("killed")
					}
					return save(ctx, r)
				}
				if _, err := f.Publish(t.Context(), w, now); err == nil || len(f.github.Pulls()) != 1 || len(f.github.Pulls()[0].Reviewers) > 0 {
					t.Fatalf("the run was not killed: %v, %+v", err, f.github.Pulls())
				}
				f.dead.Store(false)
				r, err := publish(f, f.saved[len(f.saved)-1])
				if pulls := f.github.Pulls(); err != nil || len(pulls) != 1 || len(r.Warnings) > 0 || r.Record.Number != 1 {
					t.Fatalf("%v: %+v, %+v", err, r, pulls)
				} else if diff := cmp.Diff(all, githubtest.Pull{Labels: pulls[0].Labels, Assignees: pulls[0].Assignees, Reviewers: pulls[0].Reviewers}); diff != "" {
					t.Error(diff)
				}
				// What a person takes off later stays off.
				f.check(f.GitHub.Pulls.SetLabelsAndAssignees(t.Context(), 1, []string{"urgent"}, nil))
				if r, err = session(f, r.Record, "c"); err != nil || len(r.Warnings) > 0 {
					t.Fatalf("%+v, %v", r, err)
				}
				if diff := cmp.Diff([]string{"urgent"}, f.github.Pulls()[0].Labels); diff != "" {
					t.Errorf("after the next delivery: %s", diff)
				}
			})
		}
	}
}
