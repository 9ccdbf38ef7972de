package ssh

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// script returns the path of a script with this content.
func script(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// newProgram returns a program that is a script with this content.
func newProgram(t *testing.T, content string) program {
	t.Helper()
	p, err := openProgram(script(t, content))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.file.Close() })
	return p
}

// local runs a script by a login shell on this machine, in a home folder, and returns its answers and what follows the
// last one.
func local(t *testing.T, login, home, script string, input io.Reader) string {
	t.Helper()
	m := newMark()
	command := exec.CommandContext(t.Context(), login, "-c", m.command(script))
	command.Env, command.Stdin = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, input
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", login, err, out)
	}
	return strings.TrimPrefix(strings.ReplaceAll(string(out), "\n"+string(m)+" ", ";"), ";")
}

func TestAnyLoginShellRunsTheScripts(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "#!/bin/sh\necho \"$@\"\n")
	for _, script := range []string{p.startScript([]string{"host"}), p.uploadScript()} {
		m := newMark()
		command := m.command(script)
		if inside, ok := strings.CutPrefix(command, "exec sh -c '"); !ok || strings.ContainsAny(strings.TrimSuffix(inside, "'"), "'\\!\n") || strings.Contains(command, string(m)) {
			t.Errorf("not for any shell: %s", command)
		}
	}
	for _, login := range []string{"sh", "dash", "bash", "zsh", "ksh", "fish", "csh", "tcsh"} {
		if _, err := exec.LookPath(login); err != nil {
			t.Logf("there is no %s", login)
			continue
		}
		home := filepath.Join(t.TempDir(), "a home")
		start := p.startScript([]string{"host", "a=b"})
		for _, want := range []string{"missing\n", "send\n;stored\n", "ready\nhost a=b\n", "there\n"} {
			text := start
			if strings.HasPrefix(want, "send") || strings.HasPrefix(want, "there") {
				text = p.uploadScript()
			}
			if got := local(t, login, home, text, p.content()); got != want {
				t.Errorf("%s: %q, want %q", login, got, want)
			}
		}
	}
}

// TestAPartOfTheProgramIsReplaced cuts a stored program, as a failure of power does. A shell would run the rest.
func TestAPartOfTheProgramIsReplaced(t *testing.T) {
	t.Parallel()
	p, home := newProgram(t, "#!/bin/sh\necho \"$@\"\n"), t.TempDir()
	start, upload := p.startScript([]string{"host"}), p.uploadScript()
	local(t, "sh", home, upload, p.content())
	stored := filepath.Join(home, ".cache/symphony/bin", names(t, home))
	for _, size := range []int64{0, 10} {
		if err := os.Truncate(stored, size); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ script, want string }{{start, "missing\n"}, {upload, "send\n;stored\n"}, {start, "ready\nhost\n"}} {
			if got := local(t, "sh", home, step.script, p.content()); got != step.want {
				t.Errorf("after %d bytes: %q, want %q", size, got, step.want)
			}
		}
	}
}

// TestTheProgramOfThisProcessStaysTheSame installs another version in the place of one that runs.
func TestTheProgramOfThisProcessStaysTheSame(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux keeps the program of a process")
	}
	self, err := os.ReadFile(os.Args[0])
	path := filepath.Join(t.TempDir(), "program")
	if err == nil {
		err = os.WriteFile(path, self, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "replaced", script(t, "another version")).CombinedOutput()
	if want := fmt.Sprintf("%x%v", sha256.Sum256(self), nil); err != nil || string(out) != want {
		t.Errorf("%s (%v), want %s", out, err, want)
	}
}

func TestArgumentsArePlainWords(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an argument of two words is taken")
		}
	}()
	program{}.startScript([]string{"a b"})
}

// names returns the names in the folder of programs.
func names(t *testing.T, home string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, ".cache/symphony/bin/*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return strings.Join(found, " ")
}

func TestNothingHalfIsStored(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "#!/bin/sh\n"+strings.Repeat("# comment\n", 100_000))
	for name, input := range map[string]io.Reader{
		"nothing":   strings.NewReader(""),
		"a part":    io.LimitReader(p.content(), 500_000),
		"more":      io.MultiReader(p.content(), strings.NewReader("x")),
		"something": strings.NewReader(strings.Repeat("x", int(p.size))),
	} {
		home := t.TempDir()
		if got := local(t, "sh", home, p.uploadScript(), input); !strings.HasPrefix(got, "send\n;failed compare "+home) || names(t, home) != "" {
			t.Errorf("%s: %q, and in the folder are %s", name, got, names(t, home))
		}
	}
}

