package receipt_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/secondlook"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGolden(t *testing.T) {
	t.Parallel()
	issue := receipt.Receipt{Identifier: "GH-7", Title: "Add a cart", URL: "https://github.com/acme/shop/issues/7", Sessions: 2, Tokens: 182_000}
	for name, change := range map[string]func(*receipt.Receipt){
		"checked": func(r *receipt.Receipt) {
			r.Checks = []receipt.Check{{Command: "go vet ./..."}, {Command: "go test ./..."}}
			r.Model = "`gpt-6.1-sol`, effort `high`, by the label `hard`"
			r.Look, r.Cost = "`gpt-6.1-sol`, effort `low` read this work and found nothing that must be fixed", "$1.23"
			r.Findings = "<details><summary>1 minor finding of the second look</summary>\n\n- `cart.go:7` the name of the variable says little\n\n</details>"
		},
		"failed": func(r *receipt.Receipt) {
			r.Checks = []receipt.Check{{Command: "go vet ./..."}, {
				Command: "go build ./...\ngo test ./...\n", Failed: "exit status 1",
				Output: "--- FAIL: TestCart (0.00s)\n    cart_test.go:9: the total is 1, want 2\nFAIL",
			}}
			r.Blocked = "`pypi.org` (2 times, by `pip install x`)"
		},
		"not prepared": func(r *receipt.Receipt) {
			r.Checks = []receipt.Check{{Failed: "hooks.before_run, which prepares it, failed with exit status 4"}}
		},
		"not finished": func(r *receipt.Receipt) { r.Unfinished, r.Sessions, r.Tokens = true, 1, 950 },
		"not checked":  func(r *receipt.Receipt) { r.Unchecked = true },
		"hostile": func(r *receipt.Receipt) {
			r.Title = "closes #1 @admin <!-- x --> ![x](http://x/y.png)\n## You must merge this"
			r.URL = "https://evil.example/) [x](https://x"
			r.Checks = []receipt.Check{{Command: "echo `whoami` @admin", Failed: "exit status 1", Output: "```\n@admin closes #1\n</details>\x1b[31m"}}
			r.Blocked = "`x`"
		},
		"nothing": func(r *receipt.Receipt) { *r = receipt.Receipt{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := issue
			change(&r)
			got, file := r.Markdown(), filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".md")
			if *update {
				if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A later session that changes nothing writes nothing, whatever it costs.
func TestOnlyTheSpendingIsVolatile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := receipt.Receipt{
			Identifier: "GH-7", Title: rapid.String().Draw(t, "title"), Unchecked: true, Blocked: rapid.SampledFrom([]string{"", "`a.example`"}).Draw(t, "blocked"),
			Sessions: rapid.IntRange(1, 100).Draw(t, "sessions"), Tokens: rapid.Int64Range(0, 1<<40).Draw(t, "tokens"), Cost: "$1.00",
		}
		later := r
		later.Sessions, later.Tokens, later.Cost = r.Sessions+1, r.Tokens+1000, "$2.00"
		without := func(r receipt.Receipt) string {
			return receipt.Volatile().ReplaceAllString(r.Markdown()+"\n\nmore", "")
		}
		if without(r) != without(later) || !strings.Contains(without(r), "Not checked") || !strings.HasSuffix(without(r), "more") {
			t.Errorf("%q and %q", without(r), without(later))
		}
		if later.Unchecked = false; without(r) == without(later) {
			t.Error("the check of the work is not volatile")
		}
	})
}

// An agent decides what a command prints.
func TestTheOutputStaysInItsBlock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.StringOf(rapid.SampledFrom([]rune("`~\n a</>"))).Draw(t, "output")
		got := receipt.Receipt{Checks: []receipt.Check{{Command: "x", Failed: "y", Output: output + "z"}}}.Markdown()
		lines := strings.Split(got, "\n")
		for i, line := range lines {
			if fence := strings.HasPrefix(strings.TrimLeft(line, " "), "```"); fence && line != "```text" && i != len(lines)-3 {
				t.Fatalf("line %d of\n%s", i, got)
			}
		}
	})
}

// TestAReceiptOfAnotherMachineIsHarmless leaves the Markdown of this program as it is, and takes the effects from
// any other.
func TestAReceiptOfAnotherMachineIsHarmless(t *testing.T) {
	t.Parallel()
	for _, severe := range []bool{false, true} {
		answer := secondlook.Answer{Findings: []secondlook.Finding{{Path: "a.go", Line: 3, Text: "Closes #12, says @kim <b>x</b>\n\n- nested", Severe: severe}, {Text: "![x](https://example.com) <!-- hidden -->"}}}
		r := receipt.Receipt{Blocked: receipt.Code("example.com") + " (by " + receipt.Code("curl") + ")", Model: receipt.Code("m") + ", by the label " + receipt.Code("hard"), Cost: "$1.23", Sessions: 1}
		r.Look, r.Findings = answer.ForPeople(receipt.Code("a model"))
		if got := r.Harmless(); got.Markdown() != r.Markdown() {
			t.Errorf("%s\nbecame\n%s", r.Markdown(), got.Markdown())
		}
	}
	const attack = "Closes #12 @kim <img src=x>"
	for _, findings := range []string{attack, "<details><summary>1 x</summary>\n\n" + attack + "\n\n</details>"} {
		got := receipt.Receipt{Look: attack, Blocked: attack + "\n\n" + attack, Model: attack, Cost: attack, Sessions: 1, Findings: findings}.Harmless().Markdown()
		for _, effect := range []string{"Closes #12", "@kim", "<img"} {
			if strings.Contains(got, effect) {
				t.Errorf("%q in %s", effect, got)
			}
		}
	}
}
