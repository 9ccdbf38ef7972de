package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// codexTarget returns the name that npm's packages of Codex have for this machine.
func codexTarget() string {
	return runtime.GOOS + "-" + map[string]string{"amd64": "x64"}[runtime.GOARCH] + map[string]string{"arm64": "arm64"}[runtime.GOARCH]
}

// publish puts a package of Codex into the registry, with a program that says
// which version it is, and returns its SHA-512.
func (r *releases) publish(version string) [sha512.Size]byte {
	r.t.Helper()
	return r.publishAs(version, "exit 1")
}

// publishAs publishes a program as publish does, which otherwise runs this script.
func (r *releases) publishAs(version, script string) [sha512.Size]byte {
	r.t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	tape := tar.NewWriter(zip)
	for name, text := range map[string]string{
		"package/package.json":                                   `{"scripts": {"install": "touch /tmp/never"}}`,
		"package/vendor/some-triple/bin/codex":                   "#!/usr/bin/env bash\nif [ \"$1\" = --version ]; then echo codex-cli " + version + "; exit; fi\n" + script + "\n",
		"package/vendor/some-triple/codex-resources/voice/voice": "large",
	} {
		if err := tape.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			r.t.Fatal(err)
		}
		if _, err := tape.Write([]byte(text)); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := tape.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		r.t.Fatal(err)
	}
	digest := sha512.Sum512(b.Bytes())
	name := version + "-" + codexTarget()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files["/@openai/codex/-/codex-"+name+".tgz"] = b.Bytes()
	r.files["/@openai/codex/"+name] = fmt.Appendf(nil, `{"version":"%s","dist":{"shasum":"0","integrity":"sha512-%s"}}`, name, base64.StdEncoding.EncodeToString(digest[:]))
	return digest
}

// pin makes a copy of the action keep this digest for a version of Codex.
func (m *machine) pin(version string, digest [sha512.Size]byte) {
	m.t.Helper()
	m.ownCopy()
	m.writeFile(filepath.Join(m.action, ".github", "action", "codex.sha512"), fmt.Sprintf("%x  codex-%s-%s.tgz\n", digest, version, codexTarget()))
}

// keepPath makes login shells leave PATH as it is: /etc/profile, which not every
// system writes like this one, is not read.
func (m *machine) keepPath() {
	m.t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(m.tools, "bash")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	m.stub("bash", `[ "$1" != -lc ] || { shift; set -- -c "$@"; }; exec `+shellQuote(bash)+` "$@"`)
}

// installCodex runs both halves of the installation, and returns what the first
// that failed returned, and what both said.
func (m *machine) installCodex(version string) (code int, said string) {
	m.t.Helper()
	scratch := m.t.TempDir()
	m.writeFile(filepath.Join(m.home, "output"), "")
	for _, half := range []string{"start", "finish"} {
		more := ""
		code, more = m.runScript("codex.sh", []string{"CODEX_VERSION=" + version, "SCRATCH=" + scratch, "RUNNER_TOOL_CACHE=" + filepath.Join(m.home, "tool-cache")}, half)
		said += more
		if code != 0 {
			break
		}
	}
	return code, said
}

