package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const signerWorkflow = "symphony-runner/symphony/.github/workflows/release.yml"

// localRelease is a release that a certificate of this test signs. Its attestation has the
// shape of the release workflow's own: a Sigstore bundle with a statement about the digests
// of checksums.txt, signed by the identity of a workflow at a ref.
type localRelease struct {
	t            *testing.T
	assets, work string // what gh downloads, and where
	roots        string
}

func newLocalRelease(t *testing.T, identity string) *localRelease {
	t.Helper()
	r := &localRelease{t: t, assets: t.TempDir(), work: t.TempDir(), roots: filepath.Join(t.TempDir(), "roots.pem")}
	archive := []byte("an archive")
	r.write("symphony_linux_amd64.tar.gz", archive)
	r.sum(archive)
	root, rootKey := r.certificate(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	if err := os.WriteFile(r.roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	signer, err := url.Parse("https://github.com/" + identity)
	if err != nil {
		t.Fatal(err)
	}
	leaf, key := r.certificate(&x509.Certificate{URIs: []*url.URL{signer}, KeyUsage: x509.KeyUsageDigitalSignature}, root, rootKey)
	statement := r.json(map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"predicateType": "https://slsa.dev/provenance/v1",
		"subject": []any{map[string]any{
			"name":   "symphony_linux_amd64.tar.gz",
			"digest": map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(archive))},
		}},
	})
	const kind = "application/vnd.in-toto+json"
	digest := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	r.write("attestation.jsonl", r.json(map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"certificate": map[string]any{"rawBytes": leaf.Raw}},
		"dsseEnvelope": map[string]any{
			"payload": base64.StdEncoding.EncodeToString(statement), "payloadType": kind,
			"signatures": []any{map[string]any{"sig": signature}},
		},
	}))
	return r
}

func (r *localRelease) write(name string, content []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.assets, name), content, 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// sum writes checksums.txt for an archive.
func (r *localRelease) sum(archive []byte) {
	r.write("checksums.txt", fmt.Appendf(nil, "%x  symphony_linux_amd64.tar.gz\n%064d  symphony_linux_arm64.tar.gz\n", sha256.Sum256(archive), 0))
}

func (r *localRelease) json(v any) []byte {
	r.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// certificate makes a certificate and its key. Without a parent it signs itself.
func (r *localRelease) certificate(c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	r.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent, parentKey = c, key
		c.Subject = pkix.Name{CommonName: "root"}
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey)
	if err != nil {
		r.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		r.t.Fatal(err)
	}
	return made, key
}

// verifyingGH stands in for gh, which needs GitHub for the first command and Sigstore's keys
// for the third. It checks an attestation with openssl: the certificate, its identity, the
// signature and the digest. It refuses what gh refuses: a flag that it does not know.
const verifyingGH = `#!/bin/sh
set -eu
case "$1 $2" in
"release download")
  [ "$3 $4 $5" = "v1.2.3 --repo symphony-runner/symphony" ]
  shift 5
  while [ $# -gt 0 ]; do [ "$1" = --pattern ]; cp "$ASSETS/$2" .; shift 2; done ;;
"attestation verify")
  file=$3; shift 3
  while [ $# -gt 0 ]; do
    case $1 in
    --bundle) bundle=$2 ;; --repo) repo=$2 ;; --signer-workflow) workflow=$2 ;; --source-ref) ref=$2 ;;
    --deny-self-hosted-runners) set -- x "$@" ;;
    *) echo "unknown flag: $1"; exit 1 ;;
    esac
    shift 2
  done
  case $workflow in "$repo"/*) ;; *) exit 1 ;; esac
  part() { jq -r "$1" "$bundle"; }
  part .verificationMaterial.certificate.rawBytes | openssl base64 -d -A | openssl x509 -inform der >cert.pem
  openssl verify -CAfile "$ROOTS" cert.pem
  openssl x509 -noout -text -in cert.pem | grep -qF "URI:https://github.com/$workflow@$ref" || { echo "another identity"; exit 1; }
  openssl x509 -noout -pubkey -in cert.pem >key.pem
  part .dsseEnvelope.payload | openssl base64 -d -A >statement
  part .dsseEnvelope.signatures[0].sig | openssl base64 -d -A >signature
  kind=$(part .dsseEnvelope.payloadType)
  { printf 'DSSEv1 %d %s %d ' "${#kind}" "$kind" "$(($(wc -c <statement)))"; cat statement; } >signed
  openssl dgst -sha256 -verify key.pem -signature signature signed
  jq -e --arg digest "$(sha256sum "$file" | cut -d ' ' -f 1)" 'any(.subject[]; .digest.sha256 == $digest)' statement >/dev/null ||
    { echo "no such subject"; exit 1; } ;;
*) exit 1 ;;
esac
`

