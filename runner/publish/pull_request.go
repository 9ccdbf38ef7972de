package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// PullState is the state of a pull request after a publication.
type PullState string

// The values of PullState.
const (
	PullNone      PullState = ""          // only branches are published
	PullOpened    PullState = "opened"    // it is new
	PullUpdated   PullState = "updated"   // its text was replaced
	PullUnchanged PullState = "unchanged" // its text is right already, or a person edited it
)

// lookTries bounds how often GitHub is asked to open a pull request for a branch that
// it does not know yet: a push reaches its other parts a moment later.
const lookTries = 3

// pullRequests are the known pull requests of a branch.
type pullRequests struct {
	open   *client.PullRequest // nil if there is none
	merged *client.PullRequest // the latest, if it was merged and none is open; else nil
}

// findPullRequest looks for the pull request of the branch. It fails with [ErrClosed] if
// a person closed the latest one.
func (p *Publisher) findPullRequest(ctx context.Context, w Work) (pullRequests, error) {
	if p.GitHub == nil {
		return pullRequests{}, nil
	}
	pulls, err := p.GitHub.Pulls.OfBranch(ctx, w.Branch.String())
	if err != nil {
		return pullRequests{}, fmt.Errorf("publish %s: look for its pull request: %w", w.Issue, hubError(err))
	}
	for _, pull := range pulls {
		if pull.GetState() == "open" {
			return pullRequests{open: pull}, nil
		}
	}
	switch {
	case len(pulls) == 0:
		return pullRequests{}, nil
	case pulls[0].MergedAt == nil:
		return pullRequests{}, closed(w, pulls[0])
	}
	return pullRequests{merged: pulls[0]}, nil
}

func closed(w Work, pull *client.PullRequest) error {
	return fmt.Errorf("publish %s: %w: somebody closed %s without merging it; reopen it, or close the issue", w.Issue, ErrClosed, pull.GetHTMLURL())
}

func (r *Result) report(state PullState, pull *client.PullRequest) {
	r.State, r.Record.Number, r.Record.URL = state, pull.GetNumber(), pull.GetHTMLURL()
}

// proposePullRequest updates the text of the open pull request, or opens one. It sets the
// labels and people of one that no earlier run has finished with.
func (p *Publisher) proposePullRequest(ctx context.Context, w Work, r *Result, pull *client.PullRequest, title string) error {
	if pull != nil && w.Text == "" {
		w.Text = agentText(pull.GetBody())
	}
	if pull != nil {
		p.endDraft(ctx, w, r, pull)
		state, err := p.updatePullRequest(ctx, w, *r, pull, title)
		if !errors.Is(err, errMerged) {
			r.report(state, pull)
			if err == nil && !isKnown(w, pull) {
				r.Warnings = append(r.Warnings, p.decorate(ctx, pull)...)
			}
			return err
		}
	}
	pull, err := p.openPullRequest(ctx, w, *r, title)
	if err != nil {
		return err
	}
	r.report(PullOpened, pull)
	r.Warnings = append(r.Warnings, p.decorate(ctx, pull)...)
	return nil
}

// isKnown reports whether an earlier run has finished with a pull request. A run that was
// killed may have opened it, and not set its labels and people.
func isKnown(w Work, pull *client.PullRequest) bool { return pull.GetNumber() == w.Last.Number }

