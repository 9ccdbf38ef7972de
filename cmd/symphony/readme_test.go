package main

import (
	"encoding/json"
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
)

var readme = filepath.Join("..", "..", "README.md")

// TestTheReadmeSaysWhatTheProgramSays compares the parts of the README that the
// program knows better. UPDATE_README=1 writes them.
func TestTheReadmeSaysWhatTheProgramSays(t *testing.T) {
	action := readAction(t)
	parts := map[string]string{
		"help": helpText(t), "keys": keyTable(), "trackers": profiles(t), "guard": guardTable(t), "key-places": keyPlaces(),
		"workflow-github": sampleRun(t, "github.yml"), "workflow-linear": sampleRun(t, "linear.yml"),
		"inputs": action.inputTable(), "outputs": action.outputTable(),
	}
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for name, want := range parts {
		begin, end := "<!-- begin: "+name+" -->\n", "<!-- end: "+name+" -->"
		before, rest, ok1 := strings.Cut(text, begin)
		got, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("the README has no part %q", name)
		}
		if diff := cmp.Diff(want, got); diff != "" && os.Getenv("UPDATE_README") == "" {
			t.Errorf("part %q of the README (-program +README), UPDATE_README=1 writes it:\n%s", name, diff)
		}
		text = before + begin + want + end + after
	}
	if os.Getenv("UPDATE_README") != "" {
		if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// helpText are the flags as --help shows them.
func helpText(t *testing.T) string {
	t.Helper()
	help := emptyProject(t).ok("--help").stdout
	_, flags, found := strings.Cut(help, "Flags:\n")
	if !found {
		t.Fatalf("--help shows no flags:\n%s", help)
	}
	flags, _, _ = strings.Cut(flags, "\n\n")
	return "```\nsymphony [flags] [path-to-WORKFLOW.md]\n\n" + flags + "\n```\n"
}

func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	for _, key := range workflow.Keys() {
		value := key.Default
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key.Name, value, key.Meaning)
	}
	return b.String()
}

// guardTable is the table that the red-team tests of package codex are checked against.
func guardTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "codex", "testdata", "guard.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keyPlaces lists the places of keys that agents may not read.
func keyPlaces() string {
	return "`" + strings.Join(attempt.CredentialPaths(), "`, `") + "`\n"
}

