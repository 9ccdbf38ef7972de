package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
			change(m.releases)
			code, said := m.runScript("install.sh", nil)
			if problems := annotations("error", said); code != exitUsage || len(problems) != 1 || !strings.Contains(problems[0], "Checksum mismatch") {
				t.Errorf("exit status %d, errors %q\n%s", code, problems, said)
			}
		})
	}
}

func TestABinaryOfTheCacheThatIsNotWhatWasBuiltIsNotRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, c := range map[string]struct{ binary, digest, want string }{
		"as it was built": {"binary", "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd", "taken=true"},
		"changed":         {"another", "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd", "taken=false"},
		"cut off":         {"bin", "", "taken=false"},
		"nothing":         {"", "", "taken=false"},
	} {
		built, binary := filepath.Join(t.TempDir(), "built"), filepath.Join(t.TempDir(), "symphony")
		m.writeFile(filepath.Join(m.home, "output"), "")
		if c.binary != "" {
			m.writeFile(filepath.Join(built, "symphony"), c.binary)
		}
		if c.digest != "" {
			m.writeFile(filepath.Join(built, "sha256"), c.digest+"\n")
		}
		code, said := m.runScript("build.sh", []string{"BUILT=" + built, "SYMPHONY=" + binary}, "take")
		_, err := os.Stat(binary)
		if got := strings.TrimSpace(m.logged("output")); code != 0 || got != c.want || (err == nil) != (c.want == "taken=true") {
			t.Errorf("%s: exit status %d, output %q, want %q, binary: %v\n%s", name, code, got, c.want, err, said)
		}
	}
}
