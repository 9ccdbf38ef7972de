package codex

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// Java takes certificates from a file of its own format alone, JKS. This is the part of it that
// holds certificates: numbers are big-endian, and a digest with a password ends it.

// trustStorePassword is Java's own password for certificates, which are no secret.
const trustStorePassword = "changeit"

// trustStorePath returns the path of the certificates for Java, beside the others.
func trustStorePath(certificates string) string {
	return strings.TrimSuffix(certificates, ".pem") + ".jks"
}

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
