package action_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/action"
)

const delimiter = "_GitHubActionsFileCommandDelimeter_"

func TestOutputsArriveAsTheyAreOrAreRefused(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		r := newRunner(outer)
		rt := r.runtime()
		value := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{
			"\n", "\r", "a", "=", "<<", "x=1", delimiter, "work<<EOF", "EOF", "\x00",
		})), func(s []string) string { return strings.Join(s, "") }))
		want := map[string]string{}
		for range rapid.IntRange(1, 4).Draw(t, "outputs") {
			name := rapid.OneOf(rapid.StringMatching(`[a-z][a-z-]{0,5}`), rapid.SampledFrom([]string{"", "a=b", "a<<b", "a\nb=c", "1"})).Draw(t, "name")
			v := value.Draw(t, "value")
			err := rt.Output(name, v)
			if err == nil {
				want[name] = v
			} else if !errors.Is(err, action.ErrOutput) {
				t.Fatal(err)
			}
			if plain := !strings.Contains(v, "_Git") && len(name) > 1 && !strings.ContainsAny(name, "=<\n"); plain && err != nil {
				t.Fatalf("%q=%q was refused: %v", name, v, err)
			}
		}
		got, err := r.outputs()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTheDelimiterIsTheOneOfTheLibrary(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	if err := r.runtime().Output("name", "value"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.output)
	if err != nil || string(data) != "name<<"+delimiter+"\nvalue\n"+delimiter+"\n" {
		t.Errorf("%q, %v", data, err)
	}
	if err := r.runtime().Output("name", "a\n"+delimiter+"\nforged=1"); !errors.Is(err, action.ErrOutput) {
		t.Errorf("a value that forges another: %v", err)
	}
}

func TestAFileThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"missing": "", "in no folder": filepath.Join(t.TempDir(), "none", "file"), "a folder": t.TempDir()} {
		r := newRunner(t)
		r.env["GITHUB_OUTPUT"], r.env["GITHUB_STEP_SUMMARY"] = path, path
		rt := r.runtime()
		if err := rt.Output("name", "value"); !errors.Is(err, action.ErrCommandFile) || !strings.Contains(err.Error(), "GITHUB_OUTPUT") {
			t.Errorf("%s: %v", name, err)
		}
		if err := rt.Summary("text"); !errors.Is(err, action.ErrCommandFile) || !strings.Contains(err.Error(), "GITHUB_STEP_SUMMARY") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASummaryIsCutBetweenBlocksToWhatGitHubTakes(t *testing.T) {
	t.Parallel()
	for name, block := range map[string]string{
		"tables":  "| issue | outcome |\n|---|---|\n| GH-1 | " + strings.Repeat("x", 90) + " |\n",
		"details": "<details><summary>more</summary>\n\n- " + strings.Repeat("x", 90) + "\n\n</details>\n",
	} {
		r := newRunner(t)
		rt := r.runtime()
		long := strings.Repeat(block+"\n", 15000)
		if err := rt.Summary("# Before"); err != nil {
			t.Fatal(err)
		}
		if err := rt.Summary(long); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(r.summary)
		if err != nil || len(data) > 1<<20 || len(data) < 1<<20-300 {
			t.Fatalf("%s: %d bytes, %v", name, len(data), err)
		}
		whole := strings.Count(string(data), block)
		want := "# Before\n" + strings.Repeat(block+"\n", whole) + "_The rest was left out: GitHub shows 1 MiB at most._\n"
		if string(data) != want {
			t.Errorf("%s: ends in %q", name, data[len(data)-300:])
		}
	}
}

func TestASummaryIsNotCutBelowAHeadingNorInABlock(t *testing.T) {
	t.Parallel()
	const left = "_The rest was left out: GitHub shows 1 MiB at most._\n"
	for begins, want := range map[string]string{
		"### Verdict\n\n#### Alone\n\n- ":      "### Verdict\n\n" + left,
		"<details><summary>more</summary>\n\n": left, // a block that is longer than all the room
	} {
		r := newRunner(t)
		if err := r.runtime().Summary(begins + strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(r.summary); err != nil || string(data) != want {
			t.Errorf("%q, %v", data[:min(len(data), 300)], err)
		}
	}
}

func TestASummaryThatIsFullIsAnError(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	if err := os.WriteFile(r.summary, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.runtime().Summary("text"); !errors.Is(err, action.ErrCommandFile) {
		t.Errorf("%v", err)
	}
}
