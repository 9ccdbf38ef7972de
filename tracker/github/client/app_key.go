package client

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"regexp"
	"strings"
	"sync"
)

// pemBlock matches the private key in a text.
var pemBlock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)-----BEGIN (?:RSA )?PRIVATE KEY-----(.*?)-----END `)
})

// ParseKey reads the private key of an App as people paste it: the file that GitHub
// gives, the same in one line with spaces or the letters \n for the ends of lines, or
// the base64 of the file. The error continues the name of the setting, and has nothing
// of the text.
func ParseKey(text string) (*rsa.PrivateKey, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("is empty: give it the .pem file of the App's private key")
	}
	block := pemBlock().FindStringSubmatch(text)
	if block == nil {
		decoded, err := base64.StdEncoding.DecodeString(oneLine(text))
		if err == nil {
			block = pemBlock().FindStringSubmatch(string(decoded))
		}
	}
	if block != nil {
		if der, err := base64.StdEncoding.DecodeString(oneLine(block[1])); err == nil {
			if key := parseDER(der); key != nil {
				return key, nil
			}
		}
	}
	return nil, errors.New("is no RSA private key: give it the whole .pem file that GitHub made, from -----BEGIN to -----END")
}

// oneLine returns base64 without spaces and ends of lines, also those that are written
// as letters.
func oneLine(text string) string {
	text = strings.NewReplacer(`\r`, "", `\n`, "").Replace(text)
	return strings.Join(strings.Fields(text), "")
}

// parseDER returns the key in either format of private keys, nil if there is none that
// can sign.
func parseDER(der []byte) *rsa.PrivateKey {
	key, err := x509.ParsePKCS1PrivateKey(der)
	if err != nil {
		other, _ := x509.ParsePKCS8PrivateKey(der)
		key, _ = other.(*rsa.PrivateKey) // nil if it is no RSA key
	}
	return key
}

// FormatKey returns a private key as the file that GitHub gives.
func FormatKey(key *rsa.PrivateKey) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}
