package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/symphony-runner/symphony/tracker"
)

// listPath asks in the order of creation, in which a new issue moves no other.
func (r *repository) listPath(state string) string {
	return r.path("/issues?state=%s&sort=created&direction=asc&per_page=100", state)
}

func (r *repository) IssuesByState(ctx context.Context, names []string) ([]tracker.Issue, error) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[tracker.NormalState(name)] = true
	}
	list, narrow := r.states.list(wanted), r.narrowed(wanted)
	if list == "" || narrow && r.cfg.impossible() {
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
	issues, spoilt, err := r.issues(ctx, l.records, wanted)
	if err == nil {
		err = tracker.Drop(ctx, op, len(l.records)-len(spoilt), slices.Concat(l.spoilt, spoilt))
	}
	if err == nil && list != listClosed {
		err = r.checkOnce(ctx)
	}
	if err != nil {
		return nil, err
	}
	return issues, nil
}

// listing is one list of the repository without its pull requests.
type listing struct {
	records []*record
	spoilt  []tracker.Malformed
	empty   bool // it has no pull requests and no malformed records either
}

// list reads one list of the repository: whole, or narrowed to the issues with
// the required labels.
func (r *repository) list(ctx context.Context, op, list string, narrow bool) (listing, error) {
	if !narrow {
		return r.listAt(ctx, op, r.listPath(list), list)
	}
	l, err := r.listAt(ctx, op, r.candidatesPath(list), list)
	if err != nil || !l.empty {
		return l, err
	}
	if again, err := r.respell(ctx); err != nil || !again {
		return listing{}, err
	}
	return r.listAt(ctx, op, r.candidatesPath(list), list)
}

// listAt reads a list from its first page on.
func (r *repository) listAt(ctx context.Context, op, at, list string) (listing, error) {
	l := listing{empty: true}
	pages, spoilt, err := r.walk(ctx, op, at, list == listOpen, func(rec *record) {
		l.empty = false
		if rec.PullRequestLinks == nil {
			l.records = append(l.records, rec)
		}
	})
	if err != nil {
		return listing{}, err
	}
	l.spoilt, l.empty = spoilt, l.empty && spoilt == nil
	if list == listOpen {
		r.mu.Lock()
		r.openPages = pages
		r.mu.Unlock()
	}
	return l, nil
}

func (r *repository) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	numbers := distinct(ids)
	if len(numbers) == 0 {
		return nil, nil
	}
	found, err := r.find(ctx, numbers)
	if err != nil {
		return nil, err
	}
	var records []*record
	for _, n := range numbers {
		if found[n] != nil {
			records = append(records, found[n])
		}
	}
	issues, spoilt, err := r.issues(ctx, records, nil)
	if err == nil && spoilt != nil {
		err = &tracker.MalformedError{Op: "read issues of " + r.cfg.Repo, Records: spoilt}
	}
	if err != nil {
		return nil, err
	}
	return issues, nil
}

// distinct returns the numbers among the ids, each once. Anything else is the id of
// no issue.
func distinct(ids []tracker.ID) []int {
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

// find reads issues by number. Where the list of open issues is known to have no
// more pages than there are numbers it is asked first, because it answers for
// all of them, and for nothing when it has not changed. Each of the rest is
// asked for by itself.
func (r *repository) find(ctx context.Context, numbers []int) (map[int]*record, error) {
	found := make(map[int]*record, len(numbers))
	r.mu.Lock()
	pages := r.openPages
	r.mu.Unlock()
	op := "read issues of " + r.cfg.Repo
	listed := pages > 0 && pages <= len(numbers)
	if listed {
		list, err := r.listAt(ctx, op, r.candidatesPath(listOpen), listOpen) // a malformed one is asked for by itself
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
	single, spoilt := make([]*record, len(rest)), make([]*tracker.MalformedError, len(rest))
	err := together(ctx, len(rest), func(ctx context.Context, i int) (err error) {
		single[i], err = r.one(ctx, rest[i])
		if errors.As(err, &spoilt[i]) {
			return nil // the others are read all the same, to name every malformed one
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if all := allOf(op, spoilt); all != nil {
		return nil, all
	}
	missing := false
	for i, n := range rest {
		found[n] = single[i]
		missing = missing || single[i] == nil
	}
	if missing && !listed {
		// A token that has lost the repository must not look like issues that are gone.
		if _, err := r.page(ctx, op, r.candidatesPath(listOpen), true); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// allOf makes one error of those that are not nil.
func allOf(op string, spoilt []*tracker.MalformedError) error {
	var records []tracker.Malformed
	for _, e := range spoilt {
		if e != nil {
			records = append(records, e.Records...)
		}
	}
	if records == nil {
		return nil
	}
	return &tracker.MalformedError{Op: op, Records: records}
}

// one reads an issue; nil is not visible.
func (r *repository) one(ctx context.Context, n int) (*record, error) {
	op, at := fmt.Sprintf("read %s of %s", identifier(n), r.cfg.Repo), r.path("/issues/%d", n)
	known := r.known(at)
	a, err := r.changed(ctx, op, at, known)
	switch status(err) {
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
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := a.decode(&raw); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	rec := new(record)
	if err := json.Unmarshal(raw, rec); err != nil {
		return nil, &tracker.MalformedError{Op: op, Records: []tracker.Malformed{malformed(n, err)}}
	}
	if rec.PullRequestLinks != nil {
		return nil, nil
	}
	err = rec.check()
	if err == nil && rec.GetNumber() != n {
		err = fmt.Errorf("it says that it is %s", identifier(rec.GetNumber()))
	}
	if err != nil {
		return nil, &tracker.MalformedError{Op: op, Records: []tracker.Malformed{malformed(n, err)}}
	}
	r.keep(at, &page{etag: a.header.Get("ETag"), records: []*record{rec}})
	return rec, nil
}

func identifier(n int) string { return fmt.Sprintf("GH-%d", n) }
