package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/store/storetest"
)

func TestACheckOfTheAccessChangesNothing(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(hub){
		"no branch":          func(hub) {},
		"a branch":           func(h hub) { h.put(mustEncode(t, sample(), 1)) },
		"one that has moved": func(h hub) { h.put(mustEncode(t, sample(), 1)); h.put(mustEncode(t, sample(), 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			prepare(h)
			b := h.open(t)
			_, rev, err := b.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			head := h.Head(branchName)
			if err := b.CheckWrite(t.Context()); err != nil {
				t.Error(err)
			}
			if got := h.Head(branchName); got != head {
				t.Errorf("the branch moved from %q to %q", head, got)
			}
			if _, err := b.Save(t.Context(), sample(), rev); err != nil {
				t.Errorf("a save after the check: %v", err)
			}
			h.Deny("contents: write")
			if err := b.CheckWrite(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "permissions: {contents: write}") {
				t.Errorf("a token that may only read: %v", err)
			}
		})
	}
}

func TestAServerWithoutGitHubsGitAPIIsNamed(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.Fail(storetest.Repository, storetest.Fault{Body: `{"id": 1, "full_name": "octo/state-keeper", "default_branch": "main"}`}) // as Gitea answers
	_, _, err := h.open(t).Load(t.Context())
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "lacks GitHub's git API: use `state: cache`") {
		t.Error(err)
	}
}
