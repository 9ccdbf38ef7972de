package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/internal/transport"
)

// echo answers with the credential that it got.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	fmt.Fprint(w, "you sent ", r.Header.Get("Authorization"))
}

func TestATokenOfASourceGoesWithOneRequestAndIsNowhereInItsAnswer(t *testing.T) {
	t.Parallel()
	var got []string
	bubble(t, func(t *testing.T, _ *scripted, tr *transport.Transport) {
		issued := 0
		tr.Authorize = func(context.Context) (string, error) {
			issued++
			return fmt.Sprintf("Bearer short-lived-%d", issued), nil
		}
		for range 2 {
			a, err := send(t.Context(), tr, http.MethodGet, address)
			if all := string(a.Body) + a.Header.Get("X-Echo"); err != nil || strings.Contains(all, "short-lived") || !strings.Contains(all, "[secret]") {
				t.Errorf("the answer is %q, %v", all, err)
			}
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		echo(w, r)
	})
	if want := "Bearer short-lived-1 Bearer short-lived-2"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWithoutATokenOfTheSourceNothingIsSent(t *testing.T) {
	t.Parallel()
	refused := errors.New("there is no such app: correct app-id")
	bubble(t, func(t *testing.T, s *scripted, tr *transport.Transport) {
		tr.Authorize = func(context.Context) (string, error) { return "", refused }
		_, err := send(t.Context(), tr, http.MethodGet, address)
		if failure(t, err, transport.NotSent, refused.Error()); !errors.Is(err, refused) || s.requests.Load() != 0 {
			t.Errorf("got %v after %d requests", err, s.requests.Load())
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		tr.Authorize = func(ctx context.Context) (string, error) {
			cancel(stopped)
			return "", context.Cause(ctx)
		}
		if _, err := send(ctx, tr, http.MethodGet, address); !errors.Is(err, stopped) {
			t.Errorf("interrupted: %v", err)
		}
	}, echo)
}

// signing sets the header of the request that it gets.
type signing struct{ base http.RoundTripper }

func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer signed-by-the-base")
	return s.base.RoundTrip(r)
}

func TestACredentialOfTheBaseIsNowhereInWhatComesBack(t *testing.T) {
	t.Parallel()
	trackertest.Bubble(t, http.HandlerFunc(echo), func(t *testing.T, base http.RoundTripper) {
		tr, err := transport.New(address, "", signing{base})
		if err != nil {
			t.Fatal(err)
		}
		a, err := send(t.Context(), tr, http.MethodGet, address)
		if all := string(a.Body) + a.Header.Get("X-Echo"); err != nil || strings.Contains(all, "signed-by") || !strings.Contains(all, "[secret]") {
			t.Errorf("the answer is %q, %v", all, err)
		}
	})
}
