package store

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestBranchIsAStore(t *testing.T) {
	t.Parallel()
	testStore(t, func(t *testing.T) place {
		h := newHub(t)
		return place{
			open: func(t *testing.T) (opened, func()) { return h.open(t), func() {} },
			raw:  h.raw,
			put:  func(t *testing.T, data []byte) { h.put(t, data) },
		}
	})
}

func TestHowOftenGitHubIsAsked(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	asked := func(what string, want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, h.asked()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	asked("to open", map[string]int{})
	s, rev := mustLoad(t, b)
	asked("to load what is not there", map[string]int{"ref": 1, "repository": 1})
	mustSave(t, b, s, rev)
	asked("to save nothing", map[string]int{})
	rev = mustSave(t, b, sample(), rev)
	asked("to save for the first time", map[string]int{"tree": 1, "commit": 1, "create": 1})
	s = sample()
	s.Pause = schedule.Pause{}
	mustSave(t, b, s, rev)
	asked("to save", map[string]int{"tree": 1, "commit": 1, "move": 1})
	s, rev = mustLoad(t, b)
	asked("to load", map[string]int{"ref": 1, "contents": 1})
	mustSave(t, b, s, rev)
	asked("to save what was loaded", map[string]int{})

	h.put(t, mustEncode(t, sample(), 9))
	if _, err := b.Save(t.Context(), schedule.New(schedule.Owner{}), rev); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	asked("to meet a conflict", map[string]int{"tree": 1, "commit": 1, "move": 1, "ref": 1})
}

func TestWhatChangesAllTheTimeGoesWithTheNextChange(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.put(t, mustEncode(t, sample(), 1))
	b := h.open(t)
	s, rev := mustLoad(t, b)
	at := time.Date(2026, 3, 2, 0, 0, 30, 0, time.UTC)
	c := s.Claims["a1"]
	c.Heard, c.Turns, c.Live, c.Tokens = at, c.Turns+1, schedule.Usage{Input: 5000, Output: 900}, c.Tokens+5000
	s.Claims["a1"] = c
	s.Days[1].Usage.Input += 5000
	s.Days = append(s.Days, schedule.Day{Date: "2026-03-02", Usage: schedule.Usage{Input: 1}})
	s.RateLimits = json.RawMessage(`{"primary":{"used_percent":99}}`)
	h.asked()
	if again := mustSave(t, b, s, rev); again != rev || len(h.asked()) > 0 {
		t.Fatalf("committed as %s", again)
	}
	c.Lease = c.Lease.Add(time.Minute)
	s.Claims["a1"] = c
	mustSave(t, b, s, rev)
	got, _ := mustLoad(t, h.open(t))
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllElseIsNews(t *testing.T) {
	t.Parallel()
	claim := func(change func(*schedule.Claim)) func(*schedule.State) {
		return func(s *schedule.State) {
			c := s.Claims["a1"]
			change(&c)
			s.Claims["a1"] = c
		}
	}
	for name, change := range map[string]func(*schedule.State){
		"a lease":              claim(func(c *schedule.Claim) { c.Lease = c.Lease.Add(time.Second) }),
		"an owner":             claim(func(c *schedule.Claim) { c.Owner.Attempt++ }),
		"a thread":             claim(func(c *schedule.Claim) { c.Thread = "th-2" }),
		"a phase":              claim(func(c *schedule.Claim) { c.Phase, c.Cause = schedule.Stopping, schedule.Stalled }),
		"a reason":             claim(func(c *schedule.Claim) { c.Why = "stalled" }),
		"a count":              claim(func(c *schedule.Claim) { c.Failures++ }),
		"what the issue says":  claim(func(c *schedule.Claim) { c.Content = "" }),
		"a due time":           func(s *schedule.State) { c := s.Claims["c3"]; c.Due = c.Due.Add(1); s.Claims["c3"] = c },
		"a released claim":     func(s *schedule.State) { delete(s.Claims, "d4") },
		"a pause":              func(s *schedule.State) { s.Pause.Until = s.Pause.Until.Add(time.Second) },
		"the end of a pause":   func(s *schedule.State) { s.Pause = schedule.Pause{} },
		"a session of the day": func(s *schedule.State) { s.Days[1].Sessions++ },
	} {
		s := sample()
		change(s)
		if !newRecord(s, 1).news(newRecord(sample(), 2)) {
			t.Errorf("%s would not be committed", name)
		}
	}
	if newRecord(sample(), 1).news(newRecord(sample(), 2)) {
		t.Error("nothing would be committed")
	}
}

func TestTheBranchHoldsTheStateAndAPageAndStandsAlone(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	b.page = func(s *schedule.State, _ time.Time) string { return "# " + s.Claims["a1"].Title + "\n" }
	_, rev := mustLoad(t, b)
	mustSave(t, b, sample(), rev)
	if diff := cmp.Diff("README.md\nstate.json", h.must(t, "ls-tree", "--name-only", "refs/heads/"+branchName)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("# "+sample().Claims["a1"].Title, h.must(t, "cat-file", "blob", branchName+":README.md")); diff != "" {
		t.Error(diff)
	}
	if got := h.must(t, "rev-list", "--count", branchName); got != "1" {
		t.Errorf("the branch begins with %s commits", got)
	}
	if diff := cmp.Diff(describe(schedule.New(schedule.Owner{}), sample()), h.must(t, "log", "-1", "--format=%B", branchName)); diff != "" {
		t.Error(diff)
	}
}

func TestTheSecondOfTwoFirstRunsGoesOn(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	first, second := h.open(t), h.open(t)
	_, rev1 := mustLoad(t, first)
	_, rev2 := mustLoad(t, second)
	mustSave(t, first, sample(), rev1)
	if _, err := second.Save(t.Context(), many(1), rev2); !errors.Is(err, ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	s, rev := mustLoad(t, second)
	s.Days = nil
	mustSave(t, second, s, rev)
	if got := h.must(t, "rev-list", "--count", branchName); got != "2" {
		t.Errorf("%s commits", got)
	}
}

func TestAStateBranchHoldsNothingElse(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	for name, files := range map[string]map[string]string{
		"no state":         {"main.go": h.write("blob", "package main\n")},
		"code and a state": {"main.go": h.write("blob", "package main\n"), stateFile: h.write("blob", string(mustEncode(t, sample(), 1)))},
	} {
		h.must(t, "update-ref", "refs/heads/"+branchName, h.write("commit", commitText(h.tree(files), "Code")))
		before := h.head(branchName)
		b := h.open(t)
		s, rev, err := b.Load(t.Context())
		if err == nil {
			s.Days = nil
			_, err = b.Save(t.Context(), s, rev)
		}
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "not a state branch: nothing was changed: give the name of another branch") {
			t.Errorf("%s: got %v", name, err)
		}
		if h.head(branchName) != before {
			t.Errorf("%s: the branch was written to", name)
		}
	}
}

func TestTheDefaultBranchOfAnEmptyRepositoryIsNotForTheState(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.must(t, "update-ref", "-d", "refs/heads/main")
	b := h.open(t)
	b.name = "main"
	if _, _, err := b.Load(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "the default branch is for the code") {
		t.Errorf("got %v", err)
	}
}

func TestABranchThatGoesAwayIsNotAnEmptyState(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.put(t, mustEncode(t, sample(), 1))
	b := h.open(t)
	s, rev := mustLoad(t, b)
	h.put(t, nil)
	s.Days = nil
	if _, err := b.Save(t.Context(), s, rev); !errors.Is(err, ErrConflict) {
		t.Errorf("Save: got %v", err)
	}
	if _, _, err := b.Load(t.Context()); !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "restore it, or run again") {
		t.Errorf("Load: got %v", err)
	}
	if got, _ := mustLoad(t, h.open(t)); len(got.Claims) != 0 {
		t.Errorf("the next run has %d claims", len(got.Claims))
	}
}

func TestTheTokenGoesToOneHostAlone(t *testing.T) {
	t.Parallel()
	h, other := newHub(t), newHub(t)
	for _, op := range []string{"ref", "tree"} {
		b := h.open(t)
		s, rev := mustLoad(t, b)
		h.fail(op, fault{status: http.StatusPermanentRedirect, says: "Moved Permanently", header: http.Header{"Location": {other.URL + hubPath}}})
		s.Pause.Why = "asked for"
		var err error
		if op == "ref" {
			_, _, err = b.Load(t.Context())
		} else {
			_, err = b.Save(t.Context(), s, rev)
		}
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "was renamed: give the name it has now") {
			t.Errorf("%s: got %v", op, err)
		}
	}
	if asked := other.asked(); len(asked) > 0 {
		t.Errorf("the other host was asked for %v", asked)
	}
}
