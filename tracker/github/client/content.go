package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// ErrContent reports that GitHub takes no new content of an account for a while, although the
// rate limit of its requests is not used up. Nothing was posted.
var ErrContent = errors.New("content_limited")

// The limits of GitHub's documentation for new content of an account, such as comments and pull
// requests.
const (
	contentAMinute = 80
	contentAnHour  = 500
)

// shareAnHour is the least share of a shard in an hour, since a session posts a few times. The
// shares of a very large fleet are more than the limit together; then GitHub refuses some of
// their posts, which wait.
const shareAnHour = 5

// NewContentPace returns the pace of new content for all clients of an account in this process.
// The shards of a fleet have an account in common, so each has a share: shards is their number,
// 0 for a process of its own.
func NewContentPace(shards int) *transport.Pace {
	shards = max(shards, 1)
	return transport.NewPace(max(contentAMinute/shards, 1), max(contentAnHour/shards, shareAnHour))
}

// contentPause is the wait after "was submitted too quickly", which names no time.
const contentPause = 20 * time.Second

// contentTime bounds the waits for a request whose context has no deadline.
const contentTime = 10 * time.Minute

// Create sends a request that creates content like [Client.Do], once GitHub's limits on new
// content allow it.
func (c *Client) Create(ctx context.Context, r Request) (a transport.Answer, err error) {
	err = c.create(ctx, func() error {
		a, err = c.Do(ctx, r)
		return err
	})
	return a, err
}

// create sends a request that creates content, again after each wait that GitHub asks for: a
// request that was refused for that reason was not carried out. If the context, or contentTime,
// ends earlier than the wait, create fails with [ErrContent] at once. Waits are a little longer
// than GitHub asks for, by chance, so that the shards of a fleet do not come back together.
func (c *Client) create(ctx context.Context, send func() error) error {
	end, bounded := ctx.Deadline()
	if !bounded {
		end = time.Now().Add(contentTime)
	}
	for {
		wait, err := c.content.Take(time.Now()), error(nil)
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

// contentLimit returns the time for which GitHub takes no content after a request that failed,
// and whether such a limit made it fail. A rate limit that is used up is another one.
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
