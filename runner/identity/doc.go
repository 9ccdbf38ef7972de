// Package identity gets the short-lived token with which sessions reach the model, so that no
// key has to be stored.
//
// A job of GitHub Actions that has the permission id-token: write may ask GitHub for a signed
// statement of its identity, which is an OIDC token. [Exchange] asks for it and gives it to the
// token endpoint of the model's provider, which answers with a token of its own. The two forms
// of exchange are RFC 8693 (token-exchange) and RFC 7523 (jwt-bearer). Any other way to a token
// is a function of the caller.
//
// A [Source] holds the latest token in memory and gets the next one on demand. All sessions of
// the program share it. A token is in no file, no log, no error and no environment.
//
// Codex asks for tokens while it works: its setting model_providers.NAME.auth.command names a
// program that prints one. It runs that program at the start, in an interval, and when the
// model's server answers 401. The program is this one, as a client ([Ask]) of a [Channel] of
// the session. It has no authority of its own. The channel is a Unix socket that the agent
// cannot reach: its folder is denied to the agent, whose commands have other mounts and, without
// sandbox.unix_sockets, open no such socket at all. Besides, the channel looks at the process
// that asks, and gives a token only to this program, started outside every sandbox by the
// app-server of the session (peer_linux.go). On other systems there is no such proof, and so no
// channel.
//
// What is known of OpenAI's endpoint. Certain, from its reference «Workload identity token
// exchange»: its address, the body in JSON, and the names of the fields. From others: a token
// lives at most an hour, and never longer than the job's identity token, which lives a few
// minutes. Its words for errors are not published, so advice is chosen by words that any server
// would use, and the whole message is shown. An exchange with the real endpoint was not tried.
package identity

import (
	"errors"
	"fmt"
)

// The categories of this package's errors.
var (
	// ErrRefused: no token is given, until somebody changes the settings here or at the
	// provider.
	ErrRefused = errors.New("identity_refused")
	// ErrUnavailable: no token is given now; later one may be.
	ErrUnavailable = errors.New("identity_unavailable")
)

func refused(operation, format string, args ...any) error {
	return fmt.Errorf("%s: %w: "+format, append([]any{operation, ErrRefused}, args...)...)
}
