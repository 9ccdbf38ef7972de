package workflow_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/workflow"
)

// compileSchema returns the schema, ready to check values.
func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := workflow.Schema(trackers())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(workflow.SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(workflow.SchemaURL)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// front is the content of a front matter, by section, and by key within it.
type front map[string]any

// set writes the value of a key, such as agent.max_turns.
func (s front) set(key string, v any) {
	section, name, inside := strings.Cut(key, ".")
	if !inside {
		s[section] = v
		return
	}
	if s[section] == nil {
		s[section] = map[string]any{}
	}
	s[section].(map[string]any)[name] = v
}

// verdicts returns whether the schema and the program refuse settings.
func (s front) verdicts(t rapid.TB, schema *jsonschema.Schema) (bySchema, byProgram error) {
	t.Helper()
	text, err := json.Marshal(s) // which is YAML as well
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, byProgram = workflow.Parse(path, fmt.Appendf(nil, "---\n%s\n---\nGo.\n", text), with(schemaVariables))
	return schema.Validate(doc), byProgram
}

var schemaVariables = map[string]string{"LINEAR_API_KEY": "k", "GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "o/r", "NAME": "value"}

// oddValues are values of every type, right for some keys and wrong for others.
var oddValues = []any{
	nil, true, false, -1, 0, 1, 7, 99999, 1 << 40, 1.5, "", "text", "30", " 30 ", "-3", "$NAME", "$UNSET", "refuse", "branch", "members",
	[]any{}, []any{""}, []any{"a", "b"}, []any{1}, []any{nil}, []any{[]any{}},
	map[string]any{}, map[string]any{"a": 1}, map[string]any{"a": "draft"}, map[string]any{"a": nil}, map[string]any{"state": "Review"},
	map[string]any{"remove_label": nil}, map[string]any{"remove_label": 3}, map[string]any{"number": 3}, map[string]any{"number": "3"},
	map[string]any{"a": "b c", "d": []any{"e", "f"}}, map[string]any{"a": []any{}}, map[string]any{"a": []any{1}},
	map[string]any{"number": 3, "owner": nil}, map[string]any{"number": 3, "owner": "$UNSET"}, map[string]any{"a": "$UNSET"},
}

// schemaKeys returns every key, and the settings of all kinds of tracker.
func schemaKeys() []string {
	var keys []string
	for _, key := range workflow.Keys(trackers()) {
		keys = append(keys, key.Name)
	}
	return keys
}

// TestWhatTheSchemaRefusesTheProgramRejects draws settings from known keys.
func TestWhatTheSchemaRefusesTheProgramRejects(t *testing.T) {
	t.Parallel()
	schema, keys := compileSchema(t), schemaKeys()
	var providers []string
	for _, kind := range trackers() {
		for _, s := range kind.New().Settings() {
			providers = append(append(providers, s.Name), s.Aliases...)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := front{}
		s.set("tracker.kind", rapid.SampledFrom([]any{"file", "github", "linear", "jira", nil, 1}).Draw(t, "kind"))
		for range rapid.IntRange(1, 3).Draw(t, "keys") {
			s.set(rapid.SampledFrom(keys).Draw(t, "key"), rapid.SampledFrom(oddValues).Draw(t, "value"))
		}
		if rapid.Bool().Draw(t, "provider") {
			s.set("tracker.provider", map[string]any{
				rapid.SampledFrom(providers).Draw(t, "setting"): rapid.SampledFrom(oddValues).Draw(t, "setting's value"),
			})
		}
		if bySchema, byProgram := s.verdicts(t, schema); bySchema != nil && byProgram == nil {
			t.Errorf("the program accepts %v; the schema says: %v", s, bySchema)
		}
	})
}

// TestTheSchemaRefusesEveryWrongTypeThatTheProgramRejects sets each key to each value
// that has no text whose meaning could be wrong.
func TestTheSchemaRefusesEveryWrongTypeThatTheProgramRejects(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	checked := 0
	for _, key := range schemaKeys() {
		for _, v := range oddValues {
			if strings.Contains(fmt.Sprintf("%#v", v), `"`) {
				continue
			}
			s := front{}
			s.set("tracker.kind", "github")
			s.set("repository.url", "https://github.com/o/r")
			s.set("hooks.trusted", true)
			s.set("codex.model", "m")
			s.set("budget.prices", map[string]any{"m": map[string]any{"input": 1, "output": 1}})
			s.set(key, v)
			bySchema, byProgram := s.verdicts(t, schema)
			if bySchema == nil && byProgram != nil {
				t.Errorf("%s: %#v: the schema accepts it; the program says: %v", key, v, byProgram)
			}
			if bySchema != nil {
				checked++
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d values were refused", checked)
	}
}

// TestAFrontMatterMayNameItsSchema writes it in both of the ways that editors know.
func TestAFrontMatterMayNameItsSchema(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"$schema: " + workflow.SchemaURL, "# yaml-language-server: $schema=" + workflow.SchemaURL} {
		wf, err := workflow.Parse(path, []byte("---\n"+line+"\ntracker: {kind: file}\n---\nGo.\n"), with(nil))
		if err != nil || len(wf.Warnings) > 0 {
			t.Errorf("%s: %v, %q", line, err, wf.Warnings)
		}
	}
}

// TestTheSchemaDescribesEveryKey compares it with the table of the documentation.
func TestTheSchemaDescribesEveryKey(t *testing.T) {
	t.Parallel()
	text, err := workflow.Schema(trackers())
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, key := range workflow.Keys(trackers()) {
		section, name, inside := strings.Cut(key.Name, ".")
		got := schema.Properties[section].Description
		if inside {
			got = schema.Properties[section].Properties[name].Description
		}
		if !strings.HasPrefix(got, key.Meaning) || !strings.Contains(got, key.Default) {
			t.Errorf("the description of %s is %q", key.Name, got)
		}
	}
}
