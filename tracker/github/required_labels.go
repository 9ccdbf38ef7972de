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
)

// spelling is a label as GitHub last told about it.
type spelling struct {
	etag string
	name string // as it is written
}

// missingLabel returns the first required label that the issue does not carry.
func (c Config) missingLabel(labels []string) (label string, lacks bool) {
	i := slices.IndexFunc(c.RequiredLabels, func(label string) bool { return label == "" || !slices.Contains(labels, label) })
	if i < 0 {
		return "", false
	}
	return c.RequiredLabels[i], true
}

// filtersByLabel reports whether a list of issues in the wanted states holds only
// those with the required labels. A list that has finished issues in it is
// whole: it is for cleaning up, also after the label came off.
func (r *repository) filtersByLabel(wanted map[string]bool) bool {
	return len(r.cfg.RequiredLabels) > 0 &&
		!slices.ContainsFunc(r.states.terminal, func(state string) bool { return wanted[state] })
}

// requiresBlankLabel reports whether no issue can carry all required labels.
func (c Config) requiresBlankLabel() bool { return slices.Contains(c.RequiredLabels, "") }

// queryLabels returns the required labels that a request can name. A list of labels
// is separated by commas, so one that has a comma is left to the scheduler, which
// checks all of them anyway.
func (c Config) queryLabels() []string {
	return slices.DeleteFunc(slices.Clone(c.RequiredLabels), func(label string) bool { return label == "" || strings.Contains(label, ",") })
}

// candidateListPath returns the address of the list of open issues with the
// required labels, each as it is written as far as that is known.
func (r *repository) candidateListPath(list string) string {
	labels := r.cfg.queryLabels()
	if len(labels) == 0 {
		return r.listPath(list)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, label := range labels {
		if known, ok := r.labelSpellings[label]; ok {
			labels[i] = known.name
		}
	}
	return r.listPath(list) + "&labels=" + url.QueryEscape(strings.Join(labels, ","))
}

// refreshSpellings asks how the repository writes the required labels and reports whether
// a list by them has to be asked for again. GitHub has one label for every
// spelling of its letters, but finds the issues by the one that it was made with.
func (r *repository) refreshSpellings(ctx context.Context) (bool, error) {
	again := false
	for _, label := range r.cfg.queryLabels() {
		r.mu.Lock()
		before := r.labelSpellings[label]
		r.mu.Unlock()
		name, err := r.labelSpelling(ctx, label, before)
		if err != nil {
			return false, err
		}
		again = again || name != cmp.Or(before.name, label)
	}
	return again, nil
}

// labelSpelling returns a label as the repository writes it, and the label itself
// when the repository does not have it.
func (r *repository) labelSpelling(ctx context.Context, label string, before spelling) (string, error) {
	op := fmt.Sprintf("read the label %q of %s", label, r.cfg.Repo)
	req, err := r.rest.newRequest(http.MethodGet, r.path("/labels/%s", url.PathEscape(label)), nil)
	if err != nil {
		return "", r.failed(ctx, op, needIssues, err)
	}
	if before.etag != "" {
		req.Header.Set("If-None-Match", before.etag)
	}
	a, err := r.send(ctx, op, req)
	var found struct {
		Name string `json:"name"`
	}
	switch {
	case status(err) == http.StatusNotModified && before.etag != "":
		return before.name, nil
	case status(err) == http.StatusNotFound:
		if before.name != "" {
			return before.name, nil // looked for among all labels already
		}
		if found.Name, err = r.findSpelling(ctx, label); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		if err := a.decode(&found); err != nil {
			return "", fmt.Errorf("%s: %w", op, err)
		}
	}
	known := spelling{name: found.Name, etag: a.header.Get("ETag")}
	if tracker.NormalLabel(known.name) != label {
		known.name = label
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.labelSpellings[label] = known
	return known.name, nil
}

// findSpelling looks for a label among all of the repository, in any spelling. It
// is for a server that knows a label by one spelling alone.
func (r *repository) findSpelling(ctx context.Context, label string) (string, error) {
	labels, err := r.listLabels(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(labels, func(name string) bool { return tracker.NormalLabel(name) == label })
	if i < 0 {
		r.log.Warn("no issue can be worked on: tracker.required_labels names a label that the repository does not have",
			"label", label, "repository", r.cfg.Repo, "labels", quotedList(labels))
		return label, nil
	}
	return labels[i], nil
}
