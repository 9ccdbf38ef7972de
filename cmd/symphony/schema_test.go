package main

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/runner/workflow"
)

// printedSchema returns the schema that the program prints, ready to check values.
func printedSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(emptyProject(t).ok("schema").stdout))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(workflow.SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(workflow.SchemaURL)
}

// frontMatter returns the front matter of a workflow file.
func frontMatter(t *testing.T, text string) any {
	t.Helper()
	_, front, _ := strings.Cut(text, "---\n")
	front, _, ok := strings.Cut(front, "\n---\n")
	var doc any
	if err := yaml.NewDecoder(bytes.NewReader([]byte(front))).Decode(&doc); err != nil || !ok {
		t.Fatalf("no front matter: %v\n%s", err, text)
	}
	return doc
}

func TestTheSchemaAcceptsTheSamplesAndTheDemo(t *testing.T) {
	t.Parallel()
	schema := printedSchema(t)
	texts := map[string]string{"demo": readText(t, filepath.Join("..", "..", "runner", "demo", "files", "WORKFLOW.md"))}
	for name := range samples() {
		texts[name] = readText(t, samplePath(name))
	}
	for name, text := range texts {
		if err := schema.Validate(frontMatter(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSchemaNamesAMistakeInItsPlace(t *testing.T) {
	t.Parallel()
	schema := printedSchema(t)
	for text, want := range map[string]string{
		"tracker: {kind: github}\nagent: {max_turn: 3}":                 "/agent",
		"tracker: {kind: github}\nagent: {max_turns: 0}":                "/agent/max_turns",
		"tracker: {kind: github, provider: {trust: everybody}}":         "/tracker/provider/trust",
		"tracker: {kind: linear, provider: {repo: acme/shop}}":          "/tracker/provider",
		"tracker: {kind: file}\ndelivery: {protected: {docs/**: none}}": "/delivery/protected",
		"agent: {max_turns: 3}":                                         "missing property 'tracker'",
	} {
		err := schema.Validate(frontMatter(t, "---\n"+text+"\n---\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestAReleaseHasTheSchemaWhereItSaysThatItIs compares the workflow with the schema's own
// address.
func TestAReleaseHasTheSchemaWhereItSaysThatItIs(t *testing.T) {
	t.Parallel()
	name := path.Base(workflow.SchemaURL)
	release := readText(t, filepath.Join(root, ".github", "workflows", "release.yml"))
	for _, line := range []string{`symphony" schema >"$out/` + name + `"`, "sha256sum -- *.tar.gz " + name, "*.tar.gz " + name + " checksums.txt"} {
		if !strings.Contains(release, line) {
			t.Errorf("release.yml does not say %s", line)
		}
	}
}
