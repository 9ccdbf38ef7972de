package publish

import (
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// unproven publishes the work of a session that did not end well.
func (f verified) unproven() Record {
	f.t.Helper()
	f.Verified = false
	w := f.session(f.adds("a", "1\n"))
	w.Unproven, w.Receipt.Unfinished = true, true
	r := f.publish(w)
	if pull := f.github.Pulls()[0]; !pull.Draft || !hasDraftMark(pull.Body) {
		f.t.Fatalf("%+v", pull)
	}
	return r.Record
}

// nothingNew returns the work of a session that makes nothing new.
func (f verified) nothingNew(last Record) Work {
	f.t.Helper()
	fetched, err := f.store.Fetch(f.t.Context(), git.Source{Prefix: "symphony/"})
	f.check(err)
	return Work{Issue: "GH-7", Store: f.store, Base: fetched.Base, Branch: f.branch, RemoteHead: fetched.Branches[f.branch], Default: "GH-7: A cart", Last: last, Save: f.save, Proven: true}
}

func TestADraftEndsWhenTheWorkIsDone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settle bool
		change func(f verified, w *Work)
		draft  bool
	}{
		"with more work":               {false, func(verified, *Work) {}, false},
		"without more work":            {true, func(verified, *Work) {}, false},
		"not while nothing proves it":  {true, func(_ verified, w *Work) { w.Proven = false }, true},
		"not while it fails its check": {false, func(_ verified, w *Work) { w.Unproven = true }, true},
		"not when drafts are wanted":   {true, func(f verified, _ *Work) { f.Pull.Draft = true }, true},
		"not when it changes such a path": {true, func(f verified, _ *Work) {
			f.Policy.Protected = []delivery.Rule{{Pattern: "a", Protection: delivery.Draft}}
		}, true},
		"not when a person edited the text": {true, func(f verified, _ *Work) { f.github.Edit(1, "Mine.") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newVerified(t)
			last := f.unproven()
			var r Result
			var err error
			if test.settle {
				w := f.nothingNew(last)
				test.change(f, &w)
				r, err = f.Settle(t.Context(), w, now)
			} else {
				w := f.session(f.adds("b", "2\n"))
				w.Last = last
				test.change(f, &w)
				r, err = f.Publish(t.Context(), w, now)
			}
			f.check(err)
			pull := f.github.Pulls()[0]
			if pull.Draft != test.draft || len(r.Warnings) > 0 || r.Record.Number != pull.Number {
				t.Errorf("got %+v, %+v", r, pull)
			}
			if !test.draft && hasDraftMark(pull.Body) {
				t.Errorf("the body says\n%s", pull.Body)
			}
		})
	}
}

func TestADraftThatStaysOneIsAWarning(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	last := f.unproven()
	f.github.Fail(githubtest.GraphQL, storetest.Fault{Status: 403, Says: "Resource not accessible by integration"})
	r, err := f.Settle(t.Context(), f.nothingNew(last), now)
	if err != nil || len(r.Warnings) != 1 || !f.github.Pulls()[0].Draft {
		t.Errorf("got %+v, %v", r, err)
	}
}