// verify runs the commands of SECURITY.md, each if the ones before it succeed, and returns
// the number of those that do and what is said.
func (r *localRelease) verify() (passed int, said string) {
	r.t.Helper()
	_, text, _ := strings.Cut(readText(r.t, "../../.github/SECURITY.md"), "### Verify a release\n")
	_, text, _ = strings.Cut(text, "```sh\n")
	text, _, found := strings.Cut(text, "```\n")
	commands := strings.Split(strings.TrimSpace(text), "\n")
	if !found || len(commands) != 3 {
		r.t.Fatalf("SECURITY.md has the commands %q", commands)
	}
	bin := r.t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(verifyingGH), 0o755); err != nil {
		r.t.Fatal(err)
	}
	for i, command := range commands {
		cmd := exec.CommandContext(r.t.Context(), "sh", "-c", command)
		cmd.Dir = r.work
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "ASSETS="+r.assets, "ROOTS="+r.roots)
		out, err := cmd.CombinedOutput()
		said += string(out)
		if err != nil {
			return i, said
		}
	}
	return len(commands), said
}

func TestThreeCommandsVerifyARelease(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"openssl", "jq", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s here: the commands that verify a release are not tried", tool)
		}
	}
	own := signerWorkflow + "@refs/tags/v1.2.3"
	for name, c := range map[string]struct {
		identity string
		change   func(*localRelease)
		passed   int
		said     string
	}{
		"as it was made": {own, func(*localRelease) {}, 3, "OK"},
		"another archive": {own, func(r *localRelease) { r.write("symphony_linux_amd64.tar.gz", []byte("mallory's")) },
			1, "FAILED"},
		"another archive with its checksum": {own, func(r *localRelease) {
			r.write("symphony_linux_amd64.tar.gz", []byte("mallory's"))
			r.sum([]byte("mallory's"))
		}, 2, "no such subject"},
		"another workflow": {"symphony-runner/symphony/.github/workflows/ci.yml@refs/tags/v1.2.3", func(*localRelease) {}, 2, "another identity"},
		"another version":  {signerWorkflow + "@refs/tags/v1.2.2", func(*localRelease) {}, 2, "another identity"},
		"a key of somebody else": {own, func(r *localRelease) {
			r.roots = newLocalRelease(t, own).roots
		}, 2, "erif"}, // "verification failed" or "unable to verify", by the version of openssl
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newLocalRelease(t, c.identity)
			c.change(r)
			if passed, said := r.verify(); passed != c.passed || !strings.Contains(said, c.said) {
				t.Errorf("%d commands succeed, want %d, and they say\n%s", passed, c.passed, said)
			}
		})
	}
}

// TestAReleaseListsWhatItIsMadeOf compares the list with the modules that Go has written into
// the binary of this test, and holds the release to it.
func TestAReleaseListsWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("there is no jq here: the list of a release is not tried")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "../../.ci/release", "sbom", program)
	cmd.Env = append(os.Environ(), "TAG=v1.2.3")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		BOMFormat   string
		SpecVersion string
		Metadata    struct {
			Component struct{ Name, Version, Type string }
		}
		Components []struct{ Type, Name, Version, Purl string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if list.BOMFormat != "CycloneDX" || list.SpecVersion != "1.6" || list.Metadata.Component.Version != "v1.2.3" ||
		list.Metadata.Component.Name != "github.com/symphony-runner/symphony" {
		t.Errorf("it is a list of %+v", list.Metadata)
	}
	listed := map[string]bool{}
	for _, c := range list.Components {
		if c.Purl != "pkg:golang/"+c.Name+"@"+c.Version || c.Type != "library" {
			t.Errorf("%+v", c)
		}
		listed[c.Name] = true
	}
	for _, module := range []string{"std", "github.com/spf13/cobra", "gopkg.in/yaml.v3"} {
		if !listed[module] {
			t.Errorf("%s is not in the list", module)
		}
	}
	release := readText(t, "../../.github/workflows/release.yml")
	if !strings.Contains(release, "sha256sum -- *.tar.gz workflow.schema.json symphony.cdx.json >checksums.txt") ||
		!strings.Contains(release, "*.tar.gz workflow.schema.json symphony.cdx.json checksums.txt attestation.jsonl\n") {
		t.Error("the release does not attest or does not have the list")
	}
}
