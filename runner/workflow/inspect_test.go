package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/workflow"
)

// inspect returns what is wrong with a file and what it warns of, each as "line:column: text".
func inspect(content string) (in workflow.Inspection, problems, warnings []string) {
	in = workflow.Inspect(path, []byte(content), with(map[string]string{"LINEAR_API_KEY": "lin", "GITHUB_TOKEN": "ghs", "GITHUB_REPOSITORY": "acme/shop"}))
	texts := func(list workflow.Problems) (texts []string) {
		for _, p := range list {
			texts = append(texts, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Text()))
		}
		return texts
	}
	return in, texts(in.Problems), texts(in.Warnings)
}

func TestEveryProblemIsNamedWithItsPosition(t *testing.T) {
	t.Parallel()
	in, problems, warnings := inspect("---\r\n" + `tracker:
  kind: linear
  api_key: !secret linear
  endpoint: http://linear.example.org
agent:
  max_turns: many
  max_turn: 3
  max_turns: 4
hooks:
  env:
    - GOOD
    - 7 bad
polling: often
poling: {interval_ms: 1}
---

Work on {{ issue.title }}.
`)
	want := []string{
		"2:1: tracker.project_slug: missing_tracker_project_slug: is missing; write the project's slugId, in quotes when it looks like a number",
		"4:12: tracker.api_key: workflow_parse_error: the tag !secret is not supported; remove it and quote the value if it is text",
		`5:3: tracker.endpoint is "http://linear.example.org": invalid_tracker_config: must be an https address, such as https://api.linear.app/graphql (http is for a loopback address alone)`,
		`7:3: agent.max_turns is "many": must be an integer from 1 to 2147483647`,
		"9:3: agent.max_turns: workflow_parse_error: is written twice, first on line 7; keep one of them",
		`13:7: hooks.env[1] is "7 bad": must be the name of an environment variable: letters, digits and _, not beginning with a digit`,
		"14:1: polling: must be a map of settings",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	want = []string{
		"8:3: agent.max_turn: is unknown and ignored; did you mean agent.max_turns?",
		"15:1: poling: is unknown and ignored; did you mean polling?",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if in.Workflow.Prompt != "Work on {{ issue.title }}." || in.Workflow.PromptLine != 18 || !in.HasPrompt {
		t.Errorf("the prompt is %q on line %d", in.Workflow.Prompt, in.Workflow.PromptLine)
	}
	if in.Workflow.Settings.MaxTurns != 20 {
		t.Errorf("a wrong value leaves %d turns, want the default", in.Workflow.Settings.MaxTurns)
	}
	for keys, want := range map[string]bool{"tracker": false, "codex": true, "hooks.env": false, "polling": false, "agent.max_turns": false, "server codex.command": true, "codex polling": false} {
		if got := in.Sound(strings.Fields(keys)...); got != want {
			t.Errorf("%s is sound: %t, want %t", keys, got, want)
		}
	}
}

func TestAFileThatCannotBeReadHasOneProblem(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]struct {
		problem   string
		hasPrompt bool
	}{
		"":                                      {"0:0: tracker.kind: unsupported_tracker_kind: is missing, because the file has no settings; begin it with them, between two lines of exactly \"---\"", true},
		"---\n---\n":                            {"0:0: tracker.kind: unsupported_tracker_kind: is missing; write one of file, github, linear", true},
		strings.Repeat("x", 5<<20):              {"0:0: workflow_parse_error: larger than 1048576 bytes; shorten it", false},
		"---\na: 1\n---\n\n\xff":                {"5:0: workflow_parse_error: not valid UTF-8; save it as UTF-8", false},
		"\x7fELF\x01\x01\x00\n\x80":             {"2:0: workflow_parse_error: not valid UTF-8; save it as UTF-8", false},
		"---\ntracker:\n\tkind: file\n---\nGo.": {"3:0: workflow_parse_error: a tab indents the line; write spaces", true},
		"---\ntracker:\n  kind: \"file\n---\n":  {"3:0: workflow_parse_error: a text in quotes has no end; close the quotes", true},
		"---\ntracker: {kind: file}\n":          {"1:0: workflow_parse_error: the front matter never ends; close it with a line of exactly \"---\"", false},
		"---\n- tracker\n---\n":                 {"2:0: workflow_front_matter_not_a_map: write settings as `key: value`", true},
	} {
		in, problems, _ := inspect(content)
		if diff := cmp.Diff([]string{want.problem}, problems); diff != "" || in.HasPrompt != want.hasPrompt {
			t.Errorf("%.40q: has a prompt: %t\n%s", content, in.HasPrompt, diff)
		}
		if in.Sound() && !strings.Contains(want.problem, "tracker.kind") {
			t.Errorf("%.40q: the settings count as read", content)
		}
	}
}

// untyped are the keys that take a value of every type.
var untyped = []string{"codex.approval_policy", "codex.thread_sandbox"}

// TestAWrongTypeIsOneProblemOnTheLineOfItsKey gives each key of the table, and each setting
// of each kind of tracker, values of all types: none makes more than one problem or warning
// about the key, and it is on the line of the key.
func TestAWrongTypeIsOneProblemOnTheLineOfItsKey(t *testing.T) {
	t.Parallel()
	keys := map[string]string{} // kind of the tracker by key
	for _, k := range workflow.Keys(trackers()) {
		keys[k.Name] = "file"
	}
	for _, k := range trackers() {
		for _, s := range k.New().Settings() {
			for _, name := range append(s.Aliases, s.Name) {
				keys["tracker.provider."+name] = k.Name
			}
		}
	}
	for _, name := range []string{"endpoint", "api_key", "project_slug", "assignee"} {
		keys["tracker."+name] = "linear"
	}
	delete(keys, "tracker.kind") // below
	for key, kind := range keys {
		rejected := 0
		for _, wrong := range []string{"{x: 1}", "[[1]]", "7", "true", "1.5", "\n      x: 1", "\n      - [1]", "2026-01-01"} {
			content, line := fileWith(kind, key, wrong)
			_, problems, warnings := inspect(content)
			of := func(text string) bool {
				return strings.Contains(text, key+":") || strings.Contains(text, key+" ") || strings.Contains(text, key+"[") || strings.Contains(text, key+".")
			}
			about := problems
			if len(about) == 0 {
				about = slices.DeleteFunc(slices.Clone(warnings), func(text string) bool { return !of(text) })
			}
			if len(about) == 0 {
				continue
			}
			rejected++
			var at, column int
			_, err := fmt.Sscanf(about[0], "%d:%d:", &at, &column)
			inIt := at == line || strings.HasPrefix(wrong, "\n") && at == line+1
			if err != nil || len(about) > 1 || !of(about[0]) || !inIt || column == 0 {
				t.Errorf("%s: %q on line %d:\n%s\n%s", key, wrong, line, strings.Join(problems, "\n"), strings.Join(warnings, "\n"))
			}
		}
		if rejected == 0 && !slices.Contains(untyped, key) {
			t.Errorf("%s takes every type", key)
		}
	}
	_, problems, _ := inspect("---\n\ntracker:\n  kind: [file]\n---\n")
	if diff := cmp.Diff([]string{"4:3: tracker.kind is a list: unsupported_tracker_kind: must be one of file, github, linear"}, problems); diff != "" {
		t.Error(diff)
	}
}

// fileWith returns a workflow file that is valid but for the value of a key, and the line of
// the key.
func fileWith(kind, key, value string) (content string, line int) {
	sections := map[string][]string{
		"tracker":    {"kind: " + kind},
		"repository": {"url: https://github.com/acme/shop"},
		"delivery":   {"kind: pull_request", "hand_over: {remove_label: symphony}"},
	}
	if kind == "linear" && key != "tracker.project_slug" && key != "tracker.provider.project_slug" {
		sections["tracker"] = append(sections["tracker"], "project_slug: abc")
	}
	if key != "tracker.required_labels" {
		sections["tracker"] = append(sections["tracker"], "required_labels: [symphony]")
	} else {
		sections["delivery"] = []string{"kind: pull_request"}
	}
	if strings.HasPrefix(key, "tracker.provider.state_label_prefix") || strings.HasPrefix(key, "tracker.provider.project") && kind == "github" {
		sections["tracker"] = append(sections["tracker"], "active_states: [open]", "terminal_states: [closed]")
	}
	section, name, inside := strings.Cut(key, ".")
	name, nested, isNested := strings.Cut(name, ".")
	sections[section] = slices.DeleteFunc(sections[section], func(entry string) bool { return strings.HasPrefix(entry, name+":") })
	lines := []string{"---", "# A comment.", ""}
	for _, s := range []string{"tracker", "repository", "delivery", section} {
		if s == section && line > 0 {
			continue
		}
		if !inside && s == section {
			lines = append(lines, s+": "+value)
			line = len(lines)
			continue
		}
		lines = append(lines, s+":")
		for _, entry := range sections[s] {
			lines = append(lines, "  "+entry)
		}
		if s != section {
			continue
		}
		if lines = append(lines, "  "+name+": "+value); isNested {
			lines = append(lines[:len(lines)-1], "  "+name+":", "    "+nested+": "+value)
		}
		line = len(lines)
	}
	return strings.Join(lines, "\n") + "\n---\nGo.\n", line
}

// TestASyntaxErrorIsOnTheLineOnWhichItIs puts a broken line somewhere into a front matter.
func TestASyntaxErrorIsOnTheLineOnWhichItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		good := []string{"# A comment", "", "name%d: text", "name%d: [a, b]", "name%d:\n  - a\n  - b", "name%d:\n  x: {y: 1}\n  z: |\n    a: b: c\n    [", "name%d: [a,\n  b]", "name%d: \"a\n  b\""}
		bad := rapid.SampledFrom([]string{"a: b: c", "x: [a", "x: \"a", "\tx: 1", " y: 1", "x: @y", "x", "}", "x: {a: 1"}).Draw(t, "bad")
		var lines []string
		add := func(n int) {
			for i := range n {
				text := rapid.SampledFrom(good).Draw(t, "good")
				if strings.Contains(text, "%d") {
					text = fmt.Sprintf(text, 1000*n+i+len(lines)*10000)
				}
				lines = append(lines, strings.Split(text, "\n")...)
			}
		}
		add(rapid.IntRange(1, 5).Draw(t, "before"))
		lines = append(lines, fmt.Sprintf("last%d: 1", len(lines)), bad)
		at := len(lines) + 1 // after the delimiter
		add(rapid.IntRange(0, 5).Draw(t, "after"))
		_, problems, _ := inspect("---\n" + strings.Join(lines, "\n") + "\n---\n")
		if len(problems) == 0 || !strings.HasPrefix(problems[0], fmt.Sprintf("%d:0: workflow_parse_error: ", at)) {
			t.Fatalf("%q on line %d: %q\n%s", bad, at, problems, strings.Join(lines, "\n"))
		}
	})
}

