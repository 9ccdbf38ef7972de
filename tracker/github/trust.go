package github

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/parallel"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// trustChecker decides whether the text of an issue may reach the agent. A text without an
// answer counts as not trusted.
type trustChecker struct {
	repo *repository

	// access uses an answer of GitHub for half a polling interval, so that it never serves
	// for longer than one.
	access *client.Access

	mu    sync.Mutex
	facts map[textVersion]editFacts
}

// textVersion identifies the text that editFacts are about: a text of an issue, and whether the
// issue has the trust label.
type textVersion struct {
	number  int
	updated time.Time
	labeled bool
	text    [sha256.Size]byte
}

// editFacts are the facts of the edit history of an issue that decide about trust. They hold
// for one textVersion. Permissions are not part of them, because they change without a trace in
// the issue.
type editFacts struct {
	changes    []change
	complete   bool      // all changes are known
	labeling   *labeling // the latest event of the label of trust; nil when it is not known
	unreadable string    // reason why nothing is known; such facts are not kept
}

func newTrustChecker(r *repository) *trustChecker {
	return &trustChecker{repo: r, facts: make(map[textVersion]editFacts), access: client.NewAccess(r.client, r.cfg.Poll/2, tracker.IsMarked)}
}

func (t *trustChecker) textVersionOf(r *record) textVersion {
	return textVersion{r.GetNumber(), r.GetUpdatedAt().Time, t.hasTrustLabel(r), sha256.Sum256([]byte(r.GetTitle() + "\x00" + r.GetBody()))}
}

// isAssociate reports whether GitHub says that the author belongs to the repository. It does
// not say so of the members of an organization who keep their membership private, which is
// the default: they are NONE or CONTRIBUTOR like strangers, and their permission alone tells.
func isAssociate(r *record) bool {
	return slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, r.GetAuthorAssociation())
}

func (t *trustChecker) hasTrustLabel(r *record) bool {
	return t.repo.cfg.TrustLabel != "" && slices.Contains(r.normalLabels(), t.repo.cfg.TrustLabel)
}

const (
	// maxStrangers bounds the unknown accounts whose permissions one list of issues costs,
	// since anybody may write issues in a public repository.
	maxStrangers = 20
	// strangerFor bounds the age of an answer of GitHub that a stranger may not write.
	strangerFor = time.Hour
)

// dropStrangers returns the candidates without the ones that are denied because of an author
// whom GitHub does not associate with the repository, and gives their issues the reason. It
// asks for the permissions of such authors. With bounded, it asks about a few whom it does not
// know yet, and the next list asks about others.
func (t *trustChecker) dropStrangers(ctx context.Context, candidates []candidate, issues []tracker.Issue, bounded bool) ([]candidate, error) {
	if t.repo.cfg.Trust == TrustAnyone {
		return candidates, nil
	}
	isStranger := func(c candidate) bool { return !c.again && !isAssociate(c.record) && !t.hasTrustLabel(c.record) }
	var unknown []string
	denials := map[string]string{} // reasons by login
	for _, c := range candidates {
		login := c.GetUser().GetLogin()
		if _, listed := denials[login]; listed || !isStranger(c) || c.GetUser().GetType() != "User" {
			continue
		}
		why, known := t.access.Known(login, strangerFor)
		if denials[login] = why; !known {
			unknown = append(unknown, login)
		}
	}
	if bounded && len(unknown) > maxStrangers {
		rand.Shuffle(len(unknown), func(i, j int) { unknown[i], unknown[j] = unknown[j], unknown[i] })
		for _, login := range unknown[maxStrangers:] {
			denials[login] = "whether " + login + " may is asked in a later poll, since issues of many strangers wait"
		}
		unknown = unknown[:maxStrangers]
	}
	if err := t.prefetchWriteAccess(ctx, unknown); err != nil {
		return nil, err
	}
	for _, login := range unknown {
		denials[login], _ = t.access.Known(login, strangerFor)
	}
	var kept []candidate
	for _, c := range candidates {
		why := denials[c.GetUser().GetLogin()]
		if c.GetUser().GetType() != "User" {
			var err error
			if why, err = t.authorDenial(ctx, c.record); err != nil { // this takes no request
				return nil, err
			}
		}
		if !isStranger(c) || why == "" {
			kept = append(kept, c) // setDispatchable reads the permissions of its author and of its editors
			continue
		}
		issues[c.index].WhyNot = mayNotWrite(why) + t.remedy()
	}
	return kept, nil
}

// mayNotWrite returns the reason why an issue is not trusted whose author is denied for a reason.
func mayNotWrite(why string) string { return "its author may not write the repository (" + why + ")" }

// authorDenial returns the reason why the author of an issue is not a person with write access, ""
// when it is one.
func (t *trustChecker) authorDenial(ctx context.Context, r *record) (string, error) {
	return t.writeDenial(ctx, client.Account{Type: r.GetUser().GetType(), Login: r.GetUser().GetLogin()})
}

// remedy returns the step by which a person has the issue trusted, to follow a reason.
func (t *trustChecker) remedy() string {
	if label := t.repo.cfg.TrustLabel; label != "" {
		return fmt.Sprintf(": read it, then put on the label %q", label)
	}
	return ": tracker.provider.trust_label names no label that could vouch for it"
}

