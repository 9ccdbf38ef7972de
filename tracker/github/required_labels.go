package github

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// spelling is the repository's spelling of a label, as GitHub last returned it.
type spelling struct {
	etag string
	name string
}

// missingLabel returns the first required label that the issue does not carry.
func (c Config) missingLabel(labels []string) (label string, lacks bool) {
	i := slices.IndexFunc(c.RequiredLabels, func(label string) bool { return label == "" || !slices.Contains(labels, label) })
	if i < 0 {
		return "", false
	}
	return c.RequiredLabels[i], true
}

// filtersByLabel reports whether a list of the wanted states holds only issues with
// the required labels. A list with terminal states is not filtered: it is used to
// clean up, also after the label was removed.
func (r *repository) filtersByLabel(wanted map[string]bool) bool {
	return len(r.cfg.RequiredLabels) > 0 &&
		!slices.ContainsFunc(r.states.terminal, func(state string) bool { return wanted[state] })
}

// requiresBlankLabel reports whether a required label is blank, so that no issue can
// carry all of them.
func (c Config) requiresBlankLabel() bool { return slices.Contains(c.RequiredLabels, "") }

// queryLabels returns the required labels that a request can name. A request
// separates labels by commas, so a label with a comma is left out; the scheduler
// checks all required labels anyway.
func (c Config) queryLabels() []string {
	return slices.DeleteFunc(slices.Clone(c.RequiredLabels), func(label string) bool { return label == "" || strings.Contains(label, ",") })
}

// candidateListPath returns the address of a list of issues with the required labels,
// in the repository's spelling where it is known.
func (r *repository) candidateListPath(list string) string {
	labels := r.cfg.queryLabels()
	if len(labels) == 0 {
		return r.listPath(list)
	}
	for i, label := range labels {
		if known, ok := r.labelSpellings.get(label); ok {
			labels[i] = known.name
		}
	}
	return r.listPath(list) + "&labels=" + url.QueryEscape(strings.Join(labels, ","))
}

// refreshSpellings reads how the repository writes the required labels and reports
// whether a spelling changed, so that the list has to be read again. GitHub treats
// label names without regard to case, but finds issues only by the spelling that the
// label was created with.
func (r *repository) refreshSpellings(ctx context.Context) (bool, error) {
	again := false
	for _, label := range r.cfg.queryLabels() {
		before, _ := r.labelSpellings.get(label)
		name, err := r.labelSpelling(ctx, label, before)
		if err != nil {
			return false, err
		}
		again = again || name != cmp.Or(before.name, label)
	}
	return again, nil
}

// labelSpelling returns the label as the repository writes it, or unchanged when the
// repository does not have it.
func (r *repository) labelSpelling(ctx context.Context, label string, before spelling) (string, error) {
	op := fmt.Sprintf("read the label %q of %s", label, r.cfg.Repo)
	a, err := r.client.Do(ctx, client.Request{Path: r.client.Path("/labels/%s", url.PathEscape(label)), Permission: client.ReadIssues, ETag: before.etag})
	var found struct {
		Name string `json:"name"`
	}
	switch {
	case client.Status(err) == http.StatusNotModified && before.etag != "":
		return before.name, nil
	case client.Status(err) == http.StatusNotFound:
		if before.name != "" {
			return before.name, nil // findSpelling was tried before
		}
		if found.Name, err = r.findSpelling(ctx, label); err != nil {
			return "", err
		}
	case err != nil:
		return "", failed(op, err)
	default:
		if err := r.client.Decode(a, &found); err != nil {
			return "", failed(op, err)
		}
	}
	known := spelling{name: found.Name, etag: a.Header.Get("ETag")}
	if tracker.NormalLabel(known.name) != label {
		known.name = label
	}
	r.labelSpellings.put(label, known)
	return known.name, nil
}

// findSpelling returns the spelling of a label by comparing it with all labels of the
// repository. It is for a server that finds a label by its exact spelling only.
func (r *repository) findSpelling(ctx context.Context, label string) (string, error) {
	labels, err := r.listLabels(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(labels, func(name string) bool { return tracker.NormalLabel(name) == label })
	if i < 0 {
		r.log.Warn("no issue can be worked on: tracker.required_labels names a label that the repository does not have",
			"label", label, "repository", r.cfg.Repo, "labels", tracker.QuotedList(labels))
		return label, nil
	}
	return labels[i], nil
}
