package room

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
	f := newFolder(t)
	f.write("dotfiles/config/gh/hosts.yml", "x")
	f.write("dotfiles/other/key", "x")
	for from, to := range map[string]string{"config": "dotfiles/config", "aws": "nowhere/aws", "loop": "loop", "chain": "aws", "up": "config/../other"} {
		f.check(os.Symlink(to, f.path(from)))
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
		got := RealPaths([]string{f.path(path)}, nil)
		if diff := cmp.Diff([]string{f.path(want)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestADeniedFolderWithAProgramInItIsDeniedEntryByEntry(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	at := f.path
	for _, name := range []string{"temp/tools/bin/codex", "temp/tools/key", "temp/token", "temp/other/key", "temp/other/x", "keys/key"} {
		f.write(name, "x")
	}
	f.check(os.Symlink(at("elsewhere"), at("temp/link"))) // its target is outside the folder
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
		if diff := cmp.Diff(want, RealPaths([]string{at("temp"), at("keys")}, test.keep)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
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
		RealPaths(d.Paths, d.Readable)
	}
}
