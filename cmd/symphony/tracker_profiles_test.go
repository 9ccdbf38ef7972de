package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// profileRows are the rows that the profile of every tracker adapter has.
var profileRows = []string{
	"kind", "secrets", "scope", "paging", "identity", "states", "labels",
	"priority", "dispatchable", "tools", "errors", "limits",
}

// profile returns the rows of the table in the README of a tracker adapter, by
// name, and their names in order.
func profile(t *testing.T, kind string) (rows map[string]string, names []string) {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(root, "tracker", kind, "README.md"))
	_, table, found := strings.Cut(string(text), "## Profile\n\n| | |\n|---|---|\n")
	if !found {
		t.Fatalf("tracker/%s/README.md has no table under ## Profile: begin it as tracker/file/README.md does, with the rows %q", kind, profileRows)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows = map[string]string{}
	for line := range strings.Lines(table) {
		name, text, _ := strings.Cut(strings.Trim(line, "| \n"), " | ")
		rows[name], names = text, append(names, name)
	}
	return rows, names
}

func TestEveryTrackerPublishesItsProfile(t *testing.T) {
	t.Parallel()
	for _, k := range wiring.Trackers() {
		kind := k.Name
		rows, names := profile(t, kind)
		if diff := cmp.Diff(profileRows, names); diff != "" {
			t.Errorf("rows of the profile of %s (-want +got):\n%s", kind, diff)
		}
		for name, text := range rows {
			if text == "" {
				t.Errorf("row %q of the profile of %s is empty", name, kind)
			}
		}
		if rows["kind"] != kind {
			t.Errorf("the profile of %s says it is of kind %q", kind, rows["kind"])
		}
	}
}

// TestEverySettingIsDescribed checks what errors and the tables of settings are made
// of, and that defaults are values which the setting itself takes.
func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	for _, k := range wiring.Trackers() {
		seen := map[string]bool{}
		for _, s := range k.New().Settings() {
			if seen[s.Name] || s.Name == "" || s.Meaning == "" || s.Want == "" || strings.ContainsAny(s.Meaning+s.Want, "|\n") {
				t.Errorf("%s: setting %+v", k.Name, s)
			}
			seen[s.Name] = true
			for _, value := range s.Defaults {
				if text, isText := value.(string); (!isText || !strings.HasPrefix(text, "$")) && !s.Decode(value) {
					t.Errorf("%s: %s does not take its default %v", k.Name, s.Name, value)
				}
			}
			if s.Decode(struct{}{}) {
				t.Errorf("%s: %s takes anything", k.Name, s.Name)
			}
		}
		if states := k.New().States(); len(states.Active) == 0 || len(states.Terminal) == 0 {
			t.Errorf("%s has no default states", k.Name)
		}
	}
}

// TestTheProfilesNameTheirToolsWithSchemaAndResult compares the row of the tools
// with the tools: the keys in the order of the schema, those that may be left out
// with a question mark.
func TestTheProfilesNameTheirToolsWithSchemaAndResult(t *testing.T) {
	t.Parallel()
	written := map[string]map[string]any{
		"file":   {"path": t.TempDir()},
		"github": {"repo": "acme/shop", "api_key": "ghs_api0123456789"},
		"linear": {"api_key": "lin_api_0123456789", "project_slug": "0c79b11b75ea"},
	}
	for _, k := range wiring.Trackers() {
		kind := k.Name
		cfg, problems := trackertest.Decode(k, written[kind])
		if problems != nil {
			t.Fatal(problems)
		}
		adapter, err := cfg.Open(tracker.Options{}, http.DefaultClient, quiet())
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := profile(t, kind)
		row := " " + rows["tools"]
		for _, tool := range adapter.Tools {
			if want := " " + tool.Name + " {" + strings.Join(schemaKeys(t, tool.InputSchema), ", ") + "} "; !strings.Contains(row, want) {
				t.Errorf("the profile of %s does not say %q:%s", kind, want, row)
			}
		}
		for _, want := range []string{"The result is", "OK is false"} {
			if len(adapter.Tools) > 0 && !strings.Contains(row, want) {
				t.Errorf("the profile of %s does not say %q:%s", kind, want, row)
			}
		}
	}
}

// schemaKeys returns the keys of a tool's arguments as a profile writes them.
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
