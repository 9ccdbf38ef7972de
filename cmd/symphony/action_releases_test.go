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
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

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
}

func newReleases(t testing.TB) *releases {
	r := &releases{t: t, files: map[string][]byte{}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked = append(r.asked, req.URL.Path)
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
	r.Config.ErrorLog = log.New(io.Discard, "", 0) // who does not know the certificate goes away
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

// testRegistry is the address of npm's registry that [releases] stands in for.
const testRegistry = "https://registry.test"

// githubCertificate returns a certificate for github.com that signs itself.
func githubCertificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "github.com"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"github.com", "registry.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
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

// archive is the archive of a release.
var archive = sync.OnceValue(func() []byte {
	self, err := os.Executable() // which is the program when it is called symphony
	if err != nil {
		panic(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	tape := tar.NewWriter(zip)
	err = tape.WriteHeader(&tar.Header{Name: "symphony", Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = tape.Write(content)
	}
	if err != nil || tape.Close() != nil || zip.Close() != nil {
		panic("cannot make an archive")
	}
	return b.Bytes()
})
