package git

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// The server of Git LFS answers, for a list of objects, with the URL of each: to download
// it, or to upload it if it does not have it (the batch API, with the transfer "basic").
// These are often on another host, and carry a permission of their own.
//
// The token of the remote is sent to the remote's own host alone: with the list, and to
// URLs on that host that bring no permission. No redirect takes it along.

const (
	batchObjects = 100     // objects in one list
	maxBatch     = 4 << 20 // bytes of the answer to a list
	lfsType      = "application/vnd.git-lfs+json"
)

// lfsServer is the server of Git LFS that belongs to a remote.
type lfsServer struct {
	remote    Remote // remote with a token that is valid for some time
	root      *url.URL
	transport *transport.Transport
	client    *http.Client
	slow      time.Duration // longest time without a byte
	whole     time.Duration // longest time of one transfer
}

// lfsServer returns the server for one list of objects and the transfers after it.
func (s *lfsStore) lfsServer(ctx context.Context) (*lfsServer, error) {
	remote, err := s.remote.authorized(ctx)
	if err != nil {
		return nil, err
	}
	address := strings.TrimSuffix(remote.url, ".git") + ".git/info/lfs/objects/batch"
	authorization := ""
	if remote.token != "" {
		authorization = remote.header()
	}
	l := &lfsServer{remote: *remote, slow: s.host.limits.slow, whole: s.host.limits.network, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if l.transport, err = transport.New(address, authorization, nil); err == nil {
		l.root, err = url.Parse(address)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRemote, err)
	}
	l.transport.MaxAnswer, l.transport.Pause, l.transport.Log = maxBatch, s.host.limits.pause, s.host.log
	return l, nil
}

// lfsBatch is a list of objects, as a request and as the answer to it.
type lfsBatch struct {
	Operation string      `json:"operation,omitempty"` // "download" or "upload"
	Transfers []string    `json:"transfers,omitempty"`
	Transfer  string      `json:"transfer,omitempty"` // protocol that the answer chooses; empty is basic
	Ref       *lfsRef     `json:"ref,omitempty"`
	Objects   []lfsObject `json:"objects"`
	Hash      string      `json:"hash_algo,omitempty"`
}

type lfsRef struct {
	Name string `json:"name"`
}

