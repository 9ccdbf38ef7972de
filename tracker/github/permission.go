package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// permit is what GitHub last said about a person.
type permit struct {
	denial string // why the person's word does not count; "" when it does
	etag   string
	asked  time.Time
}

// writeDenial returns why somebody's word does not count: it is not that of a
// person with write access or more. It returns "" when it counts. An answer of
// GitHub is used for half a poll, so that none is older than one.
func (g *gate) writeDenial(ctx context.Context, who *actor) (string, error) {
	switch {
	case who == nil || who.Login == "":
		return "a deleted account", nil
	case who.Typename != "User":
		return fmt.Sprintf("%s is not a person", who.Login), nil
	}
	login := strings.ToLower(who.Login)
	g.mu.Lock()
	known, ok := g.people[login]
	g.mu.Unlock()
	if ok && time.Since(known.asked) < g.repo.cfg.Poll/2 {
		return known.denial, nil
	}
	known, err := g.repo.permission(ctx, who.Login, known)
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.people) >= maxKnown {
		clear(g.people)
	}
	g.people[login] = known
	return known.denial, nil
}

// askTogether asks about several people at the same time, each once, so that
// writeDenial knows them.
func (g *gate) askTogether(ctx context.Context, logins []string) error {
	return together(ctx, len(logins), func(ctx context.Context, i int) error {
		_, err := g.writeDenial(ctx, &actor{Typename: "User", Login: logins[i]})
		return err
	})
}

// permission asks what somebody may do. What is known already costs nothing of
// the rate limit.
func (r *repository) permission(ctx context.Context, login string, known permit) (permit, error) {
	op := fmt.Sprintf("read the permission of %s in %s", login, r.cfg.Repo)
	req, err := r.rest.newRequest(http.MethodGet, r.path("/collaborators/%s/permission", url.PathEscape(login)), nil)
	if err != nil {
		return permit{}, r.failed(ctx, op, needIssues, err)
	}
	if known.etag != "" {
		req.Header.Set("If-None-Match", known.etag)
	}
	asked := time.Now()
	a, err := r.send(ctx, op, req)
	switch code := status(err); {
	case code == http.StatusNotModified && known.etag != "":
		known.asked = asked
		return known, nil
	case code == http.StatusNotFound:
		return permit{denial: login + " is not a collaborator", asked: asked}, nil
	case code >= 300 && code < 500 && code != http.StatusUnauthorized:
		return permit{denial: fmt.Sprintf("what %s may do cannot be read: give the token the permission metadata: read", login), asked: asked}, nil
	case err != nil:
		return permit{}, err
	}
	var level struct {
		Permission string `json:"permission"`
	}
	if err := a.decode(&level); err != nil {
		return permit{}, fmt.Errorf("%s: %w", op, err)
	}
	p := permit{etag: a.header.Get("ETag"), asked: asked}
	if level.Permission != "admin" && level.Permission != "write" {
		p.denial = login + " has no write access"
	}
	return p, nil
}
