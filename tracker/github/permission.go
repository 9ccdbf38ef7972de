package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// mayWrite says why somebody's word does not count: it is that of a person with
// write access or more. Each person is asked about once.
func (g *gate) mayWrite(ctx context.Context, who *actor) (string, error) {
	switch {
	case who == nil || who.Login == "":
		return "a deleted account", nil
	case who.Typename != "User":
		return fmt.Sprintf("%s is not a person", who.Login), nil
	}
	login := strings.ToLower(who.Login)
	g.asking.Lock()
	defer g.asking.Unlock()
	if why, known := g.writers[login]; known {
		return why, nil
	}
	why, err := g.repo.permission(ctx, who.Login)
	if err == nil {
		g.writers[login] = why
	}
	return why, err
}

// permission asks what somebody may do.
func (r *repository) permission(ctx context.Context, login string) (string, error) {
	owner, name := r.cfg.split()
	level, _, err := r.rest.getPermission(ctx, owner, name, url.PathEscape(login))
	switch code := status(err); {
	case err == nil && (level.GetPermission() == "admin" || level.GetPermission() == "write"):
		return "", nil
	case err == nil:
		return login + " has no write access", nil
	case code == http.StatusNotFound:
		return login + " is not a collaborator", nil
	case code >= 300 && code < 500 && code != http.StatusUnauthorized:
		return fmt.Sprintf("what %s may do cannot be read: give the token the permission metadata: read", login), nil
	}
	return "", r.failed(ctx, fmt.Sprintf("read the permission of %s in %s", login, r.cfg.Repo), needIssues, err)
}
