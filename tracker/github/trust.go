package github

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// gate decides whether the text of an issue may reach the agent. Whatever it
// does not know is a no.
type gate struct {
	repo *repository

	mu     sync.Mutex
	known  map[version]facts
	people map[string]permit // by login in lower case
}

// version is the text and the mark that facts are about.
type version struct {
	number  int
	updated time.Time
	marked  bool
	text    [sha256.Size]byte
}

// facts are what the history of an issue tells, in as far as a verdict needs it.
// They hold for a version of its text. What its people may do is no fact: it
// changes without a trace in the issue.
type facts struct {
	changes  []change
	complete bool      // all changes are known
	put      *labeling // of the label of trust; nil when it is not known
	unread   string    // why nothing is known; such facts are not kept
}

func newGate(r *repository) *gate {
	return &gate{repo: r, known: make(map[version]facts), people: make(map[string]permit)}
}

func (g *gate) version(r *record) version {
	return version{r.GetNumber(), r.GetUpdatedAt().Time, g.marked(r), sha256.Sum256([]byte(r.GetTitle() + "\x00" + r.GetBody()))}
}

// insider reports whether GitHub associates the author with the repository, and
// the author is a person: a bot may have written what a stranger said. Being a
// member or a collaborator is not enough, since some of them may only read; but
// it keeps strangers from costing a request each.
func insider(r *record) bool {
	return r.GetUser().GetType() == "User" && slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, r.GetAuthorAssociation())
}

// marked reports whether the record bears the label of trust.
func (g *gate) marked(r *record) bool {
	return g.repo.cfg.TrustLabel != "" && slices.Contains(r.labels(), g.repo.cfg.TrustLabel)
}

// outsider says why the record alone rules the issue out.
func (g *gate) outsider(r *record) string {
	if g.repo.cfg.Trust == TrustAnyone || insider(r) || g.marked(r) {
		return ""
	}
	return "its author is not a member of the repository" + g.mend()
}

// mend returns how a person can let the issue pass.
func (g *gate) mend() string {
	if label := g.repo.cfg.TrustLabel; label != "" {
		return fmt.Sprintf(": read it, then put on the label %q", label)
	}
	return ": tracker.provider.trust_label names no label that could vouch for it"
}

// admit marks the candidates that may be worked on as dispatchable and gives the
// others their reason. The history of a version is asked for once, and what its
// people may do in every poll.
func (g *gate) admit(ctx context.Context, candidates []candidate, issues []tracker.Issue) error {
	if g.repo.cfg.Trust == TrustAnyone {
		for _, c := range candidates {
			issues[c.at].Why, issues[c.at].Dispatchable = "", true
		}
		return nil
	}
	all, err := g.learn(ctx, candidates)
	if err != nil {
		return err
	}
	var authors []string
	for i, c := range candidates {
		if login := c.GetUser().GetLogin(); all[i].unread == "" && insider(c.record) && !slices.Contains(authors, login) {
			authors = append(authors, login)
		}
	}
	if err := g.askTogether(ctx, authors); err != nil {
		return err
	}
	for i, c := range candidates {
		why, err := g.verdict(ctx, c.record, all[i])
		if err != nil {
			return err
		}
		issues[c.at].Why, issues[c.at].Dispatchable = why, why == ""
	}
	return nil
}

// learn returns the facts about each candidate, and reads the histories of those
// that it does not know.
func (g *gate) learn(ctx context.Context, candidates []candidate) ([]facts, error) {
	all := make([]facts, len(candidates))
	var unknown []candidate
	var places []int
	g.mu.Lock()
	for i, c := range candidates {
		f, known := g.known[g.version(c.record)]
		if !known {
			unknown, places = append(unknown, c), append(places, i)
		}
		all[i] = f
	}
	g.mu.Unlock()
	histories, err := g.repo.histories(ctx, unknown)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known)+len(unknown) > 10*maxKnown {
		clear(g.known)
	}
	for i, c := range unknown {
		f := &all[places[i]]
		switch h := histories[i]; {
		case h == nil:
			f.unread = "who edited it cannot be read"
		case !h.of(c.record):
			f.unread = "its text changed while it was read"
		default:
			f.put = h.labeling(g.repo.cfg.TrustLabel)
			f.changes, f.complete = h.changes()
			g.known[g.version(c.record)] = *f
		}
	}
	return all, nil
}

// verdict returns why an issue must not be worked on; "" when it may be.
func (g *gate) verdict(ctx context.Context, r *record, f facts) (string, error) {
	switch {
	case f.unread != "":
		return f.unread, nil
	case !f.complete:
		return "not all of its edits can be read", nil
	}
	why, err := g.written(ctx, r, f.changes)
	if why == "" || err != nil {
		return "", err
	}
	if !g.marked(r) {
		return why + g.mend(), nil
	}
	return g.vouched(ctx, r, f)
}

// written returns why the text is not all by people with write access.
func (g *gate) written(ctx context.Context, r *record, changes []change) (string, error) {
	if !insider(r) {
		return "its author is not a member of the repository", nil
	}
	author := &actor{Typename: r.GetUser().GetType(), Login: r.GetUser().GetLogin()}
	why, err := g.writeDenial(ctx, author)
	if why != "" || err != nil {
		return fmt.Sprintf("its author may not write the repository (%s)", why), err
	}
	for _, c := range changes {
		why, err := g.writeDenial(ctx, c.by)
		if why != "" || err != nil {
			return "its text was edited by somebody who is not trusted (" + why + ")", err
		}
	}
	return "", nil
}

// vouched says why the label of trust does not count. GitHub's times are whole
// seconds, so a label and an edit in one second have no order.
func (g *gate) vouched(ctx context.Context, r *record, f facts) (string, error) {
	label, put := g.repo.cfg.TrustLabel, f.put
	if put == nil {
		return fmt.Sprintf("who put on the label %q cannot be read: put it on again", label), nil
	}
	for _, c := range append(slices.Clone(f.changes), change{at: r.GetCreatedAt().Time}) {
		if !put.CreatedAt.After(c.at) {
			return fmt.Sprintf("its text was edited after the label %q was put on: read it, then put the label on again", label), nil
		}
	}
	why, err := g.writeDenial(ctx, put.Actor)
	if why != "" {
		why = fmt.Sprintf("the label %q was put on by somebody who is not trusted (%s)", label, why)
	}
	return why, err
}

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
