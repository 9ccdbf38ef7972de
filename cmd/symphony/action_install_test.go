package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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
		"no attestation": {func(m *machine) { m.releases.change("attestation.jsonl", nil) }, 0, "attestation.jsonl of the release v1.2.3", "attestation.jsonl of the release v1.2.3"},
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

// TestAServerThatFailsIsNotOneWithoutARelease also bounds how long the installation waits.
func TestAServerThatFailsIsNotOneWithoutARelease(t *testing.T) {
	t.Parallel()
	const asset = ".tar.gz"
	for name, c := range map[string]struct {
		change func(*machine)
		want   string
	}{
		"no file":                 {func(m *machine) { m.releases.change(asset, nil) }, "cannot be fetched: there is none"},
		"an outage":               {func(m *machine) { m.releases.fail(asset, 503) }, "cannot be fetched: the server answers 503"},
		"a connection that's cut": {func(m *machine) { m.releases.fail(asset, 1) }, "cannot be fetched: curl ends with status 18"},
		"a file that stalls":      {func(m *machine) { m.releases.fail(asset, 0) }, "cannot be fetched: curl ends with status 28"},
		"tags that stall":         {func(m *machine) { m.releases.fail("/info/refs", 0) }, "the tags of https://github.com/symphony-runner/symphony cannot be read"},
		"keys that stall":         {func(m *machine) { m.stub("gh", strings.Replace(fakeGH, "echo keys", "exec sleep 600", 1)) }, "was not verified: gh cannot get the keys"},
		"a gh that stalls": {func(m *machine) {
			m.stub("gh", strings.Replace(fakeGH, `  shift 2; file`, "  exec sleep 600\n  shift 2; file", 1))
		},
			"was not verified: gh did not end within 4 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			c.change(m)
			began := time.Now()
			code, said := m.runScript("install.sh", []string{"STALL_SECONDS=1"})
			if code != 0 || !strings.Contains(said, c.want) || time.Since(began) > time.Minute {
				t.Errorf("exit status %d after %v, want %q:\n%s", code, time.Since(began), c.want, said)
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

// releases serves the tags and releases of this action as github.com does, and
// packages of npm as their registry does.
type releases struct {
	*httptest.Server
	t    testing.TB
	cert []byte // of github.com, as PEM

	mu    sync.Mutex
	refs  []string          // lines of git's info/refs
	files map[string][]byte // by path
	asked []string
	fails map[string]int // status of answers, by the end of the path; 0 is none ever, and 1 a connection that is cut
}

func newReleases(t testing.TB) *releases {
	r := &releases{t: t, files: map[string][]byte{}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked = append(r.asked, req.URL.Path)
		for suffix, status := range r.fails {
			switch {
			case !strings.HasSuffix(req.URL.Path, suffix):
				continue
			case status == 0:
				r.mu.Unlock()
				<-req.Context().Done()
				r.mu.Lock()
			case status == 1:
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, "cut")
			default:
				w.WriteHeader(status)
			}
			return
		}
		file, ok := r.files[req.URL.Path]
		if strings.HasSuffix(req.URL.Path, "/symphony-runner/symphony/info/refs") {
			file, ok = []byte(strings.Join(r.refs, "")), true
		}
		if !ok {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write(file)
	}))
	pair := githubCertificate(t)
	r.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	r.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	r.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not know the certificate go away
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

// testRegistry is the address of npm's registry that [releases] stands in for.
const testRegistry = "https://registry.test"

// githubCertificate returns a certificate for github.com and other hosts that signs
// itself.
func githubCertificate(t testing.TB, others ...string) tls.Certificate {
	t.Helper()
	pair, err := localCertificate(append([]string{"github.com", "registry.test"}, others...)...)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// localCertificate returns a certificate for 127.0.0.1 and hosts that signs itself.
func localCertificate(hosts ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "local"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// standInFor makes the curl of a user meet the server wherever it goes, and git
// where it goes to github.com.
func (r *releases) standInFor(home string) map[string]string {
	address := r.Listener.Addr().String()
	cert := filepath.Join(home, "github.pem")
	return map[string]string{
		cert:                              string(r.cert),
		filepath.Join(home, ".curlrc"):    fmt.Sprintf("connect-to = \"::%s\"\ncacert = \"%s\"\nnoproxy = \"*\"\n", address, cert),
		filepath.Join(home, ".gitconfig"): fmt.Sprintf("[url \"https://%s/\"]\n\tinsteadOf = https://github.com/\n[http]\n\tsslCAInfo = %s\n\tproxy =\n", address, cert),
	}
}

// fakeGH verifies attestations as gh does: what is attested in a bundle is the
// digest of an archive and the commit that the workflow made it from.
const fakeGH = `case "$1 $2 $3" in
"attestation verify --help") echo "  --source-digest string" ;;
"attestation trusted-root --hostname") echo keys ;;
"attestation verify "*)
  shift 2; file=$1; shift
  while [ $# -gt 0 ]; do
    case $1 in
    --bundle) bundle=$2 ;; --custom-trusted-root) root=$2 ;; --repo) repo=$2 ;;
    --signer-workflow) workflow=$2 ;; --source-digest) commit=$2 ;; --hostname) [ "$2" = github.com ] || exit 1 ;;
    --deny-self-hosted-runners) set -- x "$@" ;;
    *) echo "unknown flag: $1"; exit 1 ;;
    esac
    shift 2
  done
  [ "$(cat "$root")" = keys ] && [ "$workflow" = "$repo/.github/workflows/release.yml" ] || exit 1
  digest=$( (sha256sum "$file" || shasum -a 256 "$file") 2>/dev/null | cut -d ' ' -f 1)
  grep -qx "$repo $commit $digest" "$bundle" || { echo "Error: verifying with issuer \"sigstore.dev\""; exit 1; } ;;
*) exit 1 ;;
esac`

// add releases the binary as a version at a commit, with other tags there. The
// version's tag is an annotated one.
func (r *releases) add(version, commit string, tags ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refs = append(r.refs, fmt.Sprintf("%s\trefs/tags/%s\n%s\trefs/tags/%s^{}\n", strings.Repeat("f", 40), version, commit, version))
	for _, tag := range tags {
		r.refs = append(r.refs, fmt.Sprintf("%s\trefs/tags/%s\n", commit, tag))
	}
	asset := fmt.Sprintf("symphony_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	folder := "/symphony-runner/symphony/releases/download/" + version + "/"
	r.files[folder+asset] = archive()
	r.files[folder+"attestation.jsonl"] = fmt.Appendf(nil, "symphony-runner/symphony %s %x\n", commit, sha256.Sum256(archive()))
	r.files[folder+"checksums.txt"] = fmt.Appendf(nil, "%s  other.tar.gz\n%x  %s\n", strings.Repeat("0", 64), sha256.Sum256(archive()), asset)
}

// paths returns what was asked for so far.
func (r *releases) paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// change replaces files whose path ends so.
func (r *releases) change(suffix string, content []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range maps.Clone(r.files) {
		if strings.HasSuffix(path, suffix) {
			r.files[path] = content
			if content == nil {
				delete(r.files, path)
			}
		}
	}
}

// fail has the server answer with a status where a path ends so: 0 is no answer ever, and 1
// a connection that is cut.
func (r *releases) fail(suffix string, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails == nil {
		r.fails = map[string]int{}
	}
	r.fails[suffix] = status
}

// archive returns the archive of a release. Its binary is a script that becomes the
// [program]: the process stays the one that the step started, and no job fetches and
// unpacks 40 MB.
var archive = sync.OnceValue(func() []byte {
	program, err := buildProgram()
	if err != nil {
		panic(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		panic(err)
	}
	content := "#!" + bash + "\n" + `exec -a "$0" ` + shellQuote(program) + ` "$@"` + "\n"
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	tape := tar.NewWriter(zip)
	err = tape.WriteHeader(&tar.Header{Name: "symphony", Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = tape.Write([]byte(content))
	}
	if err != nil || tape.Close() != nil || zip.Close() != nil {
		panic("cannot make an archive")
	}
	return b.Bytes()
})
