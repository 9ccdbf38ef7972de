package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
	"unicode/utf16"
)

// The time for which certificates are valid, around the moment at which the authority is made.
const (
	validBefore = time.Hour // for clocks that differ
	validAfter  = 7 * 24 * time.Hour
)

// Authority makes the certificates with which the proxy pretends to be a host. Its key is in
// memory alone.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	hostKey     *ecdsa.PrivateKey // key of all certificates of hosts
}

// NewAuthority returns an authority with new keys.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of the proxy: %w", err)
	}
	hostKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of the proxy: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "the proxy of symphony"},
		NotBefore: now.Add(-validBefore), NotAfter: now.Add(validAfter),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	certificate, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate, key, hostKey}, nil
}

// PEM returns the certificate of the authority, which a client of the proxy must trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// TrustStore returns the certificate of the authority as a file for Java.
func (a *Authority) TrustStore() []byte { return trustStore([][]byte{a.certificate.Raw}, time.Now()) }

// leaf returns a certificate for a host, and for no other name.
func (a *Authority) leaf(host string) (tls.Certificate, error) {
	certificate, err := sign(&x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"the proxy of symphony"}}, // a common name is too short for some hosts
		DNSNames:  []string{host},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, a.hostKey, a.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: a.hostKey, Leaf: certificate}, nil
}

// sign returns a certificate for key that parent has signed with its own key.
func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a certificate of the proxy: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("make a certificate of the proxy: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Java takes certificates from a file of its own format alone, JKS. This is the part of it that
// holds certificates: numbers are big-endian, and a digest with a password ends it.

// trustStorePassword is Java's own password for certificates, which are no secret.
const trustStorePassword = "changeit"

// trustStore returns certificates, each in DER, as a file for Java.
func trustStore(certificates [][]byte, now time.Time) []byte {
	var b bytes.Buffer
	number := func(v any) { _ = binary.Write(&b, binary.BigEndian, v) } // a buffer takes all
	text := func(s string) {
		number(uint16(len(s)))
		b.WriteString(s)
	}
	number(uint32(0xfeedfeed))
	number(uint32(2)) // the version
	number(uint32(len(certificates)))
	for i, certificate := range certificates {
		number(uint32(2)) // a certificate, and no key
		text(fmt.Sprintf("certificate %d", i))
		number(now.UnixMilli())
		text("X.509")
		number(uint32(len(certificate)))
		b.Write(certificate)
	}
	digest := sha1.New()
	for _, unit := range utf16.Encode([]rune(trustStorePassword)) {
		digest.Write([]byte{byte(unit >> 8), byte(unit)})
	}
	digest.Write([]byte("Mighty Aphrodite")) // the magic words of the format
	digest.Write(b.Bytes())
	return digest.Sum(b.Bytes())
}
