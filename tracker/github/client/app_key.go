package client

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

var pemBlock = lazy.Regexp(`(?s)-----BEGIN (?:RSA )?PRIVATE KEY-----(.*?)-----END `)

// ParseKey reads the private key of an App as people paste it: the file that GitHub
// gives, the same in one line with spaces or the letters \n for the ends of lines, or
// the base64 of the file. The error continues the name of the setting, and has nothing
// of the text.
func ParseKey(text string) (*rsa.PrivateKey, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("is empty: give it the .pem file of the App's private key")
	}
	key, err := x509.ParsePKCS1PrivateKey(keyBytes(text))
	if err != nil {
		other, _ := x509.ParsePKCS8PrivateKey(keyBytes(text))
		key, _ = other.(*rsa.PrivateKey) // nil if it is not an RSA key
	}
	if key == nil {
		return nil, errors.New("is no RSA private key: give it the whole .pem file that GitHub made, from -----BEGIN to -----END")
	}
	return key, nil
}

// KeyLines returns the lines of a private key as a file, however it was pasted, so that
// they can be hidden; nil if there is no key.
func KeyLines(text string) []string {
	var lines []string
	for line := range strings.Lines(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes(text)}))) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
			lines = append(lines, line)
		}
	}
	return lines
}

// keyBytes returns the content of the PEM block of a private key; nil if there is none.
func keyBytes(text string) []byte {
	block := pemBlock().FindStringSubmatch(text)
	if block == nil {
		file, _ := base64.StdEncoding.DecodeString(oneLine(text))
		if block = pemBlock().FindStringSubmatch(string(file)); block == nil {
			return nil
		}
	}
	der, err := base64.StdEncoding.DecodeString(oneLine(block[1]))
	if err != nil {
		return nil
	}
	return der
}

// oneLine returns base64 without spaces and ends of lines, also those that are written
// as letters.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(`\r`, "", `\n`, "").Replace(text)), "")
}