func TestCodexIsHeldToTheDigestThatTheActionKeeps(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.pin("0.169.0", m.releases.publish("0.169.0"))
	m.keepPath()
	for _, want := range []string{"its SHA-512 is the one kept in this action", "Installed Codex 0.169.0"} { // the second time it is not fetched
		asked := len(m.releases.paths())
		code, said := m.installCodex("0.169.0")
		if code != 0 || !strings.Contains(said, want) || strings.Contains(said, "::") {
			t.Fatalf("exit status %d, want %q:\n%s", code, want, said)
		}
		if n := len(m.releases.paths()) - asked; n != strings.Count(said, "Fetched Codex") {
			t.Errorf("%d requests:\n%s", n, said)
		}
	}
	folder := readPairs(t, filepath.Join(m.home, "output"))["folder"]
	if out, err := m.program(filepath.Join(folder, "codex"), "--version"); err != nil || out != "codex-cli 0.169.0\n" {
		t.Errorf("%s: %q, %v", folder, out, err)
	}
	if npm := m.logged("npm.log"); npm != "" {
		t.Errorf("npm was called: %s", npm)
	}

	changed := newMachine(t)
	changed.pin("0.169.0", sha512.Sum512([]byte("what it was")))
	changed.releases.publish("0.169.0")
	code, said := changed.installCodex("0.169.0")
	if code != 2 || strings.Count(said, "::error title=Codex is not what it should be::") != 1 {
		t.Errorf("exit status %d:\n%s", code, said)
	}
	left, err := filepath.Glob(filepath.Join(changed.home, "tool-cache", "symphony-codex", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Runners of one machine share the tool cache: what one of them runs is not taken away by
// another that began to fetch it at the same time.
func TestTheCodexThatAnotherJobFetchedMeanwhileIsLeftAlone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.pin("0.169.0", m.releases.publish("0.169.0"))
	folder := filepath.Join(m.home, "tool-cache", "codex")
	m.writeFile(filepath.Join(folder, "bin", "codex"), "of the other job")
	if err := os.Chmod(filepath.Join(folder, "bin", "codex"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, said := m.runScript("fetch-codex.sh", nil, "0.169.0", codexTarget(), folder); code != 0 {
		t.Fatalf("exit status %d\n%s", code, said)
	}
	if got := readText(t, filepath.Join(folder, "bin", "codex")); got != "of the other job" {
		t.Errorf("it was replaced by %q", got)
	}
	if left, err := filepath.Glob(folder + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestOneVersionOfCodexIsPinnedEverywhere(t *testing.T) {
	t.Parallel()
	version := readManifest(t).Inputs["codex-version"].Default
	var want []string
	for _, target := range []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"} {
		want = append(want, "codex-"+version+"-"+target+".tgz")
	}
	var got []string
	for line := range strings.Lines(readText(t, "../../.github/action/codex.sha512")) {
		digest, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha512.Size {
			t.Errorf("%s has no SHA-512: %q", file, digest)
		}
		got = append(got, file)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(".github/action/codex.sha512 (-want +got):\n%s", diff)
	}
	for file, text := range map[string]string{
		"Dockerfile": "ARG CODEX_VERSION=" + version + "\n", ".ci/run": "@openai/codex@" + version + " ", ".github/CONTRIBUTING.md": "@openai/codex@" + version + "`",
		".github/workflows/fleet.yml": "codex-version: { type: string, default: " + version + ",", fleetAction: "default: " + version + "\n",
	} {
		if !strings.Contains(readText(t, "../../"+file), text) {
			t.Errorf("%s does not have %q", file, text)
		}
	}
}

func TestAnotherVersionOfCodexIsHeldToTheRegistrysDigest(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.releases.publish("0.170.1-beta.2")
	code, said := m.installCodex("0.170.1-beta.2")
	if code != 0 || !strings.Contains(said, "its SHA-512 is the one that the registry gives") {
		t.Errorf("exit status %d:\n%s", code, said)
	}
	m.releases.publish("0.171.0")
	m.releases.change("-/codex-0.171.0-"+codexTarget()+".tgz", []byte("something else"))
	if code, said := m.installCodex("0.171.0"); code != 2 || strings.Count(said, "::error") != 1 {
		t.Errorf("exit status %d:\n%s", code, said)
	}
	if code, said := m.installCodex("0.172.0"); code != 2 || strings.Count(said, "::error") != 1 || !strings.Contains(said, "codex-version") {
		t.Errorf("of a version that does not exist, exit status %d:\n%s", code, said)
	}
}

// npmWithLogin is an npm that knows how to log in to the registry.
const npmWithLogin = `echo "npm $*" >>"$HOME/npm.log"
[ "$1" = pack ] && cp "$HOME/package.tgz" openai-codex.tgz`

func TestNpmIsAskedWhereTheRegistryWantsALogin(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	digest := m.releases.publish("0.169.0")
	m.pin("0.169.0", digest)
	path := "/@openai/codex/-/codex-0.169.0-" + codexTarget() + ".tgz"
	m.writeFile(filepath.Join(m.home, "package.tgz"), string(m.releases.files[path]))
	m.releases.change(path, nil)
	m.stub("npm", npmWithLogin)
	code, said := m.installCodex("0.169.0")
	if want := "npm pack --ignore-scripts --silent @openai/codex@0.169.0-" + codexTarget() + "\n"; code != 0 || m.logged("npm.log") != want {
		t.Errorf("exit status %d, npm was called so: %q, want %q\n%s", code, m.logged("npm.log"), want, said)
	}
	m.stub("npm", "exit 1")
	if err := os.RemoveAll(filepath.Join(m.home, "tool-cache")); err != nil {
		t.Fatal(err)
	}
	if code, said := m.installCodex("0.169.0"); code != 2 || strings.Count(said, "::error title=Codex cannot be installed::") != 1 {
		t.Errorf("exit status %d:\n%s", code, said)
	}
}

func TestARegistryThatStallsDoesNotHoldTheJob(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.pin("0.169.0", m.releases.publish("0.169.0"))
	m.releases.fail(".tgz", 0)
	m.stub("npm", "exec sleep 600")
	began := time.Now()
	code, said := m.runScript("fetch-codex.sh", []string{"STALL_SECONDS=1"}, "0.169.0", codexTarget(), filepath.Join(m.home, "codex"))
	if code != exitUsage || strings.Count(said, "::error title=Codex cannot be installed::") != 1 || time.Since(began) > time.Minute {
		t.Errorf("exit status %d after %v:\n%s", code, time.Since(began), said)
	}
}

func TestCodexIsInstalledThoughProcessesEndWithTheirStep(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.pin("0.169.0", m.releases.publish("0.169.0"))
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	m.writeFile(filepath.Join(scratch, "codex-log"), "")
	m.writeFile(filepath.Join(scratch, "codex-started"), strconv.Itoa(ended.Process.Pid))
	code, said := m.runScript("codex.sh", []string{"CODEX_VERSION=0.169.0", "SCRATCH=" + scratch, "RUNNER_TOOL_CACHE=" + t.TempDir()}, "finish")
	if code != 0 || !strings.Contains(said, "Fetched Codex 0.169.0") {
		t.Errorf("exit status %d:\n%s", code, said)
	}
}

// The end of a terminal is a signal to the process group that has it. Programs such as node
// end by that signal although the shell ignores it.
func TestTheEndOfAStepsTerminalDoesNotReachWhatFetchesCodex(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.pin("0.169.0", m.releases.publish("0.169.0"))
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("no curl on this machine")
	}
	m.stub("curl", `until [ -e "$HOME/go" ]; do sleep 0.05; done; exec `+shellQuote(curl)+` "$@"`)
	scratch := t.TempDir()
	env := append(m.environment(), "CODEX_VERSION=0.169.0", "SCRATCH="+scratch, "RUNNER_TOOL_CACHE="+t.TempDir())
	script := filepath.Join(m.action, ".github", "action", "codex.sh")
	start := exec.CommandContext(t.Context(), "bash", script, "start")
	start.Dir, start.Env, start.SysProcAttr = m.dir, env, &syscall.SysProcAttr{Setpgid: true}
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fetching, err := strconv.Atoi(strings.TrimSpace(readText(t, filepath.Join(scratch, "codex-started"))))
	if err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(fetching); err != nil || group == start.Process.Pid {
		t.Errorf("it is in the process group %d of the step, %v", group, err)
	}
	m.writeFile(filepath.Join(m.home, "go"), "")
	finish := exec.CommandContext(t.Context(), "bash", script, "finish")
	finish.Dir, finish.Env = m.dir, env
	if out, err := finish.CombinedOutput(); err != nil || !strings.Contains(string(out), "Installed Codex 0.169.0") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestALoginShellFindsTheInstalledCodex(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keeps bool   // the profile leaves PATH as it is
		other string // a Codex that is there already
		want  string
	}{
		"PATH is kept":                        {true, "", "Installed Codex 0.169.0"},
		"PATH is kept, with another version":  {true, "0.1.0", "Installed Codex 0.169.0"},
		"PATH is reset":                       {false, "", "Installed Codex 0.169.0"},
		"PATH is reset, with another version": {false, "0.1.0", "Codex is not on the login PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.pin("0.169.0", m.releases.publish("0.169.0"))
			m.only(append(posix, "bash", "curl", "tar", "gzip", "sha512sum", "mkfifo", "tee", "mv", "chmod", "touch", "sleep", "ln", "dirname")...)
			m.tools = m.path
			if c.keeps {
				m.keepPath()
			}
			if c.other != "" {
				m.stub("codex", "echo codex-cli "+c.other)
			}
			code, said := m.installCodex("0.169.0")
			if !strings.Contains(said, c.want) || (code == 0) != strings.HasPrefix(c.want, "Installed") || strings.Count(said, "::error title=") != code/2 {
				t.Errorf("exit status %d, want %q:\n%s", code, c.want, said)
			}
		})
	}
}

// TestTwoJobsOfOneMachineInstallCodexInOneFolderOfPATH lets another job put Codex into the
// first folder of PATH after this one has found that it is not there.
func TestTwoJobsOfOneMachineInstallCodexInOneFolderOfPATH(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.pin("0.169.0", m.releases.publish("0.169.0"))
	m.only(append(posix, "curl", "tar", "gzip", "sha512sum", "mkfifo", "tee", "mv", "chmod", "touch", "sleep", "ln", "dirname")...)
	first, second := m.path, t.TempDir()
	m.tools, m.path = first, first+":"+second
	m.writeFile(filepath.Join(m.home, ".bash_profile"), "PATH="+shellQuote(m.path)+"\n")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	m.stub("bash", `[ "$2" != 'echo "$PATH"' ] || ln -s "$HOME"/tool-cache/symphony-codex/*/bin/codex `+shellQuote(filepath.Join(first, "codex"))+`
exec `+shellQuote(bash)+` "$@"`)
	if code, said := m.installCodex("0.169.0"); code != 0 {
		t.Fatalf("exit status %d:\n%s", code, said)
	}
	if left, err := os.ReadDir(second); err != nil || len(left) > 0 {
		t.Errorf("the second folder has %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(first, "codex")); err != nil {
		t.Error(err)
	}
}

func TestTheRealCodexIsInstalled(t *testing.T) {
	t.Parallel()
	if os.Getenv("SYMPHONY_TEST_CODEX") == "" {
		t.Skip("fetches Codex from the registry: set SYMPHONY_TEST_CODEX as for the other tests with the real Codex")
	}
	m := newMachine(t)
	configured, err := exec.CommandContext(t.Context(), "npm", "config", "get", "registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	m.registry = strings.TrimSpace(string(configured))
	m.writeFile(filepath.Join(m.home, ".curlrc"), "")
	m.only(append(posix, "bash", "curl", "tar", "gzip", "sha512sum", "mkfifo", "tee", "mv", "chmod", "touch", "sleep", "ln", "dirname", "head", "base64", "od")...)
	m.tools = m.path // without a Codex of this machine
	m.keepPath()
	for _, want := range []string{"its SHA-512 is the one kept in this action", "Installed Codex 0.169.0"} {
		if code, said := m.installCodex("0.169.0"); code != 0 || !strings.Contains(said, want) {
			t.Fatalf("exit status %d, want %q:\n%s", code, want, said)
		}
	}
}
