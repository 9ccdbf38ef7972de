package lookup

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/linear"
)

// stateOfNames is a state with claims and deliveries that have names in common.
func stateOfNames() schedule.Issues {
	return schedule.Issues{
		Claims: map[tracker.ID]schedule.Claim{
			"11":  {ID: "11", Identifier: "GH-11", URL: "https://github.com/acme/shop/issues/11"},
			"111": {ID: "111", Identifier: "GH-111", URL: "https://github.com/acme/shop/issues/111"},
		},
		Deliveries: map[tracker.ID]schedule.Delivery{
			"11": {Identifier: "GH-11", Number: 12, URL: "https://github.com/acme/shop/pull/12"},
			"9":  {Identifier: "GH-9", Number: 111, URL: "https://github.com/acme/shop/pull/111"},
			"7":  {Identifier: "GH-7", URL: "patches/GH-7.patch"},
		},
	}
}

func TestANameMeansOneIssueOfTheState(t *testing.T) {
	t.Parallel()
	own := []tracker.Config{&github.Config{Repo: "acme/shop"}}
	every := []tracker.Config{file.Kind().New(), github.Kind().New(), linear.Kind().New()}
	for name, want := range map[string]string{
		"GH-11": "GH-11", "gh-11": "GH-11", "11": "GH-11", "#11": "GH-11", " #11 ": "GH-11",
		"https://github.com/acme/shop/issues/11": "GH-11", "https://github.com/acme/shop/issues/11#issuecomment-3": "GH-11",
		"#12": "GH-11", "GH-12": "GH-11", "https://github.com/acme/shop/pull/12": "GH-11", "https://github.com/acme/shop/pull/12/files": "GH-11",
		"#111": "GH-111", "https://github.com/acme/shop/issues/1": "", // an issue goes before a pull request of its number
		"GH-9": "GH-9", "GH-7": "GH-7", "patches/GH-7.patch": "GH-7",
		"1": "", "GH-1": "", "GH-1111": "", "": "", "#": "", "https://github.com/acme/other/pull/12": "",
	} {
		for kind, configs := range map[string][]tracker.Config{"valid": own, "invalid": every} {
			n, ok := Match(configs, name, InState(stateOfNames()))
			if n.Identifier != want || ok != (want != "") {
				t.Errorf("%s workflow: %q means %q, want %q", kind, name, n.Identifier, want)
			}
		}
	}
	if n, _ := Match(own, "acme/shop#12", InState(stateOfNames())); n.Identifier != "GH-11" {
		t.Errorf("acme/shop#12 means %q", n.Identifier)
	}
	if n, _ := Match(own, "acme/other#11", InState(stateOfNames())); n.Identifier != "" {
		t.Errorf("an issue of another repository means %q", n.Identifier)
	}
}

func TestAnUnknownNameIsAnsweredInOneCleanLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var known []Issue
		for range rapid.IntRange(0, 40).Draw(t, "known") {
			known = append(known, Issue{Identifier: rapid.String().Draw(t, "identifier")})
		}
		err := Unknown("no claim of", rapid.OneOf(rapid.String(), rapid.Just("GH-\U000E01EF11")).Draw(t, "name"), "claims", known)
		if s := err.Error(); strings.Contains(s, "\n") || text.Lines(s) != s {
			t.Fatalf("%q", s)
		}
	})
	for name, want := range map[string]string{"GH11": "GH-11", "gj-11": "GH-11", "GH-12": "", "GH-1": "", "keep-the-crat": "keep-the-cart"} {
		text := fmt.Sprint(Unknown("no claim of", name, "claims", []Issue{{Identifier: "GH-11"}, {Identifier: "keep-the-cart"}}))
		if strings.Contains(text, "did you mean "+want+"?") != (want != "") || !strings.Contains(text, "claims: GH-11, keep-the-cart") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
