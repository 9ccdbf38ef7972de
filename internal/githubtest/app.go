package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// IssuedToken is the token that an [AppHub] gives to an App.
const IssuedToken = "issued-for-an-hour-0123456789"

// AppKey returns the private key of an App, as GitHub gives it.
var AppKey = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
})

// AppHub is the part of GitHub that gives tokens for acme/shop to an App.
type AppHub struct {
	mu             sync.Mutex
	asked, revoked []string
	refusal        int // a status; 0 for none
}

// NewAppHub returns a server of an AppHub alone, and its URL.
func NewAppHub(t testing.TB) (h *AppHub, url string) {
	t.Helper()
	h = &AppHub{}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return h, s.URL
}

// Refuse lets each further request fail with a status.
func (h *AppHub) Refuse(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusal = status
}

// Asked returns the bodies of the requests for tokens.
func (h *AppHub) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// Revoked returns the credentials of the requests that revoked a token.
func (h *AppHub) Revoked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.revoked
}

func (h *AppHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(r.Body)
	switch {
	case h.refusal != 0:
		w.WriteHeader(h.refusal)
		fmt.Fprint(w, `{"message": "no"}`)
	case r.Method+" "+r.URL.Path == "DELETE /api/v3/installation/token":
		h.revoked = append(h.revoked, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == "/api/v3/repos/acme/shop/installation":
		fmt.Fprint(w, `{"id": 42, "permissions": {"contents": "write", "pull_requests": "write"}}`)
	case r.URL.Path == "/api/v3/app/installations/42/access_tokens":
		h.asked = append(h.asked, string(body))
		_ = json.NewEncoder(w).Encode(map[string]any{"token": IssuedToken, "expires_at": time.Now().Add(time.Hour)})
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "Not Found"}`)
	}
}
