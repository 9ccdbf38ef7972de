package attempt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCredentialPathsGoByTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"HOME": "/home/x", "XDG_CONFIG_HOME": "/conf", "KUBECONFIG": "/k/one:relative:/k/two", "NETRC": "", "RUNNER_TEMP": "/runner/_work/_temp",
		"PATH": "/usr/bin:bin:/home/x/.docker/bin/",
	}
	d := DenyCredentials(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
	for path, want := range map[string]bool{
		"/home/x/.ssh": true, "/home/x/.config/gh": true, "/conf/gh": true, "/conf/git/credentials": true, "/k/one": true, "/k/two": true,
		"/run": true, "/runner/_work/_temp": true, "/runner/.credentials": true,
		"relative": false, "": false, "/": false,
	} {
		if got := slices.Contains(d.Paths, path); got != want {
			t.Errorf("%q is denied: %v, want %v", path, got, want)
		}
	}
	if diff := cmp.Diff([]string{"/usr/bin", "/home/x/.docker/bin"}, d.Readable); diff != "" {
		t.Errorf("the folders of PATH (-want +got):\n%s", diff)
	}
	for _, path := range DenyCredentials(func(string) (string, bool) { return "", false }).Paths {
		if !filepath.IsAbs(path) || strings.ContainsAny(path, "~$") {
			t.Errorf("without an environment %q is denied", path)
		}
	}
}

func TestDeniedPathsAreFollowedToWhereTheyLead(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "dotfiles", "config", "gh", "hosts.yml"), "x")
	writeFile(t, filepath.Join(dir, "dotfiles", "other", "key"), "x")
	for from, to := range map[string]string{"config": "dotfiles/config", "aws": "nowhere/aws", "loop": "loop", "chain": "aws", "up": "config/../other"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"config/gh":     "dotfiles/config/gh",
		"config/hub":    "dotfiles/config/hub", // not there yet
		"aws":           "nowhere/aws",
		"chain":         "nowhere/aws",
		"aws/config":    "nowhere/aws/config",
		"aws/a/b":       "nowhere/aws/a/b",
		"not/here/../x": "not/x",
		"not/here/at/x": "not/here/at/x",
		"loop":          "loop",
		"up":            "dotfiles/other", // beside where config leads
		"up/key":        "dotfiles/other/key",
		"up/none":       "dotfiles/other/none",
	} {
		got := realPaths([]string{filepath.Join(dir, path)}, nil)
		if diff := cmp.Diff([]string{filepath.Join(dir, want)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestADeniedFolderWithAProgramInItIsDeniedEntryByEntry(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"temp/tools/bin/codex", "temp/tools/key", "temp/token", "temp/other/key", "temp/other/x", "keys/key"} {
		writeFile(t, at(name), "x")
	}
	if err := os.Symlink(at("elsewhere"), at("temp/link")); err != nil { // its target is outside the folder
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ keep, want []string }{
		"nothing kept":        {nil, []string{"keys", "temp"}},
		"a program":           {[]string{at("temp/tools/bin/codex")}, []string{"keys", "temp/other", "temp/token"}},
		"a folder of PATH":    {[]string{at("temp/tools/bin")}, []string{"keys", "temp/other", "temp/token"}},
		"the folder itself":   {[]string{at("temp")}, []string{"keys", "temp"}},
		"nothing is there":    {[]string{at("keys/bin/x")}, []string{"keys", "temp"}},
		"programs in several": {[]string{at("temp/tools/bin"), at("temp/other/x")}, []string{"keys", "temp/token"}},
	} {
		var want []string
		for _, path := range test.want {
			want = append(want, at(path))
		}
		if diff := cmp.Diff(want, realPaths([]string{at("temp"), at("keys")}, test.keep)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheCodexHomeIsDeniedHoweverTheServerWritesIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.openWorkspaces()
	a := newAttempt(f.job, func(Update) {})
	home := f.path("home")
	for _, written := range []string{home, home + "/", home + "/./", f.path("other/..") + "/home"} {
		if denied := realPaths(a.deniedPaths(written), nil); !slices.Contains(denied, home) {
			t.Errorf("%s is not denied: %q", written, denied)
		}
	}
}

// BenchmarkRealPaths resolves the credential paths of a user who has none of them, as
// each session does.
func BenchmarkRealPaths(b *testing.B) {
	home := b.TempDir()
	d := DenyCredentials(func(name string) (string, bool) {
		if name == "HOME" {
			return home, true
		}
		return os.LookupEnv(name)
	})
	b.ReportAllocs()
	for b.Loop() {
		realPaths(d.Paths, d.Readable)
	}
}
