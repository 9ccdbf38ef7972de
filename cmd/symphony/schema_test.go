package main

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestTheSchemaOfAllTrackersIsPrinted(t *testing.T) {
	t.Parallel()
	want, err := workflow.Schema(wiring.Trackers())
	if got := emptyProject(t).ok("schema").stdout; err != nil || got != string(want)+"\n" {
		t.Errorf("%v, got\n%s", err, got)
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