func TestAnUploadThatIsEndedLeavesNothing(t *testing.T) {
	t.Parallel()
	p, home := newProgram(t, "#!/bin/sh\n"+strings.Repeat("# comment\n", 100_000)), t.TempDir()
	command := exec.Command("sh", "-c", newMark().command(p.uploadScript()))
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	io.CopyN(in, p.content(), 500_000) // more than a pipe holds
	if left := names(t, home); !strings.HasPrefix(left, "upload.") {
		t.Errorf("while it runs, in the folder are %q", left)
	}
	command.Process.Signal(syscall.SIGHUP)
	in.Close()
	command.Wait()
	if left := names(t, home); left != "" {
		t.Errorf("left %s", left)
	}
}

func TestUploadsAtTheSameTimeDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "#!/bin/sh\necho ran\nexit 0\n"+strings.Repeat("# comment\n", 100_000))
	home := t.TempDir()
	var uploads sync.WaitGroup
	for range 8 {
		uploads.Go(func() {
			if got := local(t, "sh", home, p.uploadScript(), p.content()); got != "send\n;stored\n" && got != "there\n" {
				t.Errorf("answers %q", got)
			}
			if got := local(t, "sh", home, p.startScript(nil), nil); got != "ready\nran\n" {
				t.Errorf("answers %q", got)
			}
		})
	}
	uploads.Wait()
	if got, want := names(t, home), "symphony-"+p.sum[:32]; got != want {
		t.Errorf("in the folder are %s, want %s", got, want)
	}
	info, err := os.Stat(filepath.Join(home, ".cache/symphony/bin", names(t, home)))
	if err != nil || info.Mode() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestVersionsThatNobodyStartsAreDeleted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	old, used := newProgram(t, "#!/bin/sh\necho old\n"), newProgram(t, "#!/bin/sh\necho used\n")
	for _, p := range []program{old, used} {
		local(t, "sh", home, p.uploadScript(), p.content())
	}
	folder := filepath.Join(home, ".cache/symphony/bin")
	for _, name := range []string{"upload.killed", "upload.running", "mine"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age := func(name string, days int) {
		at := time.Now().AddDate(0, 0, -days)
		if err := os.Chtimes(filepath.Join(folder, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	age("symphony-"+old.sum[:32], 32)
	age("symphony-"+used.sum[:32], 32)
	age("upload.killed", 3)
	age("mine", 40)
	if got := local(t, "sh", home, used.startScript(nil), nil); got != "ready\nused\n" {
		t.Error(got)
	}
	p := newProgram(t, "#!/bin/sh\necho new\n")
	local(t, "sh", home, p.uploadScript(), p.content())
	for _, name := range []string{"symphony-" + used.sum[:32], "symphony-" + p.sum[:32], "upload.running", "mine"} {
		if !strings.Contains(names(t, home), name) {
			t.Errorf("%s is gone", name)
		}
	}
	for _, name := range []string{"symphony-" + old.sum[:32], "upload.killed"} {
		if strings.Contains(names(t, home), name) {
			t.Errorf("%s is left", name)
		}
	}
}

// TestAProgramIsComparedWithWhateverTheHostHas uploads where some of the programs that compare are missing.
func TestAProgramIsComparedWithWhateverTheHostHas(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "#!/bin/sh\n")
	for name, tools := range map[string]string{"sha256sum": "sha256sum", "shasum": "shasum", "size": ""} {
		home, bin := t.TempDir(), t.TempDir()
		for _, tool := range strings.Fields("cat chmod find mkdir mv rm wc " + tools) {
			path, err := exec.LookPath(tool)
			if err != nil {
				t.Logf("there is no %s", tool)
				continue
			}
			if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
		for content, want := range map[string]bool{"#!/bin/sh\n": true, "#!/bin/sh": false} {
			text := "PATH=" + bin + "; " + p.uploadScript()
			if got := local(t, "sh", home, text, strings.NewReader(content)); strings.Contains(got, answerStored) != want {
				t.Errorf("%s: %q: %s", name, content, got)
			}
			os.RemoveAll(home)
		}
	}
}

func ExampleHost_String() {
	h, _ := Parse("ssh://me@build.example:2222")
	fmt.Println(h)
	// Output: me@build.example:2222
}