// openPullRequest opens a pull request. If somebody opened one in the meantime, that one
// is used.
func (p *Publisher) openPullRequest(ctx context.Context, w Work, r Result, title string) (*client.PullRequest, error) {
	draft, body := p.Pull.Draft || isDraft(w, r.Verdict), p.body(w, r.Verdict, r.Record.Head, digest(title))
	head, base := w.Branch.String(), w.Incoming.Base.String()
	wanted := client.NewPullRequest{
		Title: &title, Body: &body, Draft: &draft,
		Head: &head, Base: &base,
	}
	for try := 1; ; try++ {
		pull, err := p.GitHub.Pulls.Create(ctx, wanted)
		switch {
		case err == nil:
			return pull, nil
		case client.Says(err, "a pull request already exists"):
			if pulls, other := p.findPullRequest(ctx, w); other != nil || pulls.open != nil {
				return pulls.open, other
			}
		case client.HasStatus(err, http.StatusForbidden) && client.Says(err, "is not permitted to create or approve pull requests"):
			return nil, fmt.Errorf("publish %s: the branch %s was pushed: %w: %w", w.Issue, w.Branch, ErrNotPermitted, err)
		case !unknownHead(err):
			return nil, fmt.Errorf("publish %s: the branch %s was pushed: open its pull request: %w", w.Issue, w.Branch, hubError(err))
		}
		if try == lookTries {
			return nil, fmt.Errorf("publish %s: the branch %s was pushed, but GitHub does not see it yet: open its pull request: %w", w.Issue, w.Branch, hubError(err))
		}
		if err := p.GitHub.Transport.Backoff(ctx, try); err != nil {
			return nil, err
		}
	}
}

// unknownHead reports whether GitHub does not know the branch, or not where it is.
func unknownHead(err error) bool {
	return client.HasStatus(err, http.StatusUnprocessableEntity) && client.Says(err, "head invalid", "head sha can't be blank", "head ref must be a branch", "no commits between")
}

// errMerged: the pull request was merged in the meantime.
var errMerged = errors.New("pull_request_merged")

// updatePullRequest replaces the body of a pull request, unless a person edited it, and its
// title, if the agent gave one and no person did. It fails with errMerged or [ErrClosed] if the
// pull request is no longer open: the pushed work is not part of it.
func (p *Publisher) updatePullRequest(ctx context.Context, w Work, r Result, pull *client.PullRequest, title string) (PullState, error) {
	now := withoutReturns(pull.GetBody())
	if !isOurs(now) {
		return PullUnchanged, nil
	}
	change, titled := &title, digest(title)
	if ours := inMarker(now, "title"); w.Title == "" || ours != digest(pull.GetTitle()) || ours == titled {
		change, titled = nil, ours
	}
	body := p.body(w, r.Verdict, r.Record.Head, titled)
	if change == nil && sameText(now, body) {
		return PullUnchanged, nil
	}
	got, err := p.GitHub.Pulls.Edit(ctx, pull.GetNumber(), change, &body)
	switch {
	case err != nil:
		return PullUnchanged, fmt.Errorf("publish %s: the branch was pushed: update %s: %w", w.Issue, pull.GetHTMLURL(), hubError(err))
	case got.GetState() != "closed":
		return PullUpdated, nil
	case got.MergedAt != nil:
		return PullUnchanged, errMerged
	}
	return PullUnchanged, closed(w, got)
}

// sameText reports whether two bodies say the same, except in which run the work was published
// and what it has cost: a later run that has nothing new writes nothing.
func sameText(a, b string) bool {
	told := func(body string) string {
		for _, changing := range []*regexp.Regexp{ofRun(), receipt.Volatile(), textDigest()} {
			body = changing.ReplaceAllString(body, "")
		}
		return strings.TrimSpace(body)
	}
	return told(a) == told(b)
}

// ofRun matches the words of origin for a run. textDigest matches the digest of the text in a marker.
var (
	ofRun      = lazy.Regexp(`(?m)^(An agent wrote this) in \[run [0-9]+[^]\n]*\]\([^)\s]*\)`)
	textDigest = lazy.Regexp(` text=[0-9a-f]{64}`)
)

// byAgent stands before the agent's text, in which there are no comments.
const byAgent = "<!-- symphony: by the agent -->"

