package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/symphony-runner/symphony/internal/parallel"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// listPath returns the address of a list of issues in the order of creation. In this
// order a new issue does not move another one to a different page.
func (r *repository) listPath(state string) string {
	return r.client.Path("/issues?state=%s&sort=created&direction=asc&per_page=100", state)
}

// IssuesByState implements [tracker.Reader] with one list for all states.
func (r *repository) IssuesByState(ctx context.Context, names []string) ([]tracker.Issue, error) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[tracker.NormalState(name)] = true
	}
	list, narrow := r.states.listFor(wanted), r.filtersByLabel(wanted)
	if list == "" || narrow && slices.Contains(r.cfg.RequiredLabels, "") { // no issue carries a blank label
		return nil, nil
	}
	op := fmt.Sprintf("list the %s issues of %s", list, r.cfg.Repo)
	if list == listAll {
		op = "list the issues of " + r.cfg.Repo
	}
	l, err := r.list(ctx, op, list, narrow)
	if err != nil {
		return nil, err
	}
	issues, malformed, err := r.toIssues(ctx, l.records, wanted)
	if err == nil {
		err = tracker.ReportDropped(ctx, op, len(l.records)-len(malformed), slices.Concat(l.malformed, malformed))
	}
	if err == nil && list != listClosed {
		err = r.checkStateLabelsOnce(ctx, issues)
	}
	if err != nil {
		return nil, err
	}
	return issues, nil
}

// listing is one list of the repository without its pull requests.
type listing struct {
	records   []*record
	malformed []tracker.Malformed
	empty     bool // it has no pull requests and no malformed records either
}

// list reads one list of the repository: whole, or with narrow only the issues that
// have the required labels.
func (r *repository) list(ctx context.Context, op, list string, narrow bool) (listing, error) {
	if !narrow {
		return r.readList(ctx, op, r.listPath(list), list, allPages)
	}
	l, err := r.readList(ctx, op, r.candidateListPath(list), list, allPages)
	if err != nil || !l.empty {
		return l, err
	}
	if again, err := r.refreshSpellings(ctx); err != nil || !again {
		return listing{}, err
	}
	return r.readList(ctx, op, r.candidateListPath(list), list, allPages)
}

// readList reads a list from its first page on, and most pages at most.
func (r *repository) readList(ctx context.Context, op, at, list string, most int) (listing, error) {
	l := listing{empty: true}
	pages, malformed, err := r.readPages(ctx, op, at, list == listOpen, most, func(rec *record) {
		l.empty = false
		if rec.PullRequestLinks == nil {
			l.records = append(l.records, rec)
		}
	})
	if err != nil {
		return listing{}, err
	}
	l.malformed, l.empty = malformed, l.empty && malformed == nil
	if list == listOpen && pages > 0 {
		r.openPages.Store(int64(pages))
	}
	return l, nil
}

// IssuesByID implements [tracker.Reader].
func (r *repository) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	numbers := issueNumbers(ids)
	if len(numbers) == 0 {
		return nil, nil
	}
	found, err := r.findRecords(ctx, numbers)
	if err != nil {
		return nil, err
	}
	var records []*record
	for _, n := range numbers {
		if found[n] != nil {
			records = append(records, found[n])
		}
	}
	issues, malformed, err := r.toIssues(ctx, records, nil)
	if err == nil && malformed != nil {
		err = &tracker.MalformedError{Op: "read issues of " + r.cfg.Repo, Records: malformed}
	}
	if err != nil {
		return nil, err
	}
	return issues, nil
}

// issueNumbers returns the issue numbers among the ids, each once. Other ids belong
// to no issue and are left out.
func issueNumbers(ids []tracker.ID) []int {
	var numbers []int
	seen := make(map[int]bool, len(ids))
	for _, id := range ids {
		n, err := strconv.Atoi(string(id))
		if err != nil || n <= 0 || strconv.Itoa(n) != string(id) || seen[n] {
			continue
		}
		seen[n] = true
		numbers = append(numbers, n)
	}
	return numbers
}

