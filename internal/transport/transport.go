// Package transport is the way out for everything that sends a credential to the
// API of a server: the trackers and the GitHub client, and through it the state
// branch and the liveness of workflow runs.
//
// What a [Transport] ensures for every request, whichever library makes it:
//
//   - the token travels over https, or over http to a loopback address, and to no
//     other host: a redirect is an error like any other status, and what it leads to is
//     read without the token, by [Transport.Tail];
//   - no answer, error or log holds the token, also if the server repeats it;
//   - each try has a time limit, and each answer a size limit;
//   - a failure that may be temporary is repeated after a pause, three tries in all,
//     if sending the request twice does no harm; see [Repeatable];
//   - a wait that the server asks for is kept when it is short, and otherwise
//     returned to the caller, who knows what else there is to do;
//   - the cause of a context that ends is in the error.
//
// A request gives an [Answer], complete and in memory, or an [Error], which its
// users map to their own categories.
package transport

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// Repeated is the message of a warning about a request that failed and is sent again. If it
// fails to the end, an error says so too.
const Repeated = "request repeated"

const (
	// Tries bounds how often a request is sent.
	Tries = 3
	// maxPause is the longest wait between two tries. A server that asks for more
	// ends the request.
	maxPause = 5 * time.Second
	// maxAnswer is the greatest answer of a [Transport] that sets no other bound. A page of
	// 100 issues has less than 1 MiB, and what is made of an answer takes several times its
	// size.
	maxAnswer = 16 << 20
)

// Transport sends requests to one server with one token. Its fields are set before the
// first request. Any number of goroutines may use it.
type Transport struct {
	Timeout   time.Duration // time for one try, its answer included
	Pause     time.Duration // average time before the second try
	MaxAnswer int           // bytes of an answer
	Log       *slog.Logger  // log of repeated requests

	// Limited returns true for an answer that is a rate limit, and its length: 0
	// if the answer does not say. It is asked about every answer.
	Limited func(Answer) (wait time.Duration, limited bool)

	// Authorize returns the value of the Authorization header of one request, in place of
	// the one that New got. It is for tokens that do not live long; nil for others. Its
	// error is wrapped.
	Authorize func(context.Context) (string, error)

	base          http.RoundTripper
	root          *url.URL
	authorization string
	secret        secret
}

// New returns a Transport for the server of an address. The authorization is the value of
// that header; the token is its last word. If it is empty, New adds no header, and the
// base may set one. A nil base is http.DefaultTransport. New fails as [ParseAddress]
// does.
func New(address, authorization string, base http.RoundTripper) (*Transport, error) {
	root, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	if base == nil {
		base = http.DefaultTransport
	}
	return &Transport{
		Timeout: 30 * time.Second, Pause: 500 * time.Millisecond, MaxAnswer: maxAnswer, Log: slog.New(slog.DiscardHandler),
		Limited: func(a Answer) (time.Duration, bool) {
			wait, _ := RetryAfter(a.Header)
			return wait, a.Status == http.StatusTooManyRequests
		},
		base: base, root: root, authorization: authorization, secret: newSecret(authorization),
	}, nil
}

// ParseAddress parses the address of a server that may be sent a token. It fails,
// with text that continues the name of a setting, if the token would be readable on
// the way: only https will do, and http to a loopback address.
func ParseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("is not a plain URL") // it may hold a password
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return nil, fmt.Errorf("%q would send the token in the clear", address)
	}
	return u, nil
}

type repeatableKey struct{}

// Repeatable returns a context whose requests may be sent more than once. Without
// it only GET and HEAD are: a request whose answer was lost may have been carried
// out.
func Repeatable(ctx context.Context) context.Context {
	return context.WithValue(ctx, repeatableKey{}, true)
}

// Do sends a request and returns the answer, which has a status of 2xx, or an
// [Error].
func (t *Transport) Do(req *http.Request) (Answer, error) {
	if req.Body != nil {
		defer req.Body.Close() // each try has its own
	}
	if req.URL.Scheme != t.root.Scheme || req.URL.Host != t.root.Host {
		return Answer{}, &Error{
			Kind: NotSent, Reason: fmt.Sprintf("%s is not %s", t.Quote(req.URL.Host), t.root.Host),
			Remedy: "the token is sent to that host alone: check its address in the settings",
		}
	}
	ctx := req.Context()
	authorization := t.authorization
	if t.Authorize != nil {
		var err error
		if authorization, err = t.Authorize(ctx); err != nil {
			return Answer{}, &Error{Kind: NotSent, Reason: err.Error(), Err: err}
		}
	}
	repeatable := req.Method == http.MethodGet || req.Method == http.MethodHead || ctx.Value(repeatableKey{}) != nil
	for try := 1; ; try++ {
		answer, failure := t.send(req, authorization)
		if failure == nil {
			return answer, nil
		}
		pause, worthwhile := t.pauseAfter(failure, try)
		if !repeatable || !worthwhile || try == Tries || ctx.Err() != nil {
			return Answer{}, failure
		}
		t.Log.Warn(Repeated, "host", t.root.Host, "wait", pause.Round(time.Millisecond), "reason", failure)
		if err := Sleep(ctx, pause); err != nil {
			return Answer{}, Interrupted(ctx)
		}
	}
}

