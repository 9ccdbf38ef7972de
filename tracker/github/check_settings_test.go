package github

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker"
)

const labelsRequest = "GET /repos/acme/shop/labels?per_page=100 200"

func TestSettingsThatNameWhatGitHubHasNotAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]string, 25)
	for i := range many {
		many[i] = fmt.Sprintf("label-%02d", i)
	}
	for name, test := range map[string]struct {
		provider map[string]any
		labels   []string
		active   string
		want     string // a part of the error; "" is none
	}{
		"labels that fit":         {map[string]any{"state_label_prefix": "status:"}, []string{"bug", "Status: TODO", "status:done"}, "todo", ""},
		"a misspelled prefix":     {map[string]any{"state_label_prefix": "staus:"}, []string{"bug", "status:todo"}, "todo", `tracker.provider.state_label_prefix is "staus:", and no label of acme/shop begins with it: its labels are "bug", "status:todo"`},
		"a prefix alone":          {map[string]any{"state_label_prefix": "status:"}, []string{"status:"}, "todo", "no label of acme/shop begins with it"},
		"no labels at all":        {map[string]any{"state_label_prefix": "status:"}, nil, "todo", "its labels are none"},
		"many labels":             {map[string]any{"state_label_prefix": "status:"}, many, "todo", `"label-19" and 5 more`},
		"a state without a label": {map[string]any{"state_label_prefix": "status:"}, []string{"status:todo", "status:done"}, "Doing", `tracker.active_states: there is no label "status:Doing": make it, or write another state: the labels give "done", "todo"`},
		"an end without a label":  {map[string]any{"state_label_prefix": "status:"}, []string{"status:todo"}, "todo", `tracker.terminal_states: there is no label "status:done"`},
		"open needs no label":     {map[string]any{"state_label_prefix": "status:"}, []string{"status:done"}, "open", ""},
		"a board that fits":       {map[string]any{"project": map[string]any{"number": 3}}, nil, "todo", ""},
		"no such field":           {map[string]any{"project": map[string]any{"number": 3, "field": "Stage"}}, nil, "todo", `project.field is "Stage"`},
		"no such option":          {map[string]any{"project": map[string]any{"number": 3}}, nil, "Doing", `tracker.active_states: "Doing" is not an option`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.AddLabel(test.labels...)
			f.AddBoard(3, map[string][]string{"Status": {"Todo", "Done"}})
			r := f.openWith(test.provider, []string{test.active}, []string{"done", "closed"})
			err := r.checkSettings(t.Context())
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, tracker.ErrInvalidConfig) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestEveryStateThatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]map[string]any{"labels": {"state_label_prefix": "status:"}, "board": {"project": map[string]any{"number": 3}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.AddLabel("status:todo")
			f.AddBoard(3, map[string][]string{"Status": {"Todo"}})
			cfg := f.config(provider, []string{"Doing", "todo", "Ready"}, []string{"Shipped", "closed"})
			cfg.HandOver = "In Reviews"
			err := f.openConfig(cfg).checkSettings(t.Context())
			if !errors.Is(err, tracker.ErrInvalidConfig) {
				t.Fatal(err)
			}
			lines := strings.Split(err.Error(), "\n")
			for i, want := range []string{"In Reviews", "Doing", "Ready", "Shipped"} {
				if i >= len(lines) || !strings.Contains(lines[i], want+`"`) {
					t.Errorf("problem %d does not name %q:\n%v", i+1, want, err)
				}
			}
			if len(lines) != 4 {
				t.Errorf("%d problems, want 4", len(lines))
			}
		})
	}
}

func TestABoardThatCannotBeReadHidesNoLabels(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.openWith(map[string]any{"project": map[string]any{"number": 9}, "trust_label": "approved"}, []string{"todo"}, []string{"done"})
	err := r.checkSettings(t.Context())
	if !errors.Is(err, tracker.ErrInvalidConfig) || !strings.Contains(f.log.String(), "no label vouches for an issue") {
		t.Errorf("%v\n%s", err, f.log)
	}
}

func TestSettingsWithoutNamesCostNothingToCheck(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if err := f.open().checkSettings(t.Context()); err != nil {
		t.Error(err)
	}
	wantRequests(t, f)
}

