package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	// maxCached bounds the answers kept for conditional requests.
	maxCached = 1000
	// maxPages is more than a list can have that is no mistake.
	maxPages = 5000
)

// cachedPage is an answer with issues, kept to be asked for by its ETag.
type cachedPage struct {
	etag      string
	records   []*record
	malformed []tracker.Malformed
	next      string // the URL of the next page; "" on the last
}

// readPages reads a list from its first page to its last and gives the number of
// pages and the malformed records. An answer that is known and has not changed
// costs nothing of the rate limit; with keep the new ones become known.
func (r *repository) readPages(ctx context.Context, op, first string, keep bool, take func(*record)) (pages int, malformed []tracker.Malformed, err error) {
	seen := make(map[string]bool)
	for at := first; at != ""; pages++ {
		if seen[at] || pages == maxPages {
			return 0, nil, fmt.Errorf("%s: %w: page %d leads back to one before it: try again later", op, tracker.ErrPagination, pages)
		}
		seen[at] = true
		p, err := r.readPage(ctx, op, at, keep)
		if err != nil {
			return 0, nil, err
		}
		for _, rec := range p.records {
			take(rec)
		}
		malformed = append(malformed, p.malformed...)
		at = p.next
	}
	return pages, malformed, nil
}

// readPage reads one readPage, by its ETag where it is known.
func (r *repository) readPage(ctx context.Context, op, at string, keep bool) (*cachedPage, error) {
	known := r.cached(at)
	a, err := r.getIfChanged(ctx, op, at, known)
	if known != nil && status(err) == http.StatusNotModified {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	records, malformed, err := decodeRecords(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	next, err := r.nextPage(op, a.header)
	if err != nil {
		return nil, err
	}
	p := &cachedPage{etag: a.header.Get("ETag"), records: records, malformed: malformed, next: next}
	if keep {
		r.cache(at, p)
	}
	return p, nil
}

// getIfChanged asks for what is at an address. It fails with the status 304 when that
// is what is known of it.
func (r *repository) getIfChanged(ctx context.Context, op, at string, known *cachedPage) (answer, error) {
	req, err := r.rest.newRequest(http.MethodGet, at, nil)
	if err != nil {
		return answer{}, r.failed(ctx, op, needIssues, err)
	}
	if known != nil {
		req.Header.Set("If-None-Match", known.etag)
	}
	return r.send(ctx, op, req)
}

// nextPage returns the nextPage page of the Link header. One outside of the API would be
// sent the token, so it is refused.
func (r *repository) nextPage(op string, h http.Header) (string, error) {
	next := linkRelation(h, "next")
	if next == "" {
		return "", nil
	}
	if !strings.HasPrefix(next, r.wire.api.String()) {
		return "", fmt.Errorf("%s: %w: the next page %q is not on %s: check tracker.provider.api_url",
			op, tracker.ErrPagination, clip(next), r.cfg.APIURL)
	}
	return next, nil
}

// linkRelation returns the URL of a linkRelation in the Link header, or "". go-github reads
// a page number from the header, and 0 both for no page and for a page without a
// number: a list would end early and look complete.
func linkRelation(h http.Header, rel string) string {
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

func (r *repository) cached(at string) *cachedPage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pages[at]
}

// cache remembers a page that can be asked for by its ETag.
func (r *repository) cache(at string, p *cachedPage) {
	if p.etag == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pages) >= maxCached {
		clear(r.pages)
	}
	r.pages[at] = p
}
