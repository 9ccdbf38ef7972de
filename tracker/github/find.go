package github

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// The forms in which people name an issue: GH-11, #11 and 11, acme/shop#11, and the
// address of the issue or of its pull request.
var (
	numberForm    = lazy.Regexp(`^(?:[Gg][Hh]-|#)?([1-9][0-9]{0,17})$`)
	qualifiedForm = lazy.Regexp(`^([^/\s]+/[^/#\s]+)#([1-9][0-9]{0,17})$`)
	addressForm   = lazy.Regexp(`^(?:https?://)?[^/\s]+/([^/\s]+/[^/\s]+)/(?:issues|pull)/([1-9][0-9]{0,17})(?:[/?#].*)?$`)
)

// Identifier implements [tracker.Config]. The number may belong to a pull request. A name
// with another repository than the one in the settings is not understood.
func (c *Config) Identifier(name string) string {
	n := c.numberOf(name)
	if n == 0 {
		return ""
	}
	return identifier(n)
}

// numberOf returns the number in a name, 0 for none.
func (c *Config) numberOf(name string) int {
	name = strings.TrimSpace(name)
	digits := ""
	if match := numberForm().FindStringSubmatch(name); match != nil {
		digits = match[1]
	}
	for _, form := range []*regexp.Regexp{qualifiedForm(), addressForm()} {
		if match := form.FindStringSubmatch(name); match != nil && strings.EqualFold(match[1], c.Repo) {
			digits = match[2]
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// find implements [tracker.Adapter]'s Find. The number of a pull request stands for the
// issue whose branch it comes from.
func (r *repository) find(ctx context.Context, name string) (tracker.ID, error) {
	n := r.cfg.numberOf(name)
	if n == 0 {
		return "", nil
	}
	id := tracker.ID(strconv.Itoa(n))
	found, err := r.IssuesByID(ctx, []tracker.ID{id})
	if len(found) == 1 || errors.Is(err, tracker.ErrResponse) {
		return id, nil // a malformed record is the issue too; its next read has the error
	}
	if err != nil {
		return "", err
	}
	pull, err := r.client.Pulls.Get(ctx, string(id))
	if client.Status(err) == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", failed("find the issue of pull request #"+string(id), err)
	}
	head := pull.GetHead()
	issue, own := strings.CutPrefix(head.GetRef(), cmp.Or(r.cfg.BranchPrefix, "symphony/"))
	if !own || !strings.EqualFold(head.GetRepo().GetFullName(), r.cfg.Repo) {
		return "", nil
	}
	if n := r.cfg.numberOf(issue); n != 0 {
		return tracker.ID(strconv.Itoa(n)), nil
	}
	return "", nil
}
