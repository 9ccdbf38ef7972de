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
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(emptyProject(t).ok("schema").stdout))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(workflow.SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile(workflow.SchemaURL)
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

// TestAReleaseHasTheSchemaWhereItSaysThatItIs compares the workflow with the schema's own
// address.
func TestAReleaseHasTheSchemaWhereItSaysThatItIs(t *testing.T) {
	t.Parallel()
	name := path.Base(workflow.SchemaURL)
	release := readText(t, filepath.Join(root, ".github", "workflows", "release.yml"))
	for _, line := range []string{`symphony" schema >"$out/` + name + `"`, "sha256sum -- *.tar.gz " + name, "*.tar.gz " + name + " symphony.cdx.json checksums.txt"} {
		if !strings.Contains(release, line) {
			t.Errorf("release.yml does not say %s", line)
		}
	}
}
