package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program replaces git by a script and opens a host with it.
func (m *machine) program(t *testing.T, script string) (*Host, error) {
	t.Helper()
	write(t, m.path("bin", "git"), "#!/bin/sh\n"+script)
	if err := os.Chmod(m.path("bin", "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := m.config()
	cfg.Env = []string{"PATH=" + m.path("bin") + ":" + os.Getenv("PATH")}
	return Open(t.Context(), cfg)
}

const answersVersion = `[ "$1" != version ] || { echo "git version 2.39.5"; exit; }` + "\n"

func TestWithoutAUsableGitOneSentenceSaysWhatToDo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	cfg := m.config()
	cfg.Env = []string{"PATH=" + m.path("nowhere")}
	_, missing := Open(t.Context(), cfg)
	_, old := m.program(t, "echo git version 2.30.2")
	_, other := m.program(t, "echo 'not git'")
	_, broken := m.program(t, "exit 3")
	for name, err := range map[string]error{"missing": missing, "old": old, "other": other, "broken": broken} {
		if !errors.Is(err, ErrNoGit) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(missing.Error(), "install git 2.31.0") || !strings.Contains(old.Error(), "2.30.2 is too old; install git 2.31.0") {
		t.Errorf("%v\n%v", missing, old)
	}
	for text, want := range map[string]version{"git version 2.31.0": {2, 31, 0}, "git version 2.50.1 (Apple Git-155)": {2, 50, 1}, "git version 2.45.GIT": {2, 45, 0}, "git version 3.0.0-rc1": {3, 0, 0}} {
		h, err := m.program(t, "echo '"+text+"'")
		if err != nil || h.version != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestGitNeverRunsBelowTheRootOfTheWorkspaces(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	inside := filepath.Join(m.workspaces, "GH-1")
	git(t, m.dir, "init", "-q", inside)
	link := m.path("link")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{inside, m.workspaces, link, filepath.Join(inside, ".git"), filepath.Join(link, "missing"), inside + "/../GH-1", "relative"} {
		for _, c := range []command{{dir: folder}, {dir: m.dir, repository: folder}, {dir: m.dir, bare: []string{folder}}} {
			c.args = []string{"version"}
			if _, err := m.host.run(t.Context(), c); !errors.Is(err, ErrFolder) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	write(t, filepath.Join(m.workspaces+"-2", "x"), "")
	if _, err := m.host.run(t.Context(), command{dir: m.workspaces + "-2", args: []string{"version"}}); err != nil {
		t.Errorf("a folder beside the root whose name begins like it: %v", err)
	}
}

func TestStoresAndWorkspacesAreApart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := os.Symlink(m.workspaces, m.path("alias")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{m.workspaces, m.path("workspaces", "stores"), m.path("alias", "stores"), m.dir, "relative"} {
		cfg := m.config()
		cfg.Dir = dir
		if _, err := Open(t.Context(), cfg); !errors.Is(err, ErrFolder) {
			t.Errorf("stores in %s: %v", dir, err)
		}
	}
}

// A folder of the PATH in a workspace would make the agent's program the host's git.
func TestAProgramOfAnAgentIsNotTakenForGit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	bin := filepath.Join(m.workspaces, "GH-1", "bin")
	for _, name := range []string{"git", "sh"} {
		write(t, filepath.Join(bin, name), "#!/bin/bash\ntouch "+m.path("ran")+"\necho git version 9.9.9\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(bin, m.path("tools")); err != nil {
		t.Fatal(err)
	}
	cfg := m.config()
	cfg.Env = []string{"PATH=" + bin + ":" + m.path("tools") + ":bin::.:" + os.Getenv("PATH")}
	h, err := Open(t.Context(), cfg)
	if err != nil || h.version == (version{9, 9, 9}) || exists(m.path("ran")) {
		t.Errorf("git is %s, %v", h.git, err)
	}
	if path := lookup(h.env, "PATH"); strings.Contains(path, m.dir) || strings.Contains(path, "::") {
		t.Errorf("git sees the PATH %s", path)
	}
}

// What the user, the system, the job and the repository say does not change what git
// does.
func TestGitSeesAnEnvironmentMadeFromNothing(t *testing.T) {
	m := newMachine(t)
	h, err := m.program(t, answersVersion+"env")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.pager=evil'")
	t.Setenv("GITHUB_TOKEN", "secret-token")
	cfg := m.config()
	cfg.Env = append(slices.Clone(h.env), "GIT_SSH_COMMAND=evil", "GIT_EXEC_PATH=/evil", "LD_PRELOAD=evil", "GITHUB_TOKEN=secret-token", "HTTPS_PROXY=http://proxy", "PATH="+m.path("bin")+":"+os.Getenv("PATH"))
	if h, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	out, err := h.run(t.Context(), command{dir: m.dir, args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "GIT_CONFIG_KEY_") && !strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	want := []string{
		"GIT_ADVICE", "GIT_ALLOW_PROTOCOL", "GIT_ASKPASS", "GIT_ATTR_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM",
		"GIT_NO_LAZY_FETCH", "GIT_NO_REPLACE_OBJECTS", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "HOME", "HTTPS_PROXY", "LC_ALL", "PATH", "PWD",
		"SSH_ASKPASS", "SYMPHONY_GIT", "TZ", "XDG_CONFIG_HOME",
	}
	names = slices.DeleteFunc(names, func(s string) bool {
		return s == "_" || s == "SHLVL" || s == "OLDPWD" || s == "__CF_USER_TEXT_ENCODING"
	}) // of the shells and of macOS
	if !slices.Equal(names, want) {
		t.Errorf("git sees\n%v, want\n%v", names, want)
	}
}

// The configuration in the environment wins over that of the repository.
func TestARepositoryCannotChangeTheConfiguration(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.store(t, remoteAt(t, m.origin(t)))
	config := filepath.Join(s.repository(), "config")
	write(t, config, read(t, config)+"[core]\n\thooksPath = /evil\n\tfsmonitor = /evil\n[http]\n\tfollowRedirects = true\n[credential]\n\thelper = /evil\n[protocol \"ext\"]\n\tallow = always\n")
	for key, want := range map[string]string{"core.hooksPath": "/dev/null", "core.fsmonitor": "false", "http.followRedirects": "false", "protocol.ext.allow": "never"} {
		out, err := m.host.run(t.Context(), command{dir: m.dir, repository: s.repository(), args: []string{"config", "--get", key}})
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
	if out, err := m.host.run(t.Context(), command{dir: m.dir, repository: s.repository(), args: []string{"ls-remote", "ext::touch " + m.path("ran")}}); err == nil || exists(m.path("ran")) {
		t.Errorf("git ran a program as a remote: %s", out)
	}
}

func TestTheTokenIsOnlyInTheEnvironmentOfCommandsForTheRemote(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	h, err := m.program(t, answersVersion+`env | grep -i authorization; cat /proc/self/cmdline | tr '\0' ' '; echo "fatal: $GIT_CONFIG_VALUE_34 secret-token" >&2; exit 1`)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := ParseRemote("https://github.com/acme/shop", "secret-token")
	if err != nil {
		t.Fatal(err)
	}
	_, with, failure := h.output(t.Context(), command{dir: m.dir, args: []string{"fetch", remote.URL()}, remote: &remote})
	if !bytes.Contains(with, []byte(remote.header())) || bytes.Count(with, []byte(remote.header())) != 1 {
		t.Errorf("the command for the remote does not have the token once: %s", with)
	}
	if failure == nil || strings.Contains(failure.Error(), "secret-token") || strings.Contains(failure.Error(), remote.header()[6:]) {
		t.Errorf("the error shows the token: %v", failure)
	}
	_, without, _ := h.output(t.Context(), command{dir: m.dir, args: []string{"fsck"}})
	if strings.Contains(string(without), "uthorization") {
		t.Errorf("a command without a remote has the token: %s", without)
	}
}

// git and what it started are dead when the context ends, and before that is reported.
func TestTheEndOfTheContextKillsGitAndItsChildren(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	h, err := m.program(t, answersVersion+`trap '' TERM INT; sleep 1000 & echo $! >`+m.path("pids")+`; echo $$ >>`+m.path("pids")+`; mv `+m.path("pids")+" "+m.path("ready")+`; wait`)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := h.start(ctx, command{dir: m.dir, args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	for !exists(m.path("ready")) {
		select {
		case <-p.done:
			t.Fatal(p.wait())
		case <-time.After(time.Millisecond):
		}
	}
	cancel(stop)
	if err := p.wait(); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
	for _, line := range strings.Fields(read(t, m.path("ready"))) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		for alive(pid) { // it was killed, and its parent is not told when it is dead
			runtime.Gosched()
		}
	}
}

// alive reports whether a process runs.
func alive(pid int) bool {
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	return !bytes.Contains(state, []byte(") Z "))
}

func TestACommandHasATimeAndAnAmountOfOutput(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	h, err := m.program(t, answersVersion+`[ "$1" != endless ] || exec yes; sleep 1000`)
	if err != nil {
		t.Fatal(err)
	}
	h.limits.output = 1 << 20
	if _, err := h.run(t.Context(), command{dir: m.dir, args: []string{"endless"}}); !errors.Is(err, ErrTooBig) {
		t.Errorf("endless output: %v", err)
	}
	if _, err := h.run(t.Context(), command{dir: m.dir, args: []string{"sleep"}, timeout: 20 * time.Millisecond}); !errors.Is(err, ErrTimeout) {
		t.Errorf("endless sleep: %v", err)
	}
}

func TestWhatGitSaysIsOneHarmlessLineInAnError(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	h, err := m.program(t, answersVersion+`i=0; while [ $i -lt 5000 ]; do echo "remote: line $i"; i=$((i+1)); done >&2; printf 'fatal: \033[31mred\033[0m\r::error::x\342\200\256\377\nlast\n' >&2; exit 128`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.run(t.Context(), command{dir: m.dir, args: []string{"fetch"}})
	var exit *exitError
	if !errors.As(err, &exit) || exit.code != 128 {
		t.Fatalf("the error is %v", err)
	}
	text := err.Error()
	if len(text) > 500 || strings.ContainsAny(text, "\n\r\x1b") || strings.Contains(text, "\u202e") || !strings.HasSuffix(text, "| last") {
		t.Errorf("the error is %q", text)
	}
}
