package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

func TestPicturesAreRegularFilesInTheFolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	outside := filepath.Join(t.TempDir(), "secret.png")
	must(t, os.WriteFile(outside, []byte("secret"), 0o600))
	must(t, os.Mkdir(f.file("shots"), 0o700))
	f.put(t, "shots/my cart.png", "C")
	f.put(t, "a.png", "A")
	f.put(t, "long.png", "long")
	must(t, os.Symlink("a.png", f.file("inside.png")))
	must(t, os.Symlink(outside, f.file("out.png")))
	must(t, os.Symlink(filepath.Dir(outside), f.file("outer")))
	must(t, syscall.Mkfifo(f.file("pipe.png"), 0o600))
	for address, want := range map[string]string{
		"a.png": "A", "./a.png": "A", "shots/my%20cart.png": "C", "inside.png": "A", "a.png#top": "A",
		"long.png":              tracker.ErrTooLarge.Error(),
		"none.png":              "no such file or directory",
		"out.png":               "path escapes from parent",
		"outer/secret.png":      "path escapes from parent",
		"pipe.png":              "it is not a regular file",
		"shots":                 "it is not a regular file",
		"../x/secret.png":       tracker.ErrElsewhere.Error(),
		"shots/../../x":         tracker.ErrElsewhere.Error(),
		"%2e%2e/x":              tracker.ErrElsewhere.Error(),
		outside:                 tracker.ErrElsewhere.Error(),
		"file://" + outside:     tracker.ErrElsewhere.Error(),
		"https://x.org/a.png":   tracker.ErrElsewhere.Error(),
		"//x.org/a.png":         tracker.ErrElsewhere.Error(),
		"data:image/png;base64": tracker.ErrElsewhere.Error(),
	} {
		var got []string
		for content, err := range f.Read(t.Context(), tracker.Issue{}, []tracker.Picture{{Address: address}}, 3) {
			if got = append(got, string(content)); err != nil {
				got = []string{err.Error()}
				if strings.Contains(err.Error(), f.path) || len(content) > 0 {
					t.Errorf("%s: %v", address, err)
				}
			}
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%s: %s", address, diff)
		}
	}
	must(t, os.RemoveAll(f.path))
	for _, err := range f.Read(t.Context(), tracker.Issue{}, []tracker.Picture{{Address: "a.png"}}, 3) {
		if err == nil || errors.Is(err, tracker.ErrElsewhere) {
			t.Error(fmt.Errorf("without the folder: %w", err))
		}
	}
}
