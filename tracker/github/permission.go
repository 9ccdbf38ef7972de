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
	op := fmt.Sprintf("read the permission of %s in %s", login, r.cfg.Repo)
	a, err := r.client.do(ctx, request{
		op: op, method: http.MethodGet, url: r.url("/collaborators/" + url.PathEscape(login) + "/permission"),
	})
	if err != nil {
		return "", err
	}
	switch a.status {
	case http.StatusOK:
	case http.StatusNotFound:
		return login + " is not a collaborator", nil
	default:
		return fmt.Sprintf("what %s may do cannot be read: give the token the permission metadata: read", login), nil
	}
	var reply struct{ Permission string }
	if err := a.decode(op, &reply); err != nil {
		return "", err
	}
	if reply.Permission != "admin" && reply.Permission != "write" {
		return login + " has no write access", nil
	}
	return "", nil
}