// profiles are the adapters' own descriptions: the list below the heading
// "Profile" in the documentation of each package, an item "name: text" for a row.
func profiles(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(adapters)) {
		source, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "tracker", kind, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "### %s\n\n| | |\n|---|---|\n", kind)
		rows := 0
		for _, block := range new(comment.Parser).Parse(source.Doc.Text()).Content {
			list, ok := block.(*comment.List)
			if !ok {
				continue
			}
			for _, item := range list.Items {
				text := string((&comment.Printer{TextWidth: -1}).Text(&comment.Doc{Content: item.Content}))
				name, value, _ := strings.Cut(strings.Join(strings.Fields(text), " "), ": ")
				fmt.Fprintf(&b, "| %s | %s |\n", name, strings.ReplaceAll(value, "|", "\\|"))
				rows++
			}
			break
		}
		if rows < 14 {
			t.Errorf("the profile of %s has %d rows, want 14", kind, rows)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestTheProfilesNameTheirToolsWithSchemaAndResult compares the row of the tools
// with the tools: the keys in the order of the schema, those that may be left out
// with a question mark.
func TestTheProfilesNameTheirToolsWithSchemaAndResult(t *testing.T) {
	t.Parallel()
	all := profiles(t)
	for kind, provider := range map[string]map[string]any{
		"file":   {},
		"github": {"repo": "acme/shop", "api_key": "ghs_api0123456789"},
		"linear": {"api_key": "lin_api_0123456789", "project_slug": "0c79b11b75ea"},
	} {
		settings := workflow.Settings{Tracker: workflow.Tracker{Kind: kind, Provider: provider}}
		settings.Policy.ActiveStates, settings.Policy.TerminalStates = []string{"open"}, []string{"closed"}
		if kind == "file" {
			settings.Tracker.Provider = map[string]any{"path": t.TempDir()}
		}
		adapter, err := adapters[kind](&app{actions: action.New(io.Discard, func(string) string { return "" })}, settings, quiet())
		if err != nil {
			t.Fatal(err)
		}
		_, profile, _ := strings.Cut(all, "### "+kind+"\n")
		_, row, _ := strings.Cut(profile, "\n| tools |")
		row, _, _ = strings.Cut(row, "\n")
		for _, tool := range adapter.Tools {
			if want := " " + tool.Name + " {" + strings.Join(schemaKeys(t, tool.InputSchema), ", ") + "} "; !strings.Contains(row, want) {
				t.Errorf("the profile of %s does not say %q:%s", kind, want, row)
			}
		}
		for _, want := range []string{"The result is", "OK is false"} {
			if !strings.Contains(row, want) {
				t.Errorf("the profile of %s does not say %q:%s", kind, want, row)
			}
		}
	}
	if len(adapters) != 3 {
		t.Errorf("%d adapters, of which 3 are compared", len(adapters))
	}
}

// schemaKeys are the keys of a tool's arguments, as a profile writes them.
func schemaKeys(t *testing.T, schema json.RawMessage) []string {
	t.Helper()
	var object struct {
		Properties json.RawMessage
		Required   []string
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(schema, &object); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(object.Properties, &properties); err != nil {
		t.Fatal(err)
	}
	keys := slices.SortedFunc(maps.Keys(properties), func(a, b string) int {
		at := func(key string) int { return strings.Index(string(object.Properties), `"`+key+`": {`) }
		return at(a) - at(b)
	})
	for i, key := range keys {
		if !slices.Contains(object.Required, key) {
			keys[i] += "?"
		}
	}
	return keys
}

// TestTheExampleOfTheReadmeWorks takes the two example files out of the README
// and runs the commands that are shown below them.
func TestTheExampleOfTheReadmeWorks(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```markdown\n(.*?)```").FindAllStringSubmatch(string(content), -1)
	if len(blocks) < 2 {
		t.Fatal("the README has no example of a WORKFLOW.md and of an issue")
	}
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), nil)
	flow := strings.Replace(blocks[0][1], "git clone --depth 1 https://github.com/acme/shop .", "echo cloned > cloned", 1)
	command := strings.SplitN(p.read("WORKFLOW.md"), "codex:\n", 2)[1]
	command = "workspace: {root: workspaces}\ncodex:\n" + strings.SplitN(command, "\n", 2)[0] + "\nhooks:"
	p.write("WORKFLOW.md", strings.Replace(flow, "hooks:", command, 1))
	p.write("issues/SHOP-1.md", blocks[1][1]+"\n- [ ] Move this issue to `Review`\n")

	wf, err := workflow.Load(filepath.Join(p.dir, "WORKFLOW.md"), workflow.Env{TempDir: t.TempDir()})
	if err != nil || len(wf.Warnings) > 0 {
		t.Fatalf("the example has problems: %v %q", err, wf.Warnings)
	}
	template, err := prompt.Parse(wf.Prompt)
	if err != nil || template.Check() != nil {
		t.Fatalf("the example's prompt has problems: %v %v", err, template.Check())
	}
	p.ok("validate")
	if plan := p.ok("--once", "--dry-run").stdout; !strings.Contains(plan, "SHOP-1") {
		t.Errorf("the plan does not name the issue:\n%s", plan)
	}
	p.ok("--once")
	if !strings.Contains(p.read("issues/SHOP-1.md"), "state: Review") || p.read("workspaces/SHOP-1/cloned") != "cloned\n" {
		t.Error("the example issue was not worked on")
	}
}
