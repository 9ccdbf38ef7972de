package github

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker"
)

// requiring returns an adapter that requires all of the labels.
func (f *fake) requiring(more map[string]any, labels ...string) *repository {
	f.t.Helper()
	cfg := f.config(more, []string{"open"}, []string{"closed"})
	for _, label := range labels {
		cfg.RequiredLabels = append(cfg.RequiredLabels, tracker.NormalLabel(label))
	}
	return f.openConfig(cfg)
}

func labeled(labels ...string) func(*fakeIssue) { return func(i *fakeIssue) { i.Labels = labels } }

// unlabeled adds issues without the required label to the repository.
func (f *fake) unlabeled(n int) {
	for range n {
		f.put(labeled("bug"))
	}
}

func TestIssuesWithoutTheRequiredLabelCostNoRequest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.unlabeled(1200)
	f.AddLabel("symphony")
	r := f.requiring(nil, "symphony")
	for round, want := range [][]string{
		{listPath + "&labels=symphony 200", "GET /repos/acme/shop/labels/symphony 200"},
		{listPath + "&labels=symphony 304", "GET /repos/acme/shop/labels/symphony 304"},
	} {
		if got := f.list(r, "open"); len(got) > 0 {
			t.Errorf("round %d: %v", round, identifiers(got))
		}
		wantRequests(t, f, want...)
	}
}

func TestAListByLabelsFindsEveryIssueThatBearsAllOfThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		required []string
		issue    []string // labels of an issue that has all of them
		sent     string
	}{
		"one":                          {[]string{"symphony"}, []string{"bug", "symphony"}, "symphony"},
		"several":                      {[]string{"symphony", "backend"}, []string{"backend", "symphony"}, "symphony%2Cbackend"},
		"another case in the workflow": {[]string{"SYMPHONY"}, []string{"symphony"}, "symphony"},
		"another case at GitHub":       {[]string{"symphony"}, []string{"Symphony"}, "Symphony"},
		"letters beyond ASCII":         {[]string{"für agenten"}, []string{"FÜR Agenten"}, "F%C3%9CR+Agenten"},
		"quotes and an ampersand":      {[]string{`say "go" & run`}, []string{`say "go" & run`}, "say+%22go%22+%26+run"},
		"a slash and a question mark":  {[]string{"area/agents?"}, []string{"Area/Agents?"}, "Area%2FAgents%3F"},
		"a comma, which separates":     {[]string{"symphony", "go, now"}, []string{"go, now", "symphony"}, "symphony"},
	} {
		for _, exact := range []bool{false, true} {
			f := newFake(t)
			f.SetQuirks(githubtest.Quirks{ExactLabels: exact})
			f.put(labeled("bug"))
			f.put(labeled(test.issue...))
			f.put(labeled("backend"))
			r := f.requiring(nil, test.required...)
			if diff := cmp.Diff([]string{"GH-2"}, identifiers(f.list(r, "open"))); diff != "" {
				t.Errorf("%s, labels found by one spelling alone: %v (-want +got):\n%s", name, exact, diff)
			}
			f.asked()
			f.list(r, "open")
			wantRequests(t, f, listPath+"&labels="+test.sent+" 304")
		}
	}
}

func TestALabelThatIsRespelledIsFoundAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(labeled("symphony"))
	r := f.requiring(nil, "symphony")
	f.list(r, "open")
	f.Change(1, labeled("Symphony"))
	if got := f.list(r, "open"); len(got) != 1 {
		t.Errorf("%d issues, want the one whose label is now written in another way", len(got))
	}
}

func TestALabelThatTheRepositoryLacksIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.unlabeled(1)
	r := f.requiring(nil, "symphony")
	for range 3 {
		f.list(r, "open")
	}
	if n := strings.Count(f.log.String(), "tracker.required_labels"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, f.log)
	}
}

func TestABlankRequiredLabelMatchesNothingAndAsksNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(labeled("symphony"))
	r := f.requiring(nil, "symphony", " ")
	if got := f.list(r, "open"); len(got) > 0 {
		t.Errorf("%v", identifiers(got))
	}
	wantRequests(t, f)
}

func TestFinishedIssuesAreListedWhateverTheirLabels(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.State = stateClosed })
	r := f.requiring(nil, "symphony", "")
	if diff := cmp.Diff([]string{"GH-1"}, identifiers(f.list(r, "closed"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnIssueWithoutARequiredLabelIsNotAskedAboutFurther(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	blocker := f.put(nil)
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{blocker} })
	r := f.requiring(nil, "symphony")
	got := f.read(r, "2")
	if len(got) != 1 || got[0].Dispatchable || !strings.Contains(got[0].WhyNot, `lacks the required label "symphony"`) {
		t.Errorf("%+v", got)
	}
	wantRequests(t, f, "GET /repos/acme/shop/issues/2 200")
}

func TestAClaimedIssueThatLostItsLabelIsStillRead(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(labeled("symphony"))
	f.put(labeled("symphony"))
	r := f.requiring(nil, "symphony")
	f.list(r, "open")
	f.Change(2, labeled("bug"))
	f.asked()
	got := f.read(r, "1", "2", "3")
	if len(got) != 2 || len(got[1].Labels) != 1 || got[1].Labels[0] != "bug" {
		t.Errorf("%+v", got)
	}
}

func TestRequiredLabelsNarrowTheListForTheOtherWaysToNameAState(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider map[string]any
		active   string
		want     []string
	}{
		"labels": {map[string]any{"state_label_prefix": "status:"}, "todo", []string{listPath + "&labels=symphony 200", historyRequest, memRequest}},
		"board":  {map[string]any{"project": map[string]any{"number": 3}}, "todo", []string{listPath + "&labels=symphony 200", historyRequest, historyRequest, memRequest}},
		"trust":  {map[string]any{"trust_label": "symphony"}, "open", []string{listPath + "&labels=symphony 200", historyRequest, memRequest}},
	} {
		f := newFake(t)
		f.AddBoard(3, map[string][]string{"Status": {"Todo", "Done"}})
		f.unlabeled(250)
		f.put(func(i *fakeIssue) { i.Labels, i.Status[3] = []string{"symphony", "status:todo"}, "Todo" })
		cfg := f.config(test.provider, []string{test.active}, []string{"closed"})
		cfg.RequiredLabels = []string{"symphony"}
		r := f.openConfig(cfg)
		if got := f.list(r, cfg.ActiveStates...); len(got) != 1 || !got[0].Dispatchable {
			t.Errorf("%s: %+v", name, got)
		}
		wantRequests(t, f, test.want...)
	}
}