// lfsObject is an object in a list.
type lfsObject struct {
	OID     string               `json:"oid"`
	Size    int64                `json:"size"`
	Actions map[string]lfsAction `json:"actions,omitempty"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// lfsAction is a request that the server allows.
type lfsAction struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

// batch asks for the actions on objects; ref is the full name of the branch they are for,
// or empty. Objects that the server has, or refuses, are in the answer too.
func (l *lfsServer) batch(ctx context.Context, operation, ref string, wants []Pointer) ([]lfsObject, error) {
	ask := lfsBatch{Operation: operation, Transfers: []string{"basic"}, Hash: "sha256"}
	if ref != "" {
		ask.Ref = &lfsRef{ref}
	}
	sizes := map[string]int64{}
	for _, p := range wants {
		ask.Objects = append(ask.Objects, lfsObject{OID: p.OID, Size: p.Size})
		sizes[p.OID] = p.Size
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(transport.Repeatable(ctx), http.MethodPost, l.root.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", lfsType)
	req.Header.Set("Content-Type", lfsType)
	answer, err := l.transport.Do(req)
	if err != nil {
		return nil, l.batchError(ctx, operation, err)
	}
	var got lfsBatch
	if err := answer.Decode(&got); err != nil {
		return nil, fmt.Errorf("%w: what answers at %s is not a server of Git LFS (%w); remove repository.lfs, or correct repository.url", ErrNotFound, l.root, err)
	}
	if got.Transfer != "" && got.Transfer != "basic" || got.Hash != "" && got.Hash != "sha256" {
		return nil, fmt.Errorf("%w: its server of Git LFS wants the transfer %.40q and the hash %.40q, and only basic and sha256 are supported; remove repository.lfs", ErrUnsupported, got.Transfer, got.Hash)
	}
	if len(got.Objects) != len(wants) {
		return nil, fmt.Errorf("%w: its server of Git LFS answers for %d of %d objects", ErrUnsupported, len(got.Objects), len(wants))
	}
	for _, object := range got.Objects {
		size, wanted := sizes[object.OID]
		if !wanted {
			return nil, fmt.Errorf("%w: its server of Git LFS answers for an object that was not asked for", ErrUnsupported)
		}
		if object.Error == nil && object.Size != size {
			return nil, fmt.Errorf("%w: %s has %d bytes on the server, and %d by its pointer; push the right one with git lfs", ErrLFS, object.OID, object.Size, size)
		}
		delete(sizes, object.OID)
	}
	return got.Objects, nil
}

func (l *lfsServer) batchError(ctx context.Context, operation string, err error) error {
	failed, ok := errors.AsType[*transport.Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok:
		return err
	case failed.Kind == transport.RateLimited || failed.Kind == transport.Unanswered:
		return fmt.Errorf("%w: its server of Git LFS: %w; it is tried again", ErrUnavailable, err)
	case failed.Kind != transport.Refused:
		return fmt.Errorf("%w: its server of Git LFS: %w", ErrUnsupported, err)
	}
	var words struct {
		Message string `json:"message"`
	}
	_ = failed.Answer.Decode(&words)
	need := "read"
	if operation == "upload" {
		need = "write"
	}
	advice, kind := statusMeaning(failed.Answer.Status)
	switch {
	case errors.Is(kind, ErrForbidden):
		advice = "give the token the permission to " + need + " contents, or see whether the quota of Git LFS is used up"
	case errors.Is(kind, ErrNotFound):
		advice = "it has no server of Git LFS, or the token does not see it; remove repository.lfs, or correct the token"
	}
	return fmt.Errorf("%w: %s answers %s%s; %s", kind, l.root, failed.Answer.Name(), quoted(words.Message), advice)
}

// quoted returns words of a server as the continuation of a sentence.
func quoted(words string) string {
	if words == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", sanitize(words))
}

func statusMeaning(status int) (advice string, kind error) {
	switch {
	case status == http.StatusUnauthorized:
		return "the token is missing, wrong or expired; correct repository.token", ErrUnauthorized
	case status == http.StatusForbidden, status == http.StatusInsufficientStorage, status == 509:
		return "the permission for it is missing, or its quota is used up", ErrForbidden
	case status == http.StatusNotFound, status == http.StatusGone:
		return "it is not there", ErrNotFound
	case status >= 300 && status < 400:
		return "it has another address now; set repository.url to that of the repository", ErrRenamed
	case status == http.StatusTooManyRequests:
		return "it limits the rate; it is tried again", ErrUnavailable
	case status == http.StatusNotImplemented:
		return "it cannot do this; remove repository.lfs", ErrUnsupported
	case status >= 500:
		return "it has a failure of its own; it is tried again", ErrUnavailable
	}
	return "it does not take the request; remove repository.lfs", ErrUnsupported
}

const (
	lfsTries     = 3 // attempts at one transfer
	maxRedirects = 5 // redirects of one download
)

// transfer makes the request of an action, and calls use with the answer to it, which has a
// status of success. what names the object in errors. Failures that may pass are
// tried again.
func (l *lfsServer) transfer(ctx context.Context, method string, a lfsAction, what string, body func() (io.ReadCloser, int64, error), use func(*http.Response) error) error {
	for try := 1; ; try++ {
		err := l.transferOnce(ctx, method, a, what, body, use)
		if err == nil || try == lfsTries || !errors.Is(err, ErrUnavailable) {
			return err
		}
		if err := l.transport.Backoff(ctx, try); err != nil {
			return err
		}
	}
}

func (l *lfsServer) transferOnce(ctx context.Context, method string, a lfsAction, what string, body func() (io.ReadCloser, int64, error), use func(*http.Response) error) error {
	ctx, end := context.WithTimeoutCause(ctx, l.whole, fmt.Errorf("%w: %s: not done within %v; it is tried again", ErrUnavailable, what, l.whole))
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("%w: %s: nothing was sent for %v; it is tried again", ErrUnavailable, what, l.slow)
	watch := time.AfterFunc(l.slow, func() { cancel(stalled) })
	defer watch.Stop()
	explain := func(err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var address *url.Error // its URL may hold a permission: it is not shown
		if errors.As(err, &address) {
			err = address.Err
		}
		return fmt.Errorf("%w: %s: %s; it is tried again", ErrUnavailable, what, sanitize(err.Error()))
	}
	from, err := url.Parse(a.Href)
	if err != nil {
		return fmt.Errorf("%w: %s: its server of Git LFS gives an address that cannot be read", ErrUnsupported, what)
	}
	header := l.header(from, a.Header)
	for hop := 0; ; hop++ {
		if err := l.mayUse(from); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnsupported, what, err)
		}
		req, err := http.NewRequestWithContext(ctx, method, from.String(), nil)
		if err != nil {
			return fmt.Errorf("%w: %s: its server of Git LFS gives an address that cannot be used", ErrUnsupported, what)
		}
		req.Header = header
		if body != nil {
			content, size, err := body()
			if err != nil {
				return fmt.Errorf("%w: %s: %w", ErrStore, what, err)
			}
			req.Body, req.ContentLength = watched{content, watch, 4 * l.slow}, size // it may take a while to answer
		}
		answer, err := l.client.Do(req)
		if err != nil {
			return explain(err)
		}
		next, err := answer.Location()
		if answer.StatusCode >= 300 && answer.StatusCode < 400 && err == nil && method == http.MethodGet && hop < maxRedirects {
			answer.Body.Close()
			if next.Scheme != from.Scheme || next.Host != from.Host {
				header = l.header(nil, nil)
			}
			from = next
			continue
		}
		err = l.finish(answer, what, watch, use)
		answer.Body.Close()
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
}

// finish calls use with a successful answer, or returns the error for any other.
func (l *lfsServer) finish(answer *http.Response, what string, watch *time.Timer, use func(*http.Response) error) error {
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		advice, kind := statusMeaning(answer.StatusCode)
		unwanted := errors.Is(kind, ErrNotFound) || errors.Is(kind, ErrUnsupported)
		switch {
		case unwanted && answer.Request.Method != http.MethodGet: // the cause may be an object that the agent made
			kind, advice = ErrRejected, "it does not take this object"
		case errors.Is(kind, ErrNotFound):
			kind = ErrLFS
		case errors.Is(kind, ErrUnauthorized), errors.Is(kind, ErrRenamed):
			kind, advice = ErrForbidden, "the address that its server of Git LFS gives does not work"
		}
		return fmt.Errorf("%w: %s: the answer is %s; %s", kind, what, answer.Status, advice)
	}
	answer.Body = watched{answer.Body, watch, l.slow}
	return use(answer)
}

// mayUse returns an error for an address of the server that must not be used. It must be https;
// http is allowed on this machine, if the remote is there too.
func (l *lfsServer) mayUse(u *url.URL) error {
	if u.Scheme == "https" && u.Host != "" && u.User == nil {
		return nil
	}
	if _, err := transport.ParseAddress(u.Scheme + "://" + u.Host); err == nil && u.User == nil && l.root.Scheme == "http" {
		return nil
	}
	return fmt.Errorf("its server of Git LFS gives an address at %s that is not https; only that is used", sanitize(u.Scheme+"://"+u.Host))
}

// header returns the header of a request: the values that the server gave for this
// address. With a nil address it has none of them.
func (l *lfsServer) header(to *url.URL, given map[string]string) http.Header {
	h := http.Header{}
	h.Set("User-Agent", "symphony")
	h.Set("Accept-Encoding", "identity")
	if to == nil {
		return h
	}
	for name, value := range given {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade", "Te":
		default:
			h.Set(name, value)
		}
	}
	if h.Get("Authorization") == "" && l.remote.token != "" && to.Scheme == l.root.Scheme && to.Host == l.root.Host {
		h.Set("Authorization", l.remote.header())
	}
	return h
}

// watched is a body whose every read shows that the transfer goes on.
type watched struct {
	io.ReadCloser
	timer *time.Timer
	more  time.Duration
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.timer.Reset(w.more)
	return n, err
}
