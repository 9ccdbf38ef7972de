package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestTheFileIsSplitIntoFrontMatterAndPrompt(t *testing.T) {
	t.Parallel()
	for content, prompt := range map[string]string{
		"---\ntracker: {kind: file}\n---\n\n Go. \n\n":                        "Go.",
		"---\ntracker: {kind: file}\n---":                                     "",
		"---  \ntracker: {kind: file}\n---\t\nGo.":                            "Go.",
		"\uFEFF---\ntracker: {kind: file}\n---\nGo.":                          "Go.",
		"---\r\ntracker:\r\n  kind: file\r\n---\r\nGo.\r\nOn.\r\n":            "Go.\nOn.",
		"---\ntracker: {kind: file}\n---\na\n---\nb":                          "a\n---\nb",
		"---\ntracker: {kind: file}\nhooks:\n  after_run: |\n    ---\n---\nb": "b",
	} {
		wf, err := workflow.Parse(path, []byte(content), with(nil))
		if err != nil || wf.Prompt != prompt {
			t.Errorf("%q: %q, %v", content, wf.Prompt, err)
		}
	}
}

func TestAFileWithoutSettingsOnlyLacksATracker(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\uFEFF", "Just a prompt.", "\n---\na: 1\n---\n", "---\n---\nGo.", "---\n# nothing\n---\n", "---\n{}\n---\n"} {
		_, err := workflow.Parse(path, []byte(content), with(nil))
		var ps workflow.Problems
		if !errors.As(err, &ps) || len(ps) != 1 || ps[0].Key != "tracker.kind" {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestABrokenFileNamesTheLineAndWhatToDo(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("#", 600)
	for content, want := range map[string]string{
		"\xff": "workflow_parse_error: line 1: not valid UTF-8; save it as UTF-8",
		"---\na: " + strings.Repeat("x", 64<<10) + "\n---\n": "workflow_parse_error: the front matter is larger than 65536 bytes; shorten it, or close it with a line of exactly \"---\"",
		strings.Repeat("x", 1<<20+1):                         "workflow_parse_error: larger than 1048576 bytes; shorten it",
		"---\na: 1\n":                                        `workflow_parse_error: line 1: the front matter never ends; close it with a line of exactly "---"`,
		"---":                                                `workflow_parse_error: line 1: the front matter never ends; close it with a line of exactly "---"`,
		"--- # config\na: 1\n---\n":                          `workflow_parse_error: line 1: the front matter must begin with a line of exactly "---"`,
		"---\n- a\n---\n":                                    "workflow_front_matter_not_a_map: line 2: write settings as `key: value`",
		"---\n\ntext\n---\n":                                 "workflow_front_matter_not_a_map: line 3: write settings as `key: value`",
		"---\nnull\n---\n":                                   "workflow_front_matter_not_a_map: line 2: write settings as `key: value`",
		"---\na: 1\nb: c: d\n---\n":                          "workflow_parse_error: line 3: a colon is not expected; indent the line like its neighbours, or put a text that has a colon in quotes",
		"---\r\na: 1\r\nb: c: d\r\n---\r\n":                  "workflow_parse_error: line 3: a colon is not expected; indent the line like its neighbours, or put a text that has a colon in quotes",
		"---\na: 1\nb: {c: 1\nd: 4\n---\n":                   "workflow_parse_error: line 3: the map that begins with { lacks a comma or its }; add it",
		"---\na: 1\nb\nc: 4\n---\n":                          "workflow_parse_error: line 3: a key has no colon; write NAME: VALUE",
		"---\na: 1\nb: @x\nc: 1\n---\n":                      "workflow_parse_error: line 3: a value begins with a character that has a meaning in YAML; put the value in quotes",
		"---\na: 1\nb:\n\t- c\n---\n":                        "workflow_parse_error: line 4: a tab indents the line; write spaces",
		"---\na: 1\nb: [1, 2\nc: 4\n---\n":                   "workflow_parse_error: line 3: the list that begins with [ lacks a comma or its ]; add it",
		"---\na:\n  b: 1\n c: 2\nd: 3\n---\n":                "workflow_parse_error: line 4: the line does not continue the block above it; indent it like its neighbours, and write nothing after a closing quote",
		"---\n" + long + "\nb: ]\n---\n":                     "workflow_parse_error: line 3: did not find expected node content; correct the YAML",
		"---\na: *x\n---\n":                                  "workflow_parse_error: line 2: the anchor x is not defined; write &x before a value above, or the value itself",
		"---\na: 1\n...\nb: 2\n---\n":                        "workflow_parse_error: another YAML document begins after the first; keep only one",
		"---\na: 1\n--- {b: 2}\n\n\n---\n":                   "workflow_parse_error: line 3: another YAML document begins after the first; keep only one",
		"---\na: 1\nb:\n  c: 1\n  c: 2\n---\n":               "workflow_parse_error: line 5: b.c: is written twice, first on line 4; keep one of them",
		"---\na:\n- {b: {c: 1, c: 2}}\n---\n":                "workflow_parse_error: line 3: a[0].b.c: is written twice, first on line 3; keep one of them",
		"---\nagent: {[a]: 1}\n---\n":                        "workflow_parse_error: line 2: agent: a key is a map or a list; write text",
		"---\nb: 1\na: !secret k\n---\n":                     "workflow_parse_error: line 3: a: the tag !secret is not supported; remove it and quote the value if it is text",
		"---\na: &a [*a]\n---\n":                             "workflow_parse_error: line 2: a[0]: the anchor a contains itself; write the value out",
	} {
		wf, err := workflow.Parse(path, []byte(content), with(nil))
		if diff := cmp.Diff("workflow /repo/WORKFLOW.md: "+want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%.80q\n%s", content, diff)
		}
		if diff := cmp.Diff(workflow.Workflow{}, wf); diff != "" {
			t.Error(diff)
		}
		if errors.Is(err, workflow.ErrParse) == errors.Is(err, workflow.ErrNotAMap) {
			t.Errorf("%.80q: %v is not of one category", content, err)
		}
	}
}

func TestAnchorsAndMergesWork(t *testing.T) {
	t.Parallel()
	s := parse(t, "tracker: {kind: &kind file}\nhooks: &env\n  env: &names [A]\ncodex:\n  <<: *env\n  model: *kind\n", with(nil)).Settings
	if diff := cmp.Diff([]string{"A"}, s.Codex.Env); diff != "" || s.Codex.Model != "file" {
		t.Errorf("%q\n%s", s.Codex.Model, diff)
	}
	s = parse(t, "tracker: {kind: file}\nhooks: &h {env: [B]}\ncodex: *h", with(nil)).Settings
	if diff := cmp.Diff([]string{"B"}, s.Codex.Env); diff != "" {
		t.Error(diff)
	}
}

func TestAValueThatIsNearlyAllAliasesIsAProblem(t *testing.T) {
	t.Parallel()
	front := "tracker: {kind: file, provider: {path: x}}\n" +
		"base: &base [" + strings.Repeat("x, ", 400) + "]\n" +
		"codex: {approval_policy: [" + strings.Repeat("*base, ", 10) + "]}"
	want := []string{"line 4: codex.approval_policy: has too many aliases; write them out"}
	if diff := cmp.Diff(want, problems(t, front, with(nil))); diff != "" {
		t.Error(diff)
	}
}

// Aliases multiply: without a limit in yaml.v3 these few hundred bytes would cost
// gigabytes.
func TestAliasesOfAliasesAreRefused(t *testing.T) {
	t.Parallel()
	front := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		front += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	if _, err := workflow.Parse(path, []byte("---\n"+front+"---\n"), with(nil)); !errors.Is(err, workflow.ErrParse) {
		t.Errorf("%.300v", err)
	}
}
