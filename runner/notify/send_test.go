package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/runner/notify"
)

const secretURL = "https://hooks.example.com/services/T0/B0/verySecretPath"

var batch = notify.Batch{From: "acme/shop", Notices: []notify.Notice{{Event: notify.Paused, Why: "the disk is full"}}}

// TestAHostileDestinationCostsTheTimeOfItsContextAlone also looks for its address in errors.
func TestAHostileDestinationCostsTheTimeOfItsContextAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		want    string
		inDoubt bool
	}{
		"takes it":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }, "", false},
		"has no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "", false},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/"+r.URL.Path, http.StatusTemporaryRedirect)
		}, "redirects to another address", false},
		"is gone":         {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no "+r.URL.String(), 404) }, "404 Not Found", false},
		"is broken":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "503", false},
		"asks to wait":    {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "1"); w.WriteHeader(429) }, "no more messages now", false},
		"talks and talks": {func(w http.ResponseWriter, r *http.Request) { flood(w, r) }, "answer is too long", true},
		"never answers":   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer in time", true},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("."))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		}, "no answer in time", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
				c.answer(w, r)
			})
			trackertest.Bubble(t, handler, func(t *testing.T, base http.RoundTripper) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began, tries := time.Now(), 0
				counted := roundTripper(func(r *http.Request) (*http.Response, error) { tries++; return base.RoundTrip(r) })
				err := notify.Send(ctx, counted, notify.Destination{Name: "team", Kind: notify.Slack, URL: secretURL}, batch)
				if took := time.Since(began); took > 2*time.Second || tries != 1 {
					t.Errorf("it took %v and %d tries", took, tries)
				}
				if c.want == "" && err == nil {
					return
				}
				failure, _ := errors.AsType[*notify.Failure](err)
				if failure == nil || !strings.Contains(failure.Reason, c.want) || failure.InDoubt != c.inDoubt {
					t.Errorf("got %+v, want %q, in doubt: %v", err, c.want, c.inDoubt)
				}
				for _, part := range []string{"hooks.example.com", "verySecretPath", "T0/B0", "evil"} {
					if err != nil && strings.Contains(err.Error(), part) {
						t.Errorf("%q is in the error %q", part, err)
					}
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func flood(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

func TestADestinationThatCannotBeReachedIsNotNamedByItsAddress(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"no server": "http://127.0.0.1:1/secretPath", "no https": "http://hooks.example.com/secretPath", "no address": "::secretPath", "a password": "https://user:secretPath@example.com/"} {
		err := notify.Send(t.Context(), nil, notify.Destination{Kind: notify.Discord, URL: address}, batch)
		if failure, _ := errors.AsType[*notify.Failure](err); failure == nil || failure.InDoubt || strings.Contains(err.Error(), "secretPath") || strings.Contains(err.Error(), "example") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAWebhookIsSigned verifies the signature with the commands of the documentation.
func TestAWebhookIsSigned(t *testing.T) {
	t.Parallel()
	const secret = "key of the webhook"
	var got http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	if err := notify.Send(t.Context(), nil, notify.Destination{Kind: notify.Webhook, URL: server.URL + "/x", Secret: secret}, batch); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(body, notify.Body(notify.Webhook, batch)) || got.Get("Content-Type") != "application/json" {
		t.Errorf("got %s of %s", body, got.Get("Content-Type"))
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl here: the signature is not compared with it")
	}
	cmd := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256", "-hmac", secret)
	cmd.Stdin = strings.NewReader(got.Get(notify.TimestampHeader) + "." + string(body))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(out))
	if want := "sha256=" + fields[len(fields)-1]; got.Get(notify.SignatureHeader) != want {
		t.Errorf("the signature is %s, want %s", got.Get(notify.SignatureHeader), want)
	}
}
