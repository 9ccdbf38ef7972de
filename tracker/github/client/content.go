package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/tracker/transport"
)

// ErrContent reports that GitHub takes no new content of an account for a while, although the
// rate limit of its requests is not used up. Nothing was posted.
var ErrContent = errors.New("content_limited")

// The limits of GitHub's documentation for what creates content, such as comments and pull
// requests, of an account. Shards of a fleet share an account, and do not know how much the
// others post.
const (
	contentAMinute = 80
	contentAnHour  = 500
)

// contentPause is how long to wait after "was submitted too quickly", which names no time.
const contentPause = 20 * time.Second

// contentPace remembers when a client created content, so that it keeps the limits itself.
type contentPace struct {
	mu   sync.Mutex
	sent []time.Time // within the last hour, oldest first
}

// take returns how long to wait before content may be created. If that is 0, it counts it.
func (p *contentPace) take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.sent) > 0 && now.Sub(p.sent[0]) >= time.Hour {
		p.sent = p.sent[1:]
	}
	wait := time.Duration(0)
	if n := len(p.sent); n >= contentAMinute {
		wait = time.Minute - now.Sub(p.sent[n-contentAMinute])
	}
	if len(p.sent) >= contentAnHour {
		wait = max(wait, time.Hour-now.Sub(p.sent[0]))
	}
	if wait > 0 {
		return wait
	}
	p.sent = append(p.sent, now)
	return 0
}

// contentTime bounds the waits for a request whose context has no deadline.
const contentTime = 10 * time.Minute

// create sends a request that creates content, again after each wait that GitHub asks for:
// what it refuses for that reason was not carried out. If the context, or contentTime, ends
// earlier than the wait, create fails with [ErrContent] at once. Waits are a little longer than GitHub asks
// for, by chance, so that the shards of a fleet do not come back together.
func (c *Client) create(ctx context.Context, send func() error) error {
	end, bounded := ctx.Deadline()
	if !bounded {
		end = time.Now().Add(contentTime)
	}
	for {
		wait, err := c.content.take(time.Now()), error(nil)
		if wait == 0 {
			var limited bool
			err = send()
			if wait, limited = contentLimit(err); !limited {
				return err
			}
			wait += time.Duration(rand.Float64() * float64(min(wait/2+time.Second, 30*time.Second)))
		}
		if time.Until(end) < wait {
			return contentError(err, wait)
		}
		c.Transport.Log.Warn("GitHub takes no more content for a while", "wait", wait.Round(time.Millisecond), "repository", c.repo)
		if transport.Sleep(ctx, wait) != nil {
			return transport.Interrupted(ctx)
		}
	}
}

// contentLimit returns how long GitHub takes no content after a request that failed, and
// whether that is why it failed. A rate limit that is used up is another reason.
func contentLimit(err error) (time.Duration, bool) {
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case !ok:
		return 0, false
	case e.Kind == transport.Refused && e.Answer.Status == http.StatusUnprocessableEntity && Says(err, "was submitted too quickly"):
		return contentPause, true
	case e.Kind == transport.RateLimited && e.Answer.Header.Get("X-RateLimit-Remaining") != "0":
		return max(e.Wait, time.Second), true
	}
	return 0, false
}

// contentError returns the error of a request that GitHub refuses, or would, for a wait.
func contentError(err error, wait time.Duration) error {
	e := &transport.Error{
		Kind: transport.Refused, Wait: wait, Err: ErrContent,
		Reason: fmt.Sprintf("GitHub takes no more comments and pull requests of this account for %v", wait.Round(time.Second)),
		Remedy: "nothing needs to be done: it is posted later",
	}
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		e.Answer = refused.Answer
	}
	return e
}
