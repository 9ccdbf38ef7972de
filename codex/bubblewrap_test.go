package codex

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newBubblewrap returns the folder with the program, a bubblewrap on the PATH that prints its
// arguments, and an entry of this machine's /tmp that is shared.
func newBubblewrap(t *testing.T) (b *Bubblewrap, shared string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("Codex starts bubblewrap on Linux alone")
	}
	b, err := MakeBubblewrap(filepath.Join(t.TempDir(), "it's ours"), "/symphony")
	if err != nil {
		t.Fatal(err)
	}
	shared, err = os.MkdirTemp("/tmp", "shared ")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(shared) })
	writeProgram(t, filepath.Join(b.Dir, "system"), `printf '%s\n' "$@"`)
	if err := os.WriteFile(filepath.Join(b.Dir, "real"), []byte(filepath.Join(b.Dir, "system")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return b, shared
}

func writeProgram(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// run returns what the program prints, its words separated by a bar.
func (b *Bubblewrap) run(t *testing.T, env string, words ...string) string {
	t.Helper()
	program := exec.Command(filepath.Join(b.Dir, "bwrap"), words...)
	program.Env = []string{"PATH=/nothing", env}
	printed, err := program.CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v, %s", words, err, printed)
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(printed), "\n"), "\n", "|")
}