// body returns the body of the pull request. The host's own text comes first, so that nothing
// in the agent's text can hide it. The marker holds a digest of the rest, and titled, the
// digest of the title that the host wrote last; empty if it is not known.
func (p *Publisher) body(w Work, v delivery.Verdict, head git.ObjectID, titled string) string {
	text := paragraphs(w.Closing, p.origin(), p.Secrets.String(w.Receipt.Markdown()), reviewParagraph(v.Review), marksParagraph(v.Marks), p.untakenParagraph(w.Incoming.Untaken))
	if agent := p.Secrets.String(defuse.Body(p.Secrets.String(w.Text))); strings.TrimSpace(agent) != "" {
		text = paragraphs(text, byAgent, agent)
	}
	if titled != "" {
		titled = " title=" + titled
	}
	return fmt.Sprintf("<!-- symphony: issue=%s head=%s%s text=%s%s -->\n%s\n", markerText(w.Issue), head, titled, digest(text), draftMark(w, v), text)
}

// origin returns the sentence on the author of the work, its run, and how people ask for more.
func (p *Publisher) origin() string {
	text := "An agent wrote this"
	if p.Run != "" {
		text += " in " + p.Run
	}
	text += "."
	if p.Listens {
		text += " To ask for more, comment here or on a line, with write access to this repository."
	}
	return text
}

func markerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '>' || r == '<' {
			return '_'
		}
		return r
	}, strings.ReplaceAll(s, "--", "__"))
}

// marker matches the first line of a body that the host wrote; see [draftMark]. Its digests
// have no key: a run has none that later runs know and the agent's shell does not, except
// tokens, which are renewed. They only tell whether somebody edited the title or the body. A
// forger gains nothing: a person who may edit the body may do by hand all that the program then
// does, which is to replace body and title and to end a draft, and the agent's text has no
// comments.
var marker = lazy.Regexp(`^<!-- symphony: issue=\S+ head=[0-9a-f]{40}(?: title=(?P<title>[0-9a-f]{64}))? text=(?P<text>[0-9a-f]{64})(?P<draft> draft)? -->\n`)

// withoutReturns returns a body with the ends of lines that it was written with: GitHub
// stores others.
func withoutReturns(body string) string { return strings.ReplaceAll(body, "\r\n", "\n") }

func isOurs(body string) bool {
	body = withoutReturns(body)
	return inMarker(body, "text") == digest(strings.TrimSpace(marker().ReplaceAllLiteralString(body, "")))
}

// inMarker returns a part of the marker of a body without returns; empty if it has none.
func inMarker(body, part string) string {
	m := marker().FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return m[marker().SubexpIndex(part)]
}

// agentText returns the agent's part of a body that the host wrote; empty if it says
// nothing. A session without a text of its own keeps it.
func agentText(body string) string {
	body = withoutReturns(body)
	if !isOurs(body) {
		return ""
	}
	_, text, _ := strings.Cut(body, "\n"+byAgent+"\n")
	return strings.TrimSpace(text)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// isDraft reports whether the work itself requires a draft, with any settings.
func isDraft(w Work, v delivery.Verdict) bool { return w.Unproven || v.Draft }

// draftMark returns the part of a body's marker that says that the work made the pull request a
// draft. A draft by a person or by the settings stays one.
func draftMark(w Work, v delivery.Verdict) string {
	if isDraft(w, v) {
		return " draft"
	}
	return ""
}

func hasDraftMark(body string) bool {
	return inMarker(withoutReturns(body), "draft") != "" && isOurs(body)
}

// endDraft marks a draft as ready for review if it was a draft because of the work, and
// the work no longer requires that. A failure is a warning.
func (p *Publisher) endDraft(ctx context.Context, w Work, r *Result, pull *client.PullRequest) {
	if !pull.GetDraft() || p.Pull.Draft || isDraft(w, r.Verdict) || !hasDraftMark(pull.GetBody()) {
		return
	}
	if err := p.GitHub.Pulls.MarkReady(ctx, pull); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s stays a draft: mark it as ready for review: %v", pull.GetHTMLURL(), err))
	}
}
