package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	// maxKnown bounds the answers kept for conditional requests.
	maxKnown = 1000
	// maxPages is more than a list can have that is no mistake.
	maxPages = 5000
)

// page is an answer with issues, kept to be asked for by its ETag.
type page struct {
	etag    string
	records []*record
	next    string // the URL of the next page; "" on the last
}

// walk reads a list from its first page to its last and gives the number of
// pages. An answer that is known and has not changed costs nothing of the rate
// limit; with keep the new ones become known.
func (r *repository) walk(ctx context.Context, op, first string, keep bool, take func(*record)) (pages int, err error) {
	seen := make(map[string]bool)
	for at := first; at != ""; pages++ {
		if seen[at] || pages == maxPages {
			return 0, fmt.Errorf("%s: %w: page %d leads back to one before it: try again later", op, tracker.ErrPagination, pages)
		}
		seen[at] = true
		p, err := r.page(ctx, op, at, keep)
		if err != nil {
			return 0, err
		}
		for _, rec := range p.records {
			take(rec)
		}
		at = p.next
	}
	return pages, nil
}

// page reads one page, by its ETag where it is known.
func (r *repository) page(ctx context.Context, op, at string, keep bool) (*page, error) {
	known := r.known(at)
	etag := ""
	if known != nil {
		etag = known.etag
	}
	a, err := r.client.do(ctx, request{op: op, method: http.MethodGet, url: at, etag: etag})
	if err != nil {
		return nil, err
	}
	if a.status == http.StatusNotModified && known != nil {
		return known, nil
	}
	if a.status != http.StatusOK {
		return nil, r.unexpected(op, needIssues, a)
	}
	records, malformed, err := decodeRecords(op, a)
	if err != nil {
		return nil, err
	}
	for _, problem := range malformed {
		r.log.Warn("issue dropped", "repository", r.cfg.Repo, "reason", problem)
	}
	next, err := r.next(op, a.header)
	if err != nil {
		return nil, err
	}
	p := &page{etag: a.header.Get("ETag"), records: records, next: next}
	if keep && p.etag != "" {
		r.keep(at, p)
	}
	return p, nil
}

// next is the next page of the Link header. One outside of the API would be
// sent the token, so it is refused.
func (r *repository) next(op string, h http.Header) (string, error) {
	next := relation(h, "next")
	if next == "" {
		return "", nil
	}
	if !strings.HasPrefix(next, r.client.api+"/") {
		return "", fmt.Errorf("%s: %w: the next page %q is not on %s: check tracker.provider.api_url",
			op, tracker.ErrPagination, clip(next), r.client.api)
	}
	return next, nil
}

// relation is the URL of a relation in the Link header, or "".
func relation(h http.Header, rel string) string {
	for _, line := range h.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			target, attributes, _ := strings.Cut(strings.TrimSpace(link), ";")
			if strings.Contains(attributes, `rel="`+rel+`"`) && strings.HasPrefix(target, "<") && strings.HasSuffix(target, ">") {
				return target[1 : len(target)-1]
			}
		}
	}
	return ""
}

func (r *repository) known(at string) *page {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pages[at]
}

func (r *repository) keep(at string, p *page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pages) >= maxKnown {
		clear(r.pages)
	}
	r.pages[at] = p
}
