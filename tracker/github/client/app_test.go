package client_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// appKey is the private key of the App that the tests' GitHub knows.
var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// keyFile returns a private key as the file that GitHub gives.
func keyFile(key *rsa.PrivateKey) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// appServer is a GitHub that knows one App, number 7, which is installed on acme/shop.
type appServer struct {
	t         *testing.T
	installed map[string]any   // answer about the installation
	tokens    []map[string]any // what was asked of tokens
	jwts      []string         // what was sent
	requests  []string         // without those that are refused
	refuse    func(http.ResponseWriter, *http.Request) bool
	lifetime  time.Duration
}

func newAppServer(t *testing.T) *appServer {
	return &appServer{t: t, lifetime: time.Hour, installed: map[string]any{
		"id": 42, "suspended_at": nil, "permissions": map[string]string{"contents": "write", "pull_requests": "write", "workflows": "write", "metadata": "read"},
	}}
}

func (s *appServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.jwts = append(s.jwts, r.Header.Get("Authorization"))
	if s.refuse != nil && s.refuse(w, r) {
		return
	}
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	if r.Method == http.MethodDelete && r.URL.Path == "/installation/token" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.Path == "/repos/acme/shop" {
		fmt.Fprintf(w, `{"name": %q}`, r.Header.Get("Authorization"))
		return
	}
	if why := s.reject(r.Header.Get("Authorization")); why != "" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"message":%q}`, why)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /repos/acme/shop/installation":
		_ = json.NewEncoder(w).Encode(s.installed)
	case "POST /app/installations/42/access_tokens":
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		s.tokens = append(s.tokens, asked)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"token": fmt.Sprintf("ghs_short_lived_token_%d", len(s.tokens)), "expires_at": time.Now().Add(s.lifetime).Format(time.RFC3339),
		})
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message":"Not Found"}`)
	}
}

// reject returns why GitHub would not take the token of an App, "" if it would.
func (s *appServer) reject(authorization string) string {
	parts := strings.Split(strings.TrimPrefix(authorization, "Bearer "), ".")
	if len(parts) != 3 {
		return "A JSON web token could not be decoded"
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	if rsa.VerifyPKCS1v15(&appKey().PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return "A JSON web token could not be decoded"
	}
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	if header, _ := base64.RawURLEncoding.DecodeString(parts[0]); string(header) != `{"alg":"RS256","typ":"JWT"}` {
		return "A JSON web token could not be decoded"
	}
	text, _ := base64.RawURLEncoding.DecodeString(parts[1])
	_ = json.Unmarshal(text, &claims)
	now := time.Now().Unix()
	switch {
	case claims.Iss != "7":
		return "Integration not found"
	case claims.Iat > now || claims.Exp <= now || claims.Exp > now+600:
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	}
	return ""
}

func appConfig() client.AppConfig {
	return client.AppConfig{
		ID: "7", Key: keyFile(appKey()), Repo: "acme/shop", APIURL: "https://api.example.org",
		Permissions: []client.Permission{client.WriteContents, client.WritePullRequests},
		Names:       client.AppNames{ID: "app-id", Key: "private-key"},
	}
}

// withApp runs a test with an App in virtual time.
func withApp(t *testing.T, change func(*client.AppConfig), run func(t *testing.T, s *appServer, app *client.App, base http.RoundTripper)) {
	t.Helper()
	s := newAppServer(t)
	appKey()
	trackertest.Bubble(t, s, func(t *testing.T, base http.RoundTripper) {
		cfg := appConfig()
		if change != nil {
			change(&cfg)
		}
		app, err := client.NewApp(cfg, base)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, app, base)
	})
}

func TestATokenOfAnAppIsForOneRepositoryAndWhatDeliveryNeeds(t *testing.T) {
	t.Parallel()
	var issued []string
	withApp(t, func(c *client.AppConfig) { c.Issued = func(token string) { issued = append(issued, token) } },
		func(t *testing.T, s *appServer, app *client.App, _ http.RoundTripper) {
			token, err := app.Token(t.Context())
			if err != nil || token != "ghs_short_lived_token_1" {
				t.Fatalf("got %q, %v", token, err)
			}
			want := []map[string]any{{"repositories": []any{"shop"}, "permissions": map[string]any{"contents": "write", "pull_requests": "write"}}}
			if diff := cmp.Diff(want, s.tokens); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{token}, issued); diff != "" {
				t.Error(diff)
			}
		})
}

func TestATokenOfAnAppIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	withApp(t, nil, func(t *testing.T, s *appServer, app *client.App, base http.RoundTripper) {
		c, err := client.New(client.Config{Repo: "acme/shop", APIURL: "https://api.example.org", Tokens: app.Token}, base)
		if err != nil {
			t.Fatal(err)
		}
		for _, after := range []time.Duration{0, 40 * time.Minute, 15 * time.Minute, 45 * time.Minute} {
			time.Sleep(after)
			if _, err := c.Repository(t.Context()); err != nil {
				t.Error(err)
			}
		}
		want := []string{ // a token is good for 50 minutes
			"GET /repos/acme/shop/installation", "POST /app/installations/42/access_tokens", "GET /repos/acme/shop",
			"GET /repos/acme/shop",
			"GET /repos/acme/shop/installation", "POST /app/installations/42/access_tokens", "GET /repos/acme/shop",
			"GET /repos/acme/shop",
		}
		if diff := cmp.Diff(want, s.requests); diff != "" {
			t.Error(diff)
		}
		if last := s.jwts[len(s.jwts)-1]; last != "Bearer ghs_short_lived_token_2" {
			t.Errorf("the client sent %q", last)
		}
	})
}

func TestATokenThatIsRevokedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	withApp(t, nil, func(t *testing.T, s *appServer, app *client.App, _ http.RoundTripper) {
		if err := app.Revoke(t.Context()); err != nil || len(s.jwts) > 0 {
			t.Errorf("without a token: %v after %d requests", err, len(s.jwts))
		}
		for range 2 {
			token, err := app.Token(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := app.Revoke(t.Context()); err != nil || s.jwts[len(s.jwts)-1] != "Bearer "+token {
				t.Errorf("%v, sent %v", err, s.jwts)
			}
		}
		if len(s.tokens) != 2 {
			t.Errorf("%d tokens were made", len(s.tokens))
		}
		if _, err := app.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.refuse = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		if err := app.Revoke(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "revoke the token of the GitHub App 7 for acme/shop: 502") {
			t.Errorf("an outage: %v", err)
		}
	})
}

func TestOneTokenServesManyAtOnce(t *testing.T) {
	t.Parallel()
	withApp(t, nil, func(t *testing.T, s *appServer, app *client.App, _ http.RoundTripper) {
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if _, err := app.Token(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if len(s.tokens) != 1 {
			t.Errorf("%d tokens were made", len(s.tokens))
		}
	})
}

func TestAnOutageDoesNotEndATokenThatStillLives(t *testing.T) {
	t.Parallel()
	withApp(t, nil, func(t *testing.T, s *appServer, app *client.App, _ http.RoundTripper) {
		first, err := app.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.refuse = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		time.Sleep(55 * time.Minute)
		if token, err := app.Token(t.Context()); err != nil || token != first {
			t.Errorf("while it lives: %q, %v", token, err)
		}
		time.Sleep(5 * time.Minute)
		if _, err := app.Token(t.Context()); err == nil || errors.Is(err, client.ErrApp) || !strings.Contains(err.Error(), "try again later") {
			t.Errorf("when it has ended: %v", err)
		}
		s.refuse = nil
		if token, err := app.Token(t.Context()); err != nil || token == first {
			t.Errorf("after the outage: %q, %v", token, err)
		}
	})
}

func TestWhatIsWrongWithAnAppIsOneSentenceWithItsRemedy(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	says := func(path string, status int, message string) func(*appServer) {
		return func(s *appServer) {
			s.refuse = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, path) {
					return false
				}
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"message":%q}`, message)
				return true
			}
		}
	}
	grants := func(permissions map[string]string) func(*appServer) {
		return func(s *appServer) { s.installed["permissions"] = permissions }
	}
	for name, test := range map[string]struct {
		config func(*client.AppConfig)
		server func(*appServer)
		want   string
	}{
		"no such App":      {func(c *client.AppConfig) { c.ID = "8" }, nil, "there is no App of this number: correct app-id"},
		"no such App, 404": {nil, says("", 404, "Integration not found"), "there is no App of this number: correct app-id"},
		"a key of another": {func(c *client.AppConfig) { c.Key = keyFile(other) }, nil, "private-key is not a key of this App: correct app-id, or generate a new private key"},
		"a wrong clock":    {nil, says("", 401, "'Issued at' claim ('iat') must be an Integer"), "the clock of this machine is wrong"},
		"another 401":      {nil, says("", 401, "Bad credentials"), "GitHub does not accept private-key"},
		"not installed":    {nil, says("/installation", 404, "Not Found"), "it is not installed on the repository: choose Install App"},
		"suspended":        {nil, func(s *appServer) { s.installed["suspended_at"] = "2026-11-22T04:00:00Z" }, "its installation is suspended"},
		"suspended later":  {nil, says("/access_tokens", 403, "This installation has been suspended"), "its installation is suspended"},
		"may not push":     {nil, grants(map[string]string{"contents": "read", "pull_requests": "write"}), "it has no contents: write: give the App that permission"},
		"may do nothing":   {nil, grants(nil), "it has no contents: write and no pull-requests: write"},
		"lost permissions": {nil, says("/access_tokens", 422, "The permissions requested are not granted to this installation."), "it has not all permissions: give it contents: write"},
		"another repository": {nil, says("/access_tokens", 422, "There is at least one repository that does not exist or is not accessible to the parent installation."),
			"its installation does not have the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withApp(t, test.config, func(t *testing.T, s *appServer, app *client.App, base http.RoundTripper) {
				if test.server != nil {
					test.server(s)
				}
				_, err := app.Token(t.Context())
				if !errors.Is(err, client.ErrApp) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), " for acme/shop: ") {
					t.Errorf("got %v, want %q", err, test.want)
				}
				if strings.Contains(err.Error(), "\n") || len(err.Error()) > 260 {
					t.Errorf("no sentence for a screen: %v", err)
				}
				// A request without a token is not sent, and says the same.
				c, failed := client.New(client.Config{Repo: "acme/shop", APIURL: "https://api.example.org", Tokens: app.Token}, base)
				if failed != nil {
					t.Fatal(failed)
				}
				_, failed = c.Repository(t.Context())
				if failed == nil || failed.Error() != err.Error() || !errors.Is(failed, client.ErrApp) || client.Status(failed) != 0 {
					t.Errorf("a request fails with %v", failed)
				}
			})
		})
	}
}

func TestTheTokenRequestsOfAnAppGoToItsServerAlone(t *testing.T) {
	t.Parallel()
	withApp(t, nil, func(t *testing.T, s *appServer, app *client.App, _ http.RoundTripper) {
		s.refuse = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Location", "https://elsewhere.example.org/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			fmt.Fprintf(w, `{"message":"you sent %s"}`, r.Header.Get("Authorization"))
			return true
		}
		_, err := app.Token(t.Context())
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Answer.Status != 307 || len(s.jwts) != 1 {
			t.Errorf("got %v after %d requests", err, len(s.jwts))
		}
		jwt := strings.TrimPrefix(s.jwts[0], "Bearer ")
		if len(jwt) < 100 || strings.Contains(err.Error(), jwt[:20]) {
			t.Errorf("the error has the App's own token: %v", err)
		}
	})
	for _, address := range []string{"http://api.example.org", "https://me:secret@api.example.org"} {
		cfg := appConfig()
		cfg.APIURL = address
		if _, err := client.NewApp(cfg, nil); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
}

func TestTheKeyOfAnAppIsTakenAsPeoplePasteIt(t *testing.T) {
	t.Parallel()
	text := keyFile(appKey())
	pkcs8, err := x509.MarshalPKCS8PrivateKey(appKey())
	if err != nil {
		t.Fatal(err)
	}
	for name, pasted := range map[string]string{
		"the file":             text,
		"without the last end": strings.TrimSpace(text),
		"from Windows":         strings.ReplaceAll(text, "\n", "\r\n"),
		`with \n`:              strings.ReplaceAll(text, "\n", `\n`),
		`with \r\n, quoted`:    `"` + strings.ReplaceAll(text, "\n", `\r\n`) + `"`,
		"in one line":          strings.ReplaceAll(text, "\n", " "),
		"indented":             "  " + strings.ReplaceAll(text, "\n", "\n    "),
		"base64":               base64.StdEncoding.EncodeToString([]byte(text)),
		"base64 in lines":      strings.Join(split(base64.StdEncoding.EncodeToString([]byte(text)), 76), "\n"),
		"PKCS#8":               string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
	} {
		if key, err := client.ParseKey(pasted); err != nil || !key.Equal(appKey()) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "PKCS#8" {
			continue
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); slices.Contains(client.KeyLines(pasted), line) == strings.HasPrefix(line, "-----") {
				t.Errorf("%s: the line %s is not hidden, or is no secret", name, line)
			}
		}
	}
}

func split(s string, n int) (parts []string) {
	for len(s) > n {
		parts, s = append(parts, s[:n]), s[n:]
	}
	return append(parts, s)
}

func TestSettingsOfAnAppThatCannotBeRightAreNamed(t *testing.T) {
	t.Parallel()
	text := keyFile(appKey())
	elliptical, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(elliptical)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*client.AppConfig)
		want   string
	}{
		"a client id":     {func(c *client.AppConfig) { c.ID = "Iv23liAbCdEf" }, "app-id is not a number: write the App ID"},
		"a negative id":   {func(c *client.AppConfig) { c.ID = "-7" }, "app-id is not a number"},
		"the key as id":   {func(c *client.AppConfig) { c.ID = text }, "app-id is not a number"},
		"no key":          {func(c *client.AppConfig) { c.Key = " " }, "private-key is empty: give it the .pem file"},
		"half a key":      {func(c *client.AppConfig) { c.Key = text[:len(text)/2] }, "private-key is no RSA private key: give it the whole .pem file"},
		"the middle lost": {func(c *client.AppConfig) { c.Key = text[:200] + text[300:] }, "private-key is no RSA private key"},
		"a password":      {func(c *client.AppConfig) { c.Key = "correct horse battery staple" }, "private-key is no RSA private key"},
		"another kind": {func(c *client.AppConfig) {
			c.Key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		}, "private-key is no RSA private key"},
		"no repository": {func(c *client.AppConfig) { c.Repo = "shop" }, "write it as owner/name"},
	} {
		cfg := appConfig()
		test.change(&cfg)
		_, err := client.NewApp(cfg, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
			continue
		}
		for _, part := range split(strings.TrimSpace(cfg.Key), 10) {
			if len(part) == 10 && !strings.Contains(part, "-----") && strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error has a part of the key: %v", name, err)
			}
		}
	}
}
