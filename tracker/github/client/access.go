package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const maxPeople = 1000

// Access finds out which accounts are people with write access to the repository of a client.
// It asks GitHub about each of them again when an answer is older than its limit. Any number of
// goroutines may use it.
type Access struct {
	client   *Client
	isMarked func(text string) bool // reports whether a text ends as the texts of the program and its agent do
	Limit    time.Duration          // the age until which an answer is used

	mu     sync.Mutex
	people map[string]permission // permissions by login in lower case
}

// NewAccess returns an Access that uses an answer of GitHub until it has this age. isMarked
// reports whether a text ends with the mark of the program or its agent.
func NewAccess(c *Client, limit time.Duration, isMarked func(text string) bool) *Access {
	return &Access{client: c, isMarked: isMarked, Limit: limit, people: map[string]permission{}}
}

// permission is GitHub's last answer about a person.
type permission struct {
	denial string // reason why the person's word does not count; "" when it does
	etag   string
	asked  time.Time
}

// Known returns GitHub's last answer about a person, without a request: why the person's
// word does not count, "" when it does. A denial that is older than limit is not known.
func (a *Access) Known(login string, limit time.Duration) (denial string, ok bool) {
	p := a.known(strings.ToLower(login))
	if p.asked.IsZero() || p.denial != "" && time.Since(p.asked) >= limit {
		return "", false
	}
	return p.denial, true
}

// known returns GitHub's last answer about a person, the zero value if there is none.
func (a *Access) known(login string) permission {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.people[login]
}

// Denial returns the reason why an account is not a person with write access, "" when it is. An
// answer that GitHub does not give counts as no write access.
func (a *Access) Denial(ctx context.Context, who Account) (string, error) {
	switch {
	case who.Login == "":
		return "a deleted account", nil
	case who.Type != "User":
		return fmt.Sprintf("%s is not a person", who.Login), nil
	}
	login := strings.ToLower(who.Login)
	known := a.known(login)
	if !known.asked.IsZero() && time.Since(known.asked) < a.Limit {
		return known.denial, nil
	}
	known, err := a.client.readPermission(ctx, who.Login, known)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.people) >= maxPeople {
		clear(a.people)
	}
	a.people[login] = known
	return known.denial, nil
}

// marked is the reason why a person's comment does not count if it ends like the program's: it
// may have been posted for the agent with the token of that person.
const marked = "the last line is the mark of what the program and its agent post: write it again without that line"

// Judge returns the comments since a time, with whether they are the program's or its agent's,
// and the reasons why the words of the others do not count. The account of an App belongs to
// the program alone; the account of a person's token also writes for the person, so there the
// mark decides. A mark never makes a comment count.
func (a *Access) Judge(ctx context.Context, comments []PullComment, since time.Time) ([]PullComment, error) {
	var judged []PullComment
	for _, c := range comments {
		if c.At.Before(since) {
			continue
		}
		isMarked, isBot := a.isMarked(c.Text), c.Author.Type == "Bot"
		c.Own = c.Ours && (isBot || isMarked) || isBot && isMarked
		if !c.Own {
			why, err := a.denialOf(ctx, c)
			if err != nil {
				return nil, err
			}
			if c.Distrust = why; why == "" && isMarked {
				c.Distrust = marked
			}
		}
		judged = append(judged, c)
	}
	return judged, nil
}

// denialOf returns the reason why a comment does not count: because of its author, or of
// somebody else who edited it.
func (a *Access) denialOf(ctx context.Context, c PullComment) (string, error) {
	why, err := a.Denial(ctx, c.Author)
	if err != nil || why != "" || !c.Edited || c.Editor == c.Author {
		return why, err
	}
	if why, err = a.Denial(ctx, c.Editor); why != "" {
		why = "another account edited it: " + why
	}
	return why, err
}

// readPermission reads the permission of a person. When it has not changed from known,
// the request costs nothing of the rate limit.
func (c *Client) readPermission(ctx context.Context, login string, known permission) (permission, error) {
	asked := time.Now()
	a, err := c.Do(ctx, Request{
		Path: c.Path("/collaborators/%s/permission", url.PathEscape(login)), Permission: ReadMetadata, ETag: known.etag,
	})
	switch code := Status(err); {
	case code == http.StatusNotModified && known.etag != "":
		known.asked = asked
		return known, nil
	case code == http.StatusNotFound:
		return permission{denial: login + " is not a collaborator", asked: asked}, nil
	case code >= 300 && code < 500 && code != http.StatusUnauthorized && code != http.StatusTooManyRequests:
		return permission{denial: fmt.Sprintf("what %s may do cannot be read: give the token the permission metadata: read", login), asked: asked}, nil
	case err != nil:
		return permission{}, fmt.Errorf("read the permission of %s in %s: %w", login, c.repo, err)
	}
	var level struct {
		Permission string `json:"permission"`
	}
	if err := c.Decode(a, &level); err != nil {
		return permission{}, fmt.Errorf("read the permission of %s in %s: %w", login, c.repo, err)
	}
	p := permission{etag: a.Header.Get("ETag"), asked: asked}
	if level.Permission != "admin" && level.Permission != "write" {
		p.denial = login + " has no write access"
	}
	return p, nil
}