func TestCommandsGetATmpOfTheirOwn(t *testing.T) {
	t.Parallel()
	b, shared := newBubblewrap(t)
	file := shared + "-file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file) })
	sandbox := strings.Split("--new-session|--ro-bind|/|/|--dev|/dev|--bind|"+shared+"/a b/c|"+shared+"/a b/c|--|/bin/sh|-c|echo /tmp *", "|")
	plain := strings.Join(sandbox, "|")
	if got := b.run(t, "A=1", sandbox...); got != plain {
		t.Errorf("before anything is shared: %s", cmp.Diff(plain, got))
	}
	paths := []string{shared + "/a b/c", shared, file, "/tmp", "/tmp/", "relative", "/etc", "/tmpfoo/x", "", "/tmp/is-not-there/x"}
	if err := b.Share(paths[:1]); err != nil {
		t.Fatal(err)
	}
	if err := b.Share(paths); err != nil {
		t.Fatal(err)
	}
	want := "--new-session|--ro-bind|/|/|--bind|" + b.Tmp() + "|/tmp|--ro-bind|" + file + "|" + file + "|--ro-bind|" + shared + "|" + shared + "|" + plain[strings.Index(plain, "--dev|"):]
	if got := b.run(t, "SYMPHONY_TMP=", sandbox...); got != want {
		t.Error(cmp.Diff(want, got))
	}
	want = strings.Replace(want, b.Tmp(), b.CheckTmp(), 1)
	if got := b.run(t, ForCheck, sandbox...); got != want {
		t.Errorf("for a check: %s", cmp.Diff(want, got))
	}
	for _, folder := range []string{b.Tmp(), b.CheckTmp()} {
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 2 || !entries[0].IsDir() || entries[1].IsDir() {
			t.Errorf("%s holds %v, %v", folder, entries, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := b.run(t, "A=1", sandbox...); got != plain {
		t.Errorf("when what is shared is gone: %s", cmp.Diff(plain, got))
	}
}

func TestASandboxThatIsNotUnderstoodStaysAsItIs(t *testing.T) {
	t.Parallel()
	b, shared := newBubblewrap(t)
	if err := b.Share([]string{shared}); err != nil {
		t.Fatal(err)
	}
	link, other, folder := shared+"-link", shared+"-other", shared+"-folder"
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(link); os.Remove(other); os.Remove(folder) })
	const root = "--ro-bind|/|/|"
	for _, words := range []string{
		"--help", "", "--tmpfs|/|--ro-bind|/usr|/usr|--|" + root + "true", root + "--perms|000", // without a command
		"--args|3 4|" + root + "--|true", "--ro-bind|/ /|--|true",
		root + "--bind|/tmp|/tmp|--|true", root + "--tmpfs|/tmp/|--|true",
		root + "--tmpfs|/tmp/.|--|true", root + "--tmpfs|" + shared + "/../x|--|true",
		root + "--tmpfs|/tmp/is-not-there|--|true", root + "--tmpfs|" + other + "/below|--|true",
		root + "--ro-bind|" + other + "|" + other + "|--|true", root + "--tmpfs|" + link + "|--|true", root + "--tmpfs|" + link + "/ssl|--|true",
	} {
		want := words
		if words == root+"--perms|000" {
			want = strings.TrimSuffix(root, "|") + "|--bind|" + b.Tmp() + "|/tmp|--ro-bind|" + shared + "|" + shared + "|--perms|000"
		}
		if got := b.run(t, "A=1", strings.Split(words, "|")...); got != want {
			t.Error(cmp.Diff(want, got))
		}
	}
	if got := b.run(t, "A=1", strings.Split(root+"--tmpfs|"+folder+"|--|true", "|")...); !strings.Contains(got, b.Tmp()) {
		t.Errorf("a folder of /tmp that is closed: %s", got)
	}
}

// TestACommandWithHostsIsStartedByThisProgram has a program in the place of this one.
func TestACommandWithHostsIsStartedByThisProgram(t *testing.T) {
	t.Parallel()
	b, shared := newBubblewrap(t)
	own := filepath.Join(b.Dir, "own")
	writeProgram(t, own, `printf 'own|'; printf '%s\n' "$@"`)
	if err := os.WriteFile(filepath.Join(b.Dir, "self"), []byte(own+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const network = "SYMPHONY_NETWORK=hosts:"
	words := strings.Split("--ro-bind|/|/|--|bash|-c|:--:/bin/true", "|")
	plain := strings.Join(words, "|")
	if got := b.run(t, network, words...); got != plain {
		t.Errorf("without a socket: %s", cmp.Diff(plain, got))
	}
	socket, err := net.Listen("unix", filepath.Join(b.Dir, "door"))
	if err != nil {
		t.Skip(err) // the path is too long
	}
	defer socket.Close()
	enter := "own|network-door|enter|" + filepath.Join(b.Dir, "door") + "|" + filepath.Join(b.Dir, "system") + "|"
	if got := b.run(t, network, words...); got != enter+plain {
		t.Error(cmp.Diff(enter+plain, got))
	}
	for name, test := range map[string]struct{ variable, words string }{
		"no network":   {"SYMPHONY_NETWORK=", plain},
		"no variable":  {"A=1", plain},
		"help":         {network, "--help"},
		"a trial":      {network, "--tmpfs|/|--unshare-net|--|/usr/bin/true"},
		"a trial, too": {network, "--tmpfs|/|--unshare-net|--|/bin/true"},
	} {
		if got := b.run(t, test.variable, strings.Split(test.words, "|")...); got != test.words {
			t.Errorf("%s: %s", name, cmp.Diff(test.words, got))
		}
	}
	if err := b.Share([]string{shared}); err != nil {
		t.Fatal(err)
	}
	want := enter + "--ro-bind|/|/|--bind|" + b.Tmp() + "|/tmp|--ro-bind|" + shared + "|" + shared + "|--|bash|-c|:--:/bin/true"
	if got := b.run(t, network, words...); got != want {
		t.Errorf("with a /tmp of its own: %s", cmp.Diff(want, got))
	}
	if err := os.Remove(filepath.Join(b.Dir, "self")); err != nil {
		t.Fatal(err)
	}
	if got := b.run(t, network, "--help", "x"); got != "--help|x" {
		t.Errorf("%s", got)
	}
}

// TestAnOldBubblewrapIsHidden runs the start of a command with several programs named bwrap
// on the PATH, and then the program as Codex does.
func TestAnOldBubblewrapIsHidden(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		program string
		found   bool
	}{
		"none":    {"", false},
		"too old": {"echo usage: bwrap; echo ' --perms OCTAL'", false},
		"new":     {"echo usage: bwrap; echo ' --argv0 VALUE'", true},
		"broken":  {"exit 127", false},
	} {
		b, _ := newBubblewrap(t)
		folder := t.TempDir()
		if test.program != "" {
			writeProgram(t, filepath.Join(folder, "bwrap"), test.program)
		}
		shell := exec.Command("/bin/bash", "-c", b.Command(`echo "$PATH"; bwrap --help`))
		shell.Env = []string{"PATH=" + folder}
		got, err := shell.CombinedOutput()
		want := b.Dir + ":" + folder + "\n"
		if test.found {
			want += "usage: bwrap\n --argv0 VALUE\n"
		}
		if (err == nil) != test.found || string(got) != want {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(want, string(got)))
		}
	}
}

// TestTheBubblewrapOfCodexIsFound has a copy of a shell in the place of Codex.
func TestTheBubblewrapOfCodexIsFound(t *testing.T) {
	t.Parallel()
	b, _ := newBubblewrap(t)
	if err := os.WriteFile(filepath.Join(b.Dir, "real"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shell, err := os.ReadFile("/bin/bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"bin/codex", "codex"} {
		folder := t.TempDir()
		program := filepath.Join(folder, place)
		for _, made := range []string{filepath.Dir(program), filepath.Join(folder, "codex-resources")} {
			if err := os.MkdirAll(made, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(program, shell, 0o700); err != nil {
			t.Fatal(err)
		}
		writeProgram(t, filepath.Join(folder, "codex-resources/bwrap"), "echo of Codex")
		got, err := exec.Command(program, "-c", "'"+strings.ReplaceAll(filepath.Join(b.Dir, "bwrap"), "'", `'\''`)+"' --help; true").CombinedOutput()
		if err != nil || string(got) != "of Codex\n" {
			t.Errorf("%s: %v, %s", place, err, got)
		}
	}
}
