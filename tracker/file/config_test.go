package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheFolderIsReadFromTheSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		written map[string]any
		want    string
	}{
		{nil, "issues"},
		{map[string]any{"path": "work/items"}, "work/items"},
		{map[string]any{"path": "/srv/issues"}, "/srv/issues"},
	} {
		got, problems := trackertest.Decode(Kind(), test.written)
		if diff := cmp.Diff(&Config{Path: test.want}, got); diff != "" || problems != nil {
			t.Errorf("%v: %v\n%s", test.written, problems, diff)
		}
	}
}

func TestAWrongSettingIsNamedWithWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		written map[string]any
		want    []tracker.Problem
	}{
		{map[string]any{"path": 7}, []tracker.Problem{{Setting: "path", Reason: "must be the name of a folder", Category: tracker.ErrInvalidConfig}}},
		{map[string]any{"path": ""}, []tracker.Problem{{Setting: "path", Missing: true, Reason: "is missing; write the name of a folder", Category: tracker.ErrInvalidConfig}}},
		{map[string]any{"pth": "issues"}, []tracker.Problem{{Setting: "pth", Reason: "is unknown; did you mean path?", Category: tracker.ErrInvalidConfig}}},
	} {
		_, problems := trackertest.Decode(Kind(), test.written)
		if diff := cmp.Diff(test.want, problems, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("%v:\n%s", test.written, diff)
		}
	}
}

func TestAFolderThatCannotBeOneIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"): "create the folder",
		plain:                         "is not a folder",
		"issues":                      "not an absolute path",
	} {
		_, err := (&Config{Path: path}).Open(tracker.Options{}, nil, nil)
		trackertest.CheckError(t, err, tracker.ErrInvalidConfig, path, want)
	}
}

func TestNothingIsStartedFromAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "A-1.md"), []byte("---\ntitle: One\nstate: Todo\n---\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	adapter, err := (&Config{Path: dir}).Open(tracker.Options{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	trackertest.CheckError(t, adapter.Check(t.Context()), tracker.ErrInvalidConfig, dir, "let the user of this program write there")
	_, err = adapter.IssuesByState(t.Context(), []string{"Todo"})
	trackertest.CheckError(t, err, tracker.ErrInvalidConfig, dir, "let the user of this program write there")
	if issues, err := adapter.IssuesByID(t.Context(), []tracker.ID{"A-1"}); err != nil || len(issues) != 1 {
		t.Errorf("it cannot be looked at: %v, %v", issues, err)
	}
	adapter, err = (&Config{Path: dir}).Open(tracker.Options{StartsNothing: true}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if issues, err := adapter.IssuesByState(t.Context(), []string{"Todo"}); err != nil || len(issues) != 1 {
		t.Errorf("a host that starts nothing cannot list it: %v, %v", issues, err)
	}
	if text := strings.Join(adapter.Warnings, "\n"); !strings.Contains(text, "let the user of this program write there") {
		t.Errorf("such a host is warned: %q", text)
	}
}

func TestAFolderInTheCheckoutIsWarnedOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	checkout, outside := filepath.Join(dir, "checkout"), filepath.Join(dir, "checkout-not")
	inside := filepath.Join(checkout, "work", "issues")
	link := filepath.Join(dir, "link")
	for _, folder := range []string{inside, outside} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, checkout string
		want           int
	}{
		{inside, "", 0}, // not in Actions
		{inside, checkout, 1},
		{checkout, checkout, 1},
		{link, checkout, 1},
		{outside, checkout, 0},
	} {
		adapter, err := (&Config{Path: test.path}).Open(tracker.Options{Checkout: test.checkout}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(adapter.Warnings) != test.want || test.want > 0 && !strings.Contains(adapter.Warnings[0], "commit and push "+test.path) {
			t.Errorf("%+v: %q", test, adapter.Warnings)
		}
	}
}

func TestAFolderOfIssuesInWhichAgentsWriteIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"root/issues", "root/A-1", "issues", "rooted"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "root", "issues"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		issues, root string
		refused      bool
	}{
		{"root/issues", "root", true},
		{"root", "root", true},
		{"link", "root", true},
		{"issues", "root", false},
		{"rooted", "root", false},
		{"issues", "issues/workspaces", false}, // the folders below it are not read
		{"issues", "none/root", false},
		{"issues", "", false},
	} {
		root := row.root
		if root != "" {
			root = dir + "/" + row.root
		}
		_, err := (&Config{Path: filepath.Join(dir, row.issues)}).Open(tracker.Options{Workspaces: root}, nil, nil)
		if refused := errors.Is(err, tracker.ErrInvalidConfig); refused != row.refused || refused && !strings.Contains(err.Error(), "is in workspace.root") {
			t.Errorf("issues in %s and workspaces in %s: %v", row.issues, row.root, err)
		}
	}
}