func TestALabelOfTrustThatIsMissingIsWarnedOf(t *testing.T) {
	t.Parallel()
	for label, warned := range map[string]bool{"agent ok": false, "agent okay": true} {
		f := newFake(t)
		f.AddLabel("bug", "Agent OK")
		r := f.openWith(map[string]any{"trust_label": label}, []string{"open"}, []string{"closed"})
		if err := r.checkSettings(t.Context()); err != nil {
			t.Errorf("%s: %v", label, err)
		}
		if got := strings.Contains(f.log.String(), "tracker.provider.trust_label names none"); got != warned {
			t.Errorf("%s: warned %t\n%s", label, got, f.log)
		}
	}
}

func TestTheLabelsAreReadToTheLastPage(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SetQuirks(githubtest.Quirks{PerPage: 1})
	f.AddLabel("a", "b", "status:done", "status:todo")
	r := f.openWith(map[string]any{"state_label_prefix": "status:"}, []string{"todo"}, []string{"done"})
	if err := r.checkSettings(t.Context()); err != nil {
		t.Error(err)
	}
	if got := len(f.asked()); got != 4 {
		t.Errorf("%d requests, want 4", got)
	}
}

// A misspelled prefix must not look like a repository in which nothing is to be done.
func TestAPollThatSeesNoStateAsksOnceWhetherThereAreAny(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Labels = []string{"bug"} })
	r := f.openWith(map[string]any{"state_label_prefix": "status:"}, []string{"todo"}, []string{"done", "closed"})
	for range 2 {
		issues, err := r.IssuesByState(t.Context(), []string{"todo"})
		if !errors.Is(err, tracker.ErrInvalidConfig) || len(issues) != 0 || !strings.Contains(err.Error(), `its labels are "bug"`) {
			t.Errorf("%d issues, %v", len(issues), err)
		}
	}
	// The label is made: the poll works again, and says what is still missing.
	f.AddLabel("status:todo")
	f.asked()
	f.list(r, "todo")
	f.list(r, "todo")
	wantRequests(t, f, listPath+" 304", labelsRequest, listPath+" 304")
	if !strings.Contains(f.log.String(), `there is no label \"status:done\"`) {
		t.Errorf("the log does not tell of the state without a label:\n%s", f.log)
	}
}

func TestAnIssueWithAStateSaysThatThePrefixIsRight(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*fake, *repository){
		"in the list":      func(f *fake, r *repository) { f.list(r, "todo") },
		"of another state": func(f *fake, r *repository) { f.list(r, "done") },
		"before, by its id": func(f *fake, r *repository) {
			f.read(r, "1")
			f.Change(1, func(i *fakeIssue) { i.Labels = nil })
			f.list(r, "todo")
		},
		"in a closed list": func(f *fake, r *repository) { f.list(r, "closed") },
	} {
		f := newFake(t)
		f.put(func(i *fakeIssue) { i.Labels = []string{"status:todo"} })
		r := f.openWith(map[string]any{"state_label_prefix": "status:"}, []string{"todo"}, []string{"done", "closed"})
		read(f, r)
		if asked := strings.Join(f.asked(), "\n"); strings.Contains(asked, "/labels") {
			t.Errorf("%s: the labels were asked for:\n%s", name, asked)
		}
	}
}

// The label of the hand-over is looked for when a session may start, unless an issue that
// is handed over shows that it exists.
func TestTheLabelOfTheHandOverIsAskedForOnlyWhereASessionMayStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handOver string
		labels   []string // of a second issue
		ready    bool     // whether the first one may be worked on
		asks     bool
	}{
		"nobody is ready":         {"In Review", nil, false, false},
		"one is ready":            {"In Review", nil, true, true},
		"another is handed over":  {" in review", []string{"status:In Review"}, true, false},
		"it is closed":            {"closed", nil, true, false},
		"there is no hand-over":   {"", nil, true, false},
		"another is in any state": {"In Review", []string{"status:Blocked"}, true, true},
	} {
		f := newFake(t)
		f.AddLabel("status:todo", "status:In Review")
		f.put(func(i *fakeIssue) {
			if i.Labels = []string{"status:parked"}; test.ready {
				i.Labels = []string{"status:todo"}
			}
		})
		f.put(func(i *fakeIssue) { i.Labels = test.labels })
		cfg := f.config(map[string]any{"state_label_prefix": "status:"}, []string{"todo"}, []string{"closed"})
		cfg.HandOver = test.handOver
		r := f.openConfig(cfg)
		for _, asks := range []bool{test.asks, false} {
			if listed := len(f.list(r, "todo")); listed > 0 != test.ready {
				t.Errorf("%s: %d issues", name, listed)
			}
			if asked := slices.Contains(f.asked(), labelsRequest); asked != asks {
				t.Errorf("%s: the labels were asked for: %t", name, asked)
			}
		}
	}
}
