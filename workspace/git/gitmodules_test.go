package git

import (
	"errors"
	"strings"
	"testing"
)

// modulesBlob puts a .gitmodules into a store, as no fetch would: that checks it as well.
func modulesBlob(t *testing.T, s *Store, text string) ObjectID {
	t.Helper()
	out, err := plain(t, s.repository(), text, "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(out)
	}
	return id(t, out)
}

func TestNamesAndPathsInGitmodulesLeadNowhereElse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.store(t, remoteAt(t, m.origin(t)))
	section := func(name, path string) string {
		return "[submodule \"" + name + "\"]\n\tpath = " + path + "\n\turl = ../x\n"
	}
	for name, text := range map[string]string{
		"a name above":                 section("../x", "x"),
		"a name above, in the middle":  section("a/../../x", "x"),
		"an absolute name":             section("/x", "x"),
		"a name that ends in a slash":  section("x/", "x"),
		"a name of .git":               section("a/.GIT/x", "x"),
		"a name of .git for Windows":   section("git~1", "x"),
		"a name of .git. for Windows":  section(".git. ", "x"),
		"an option for a name":         section("-u./evil", "x"),
		"a drive for a name":           section("c:x", "x"),
		"a backslash in a name":        section(`a\\..\\x`, "x"),
		"a quote in a name":            section(`a\"]x`, "x"),
		"a long name":                  section(strings.Repeat("a", 201), "x"),
		"a name in the folder of one":  section("a", "x") + section("a/objects", "y"),
		"one name but for case":        section("a", "x") + section("A", "y"),
		"a path above":                 section("x", "../x"),
		"a path above, in the middle":  section("x", "a/../../x"),
		"an absolute path":             section("x", "/x"),
		"the top":                      section("x", "."),
		"a path of .git":               section("x", ".git/hooks"),
		"a path of .Git":               section("x", "a/.Git"),
		"an option for a path":         section("x", "-u./evil"),
		"pathspec magic for a path":    section("x", ":(top)x"),
		"a pattern for a path":         section("x", "*"),
		"two values of path":           section("x", "x") + section("x", "y"),
		"two submodules at one path":   section("a", "x") + section("b", "x"),
		"a path in that of another":    section("a", "x") + section("b", "x/y"),
		"one path but for case":        section("a", "x") + section("b", "X"),
		"a file that is no such list":  "[submodule",
		"a carriage return in a path":  section("x", "\"x\\ty\""),
		"an unprintable name":          section("a\u202eb", "x"),
		"two values of the address":    section("x", "x") + "[submodule \"x\"]\n\turl = ../y\n",
		"a path that ends with spaces": section("x", `"x "`),
	} {
		if got, err := s.readModules(t.Context(), modulesBlob(t, s, text)); !errors.Is(err, ErrUnsupported) || got != nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	got, err := s.readModules(t.Context(), modulesBlob(t, s, "[include]\n\tpath = /etc/passwd\n"+
		section("libs/a.b c", "libs/a")+"\tupdate = !touch /tmp/x\n\tbranch = main\n"+section("off", "off")+"\tupdate = none\n[submodule \"old\"]\n\turl = ../old\n[submodule]\n\trecurse = true\n"))
	if err != nil || len(got) != 1 || got[0] != (moduleEntry{"libs/a.b c", "libs/a", "../x"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAGitmodulesThatIsALinkOrTooBigIsRefused(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	fetch(t, n.store, ours)
	commitWith := func(mode, content string) ObjectID {
		tree, err := plain(t, n.store.repository(), mode+" blob "+modulesBlob(t, n.store, content).String()+"\t.gitmodules\n", "mktree")
		if err != nil {
			t.Fatal(tree)
		}
		return id(t, git(t, n.store.repository(), "commit-tree", "-m", "x", tree))
	}
	for want, commit := range map[string]ObjectID{
		"it is not a file":  commitWith("120000", "main.go"),
		"the limit is 6553": commitWith("100644", strings.Repeat("#", maxModulesFile+1)),
	} {
		if _, _, err := n.store.Submodules(t.Context(), commit, commit, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "correct it, or remove repository.submodules") {
			t.Errorf("error %v", err)
		}
	}
}

// An address may lead to another repository of the same host, which gets the token, or to
// another host by https, which does not.
func TestASubmoduleGetsTheTokenOnTheSameHostOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		own, parent, address string
		want                 string // "" is refused
		token                bool
	}{
		{"https://h/o/app", "", "../lib", "https://h/o/lib", true},
		{"https://h/o/app.git", "", "../lib.git/", "https://h/o/lib.git", true},
		{"https://h/o/app", "", "./sub", "https://h/o/app/sub", true},
		{"https://h/o/app", "", "../../p/lib", "https://h/p/lib", true},
		{"https://h/o/app", "", "../../../lib", "", false},
		{"https://h/o/app", "", "../..", "", false},
		{"https://h/o/app", "", "../../../h2/x/y", "", false},
		{"https://h/o/a%20pp", "", "../lib", "https://h/o/lib", true},
		{"https://h/o/app", "https://other/x/lib", "../sub", "https://other/x/sub", false},
		{"https://h/o/app", "", "https://other/x/lib", "https://other/x/lib", false},
		{"https://h/o/app", "", "https://H/x/lib", "https://H/x/lib", true},
		{"https://h/o/app", "", "https://h:444/x/lib", "https://h:444/x/lib", false},
		{"https://h/o/app", "", "https://h/../x/lib", "", false},
		{"https://h/o/app", "", "https://h/%2e%2e/x/lib", "", false},
		{"https://h/o/app", "", "git@h:o/lib.git", "https://h/o/lib.git", true},
		{"https://h/o/app", "", "ssh://git@h/o/lib.git", "https://h/o/lib.git", true},
		{"https://h/o/app", "", "ssh://git@h:22/o/lib.git", "https://h/o/lib.git", true},
		{"https://h:8443/o/app", "", "git@h:o/lib.git", "https://h:8443/o/lib.git", true},
		{"https://h/o/app", "", "git@other:o/lib.git", "", false},
		{"https://h/o/app", "", "me@h:o/lib.git", "", false},
		{"https://h/o/app", "", "ssh://git@other/o/lib.git", "", false},
		{"https://h/o/app", "", "git://h/o/lib", "", false},
		{"https://h/o/app", "", "http://h/o/lib", "", false},
		{"https://h/o/app", "", "http://localhost/o/lib", "", false},
		{"https://h/o/app", "", "file:///srv/lib", "", false},
		{"https://h/o/app", "", "/srv/lib", "", false},
		{"https://h/o/app", "", "ext::sh", "", false},
		{"https://h/o/app", "", "ext::sh -c touch% /tmp/x", "", false},
		{"https://h/o/app", "", "https::ext::sh", "", false},
		{"https://h/o/app", "", "-u./evil", "", false},
		{"https://h/o/app", "", "--upload-pack=evil", "", false},
		{"https://h/o/app", "", "https://me:secret@h/o/lib", "", false},
		{"https://h/o/app", "", "https://h", "", false},
		{"https://h/o/app", "", "https://h/o/lib?x=1", "", false},
		{"https://h/o/app", "", "../lib?x=1", "", false},
		{"https://h/o/app", "", `..\lib`, "", false},
		{"https://h/o/app", "", "../lib\nx", "", false},
		{"https://h/o/app", "", "", "", false},
		{"http://127.0.0.1:81/app", "", "http://127.0.0.1:81/lib", "http://127.0.0.1:81/lib", true},
		{"http://127.0.0.1:81/app", "", "http://127.0.0.1:82/lib", "", false},
		{"/srv/git/app", "", "../lib", "file:///srv/git/lib", false},
		{"/srv/git/app", "", "../../../../etc", "", false},
		{"/srv/git/app", "", "/srv/git/lib", "", false},
		{"/srv/git/app", "", "file:///srv/git/lib", "", false},
		{"/srv/git/app", "", "https://h/o/lib", "https://h/o/lib", false},
		{"/srv/git/app", "", "git@h:o/lib", "", false},
	} {
		parse := func(address string) Remote {
			r, err := ParseRemote(address, "secret")
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		own := parse(test.own)
		parent := own
		if test.parent != "" {
			parent = parse(test.parent)
		}
		got, err := own.submodule(parent, test.address)
		if got.url != test.want || (err == nil) != (test.want != "") || err != nil && (!errors.Is(err, ErrRemote) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s in %s: %q, %v", test.address, parent, got.url, err)
		}
		if gotToken, wantToken := got.token != "", test.want != "" && test.token; gotToken != wantToken {
			t.Errorf("%s in %s: token %v", test.address, parent, gotToken)
		}
	}
}
