package main

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runScript runs a script of the Action by itself.
func (m *machine) runScript(name string, env []string, args ...string) (code int, said string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "bash", append([]string{filepath.Join(m.action, ".github", "action", name)}, args...)...)
	cmd.Dir = m.dir
	cmd.Env = append([]string{"PATH=" + m.path, "HOME=" + m.home, "GITHUB_ACTION_PATH=" + m.action,
		"GITHUB_SERVER_URL=" + m.server, "RUNNER_OS=" + m.os, "RUNNER_ARCH=" + m.arch, "RUNNER_TEMP=" + m.home, "NPM_CONFIG_REGISTRY=" + m.registry,
		"GITHUB_OUTPUT=" + filepath.Join(m.home, "output"), "ACTION_REPOSITORY=" + m.actionRepository, "ACTION_REF=" + m.ref}, env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestTheReleaseOfTheActionsOwnRefIsInstalled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for version, commit := range map[string]string{"v1.2.2": "b", "v1.10.0": "c", "v1.9.0": "c", "v2.0.0-rc.1": "d", "v3": "e"} {
		m.releases.add(version, strings.Repeat(commit, 40))
	}
	for ref, want := range map[string]string{
		"v1":                    "v1.2.3", // which moves
		"v1.2.3":                "v1.2.3",
		strings.Repeat("a", 40): "v1.2.3",
		strings.Repeat("b", 40): "v1.2.2",
		strings.Repeat("c", 40): "v1.10.0", // two versions of one commit are the same
		"v1.9.0":                "v1.10.0",
		"v2.0.0-rc.1":           "",
		"v3":                    "", // no full version
		"v1.2":                  "",
		"main":                  "",
		strings.Repeat("9", 40): "",
		"":                      "", // as with uses: ./
		".*":                    "",
	} {
		m.ref = ref
		code, said := m.runScript("install.sh", nil)
		want := "Installed symphony " + want + " "
		if strings.HasSuffix(want, "  ") {
			want = "Building symphony from source"
		}
		if code != 0 || !strings.Contains(said, want) {
			t.Errorf("%s: exit status %d, want %q:\n%s", ref, code, want, said)
		}
	}
}

func TestReleasesComeFromGitHubAloneWhateverTheServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ server, repository, want string }{
		"github.com":               {"https://github.com", "symphony-runner/symphony", "Installed symphony v1.2.3 "},
		"another server":           {"", "symphony-runner/symphony", "Installed symphony v1.2.3 "},
		"a fork on github.com":     {"https://github.com", "octo/symphony", "Building symphony from source"},
		"a copy of another name":   {"", "octo/symphony", "releases come from github.com alone"},
		"a name that ends as ours": {"", "mallory-symphony-runner/symphony", "releases come from github.com alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			local := newReleases(t) // which somebody else owns
			for path, text := range local.standInFor(m.t.TempDir()) {
				if strings.HasSuffix(path, ".pem") {
					m.writeFile(filepath.Join(m.home, "local.pem"), text)
				}
			}
			local.add("v1.2.3", strings.Repeat("a", 40), "v1")
			m.server = c.server
			if m.server == "" {
				m.server = local.URL
			}
			m.actionRepository = c.repository
			code, said := m.runScript("install.sh", []string{"CURL_CA_BUNDLE=" + filepath.Join(m.home, "local.pem")})
			if code != 0 || !strings.Contains(said, c.want) {
				t.Errorf("exit status %d, want %q:\n%s", code, c.want, said)
			}
			if asked := local.paths(); len(asked) > 0 {
				t.Errorf("the server was asked for %v", asked)
			}
		})
	}
}

