package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// writeFiles writes files below a folder.
func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheOriginOfACheckoutIsReadWithoutGit(t *testing.T) {
	t.Parallel()
	remote := func(name, url string) string { return "[remote \"" + name + "\"]\n\turl = " + url + "\n" }
	for name, test := range map[string]struct {
		files map[string]string
		want  string
		fails bool
	}{
		"origin":             {map[string]string{".git/config": "[core]\n\turl = no\n" + remote("fork", "f") + remote("origin", "o")}, "o", false},
		"the only remote":    {map[string]string{".git/config": remote("upstream", `"u"`)}, "u", false},
		"two others":         {map[string]string{".git/config": remote("one", "1") + remote("two", "2")}, "", false},
		"none":               {map[string]string{".git/config": "[core]\n\tbare = false\n"}, "", false},
		"a worktree":         {map[string]string{".git": "gitdir: main/.git/worktrees/one\n", "main/.git/worktrees/one/commondir": "../..\n", "main/.git/config": remote("origin", "o")}, "o", false},
		"a submodule":        {map[string]string{".git": "gitdir: modules/shop\n", "modules/shop/config": remote("origin", "s")}, "s", false},
		"a file of another":  {map[string]string{".git": "mine\n"}, "", true},
		"no configuration":   {map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, "", true},
		"a folder as config": {map[string]string{".git/config/x": ""}, "", true},
	} {
		folder := t.TempDir()
		writeFiles(t, folder, test.files)
		got, err := Origin(folder)
		if got != test.want || (err != nil) != test.fails || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got := TrustedOrigin(folder); got != test.want {
			t.Errorf("%s: %q is believed", name, got)
		}
	}
	if got, err := Origin(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder has the origin %q, %v", got, err)
	}
}

func TestACheckoutIsFoundAroundAFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{".git/config": "", "docs/.git/HEAD": "", "docs/deep/WORKFLOW.md": ""})
	for _, file := range []string{"WORKFLOW.md", "docs/deep/WORKFLOW.md"} { // docs/.git is not a repository
		if got := CheckoutAround(filepath.Join(folder, file)); got != folder {
			t.Errorf("the checkout around %s is %q", file, got)
		}
	}
}
