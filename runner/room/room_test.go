package room

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// in returns a room in a machine with these files in the person's home, and that home.
func in(t *testing.T, variables map[string]string, files ...string) (Room, string) {
	t.Helper()
	home := t.TempDir()
	for _, name := range files {
		folder{t, home}.write(name, "")
	}
	return Room{Dir: t.TempDir(), Lookup: func(name string) (string, bool) {
		if name == "HOME" {
			return home, true
		}
		value, ok := variables[name]
		return strings.ReplaceAll(value, "~", home), ok
	}}, home
}

// values returns the variables by their names. Each must be there once, with a reason.
func values(t *testing.T, r Room) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, v := range r.Variables() {
		if _, twice := found[v.Name]; twice || v.Name == "" || v.Value == "" || v.Why == "" {
			t.Errorf("%+v is there twice, or not whole", v)
		}
		found[v.Name] = v.Value
	}
	return found
}

func TestToolsAreFoundWhereTheyAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set   map[string]string
		files []string
		want  map[string]string // ~ is the person's home; empty for a variable that is not there
	}{
		"nothing":                      {nil, nil, map[string]string{"GOPROXY": "off", "RUSTUP_HOME": "", "PYTHONUSERBASE": ""}},
		"a toolchain":                  {nil, []string{".rustup/settings.toml"}, map[string]string{"RUSTUP_HOME": "~/.rustup"}},
		"one elsewhere":                {map[string]string{"RUSTUP_HOME": "~/tools"}, []string{"tools/x", ".rustup/x"}, map[string]string{"RUSTUP_HOME": "~/tools"}},
		"one that is gone":             {map[string]string{"RUSTUP_HOME": "~/tools"}, []string{".rustup/x"}, map[string]string{"RUSTUP_HOME": ""}},
		"modules of go":                {nil, []string{"go/pkg/mod/cache/download/x"}, map[string]string{"GOPROXY": "file://~/go/pkg/mod/cache/download,off"}},
		"modules in another folder":    {map[string]string{"GOPATH": "~/p"}, []string{"p/pkg/mod/cache/download/x"}, map[string]string{"GOPROXY": "file://~/p/pkg/mod/cache/download,off"}},
		"a module cache of its own":    {map[string]string{"GOMODCACHE": "~/m", "GOPATH": "~/p"}, []string{"m/cache/download/x"}, map[string]string{"GOPROXY": "file://~/m/cache/download,off"}},
		"a relative value":             {map[string]string{"GOMODCACHE": "m"}, nil, map[string]string{"GOPROXY": "off"}},
		"packages of a person":         {nil, []string{".local/lib/python3.11/site-packages/x"}, map[string]string{"PYTHONUSERBASE": "~/.local"}},
		"gems of an image":             {map[string]string{"GEM_HOME": "~/bundle"}, []string{"bundle/gems/x"}, map[string]string{"GEM_PATH": "~/bundle:"}},
		"gems of two folders":          {map[string]string{"GEM_HOME": "~/a", "GEM_PATH": "~/a:~/b"}, []string{"a/x", "b/x"}, map[string]string{"GEM_PATH": "~/a:~/b:~/a:"}},
		"no gems of the job":           {map[string]string{"GEM_HOME": "relative"}, nil, map[string]string{"GEM_PATH": ""}},
		"a home without such packages": {nil, []string{".local/lib/x"}, map[string]string{"PYTHONUSERBASE": ""}},
	} {
		r, home := in(t, test.set, test.files...)
		got := values(t, r)
		for variable, want := range test.want {
			if want = strings.ReplaceAll(want, "~", home); got[variable] != want {
				t.Errorf("%s: %s is %q, want %q", name, variable, got[variable], want)
			}
		}
		for _, variable := range []string{"HOME", "TMPDIR", "XDG_CACHE_HOME", "BASH_ENV", "GRADLE_USER_HOME", "GEM_HOME", "MAVEN_OPTS"} {
			if !strings.HasPrefix(strings.TrimPrefix(got[variable], "-Duser.home="), r.Dir+"/") {
				t.Errorf("%s: %s is %q, which is not in the room", name, variable, got[variable])
			}
		}
	}
}

func TestARoomHasTheSettingsOfGit(t *testing.T) {
	t.Parallel()
	r, home := in(t, map[string]string{"XDG_CONFIG_HOME": "~/x"}, "x/git/config", ".gitconfig")
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := r.Make(root, "first\n"); err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(filepath.Join(r.Home(), ".gitconfig"))
	want := "[include]\n\tpath = \"" + home + "/x/git/config\"\n[include]\n\tpath = \"" + home + "/.gitconfig\"\n"
	if err != nil || string(settings) != want {
		t.Errorf("%s%v, want\n%s", settings, err, want)
	}
	start, err := os.ReadFile(r.ShellStart())
	if err != nil || string(start) != "first\nexport TMPDIR='"+r.Temp()+"'\n" {
		t.Errorf("%s%v", start, err)
	}
	if err := r.Make(root, ""); err != nil {
		t.Errorf("a room that is there: %v", err)
	}
}

// TestWithoutAnEnvironmentTheRoomStands is the room of a program that has no environment.
func TestWithoutAnEnvironmentTheRoomStands(t *testing.T) {
	t.Parallel()
	r := Room{Dir: t.TempDir()}
	if got := values(t, r); got["HOME"] != filepath.Join(r.Dir, "home") || got["GOPROXY"] != "off" {
		t.Errorf("%v", got)
	}
}

// TestInANetworkToolsMayAskTheirRegistries has a home with modules of go, too.
func TestInANetworkToolsMayAskTheirRegistries(t *testing.T) {
	t.Parallel()
	r, _ := in(t, nil, "go/pkg/mod/cache/download/x")
	for _, network := range []bool{false, true} {
		r.Network = network
		got := values(t, r)
		for _, name := range []string{"GOPROXY", "GOTOOLCHAIN", "GOSUMDB", "CARGO_NET_OFFLINE", "npm_config_fetch_retries", "YARN_ENABLE_NETWORK", "PIP_RETRIES", "UV_OFFLINE", "COMPOSER_DISABLE_NETWORK", "BUNDLE_RETRY"} {
			if (got[name] == "") != network {
				t.Errorf("network %t: %s is %q", network, name, got[name])
			}
		}
		if (got["MAVEN_ARGS"] == "--offline") == network || got["npm_config_audit"] != "false" || got["HOME"] != r.Home() {
			t.Errorf("network %t: %v", network, got)
		}
	}
}
