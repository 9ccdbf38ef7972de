package client

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"
)

// appTransport signs requests as a GitHub App.
type appTransport struct {
	base http.RoundTripper
	id   int64
	key  *rsa.PrivateKey
}

// RoundTrip implements [http.RoundTripper]. It gives the request itself the token, by which
// package transport knows what an error must not repeat.
func (t *appTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.webToken(time.Now())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes it in any case
		}
		return nil, fmt.Errorf("sign a request of the GitHub App %d: %w", t.id, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return t.base.RoundTrip(req)
}

// webToken returns a JSON web token of the App that ends within two minutes. It says that
// it is half a minute old: GitHub takes none from the future, and clocks differ.
func (t *appTransport) webToken(now time.Time) (string, error) {
	issued := now.Unix() - 30
	claims := fmt.Sprintf(`{"iss":"%d","iat":%d,"exp":%d}`, t.id, issued, issued+120)
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode([]byte(claims))
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, t.key, crypto.SHA256, sum[:])
	return signed + "." + encode(signature), err
}