func TestTheAttestationHoldsTheBinaryToTheCommitOfTheAction(t *testing.T) {
	t.Parallel()
	const commit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sourceOf := func(m *machine) string { return strings.ReplaceAll(fakeGH, "--source-digest string", "") }
	for name, c := range map[string]struct {
		change func(*machine)
		code   int
		byTag  string // what is said of v1
		byPin  string // and of the commit
	}{
		"it holds":       {func(*machine) {}, 0, "its attestation holds for the commit " + commit, "its attestation holds for the commit " + commit},
		"another commit": {func(m *machine) { m.attest("b") }, 2, "::error title=Attestation mismatch::", "::error title=Attestation mismatch::"},
		"no attestation": {func(m *machine) { m.releases.change("attestation.jsonl", nil) }, 0, "has no attestation.jsonl", "has no attestation.jsonl"},
		"no gh":          {func(m *machine) { m.only(append(posix, "bash", "git", "curl", "tar", "gzip", "sha256sum")...) }, 0, "was not verified: there is no gh", "Building symphony from source"},
		"an old gh":      {func(m *machine) { m.stub("gh", sourceOf(m)) }, 0, "was not verified: this gh is too old", "Building symphony from source"},
		"keys out of reach": {func(m *machine) { m.stub("gh", strings.Replace(fakeGH, "echo keys", "exit 1", 1)) }, 0,
			"was not verified: gh cannot get the keys", "Building symphony from source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			c.change(m)
			for ref, want := range map[string]string{"v1": c.byTag, commit: c.byPin} {
				m.ref = ref
				code, said := m.runScript("install.sh", nil)
				installed := strings.Contains(said, "Installed symphony")
				if code != c.code || !strings.Contains(said, want) || installed && !strings.Contains(want, "attestation") && !strings.Contains(want, "verified") {
					t.Errorf("%s: exit status %d, want %d with %q:\n%s", ref, code, c.code, want, said)
				}
			}
		})
	}
}

// attest replaces what is attested of the releases: they are of another commit.
func (m *machine) attest(commit string) {
	m.releases.change("attestation.jsonl", fmt.Appendf(nil, "%s %s %x\n", m.actionRepository, strings.Repeat(commit, 40), sha256.Sum256(archive())))
}

func TestAnArchiveThatDoesNotMatchItsChecksumEndsTheAction(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*releases){
		"archive": func(r *releases) { r.change(".tar.gz", []byte("something else")) },
		"checksum": func(r *releases) {
			r.change("checksums.txt", []byte(strings.Repeat("0", 64)+"  symphony_linux_amd64.tar.gz\n"))
		},
		"no checksum": func(r *releases) { r.change("checksums.txt", []byte("\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.onHub()
			change(m.releases)
			o := m.job().perform()
			refused(t, m, o, "Checksum mismatch")
			if o.steps["Plan"] != "skipped" || len(m.uses) > 0 {
				t.Errorf("steps %v, used %v", o.steps, m.uses)
			}
		})
	}
}

func TestWithoutAReleaseTheActionIsBuiltOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	m := newMachine(t)
	m.onHub()
	m.ownCopy()
	m.releases.change("checksums.txt", nil)
	builds := func(job *job) outcome {
		for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN"} {
			out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
			if err != nil {
				t.Fatal(err)
			}
			job.env = append(job.env, name+"="+strings.TrimSpace(string(out)))
		}
		return job.perform()
	}
	first := builds(m.job("max-issues", "1", "cache-sessions", "false"))
	first.want(t, "success", "dispatched", "1")
	m.stub("go", "echo there is no Go here; exit 1")
	second := builds(m.job("max-issues", "1", "cache-sessions", "false"))
	second.want(t, "success", "dispatched", "1")
	if first.steps["Build symphony"] != "success" || second.steps["Build symphony"] != "skipped" || second.steps["Set up Go"] != "skipped" {
		t.Errorf("steps %v, then %v", first.steps, second.steps)
	}
}

// ownCopy gives the machine a copy of the action, which nobody edits meanwhile.
func (m *machine) ownCopy() {
	m.t.Helper()
	folder := m.t.TempDir()
	for _, name := range []string{"action.yml", ".github", "go.mod", "go.sum", "cmd", "codex", "runner", "tracker", "workspace"} {
		if out, err := m.program("cp", "-R", filepath.Join(m.action, name), folder); err != nil {
			m.t.Fatalf("%v\n%s", err, out)
		}
	}
	m.action = folder
}
