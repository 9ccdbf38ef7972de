package linear

import (
	"context"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/tracker"
)

// Identifiers and addresses of issues, as in LIN-3 and
// https://linear.app/acme/issue/LIN-3/the-title.
var (
	identifierForm = lazy.Regexp(`^([A-Za-z][A-Za-z0-9_]*)-([1-9][0-9]{0,8})$`)
	addressForm    = lazy.Regexp(`^(?:https?://)?linear\.app/[^/]+/issue/([^/?#]+)(?:[/?#].*)?$`)
	idForm         = lazy.Regexp(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// Identifier implements [tracker.Config]: it accepts LIN-3 in any case, and the address of
// an issue.
func (c *Config) Identifier(name string) string {
	name = strings.TrimSpace(name)
	if address := addressForm().FindStringSubmatch(name); address != nil {
		name = address[1]
	}
	if !identifierForm().MatchString(name) {
		return ""
	}
	return strings.ToUpper(name)
}

// find implements [tracker.Adapter]'s Find with one request, for an issue of the project.
func (r *reader) find(ctx context.Context, name string) (tracker.ID, error) {
	const op = "find the Linear issue"
	type IssueFilter map[string]any
	filter := IssueFilter{"project": map[string]any{"slugId": map[string]any{"eq": r.cfg.ProjectSlug}}}
	if parts := identifierForm().FindStringSubmatch(r.cfg.Identifier(name)); parts != nil {
		number, err := strconv.Atoi(parts[2])
		if err != nil {
			return "", nil // the form allows no number that is too large
		}
		filter["number"] = map[string]any{"eq": number}
		filter["team"] = map[string]any{"key": map[string]any{"eqIgnoreCase": parts[1]}}
	} else if name = strings.TrimSpace(name); idForm().MatchString(name) {
		filter["id"] = map[string]any{"in": []string{strings.ToLower(name)}}
	} else {
		return "", nil
	}
	var answer findQuery
	if err := r.query(ctx, op, &answer, map[string]any{"filter": filter}); err != nil {
		return "", err
	}
	if _, err := answer.Issues.nextCursor(); err != nil {
		return "", failed(r.wire, op, err)
	}
	for _, issue := range answer.Issues.Nodes {
		if !issue.Trashed {
			return tracker.ID(withoutNUL(issue.ID)), nil
		}
	}
	return "", nil
}