// findRecords returns records by issue number; an issue that is not visible is nil.
// When the list of open issues is known to have no more pages than there are numbers,
// it is read first, which costs nothing of the rate limit if it has not changed. As long as
// its length is not known, its first pages are, one for every ten numbers: a run that does
// nothing but look at the parked issues would use up the rate limit otherwise. Each issue
// that is not found there is read by itself.
func (r *repository) findRecords(ctx context.Context, numbers []int) (map[int]*record, error) {
	found := make(map[int]*record, len(numbers))
	pages, most := int(r.openPages.Load()), 0
	op := "read issues of " + r.cfg.Repo
	switch {
	case pages == 0:
		most = len(numbers) / 10
	case pages <= len(numbers):
		most = allPages
	}
	if most > 0 {
		list, err := r.readList(ctx, op, r.candidateListPath(listOpen), listOpen, most) // a malformed record is read by itself below
		if err != nil {
			return nil, err
		}
		for _, rec := range list.records {
			found[rec.GetNumber()] = rec
		}
	}
	var rest []int
	for _, n := range numbers {
		if found[n] == nil {
			rest = append(rest, n)
		}
	}
	single, malformed := make([]*record, len(rest)), make([]*tracker.MalformedError, len(rest))
	err := parallel.Each(ctx, requestsAtOnce, rest, func(ctx context.Context, i int, n int) (err error) {
		single[i], err = r.readRecord(ctx, n)
		if errors.As(err, &malformed[i]) {
			return nil // read the others too, to name every malformed one
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if all := joinMalformed(op, malformed); all != nil {
		return nil, all
	}
	missing := false
	for i, n := range rest {
		found[n] = single[i]
		missing = missing || single[i] == nil
	}
	if missing && most == 0 {
		// A token that lost access to the repository must not look like deleted issues.
		if _, err := r.readList(ctx, op, r.candidateListPath(listOpen), listOpen, 1); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// joinMalformed returns one error with the records of all that are not nil, or nil.
func joinMalformed(op string, malformed []*tracker.MalformedError) error {
	var records []tracker.Malformed
	for _, e := range malformed {
		if e != nil {
			records = append(records, e.Records...)
		}
	}
	if records == nil {
		return nil
	}
	return &tracker.MalformedError{Op: op, Records: records}
}

// readRecord returns one issue, nil when it is not visible.
func (r *repository) readRecord(ctx context.Context, n int) (*record, error) {
	op, at := fmt.Sprintf("read %s of %s", identifier(n), r.cfg.Repo), r.client.Path("/issues/%d", n)
	known, _ := r.pages.get(at)
	a, err := r.getIfChanged(ctx, at, known)
	switch client.Status(err) {
	case http.StatusNotModified:
		if known != nil {
			return known.records[0], nil
		}
	case http.StatusNotFound, http.StatusGone:
		return nil, nil
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		r.log.Info("issue transferred", "issue_id", n, "repository", r.cfg.Repo)
		return nil, nil
	}
	var raw json.RawMessage
	if err == nil {
		err = r.client.Decode(a, &raw)
	}
	if err != nil {
		return nil, failed(op, err)
	}
	rec := new(record)
	if err := json.Unmarshal(raw, rec); err != nil {
		return nil, &tracker.MalformedError{Op: op, Records: []tracker.Malformed{newMalformed(n, err)}}
	}
	if rec.PullRequestLinks != nil {
		return nil, nil
	}
	err = rec.validate()
	if err == nil && rec.GetNumber() != n {
		err = fmt.Errorf("it says that it is %s", identifier(rec.GetNumber()))
	}
	if err != nil {
		return nil, &tracker.MalformedError{Op: op, Records: []tracker.Malformed{newMalformed(n, err)}}
	}
	r.keepPage(at, &cachedPage{etag: a.Header.Get("ETag"), records: []*record{rec}})
	return rec, nil
}

// identifier returns the name by which people know the issue with a number.
func identifier(n int) string { return fmt.Sprintf("GH-%d", n) }