// pauseAfter returns the pause after the failed try, and whether another one
// may succeed.
func (t *Transport) pauseAfter(failure *Error, try int) (time.Duration, bool) {
	temporary := failure.Kind == Unanswered || failure.Kind == Refused && failure.Answer.Status >= 500
	if failure.Wait > 0 {
		return failure.Wait, (temporary || failure.Kind == RateLimited) && failure.Wait <= maxPause
	}
	return t.backoff(try), temporary
}

// backoff returns a pause that grows with the tries, and is random so that many
// clients do not come back at once.
func (t *Transport) backoff(try int) time.Duration {
	return time.Duration(float64(t.Pause) * float64(try) * (0.5 + rand.Float64()))
}

// Backoff waits as it does between two tries. It is for callers that decide
// themselves whether to send a request again. It returns the cause of ctx if that
// ends.
func (t *Transport) Backoff(ctx context.Context, try int) error { return Sleep(ctx, t.backoff(try)) }

// Sleep waits, and returns the cause of ctx if that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send sends the request once.
func (t *Transport) send(req *http.Request, authorization string) (Answer, *Error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), t.Timeout, fmt.Errorf("no answer within %v", t.Timeout))
	defer cancel()
	answer, remedy, err := t.exchange(req.Clone(ctx), authorization)
	reachable := fmt.Sprintf("see that %s can be reached", t.root.Host)
	switch {
	case errors.Is(err, ErrTooLong):
		return Answer{}, &Error{
			Kind: Unreadable, Reason: fmt.Sprintf("the answer has more than %d bytes", t.MaxAnswer),
			Remedy: "ask for less, or see what " + t.root.Host + " sends", Err: ErrTooLong,
		}
	case err != nil && req.Context().Err() != nil:
		return Answer{}, Interrupted(req.Context())
	case err != nil && ctx.Err() != nil:
		return Answer{}, &Error{Kind: Unanswered, Reason: context.Cause(ctx).Error(), Remedy: reachable}
	case err != nil: // a text alone, because its cause may quote the server's answer
		return Answer{}, &Error{Kind: Unanswered, Reason: text.OneLine(err.Error(), maxText), Remedy: cmp.Or(remedy, reachable)}
	}
	if wait, limited := t.Limited(answer); limited {
		return Answer{}, &Error{Kind: RateLimited, Answer: answer, Wait: wait, Reason: "the token's rate limit is used up", Remedy: "try again later"}
	}
	if answer.Status >= 200 && answer.Status < 300 {
		return answer, nil
	}
	failure := &Error{Kind: Refused, Answer: answer, Reason: answer.Name(), Remedy: "see the server's documentation of this status"}
	if answer.Status == http.StatusSwitchingProtocols {
		failure.Remedy = fmt.Sprintf("something else than the API answers at %s: check the address in the settings, and the proxy", t.root.Host)
	}
	if answer.Status >= 500 {
		failure.Wait, _ = RetryAfter(answer.Header)
	}
	return Answer{}, failure
}

// exchange sends the copy of a request and reads the whole answer. Neither the answer nor the
// error holds the token that was sent. It fails with [ErrTooLong] for an answer of more than
// MaxAnswer bytes. The remedy is empty unless the error has its own.
func (t *Transport) exchange(req *http.Request, authorization string) (answer Answer, remedy string, err error) {
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return Answer{}, "", err
		}
		req.Body = body
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	req.Header.Set("User-Agent", "symphony")
	resp, err := t.roundTrip(req)
	sent := t.secret
	if header := req.Header.Get("Authorization"); header != t.authorization {
		sent = newSecret(header)
	}
	if err != nil {
		return Answer{}, remedyOf(err), errors.New(sent.clean(err.Error()))
	}
	defer resp.Body.Close()
	limit := int64(t.MaxAnswer)
	if resp.ContentLength > limit && req.Method != http.MethodHead {
		return Answer{}, "", ErrTooLong // it need not be read to know that
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return Answer{}, "", errors.New(sent.clean(err.Error()))
	}
	if int64(len(body)) > limit {
		return Answer{}, "", ErrTooLong
	}
	for _, values := range resp.Header {
		for i, value := range values {
			values[i] = sent.clean(value)
		}
	}
	return Answer{resp.StatusCode, resp.Header, sent.cleanBytes(body)}, "", nil
}

// remedyOf returns the advice for a connection that could not be made, if its cause is known
// to be another than the network.
func remedyOf(err error) string {
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case otherName:
		return "its certificate is for another name: check the address in the settings, or the certificate of the server"
	case unknown:
		return "its certificate is not trusted here: set SSL_CERT_FILE to a file with the one that signed it"
	case isInvalid && invalid.Reason == x509.Expired:
		return "its certificate is not valid now: renew it on the server, and check the clock of this machine"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "end what holds files open on this machine, or raise the limit (ulimit -n)"
	}
	return ""
}
