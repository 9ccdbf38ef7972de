package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// posts is a server that refuses some posts, as GitHub does, and takes the others.
type posts struct {
	refused int // so many first
	status  int
	header  string // Retry-After
	body    string
	taken   []time.Time
}

func (p *posts) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-RateLimit-Remaining", "4000")
	if p.refused > 0 {
		p.refused--
		if p.header != "" {
			w.Header().Set("Retry-After", p.header)
		}
		w.WriteHeader(p.status)
		fmt.Fprint(w, p.body)
		return
	}
	p.taken = append(p.taken, time.Now())
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"number": 1}`)
}

const (
	blocked = `{"message": "You have exceeded a secondary rate limit and have been temporarily blocked from content creation."}`
	quickly = `{"message": "Validation Failed", "errors": ["was submitted too quickly"]}`
)

func TestContentWaitsForItsLimitInsideTheDeadline(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		posts
		within   time.Duration // of the deadline; 0 for none
		atLeast  time.Duration // that it takes; or
		postpone bool
	}{
		"a minute":                   {posts{refused: 1, status: 403, header: "60", body: blocked}, 0, time.Minute, false},
		"three times":                {posts{refused: 3, status: 429, header: "60", body: blocked}, time.Hour, 3 * time.Minute, false},
		"submitted too quickly":      {posts{refused: 2, status: 422, body: quickly}, time.Hour, 40 * time.Second, false},
		"longer than there is time":  {posts{refused: 1, status: 403, header: "600", body: blocked}, 5 * time.Minute, 0, true},
		"no time and no Retry-After": {posts{refused: 9, status: 422, body: quickly}, 10 * time.Second, 0, true},
		"taken at once":              {posts{}, 0, 0, false},
	} {
		server := row.posts
		trackertest.Bubble(t, &server, func(t *testing.T, base http.RoundTripper) {
			c, err := client.New(client.Config{Repo: "acme/shop", APIURL: "https://api.example.org", Token: token}, base)
			if err != nil {
				t.Fatal(err)
			}
			ctx, began := t.Context(), time.Now()
			if row.within > 0 {
				var end context.CancelFunc
				ctx, end = context.WithTimeout(ctx, row.within)
				defer end()
			}
			title := "A cart"
			_, err = c.Pulls.Create(ctx, client.NewPullRequest{Title: &title})
			took := time.Since(began)
			if row.postpone {
				e, _ := errors.AsType[*transport.Error](err)
				if !errors.Is(err, client.ErrContent) || e == nil || e.Kind == transport.RateLimited || e.Wait == 0 || took > time.Second || len(server.taken) > 0 {
					t.Errorf("%s: %v after %v", name, err, took)
				}
				return
			}
			if err != nil || took < row.atLeast || took > 2*row.atLeast+time.Second || len(server.taken) != 1 {
				t.Errorf("%s: %v after %v, posted %d times", name, err, took, len(server.taken))
			}
		})
	}
}

func TestARateLimitThatIsUsedUpIsNoLimitOfContent(t *testing.T) {
	t.Parallel()
	s := newServer(t, 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(time.Now().Add(time.Hour).Unix())}, `{}`)
	err := s.client(t).Issues.AddComment(t.Context(), 1, "Hello.")
	if e, ok := errors.AsType[*transport.Error](err); !ok || e.Kind != transport.RateLimited || errors.Is(err, client.ErrContent) {
		t.Errorf("%v", err)
	}
}

func TestAClientKeepsTheLimitsOfContentItself(t *testing.T) {
	t.Parallel()
	server := &posts{}
	trackertest.Bubble(t, server, func(t *testing.T, base http.RoundTripper) {
		c, err := client.New(client.Config{Repo: "acme/shop", APIURL: "https://api.example.org", Token: token}, base)
		if err != nil {
			t.Fatal(err)
		}
		long, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		for range 400 {
			if err := c.Issues.AddComment(t.Context(), 1, "Hello."); err != nil {
				t.Fatal(err)
			}
		}
		for range 300 {
			if err := c.Issues.AddComment(long, 1, "Hello."); err != nil {
				t.Fatal(err)
			}
		}
		for range 400 {
			err = c.Issues.AddComment(t.Context(), 1, "Hello.")
		}
		if !errors.Is(err, client.ErrContent) {
			t.Errorf("without a deadline a request waits for the next hour: %v", err)
		}
	})
	for i, at := range server.taken {
		if i >= 80 && at.Sub(server.taken[i-80]) < time.Minute || i >= 500 && at.Sub(server.taken[i-500]) < time.Hour {
			t.Fatalf("post %d comes too early", i)
		}
	}
}

func TestTheShardsOfAFleetShareTheLimitsOfContent(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{0, 1, 4, 16, 64} {
		aMinute, anHour, end := 0, 0, time.Time{}.Add(2*time.Hour)
		pace := client.NewContentPace(shards)
		for now := (time.Time{}).Add(time.Hour); now.Before(end); now = now.Add(time.Second) {
			for pace.Take(now) == 0 {
				anHour++
				if now.Sub(end) < -59*time.Minute {
					aMinute++
				}
			}
		}
		if n := max(shards, 1); n*aMinute > 80 || n*anHour > 500 || aMinute == 0 {
			t.Errorf("%d shards post %d times each in a minute and %d times in an hour", n, aMinute, anHour)
		}
	}
	pace := client.NewContentPace(256)
	for i, at := range []time.Duration{0, time.Minute, 2 * time.Minute} {
		if wait := pace.Take(time.Time{}.Add(at)); wait > 0 {
			t.Errorf("post %d of a session in a fleet of 256 shards waits for %v", i, wait)
		}
	}
}

func TestTheClientsOfAnAccountShareItsLimits(t *testing.T) {
	t.Parallel()
	server := &posts{}
	trackertest.Bubble(t, server, func(t *testing.T, base http.RoundTripper) {
		pace := client.NewContentPace(4)
		for range 4 {
			c, err := client.New(client.Config{Repo: "acme/shop", APIURL: "https://api.example.org", Token: token, Content: pace}, base)
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				if err := c.Issues.AddComment(t.Context(), 1, "Hello."); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	for i, at := range server.taken {
		if i >= 20 && at.Sub(server.taken[i-20]) < time.Minute {
			t.Fatalf("post %d comes too early", i)
		}
	}
}

func TestAFloodOfCommentsIsPostedLate(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n := g.AddIssue(githubtest.Issue{Title: "A cart"})
	for _, quickly := range []bool{false, true} {
		g.LimitContent(1, 900*time.Millisecond, quickly)
		ctx, end := context.WithTimeout(t.Context(), 5*time.Second)
		defer end()
		first, second := c.Issues.AddComment(ctx, n, "One."), c.Issues.AddComment(ctx, n, "Two.")
		if first != nil || errors.Is(second, client.ErrContent) != quickly || (second == nil) == quickly {
			t.Errorf("quickly %t: %v, %v", quickly, first, second)
		}
	}
	if got := len(g.Issue(n).Comments); got != 3 {
		t.Errorf("there are %d comments", got)
	}
}
