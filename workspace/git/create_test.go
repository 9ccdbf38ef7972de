package git

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// sample returns what a repository is created from.
func sample() (map[string]string, Commit) {
	who := Person{Name: "Ada", Email: "ada@example.com", When: time.Unix(1700000000, 0)}
	return map[string]string{"README.md": "hello\n", "src/a b.txt": "one\ntwo", "empty": "", ".gitignore": "empty\n"},
		Commit{Author: who, Committer: who, Message: "Open the shop"}
}

func TestARepositoryIsCreatedFromFiles(t *testing.T) {
	m := newMachine(t)
	files, commit := sample()
	shop := m.path("shop")
	if err := m.host.Create(t.Context(), shop, files, commit); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(m.path("shop", name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := plain(t, shop, "", "cat-file", "blob", "main:"+name); err != nil || got != strings.TrimRight(want, "\n") {
			t.Errorf("%s in the commit: %q, %v", name, got, err)
		}
	}
	if out := git(t, shop, "status", "--porcelain", "--ignored"); out != "" {
		t.Errorf("the work tree is not that of the commit:\n%s", out)
	}
	const want = "main Ada ada@example.com 1700000000 Open the shop"
	if out := git(t, shop, "log", "--all", "--format=%D %an %ae %ct %s"); strings.TrimPrefix(out, "HEAD -> ") != want {
		t.Errorf("history %q, want %q", out, want)
	}
	git(t, shop, "fsck", "--strict")
	if _, err := m.store(t, remoteAt(t, shop)).Fetch(t.Context(), Source{Prefix: "symphony/"}); err != nil {
		t.Error(err)
	}
}

func TestARepositoryIsNotCreatedOverAnything(t *testing.T) {
	m := newMachine(t)
	files, commit := sample()
	if err := os.MkdirAll(m.path("taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.path("taken", "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{m.path("taken"), m.path("taken", "file"), m.path("workspaces", "shop"), "shop"} {
		if err := m.host.Create(t.Context(), folder, files, commit); !errors.Is(err, ErrFolder) {
			t.Errorf("%s: %v", folder, err)
		}
	}
	for _, name := range []string{"../a", "/a", "a/../b", "", ".", "a\"", "a\nM 100644 inline b"} {
		if err := m.host.Create(t.Context(), m.path("shop"), map[string]string{name: ""}, commit); err == nil {
			t.Errorf("the path %q is taken", name)
		}
	}
	if _, err := os.Lstat(m.path("shop")); err == nil {
		t.Error("something was made of wrong paths")
	}
	if err := m.host.Create(t.Context(), m.path("shop"), files, Commit{}); err == nil {
		t.Error("a commit of nobody is made")
	}
}
