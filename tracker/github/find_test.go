package github

import (
	"net/http"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestNamesOfIssuesAreUnderstood(t *testing.T) {
	t.Parallel()
	c := &Config{Repo: "acme/shop"}
	for name, want := range map[string]string{
		"GH-11": "GH-11", "gh-11": "GH-11", "#11": "GH-11", "11": "GH-11", " 11 ": "GH-11",
		"acme/shop#11": "GH-11", "Acme/Shop#11": "GH-11", "acme/other#11": "", "shop#11": "", "#acme/shop#11": "",
		"https://github.com/acme/shop/issues/11":                 "GH-11",
		"https://github.com/acme/shop/issues/11#issuecomment-22": "GH-11",
		"https://github.com/acme/shop/pull/11/files?w=1":         "GH-11",
		"github.com/acme/shop/pull/11":                           "GH-11",
		"https://ghe.example.org/ACME/shop/issues/11/":           "GH-11",
		"https://github.com/acme/other/issues/11":                "",
		"https://github.com/acme/shop/commit/11":                 "",
		"https://github.com/acme/shop/issues/11x":                "",
		"GH-0": "", "GH-011": "", "-11": "", "GH-": "", "": "", "1.5": "", "GH-99999999999999999999": "",
	} {
		if got := c.Identifier(name); got != want {
			t.Errorf("%q means %q, want %q", name, got, want)
		}
	}
	if got := new(Config).Identifier("acme/shop#11"); got != "" {
		t.Errorf("without a repository, its issue is %q", got)
	}
}

func TestAPullRequestStandsForTheIssueOfItsBranch(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	for _, pull := range []githubtest.Pull{{Head: "symphony/GH-1"}, {Head: "symphony/GH-1", Fork: "mallory/shop"}, {Head: "fix-carts"}, {Head: "symphony/main"}} {
		f.AddPull(pull)
	}
	r := f.open()
	for name, want := range map[string]tracker.ID{"1": "1", "#2": "1", fakeRepo + "#2": "1", "GH-3": "", "GH-4": "", "GH-5": "", "GH-6": ""} {
		if got, err := r.find(t.Context(), name); got != want || err != nil {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/repos/"+fakeRepo+"/pulls/2" {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	if got, err := r.find(t.Context(), "#2"); err == nil {
		t.Errorf("a pull request that may not be read is %q, want an error", got)
	}
}
