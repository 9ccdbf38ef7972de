package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

func TestTheFolderIsReadFromTheSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider map[string]any
		want     string
	}{
		{nil, "issues"},
		{map[string]any{"path": "work/items"}, "work/items"},
		{map[string]any{"path": "/srv/issues"}, "/srv/issues"},
	} {
		got, err := ConfigFrom(test.provider)
		if err != nil || got.Path != test.want {
			t.Errorf("%v: got %q, %v, want %q", test.provider, got.Path, err, test.want)
		}
	}
}

func TestAWrongSettingIsNamedWithItsValueAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider map[string]any
		want     []string
	}{
		{map[string]any{"path": 7}, []string{"tracker.provider.path", "7", "folder"}},
		{map[string]any{"path": ""}, []string{"tracker.provider.path", `""`, "folder"}},
		{map[string]any{"path": nil}, []string{"tracker.provider.path", "nil", "folder"}},
		{map[string]any{"pth": "issues"}, []string{"tracker.provider.pth", "the only key is path"}},
	} {
		_, err := ConfigFrom(test.provider)
		mentions(t, err, tracker.ErrInvalidConfig, test.want...)
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
		_, err := Open(Config{Path: path})
		mentions(t, err, tracker.ErrInvalidConfig, path, want)
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
	for cfg, want := range map[Config]int{
		{Path: inside}:                       0, // not in Actions
		{Path: inside, Checkout: checkout}:   1,
		{Path: checkout, Checkout: checkout}: 1,
		{Path: link, Checkout: checkout}:     1,
		{Path: outside, Checkout: checkout}:  0,
	} {
		adapter, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if len(adapter.Warnings) != want || want > 0 && !strings.Contains(adapter.Warnings[0], "commit and push "+cfg.Path) {
			t.Errorf("%+v: %q", cfg, adapter.Warnings)
		}
	}
}

// mentions checks the category of an error and words in its text.
func mentions(t *testing.T, err, category error, words ...string) {
	t.Helper()
	if !errors.Is(err, category) {
		t.Errorf("got %v, want %v", err, category)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v: does not mention %q", err, word)
		}
	}
}
