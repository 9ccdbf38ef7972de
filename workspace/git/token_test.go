package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// fromSource gives the store of a delivery tokens from a source in place of its own.
func (d *delivery) fromSource(t testing.TB, srv *server, source TokenSource) {
	t.Helper()
	d.store.remote = srv.remote(t, filepath.Base(d.origin), "never-sent").WithTokens(source)
}

func TestATokenThatIsRenewedReachesTheNextCommand(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	srv := d.overHTTP(t)
	issued := 0
	d.fromSource(t, srv, func(context.Context) (Token, error) {
		issued++
		token := Token(fmt.Sprintf("ghs_short_lived_%d", issued))
		srv.accept(token) // and no older one
		return token, nil
	})
	in, one := d.work(t, "one")
	if err := in.Push(t.Context(), target, one, ObjectID{}); err != nil {
		t.Fatal(err)
	}
	if fetch(t, d.store, ours).Branches[target] != one || issued < 3 {
		t.Errorf("%d tokens were asked for", issued)
	}
	in, _ = d.work(t, "two") // local commands need none
	asked := issued
	_ = changes(t, in)
	if issued != asked {
		t.Errorf("%d tokens for commands without the remote", issued-asked)
	}
}

func TestWithoutATokenNothingIsSentAndTheSourceSaysWhy(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	srv := d.overHTTP(t)
	in, one := d.work(t, "one")
	reason := errors.New("the App is not installed: install it")
	for name, test := range map[string]struct {
		err, kind, not error
	}{
		"a person has to act": {reason, ErrUnauthorized, ErrUnavailable},
		"an outage":           {fmt.Errorf("%w: %w", ErrUnavailable, reason), ErrUnavailable, ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			d.fromSource(t, srv, func(context.Context) (Token, error) { return "", test.err })
			_, fetched := d.store.Fetch(t.Context(), ours)
			for what, err := range map[string]error{"fetch": fetched, "push": in.Push(t.Context(), target, one, ObjectID{})} {
				if !errors.Is(err, test.kind) || errors.Is(err, test.not) || !errors.Is(err, reason) || !strings.HasSuffix(err.Error(), reason.Error()) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	stop := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	d.fromSource(t, srv, func(context.Context) (Token, error) {
		cancel(stop)
		return "", errors.New("something")
	})
	if _, err := d.store.Fetch(ctx, ours); !errors.Is(err, stop) {
		t.Errorf("a cancelled fetch: %v", err)
	}
	if got := srv.seen(); len(got) > 0 {
		t.Errorf("sent %v", got)
	}
}

func TestATokenOfASourceIsInNoErrorAndGoesToNoFolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	h, err := m.program(t, answersVersion+`env | grep -o 'uthorization.*'; echo "fatal: secret-token and $GIT_CONFIG_VALUE_34" >&2; exit 1`)
	if err != nil {
		t.Fatal(err)
	}
	source := func(context.Context) (Token, error) { return "secret-token", nil }
	remote, err := ParseRemote("https://github.com/acme/shop", "")
	if err != nil {
		t.Fatal(err)
	}
	remote = remote.WithTokens(source)
	_, out, failure := h.output(t.Context(), command{dir: m.dir, args: []string{"fetch", remote.URL()}, remote: &remote})
	encoded := Remote{token: "secret-token"}.header()
	if !strings.Contains(string(out), encoded) {
		t.Errorf("the command has the environment %q", out)
	}
	if failure == nil || strings.Contains(failure.Error(), "secret-token") || strings.Contains(failure.Error(), strings.TrimPrefix(encoded, "Basic ")) {
		t.Errorf("the error shows the token: %v", failure)
	}
	if text := fmt.Sprintf("%v %+v", remote, remote); text != "https://github.com/acme/shop https://github.com/acme/shop" {
		t.Errorf("the remote prints as %s", text)
	}
	folder := remoteAt(t, m.path("origin.git")).WithTokens(func(context.Context) (Token, error) {
		t.Error("a folder was given a token")
		return "secret-token", nil
	})
	if _, err := folder.authorized(t.Context()); err != nil {
		t.Error(err)
	}
}
