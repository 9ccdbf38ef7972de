package store

import (
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestBranchIsAStore(t *testing.T) {
	t.Parallel()
	testConformance(t, func(t *testing.T) storage {
		h := newHub(t)
		return storage{
			open: func(t *testing.T) (openStore, func()) { return h.open(t), func() {} },
			raw:  h.raw,
			put:  func(t *testing.T, data []byte) { h.put(data) },
		}
	})
}

func TestHowOftenGitHubIsAsked(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	asked := func(what string, want map[storetest.Op]int) {
		t.Helper()
		if diff := cmp.Diff(want, h.Asked()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	asked("to open", map[storetest.Op]int{})
	s, rev := mustLoad(t, b)
	asked("to load what is not there", map[storetest.Op]int{storetest.Ref: 1, storetest.Repository: 1})
	mustSave(t, b, s, rev)
	asked("to save nothing", map[storetest.Op]int{})
	rev = mustSave(t, b, sample(), rev)
	asked("to save for the first time", map[storetest.Op]int{storetest.Tree: 1, storetest.Commit: 1, storetest.Create: 1})
	s = sample()
	s.Pause = schedule.Pause{}
	mustSave(t, b, s, rev)
	asked("to save", map[storetest.Op]int{storetest.Tree: 1, storetest.Commit: 1, storetest.Move: 1})
	s, rev = mustLoad(t, b)
	asked("to load what it has saved itself", map[storetest.Op]int{storetest.Ref: 1})
	mustSave(t, b, s, rev)
	asked("to save what was loaded", map[storetest.Op]int{})

	b = h.open(t) // the next run
	s, rev = mustLoad(t, b)
	asked("to load in the next run", map[storetest.Op]int{storetest.Ref: 1, storetest.Contents: 1})
	if again, _ := mustLoad(t, b); cmp.Diff(s, again) != "" {
		t.Errorf("loaded again it is another state: %s", cmp.Diff(s, again))
	}
	asked("to load again what has not changed", map[storetest.Op]int{storetest.Ref: 1})
	s.Days[0].Sessions++
	rev = mustSave(t, b, s, rev)
	asked("to save for the first time in the next run", map[storetest.Op]int{storetest.Repository: 1, storetest.Tree: 1, storetest.Commit: 1, storetest.Move: 1})
	s.Days[0].Sessions++
	rev = mustSave(t, b, s, rev)
	asked("to save for the second time in the next run", map[storetest.Op]int{storetest.Tree: 1, storetest.Commit: 1, storetest.Move: 1})

	h.put(mustEncode(t, sample(), 9))
	if _, err := b.Save(t.Context(), schedule.New(schedule.Owner{}), rev); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	asked("to meet a conflict", map[storetest.Op]int{storetest.Tree: 1, storetest.Commit: 1, storetest.Move: 1, storetest.Ref: 1})
}

func TestTheBranchHoldsTheStateAndAPageAndStandsAlone(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	b.page = func(s *schedule.State, _ time.Time) string { return "# " + s.Claims["a1"].Title + "\n" }
	_, rev := mustLoad(t, b)
	mustSave(t, b, sample(), rev)
	if diff := cmp.Diff("README.md\nstate.json", h.Git("ls-tree", "--name-only", "refs/heads/"+branchName)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("# "+sample().Claims["a1"].Title, h.Git("cat-file", "blob", branchName+":README.md")); diff != "" {
		t.Error(diff)
	}
	if got := h.Git("rev-list", "--count", branchName); got != "1" {
		t.Errorf("the branch begins with %s commits", got)
	}
	if diff := cmp.Diff(commitMessage(schedule.New(schedule.Owner{}), sample()), h.Git("log", "-1", "--format=%B", branchName)); diff != "" {
		t.Error(diff)
	}
}

func TestAStateBranchHoldsNothingElse(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no state":                     {"main.go": "package main\n"},
		"code and a state":             {"main.go": "package main\n", stateFile: string(mustEncode(t, sample(), 1))},
		"code in a folder and a state": {"cmd/main.go": "package main\n", stateFile: string(mustEncode(t, sample(), 1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			before := h.Commit(branchName, files)
			b := h.open(t)
			s, rev, err := b.Load(t.Context())
			if err == nil {
				s.Days = nil
				_, err = b.Save(t.Context(), s, rev)
			} else if asked := h.Asked(); len(asked) != 2 {
				t.Errorf("to refuse it, GitHub was asked for %v", asked)
			}
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "not a state branch: nothing was changed: give the name of another branch") {
				t.Errorf("got %v", err)
			}
			if h.Head(branchName) != before {
				t.Error("the branch was written to")
			}
		})
	}
}

func TestTheDefaultBranchIsNotForTheState(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"an empty repository": nil,
		"a state is there":    mustEncode(t, sample(), 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			h.SetTrunk(branchName)
			if data != nil {
				h.put(data)
			}
			b := h.open(t)
			s, rev, err := b.Load(t.Context())
			if err == nil {
				s.Days = nil
				_, err = b.Save(t.Context(), s, rev)
			}
			wantRefused(t, storage{raw: h.raw}, data, err, ErrRefused)
			if !strings.Contains(err.Error(), "the default branch is for the code: give the name of another one") {
				t.Errorf("got %v", err)
			}
			for op := range h.Asked() {
				if !strings.HasPrefix(string(op), "GET ") {
					t.Errorf("before it was refused there was a %s", op)
				}
			}
		})
	}
}

// As the documentation of the package tells an operator to do it.
func TestARunThatLoadedBeforeTheHistoryWasShortenedMeetsAConflict(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.put(mustEncode(t, sampleWithClaims(1), 1))
	h.put(mustEncode(t, sample(), 2))
	b := h.open(t)
	s, rev := mustLoad(t, b)
	head := h.Head(branchName)
	h.Git("update-ref", "refs/heads/"+branchName, h.Git("-c", "user.name=o", "-c", "user.email=o@example.com", "commit-tree", "-m", "Shorten", head+"^{tree}"), head)

	s.Pause.Why = "asked for"
	if _, err := b.Save(t.Context(), s, rev); !errors.Is(err, ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	s, rev = mustLoad(t, b)
	if diff := cmp.Diff(sample(), s); diff != "" {
		t.Errorf("the shortened branch holds another state: %s", diff)
	}
	s.Pause.Why = "asked for"
	mustSave(t, b, s, rev)
	if got := h.Git("rev-list", "--count", branchName); got != "2" {
		t.Errorf("%s commits", got)
	}
}

func TestTheTokenGoesToOneHostOnly(t *testing.T) {
	t.Parallel()
	h, other := newHub(t), newHub(t)
	for _, op := range []storetest.Op{storetest.Ref, storetest.Tree} {
		b := h.open(t)
		s, rev := mustLoad(t, b)
		h.Fail(op, storetest.Fault{Status: http.StatusPermanentRedirect, Says: "Moved Permanently", Header: http.Header{"Location": {other.URL() + "/repos/" + hubRepo}}})
		s.Pause.Why = "asked for"
		var err error
		if op == storetest.Ref {
			_, _, err = b.Load(t.Context())
		} else {
			_, err = b.Save(t.Context(), s, rev)
		}
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "was renamed or moved: write its new name in GITHUB_REPOSITORY") {
			t.Errorf("%s: got %v", op, err)
		}
	}
	if asked := other.Asked(); len(asked) > 0 {
		t.Errorf("the other host was asked for %v", asked)
	}
}

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
	h.Fail(storetest.Repository, storetest.Fault{Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id": 1, "full_name": "octo/state-keeper", "default_branch": "main"}`}) // Gitea's answer
	_, _, err := h.open(t).Load(t.Context())
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "does not know GitHub's git API: use `state: cache`") {
		t.Error(err)
	}
}

func TestNamesThatNoBranchCanHaveAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"symphony-state", "a/b", "état", "v1.0", "x@y", "lock", strings.Repeat("a", maxBranchName)} {
		if err := validateBranchName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", " ", "a b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[b", `a\b`, "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.",
		"@", "a@{1}", "-a", "HEAD", "refs/heads/a", "a\x00", "a\n", "a\x7f", "a\xff", strings.Repeat("0", 40), strings.Repeat("a", maxBranchName+1),
	} {
		if err := validateBranchName(name); !errors.Is(err, ErrRefused) {
			t.Errorf("%q is allowed", name)
		}
	}
}

// git may allow more names than validateBranchName.
func TestGitAgreesWithEveryNameThatIsAllowed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("ab.@{}~^:/\\-? lockHEAD\x7f\té")), 1, 8, -1).Draw(t, "name")
		if validateBranchName(name) == nil {
			if err := exec.Command("git", "check-ref-format", "--branch", name).Run(); err != nil {
				t.Fatalf("git refuses %q", name)
			}
		}
	})
}
