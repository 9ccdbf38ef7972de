package github

import (
	"context"
	"crypto/sha256"
	"fmt"
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

	mu       sync.Mutex
	verdicts map[version]string // why not; "" is yes

	asking  sync.Mutex        // held while asking GitHub, so that each person is asked about once
	writers map[string]string // by login: why the person's word does not count; "" when it does
}

// version is the text and the marks that a verdict was given on.
type version struct {
	number  int
	updated time.Time
	author  bool
	marked  bool
	text    [sha256.Size]byte
}

func newGate(r *repository) *gate {
	return &gate{repo: r, verdicts: make(map[version]string), writers: make(map[string]string)}
}

func (g *gate) version(r *record) version {
	return version{r.GetNumber(), r.GetUpdatedAt().Time, trustedAuthor(r), g.marked(r), sha256.Sum256([]byte(r.GetTitle() + "\x00" + r.GetBody()))}
}

// trustedAuthor reports whether a person of the repository wrote the issue. A
// bot may have written what a stranger said.
func trustedAuthor(r *record) bool {
	return r.GetUser().GetType() == "User" && slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, r.GetAuthorAssociation())
}

// marked reports whether the record bears the label of trust.
func (g *gate) marked(r *record) bool {
	return g.repo.cfg.TrustLabel != "" && slices.Contains(r.labels(), g.repo.cfg.TrustLabel)
}

// outsider says why the record alone rules the issue out.
func (g *gate) outsider(r *record) string {
	if g.repo.cfg.Trust == TrustAnyone || trustedAuthor(r) || g.marked(r) {
		return ""
	}
	return "its author is not a member of the repository" + g.mend()
}

// mend is how a person can let the issue pass.
func (g *gate) mend() string {
	if label := g.repo.cfg.TrustLabel; label != "" {
		return fmt.Sprintf(": read it, then put on the label %q", label)
	}
	return ": tracker.provider.trust_label names no label that could vouch for it"
}

// admit marks the candidates that may be worked on as dispatchable and gives the
// others their reason. Only a version that it has not judged costs requests.
func (g *gate) admit(ctx context.Context, candidates []candidate, issues []tracker.Issue) error {
	var unknown []candidate
	for _, c := range candidates {
		why, known := "", true
		if g.repo.cfg.Trust != TrustAnyone {
			g.mu.Lock()
			why, known = g.verdicts[g.version(c.record)]
			g.mu.Unlock()
		}
		if !known {
			unknown = append(unknown, c)
			continue
		}
		issues[c.at].Why, issues[c.at].Dispatchable = why, why == ""
	}
	histories, err := g.repo.histories(ctx, unknown)
	if err != nil {
		return err
	}
	for i, c := range unknown {
		why, err := g.judge(ctx, c.record, histories[i])
		if err != nil {
			return err
		}
		issues[c.at].Why, issues[c.at].Dispatchable = why, why == ""
	}
	return nil
}

// judge gives the verdict on an issue, and remembers it where it is on the text.
func (g *gate) judge(ctx context.Context, r *record, h *history) (string, error) {
	switch {
	case h == nil:
		return "who edited it cannot be read", nil
	case !h.of(r):
		return "its text changed while it was read", nil
	}
	why, err := g.verdict(ctx, r, h)
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.verdicts) >= 10*maxKnown {
		clear(g.verdicts)
	}
	g.verdicts[g.version(r)] = why
	return why, nil
}

func (g *gate) verdict(ctx context.Context, r *record, h *history) (string, error) {
	changes, complete := h.changes()
	if !complete {
		return "not all of its edits can be read", nil
	}
	why := "its author is not a member of the repository"
	if trustedAuthor(r) {
		var err error
		if why, err = g.edited(ctx, r.GetUser().GetLogin(), changes); why == "" || err != nil {
			return "", err
		}
	}
	if !g.marked(r) {
		return why + g.mend(), nil
	}
	return g.vouched(ctx, r, h, changes)
}

// edited says which change was made by neither the author nor somebody who may write.
func (g *gate) edited(ctx context.Context, author string, changes []change) (string, error) {
	for _, c := range changes {
		if c.by != nil && c.by.Typename == "User" && strings.EqualFold(c.by.Login, author) {
			continue
		}
		why, err := g.mayWrite(ctx, c.by)
		if err != nil {
			return "", err
		}
		if why != "" {
			return "its text was edited by somebody who is not trusted (" + why + ")", nil
		}
	}
	return "", nil
}

// vouched says why the label of trust does not count. GitHub's times are whole
// seconds, so a label and an edit in one second have no order.
func (g *gate) vouched(ctx context.Context, r *record, h *history, changes []change) (string, error) {
	label := g.repo.cfg.TrustLabel
	put := h.labeling(label)
	if put == nil {
		return fmt.Sprintf("who put on the label %q cannot be read: put it on again", label), nil
	}
	for _, c := range append(changes, change{at: r.GetCreatedAt().Time}) {
		if !put.CreatedAt.After(c.at) {
			return fmt.Sprintf("its text was edited after the label %q was put on: read it, then put the label on again", label), nil
		}
	}
	why, err := g.mayWrite(ctx, put.Actor)
	if why != "" {
		why = fmt.Sprintf("the label %q was put on by somebody who is not trusted (%s)", label, why)
	}
	return why, err
}
