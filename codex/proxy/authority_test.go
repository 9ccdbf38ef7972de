package proxy

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheAuthorityKeepsItsKey(t *testing.T) {
	t.Parallel()
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode(a.PEM())
	if block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 {
		t.Fatalf("%s", a.PEM())
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if !certificate.IsCA || now.Sub(certificate.NotBefore) < validBefore-time.Minute || certificate.NotAfter.Sub(now) < 24*time.Hour {
		t.Errorf("%+v", certificate)
	}
	key, err := a.key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(block.Bytes, key) || bytes.Contains(a.TrustStore(), key) {
		t.Error("the key is in it")
	}
}

// TestJavaReadsTheTrustStore has the tool of Java that checks the whole file.
func TestJavaReadsTheTrustStore(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("keytool"); err != nil {
		t.Skip(err)
	}
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	der := a.certificate.Raw
	for count, store := range map[int][]byte{1: a.TrustStore(), 2: trustStore([][]byte{der, der}, time.Now())} {
		path := filepath.Join(t.TempDir(), "c.jks")
		if err := os.WriteFile(path, store, 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command("keytool", "-list", "-storetype", "JKS", "-keystore", path, "-storepass", trustStorePassword).CombinedOutput()
		if err != nil || strings.Count(string(said), "trustedCertEntry") != count {
			t.Errorf("%v: %s", err, said)
		}
	}
}
