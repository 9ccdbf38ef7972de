package publish

import (
	"context"
	"fmt"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

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

// hasDraftMark reports whether a body that the host wrote has the mark.
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
