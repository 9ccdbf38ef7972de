package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIssuesReturnsTheIssueOfEachWorkspace(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	for _, issue := range []Issue{{ID: "id-1", Identifier: "A-1"}, {ID: "id-2", Identifier: "weird/../name"}, {ID: "id-3", Identifier: "A-3"}} {
		if _, err := r.Prepare(t.Context(), issue); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Remove(t.Context(), Issue{ID: "id-3", Identifier: "A-3"}); err != nil {
		t.Fatal(err)
	}
	// The content of a record is not trusted: these do not fit the key.
	for key, text := range map[string]string{"B-1": `{"id":"x","identifier":"A-1"}`, "B-2": "{", "B-3": ""} {
		if err := os.Mkdir(filepath.Join(r.path, key), 0o700); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(r.path, metadataDir, key+".json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	known, unknown, err := r.Issues()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Issue{{ID: "id-1", Identifier: "A-1"}, {ID: "id-2", Identifier: "weird/../name"}}, known); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"B-1", "B-2", "B-3"}, unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}