// TestAKeyThatNothingReadsLeavesTheOthersSound inspects trackers with unknown settings.
func TestAKeyThatNothingReadsLeavesTheOthersSound(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]bool{
		"tracker: {kind: file, provider: {pth: x}}":                           true,
		"tracker: {kind: file, provider: {pth: x, path: 5}}":                  false,
		"tracker: {kind: file, provider: {pth: x}, active_states: [5]}":       false,
		"tracker: {kind: file, provider: {pth: x}}\nagent: {max_turns: many}": true,
	} {
		in, problems, _ := inspect("---\n" + front + "\n---\n")
		if len(problems) == 0 || in.Sound("tracker") != want {
			t.Errorf("%s: sound %t, want %t; %q", front, in.Sound("tracker"), want, problems)
		}
	}
}

// TestAFrontMatterThatCannotBeReadLeavesTheDefaults inspects wrong YAML: what needs no
// setting can still be checked.
func TestAFrontMatterThatCannotBeReadLeavesTheDefaults(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"---\ntracker:\n\tkind: file\n---\n", "---\ntracker: {kind: file}\n", "---\n- tracker\n---\n"} {
		in, _, _ := inspect(content)
		if s := in.Workflow.Settings; in.Readable() || s.Codex.Command != "codex app-server" || s.MaxTurns != 20 {
			t.Errorf("%q: readable %t, command %q, %d turns", content, in.Readable(), s.Codex.Command, s.MaxTurns)
		}
	}
}

func TestAMissingKeyIsReportedAtItsSection(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]string{
		"repository: {}":                               "2:1: repository.url",
		"repository:":                                  "2:1: repository.url",
		"repository: ~":                                "2:1: repository.url",
		"repository: {url: }":                          "2:14: repository.url",
		"delivery: {}":                                 "2:1: repository.url",
		"delivery: {}\nrepository: {paths: []}":        "3:1: repository.url",
		"repository: &nothing {}\ndelivery: *nothing":  "2:1: repository.url",
		"tracker: {}":                                  "2:1: tracker.kind",
		"tracker:":                                     "2:1: tracker.kind",
		"tracker: {kind: null}":                        "2:11: tracker.kind",
		"tracker: {kind: github, provider: {}}":        "2:25: tracker.provider.repo",
		"tracker: {kind: linear, project_slug: }":      "2:25: tracker.project_slug",
		"polling:\n  interval_ms: 1\n\ntracker: &t {}": "5:1: tracker.kind",
	} {
		in := workflow.Inspect(path, []byte("---\n"+front+"\n---\n"), with(map[string]string{"LINEAR_API_KEY": "lin"}))
		var got []string
		for _, p := range in.Problems {
			got = append(got, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Key))
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %s", front, got, want)
		}
	}
}