// setDispatchable marks the issues of trusted candidates as dispatchable and gives
// the others their reason. It reads the history of a text once, and the permissions
// of the people in it in every poll.
func (t *trustChecker) setDispatchable(ctx context.Context, candidates []candidate, issues []tracker.Issue) error {
	if t.repo.cfg.Trust == TrustAnyone {
		for _, c := range candidates {
			issues[c.index].WhyNot, issues[c.index].Dispatchable = "", true
		}
		return nil
	}
	all, err := t.factsOf(ctx, candidates)
	if err != nil {
		return err
	}
	var authors []string
	for i, c := range candidates {
		if login := c.GetUser().GetLogin(); all[i].unreadable == "" && c.GetUser().GetType() == "User" && !slices.Contains(authors, login) {
			authors = append(authors, login)
		}
	}
	if err := t.prefetchWriteAccess(ctx, authors); err != nil {
		return err
	}
	for i, c := range candidates {
		why, err := t.denial(ctx, c, all[i])
		if err != nil {
			return err
		}
		issues[c.index].WhyNot, issues[c.index].Dispatchable = why, why == ""
	}
	return nil
}

// factsOf returns the facts about each candidate. It reads the edit histories of
// those that it does not know.
func (t *trustChecker) factsOf(ctx context.Context, candidates []candidate) ([]editFacts, error) {
	all := make([]editFacts, len(candidates))
	var unknown []candidate
	var places []int
	t.mu.Lock()
	for i, c := range candidates {
		f, known := t.facts[t.textVersionOf(c.record)]
		if !known {
			unknown, places = append(unknown, c), append(places, i)
		}
		all[i] = f
	}
	t.mu.Unlock()
	histories, err := t.repo.readEditHistories(ctx, unknown)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.facts)+len(unknown) > 10*maxCached {
		clear(t.facts)
	}
	for i, c := range unknown {
		f := &all[places[i]]
		switch h := histories[i]; {
		case h == nil:
			f.unreadable = "who edited it cannot be read"
		case !h.matches(c.record):
			f.unreadable = "its text changed while it was read"
		default:
			f.labeling = h.lastLabeling(t.repo.cfg.TrustLabel)
			f.changes, f.complete = h.changes()
			t.facts[t.textVersionOf(c.record)] = *f
		}
	}
	return all, nil
}

func (t *trustChecker) denial(ctx context.Context, c candidate, f editFacts) (string, error) {
	r := c.record
	switch {
	case f.unreadable != "":
		return f.unreadable, nil
	case !f.complete:
		return "not all of its edits can be read", nil
	}
	why, err := t.textDenial(ctx, r, f.changes)
	if why == "" || err != nil {
		return "", err
	}
	if !t.hasTrustLabel(r) && !(c.again && f.labeling != nil) {
		return why + t.remedy(), nil
	}
	return t.labelDenial(ctx, r, f)
}

// textDenial returns the part of the text that is not by a person with write access, ""
// when all of it is.
func (t *trustChecker) textDenial(ctx context.Context, r *record, changes []change) (string, error) {
	why, err := t.authorDenial(ctx, r)
	if why != "" || err != nil {
		return mayNotWrite(why), err
	}
	for _, c := range changes {
		why, err := t.writeDenial(ctx, c.by)
		if why != "" || err != nil {
			return "its text was edited by somebody who is not trusted (" + why + ")", err
		}
	}
	return "", nil
}

// labelDenial returns the reason why the trust label does not count, "" when it does. GitHub's
// times are whole seconds, so a label and an edit in the same second have no order.
func (t *trustChecker) labelDenial(ctx context.Context, r *record, f editFacts) (string, error) {
	label, put := t.repo.cfg.TrustLabel, f.labeling
	if put == nil {
		return fmt.Sprintf("who put on the label %q cannot be read: put it on again", label), nil
	}
	for _, c := range append(slices.Clone(f.changes), change{at: r.GetCreatedAt().Time}) {
		if !put.CreatedAt.After(c.at) {
			return fmt.Sprintf("its text was edited after the label %q was put on: read it, then put the label on again", label), nil
		}
	}
	why, err := t.writeDenial(ctx, client.AccountOf(put.Actor))
	if why != "" {
		why = fmt.Sprintf("the label %q was put on by somebody who is not trusted (%s)", label, why)
	}
	return why, err
}

// writeDenial returns the reason why an account is not a person with write access, "" when it is.
func (t *trustChecker) writeDenial(ctx context.Context, who client.Account) (string, error) {
	why, err := t.access.Denial(ctx, who)
	return why, failed("decide whose text counts", err)
}

// prefetchWriteAccess reads the permissions of several people concurrently, so that
// writeDenial finds them.
func (t *trustChecker) prefetchWriteAccess(ctx context.Context, logins []string) error {
	return parallel.Each(ctx, requestsAtOnce, logins, func(ctx context.Context, _ int, login string) error {
		_, err := t.writeDenial(ctx, client.Account{Type: "User", Login: login})
		return err
	})
}
