package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// maxTailed bounds the bytes that Tail reads of a server that does not give the end alone.
const maxTailed = 128 << 20

// maxTries bounds the time for that, in times of one try.
const maxTries = 20

// minPart is the least number of bytes in the time of one try, unless the end comes: 4 KiB each
// second if a try has 30 seconds.
const minPart = 128 << 10

// Tail returns the last n bytes of what is at an address of another server, such as one
// that an answer redirects to, and reports whether that is all of it. The server does not
// get the token, and is reached as safely as the own one: over https, and at a loopback
// address only if the own one is there. Tail asks for the end alone; a server that does
// not give it must send everything, at most 128 MiB. In the time of each try the server must
// send 128 KiB or reach the end, and it may take twenty times as long for all it sends. Tail
// follows no redirect. The errors do not hold the address, which may be a secret.
func (t *Transport) Tail(ctx context.Context, address string, n int) (s []byte, whole bool, err error) {
	s, err = t.readOther(ctx, address, func(ctx context.Context, heard func(int)) (s []byte, err error) {
		s, whole, err = t.tail(ctx, address, n, heard)
		return s, err
	})
	return s, whole && err == nil, err
}

// Fetch returns the content at an address of another server. It fails with [ErrTooLong] if that has
// more than n bytes. The rest is as for [Transport.Tail].
func (t *Transport) Fetch(ctx context.Context, address string, n int) ([]byte, error) {
	return t.readOther(ctx, address, func(ctx context.Context, heard func(int)) ([]byte, error) {
		resp, err := t.ask(ctx, address, "")
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, refusedByOther(resp)
		}
		if resp.ContentLength > int64(n) {
			return nil, tooLong(n) // it need not be read to know that
		}
		s, _, err := lastBytes(resp.Body, n, n, heard)
		return s, err
	})
}

// readOther reads an address of another server with read, which calls heard with the number of
// bytes of each piece that comes.
func (t *Transport) readOther(ctx context.Context, address string, read func(ctx context.Context, heard func(int)) ([]byte, error)) ([]byte, error) {
	if err := t.checkOther(address); err != nil {
		return nil, err
	}
	own := t.secret
	if t.Authorize != nil {
		authorization, err := t.Authorize(ctx)
		if err != nil {
			return nil, &Error{Kind: NotSent, Reason: err.Error(), Err: err}
		}
		own = newSecret(authorization)
	}
	limit := maxTries * t.Timeout
	timed, end := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not everything came within %v", limit))
	defer end()
	tried, cancel := context.WithCancelCause(timed)
	defer cancel(nil)
	var came atomic.Int64 // bytes of the part that is awaited
	slow := time.AfterFunc(t.Timeout, func() { cancel(tooSlow(came.Load(), t.Timeout)) })
	defer slow.Stop()
	s, err := read(tried, func(got int) {
		if came.Add(int64(got)) >= minPart {
			came.Store(0)
			slow.Reset(t.Timeout)
		}
	})
	if _, known := errors.AsType[*Error](err); err == nil || known {
		return own.cleanBytes(s), err
	}
	if ctx.Err() != nil {
		return nil, Interrupted(ctx)
	}
	remedy := ""
	if tried.Err() != nil {
		err, remedy = context.Cause(tried), "try again later, and check the network and the proxy"
	}
	reason := strings.ReplaceAll(own.clean(err.Error()), address, "its address")
	return nil, &Error{Kind: Unanswered, Reason: text.OneLine(reason, maxText), Remedy: remedy}
}

// tooSlow returns the error for a server that has sent too few bytes in the given time.
func tooSlow(came int64, in time.Duration) error {
	if came == 0 {
		return fmt.Errorf("no answer within %v", in)
	}
	return fmt.Errorf("the download is too slow: %d bytes within %v, at least %d are needed", came, in, minPart)
}

// checkOther returns an error if an address of another server must not be asked.
func (t *Transport) checkOther(address string) error {
	if t.authorization == "" && t.Authorize == nil {
		return errNotSent("the token of the requests is not known here")
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return errNotSent("the redirect leads to no plain address")
	}
	switch {
	case u.Scheme != t.root.Scheme:
		return errNotSent(fmt.Sprintf("the redirect leads to %s instead of %s", t.Quote(u.Scheme), t.root.Scheme))
	case isLocal(u.Hostname()) && !isLocal(t.root.Hostname()):
		return errNotSent("the redirect leads to this machine")
	case !isLocal(u.Hostname()) && u.Scheme != "https":
		return errNotSent("the redirect does not lead to an https address")
	}
	return nil
}

func errNotSent(reason string) error { return &Error{Kind: NotSent, Reason: reason} }

// isLocal reports whether a host is this machine, or its network alone.
func isLocal(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	return err == nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast())
}

// tail asks for everything, and for the end if that turns out to be long.
// It calls heard with the number of bytes of each piece that comes.
func (t *Transport) tail(ctx context.Context, address string, n int, heard func(int)) (text []byte, whole bool, err error) {
	resp, err := t.ask(ctx, address, "")
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, false, refusedByOther(resp)
	}
	if from := resp.ContentLength - int64(n); from > 0 {
		_ = resp.Body.Close()
		if resp, err = t.ask(ctx, address, fmt.Sprintf("bytes=%d-", from)); err != nil {
			return nil, false, err
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", from)) {
			text, _, err := lastBytes(resp.Body, n, n, heard)
			return text, false, err
		}
		if resp.StatusCode != http.StatusOK {
			return nil, false, refusedByOther(resp)
		}
	}
	return lastBytes(resp.Body, n, maxTailed, heard)
}

// ask sends a request without the token; part is the value of Range, or empty.
func (t *Transport) ask(ctx context.Context, address, part string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errNotSent("the redirect leads to no plain address")
	}
	req.Header.Set("User-Agent", "symphony")
	req.Header.Set("Accept-Encoding", "identity") // a short answer could become long
	if part != "" {
		req.Header.Set("Range", part)
	}
	return t.roundTrip(req)
}

func refusedByOther(resp *http.Response) error {
	return &Error{Kind: Unreadable, Reason: "the host of the file answers " + Answer{Status: resp.StatusCode}.Name()}
}

func tooLong(limit int) error {
	return &Error{Kind: Unreadable, Reason: fmt.Sprintf("there are more than %d bytes", limit), Err: ErrTooLong}
}

// lastBytes returns the last n bytes of a reader, and whether that is all. It fails if there
// are more than limit.
func lastBytes(from io.Reader, n, limit int, heard func(int)) (text []byte, whole bool, err error) {
	var kept []byte
	chunk := make([]byte, 32<<10)
	read := 0
	for {
		got, err := from.Read(chunk)
		if got > 0 {
			heard(got)
		}
		if read += got; read > limit {
			return nil, false, tooLong(limit)
		}
		if kept = append(kept, chunk[:got]...); len(kept) >= 2*n { // not after each read: it moves n bytes
			kept = kept[:copy(kept, kept[len(kept)-n:])]
		}
		switch {
		case errors.Is(err, io.EOF):
			return bytes.Clone(kept[max(0, len(kept)-n):]), read <= n, nil
		case err != nil:
			return nil, false, err
		}
	}
}
