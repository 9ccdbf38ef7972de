package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	// maxCached bounds each cache of answers.
	maxCached = 1000
	// maxPages bounds the pages of a list. A real list is shorter.
	maxPages = 5000
)

// cachedPage is one page of a list, or one issue, kept for a conditional request.
type cachedPage struct {
	etag      string
	records   []*record
	malformed []tracker.Malformed
	next      string // the URL of the next page; "" on the last
}

// readPages calls take with every record of a list, from its first page to its last,
// and returns the number of pages and the malformed records. A cached page that has
// not changed costs nothing of the rate limit. With keep, the pages are cached.
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

// readPage returns one page, from the cache when GitHub says that it has not
// changed.
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

// getIfChanged requests an address. It fails with the status 304 when the content is
// that of known, which may be nil.
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

// nextPage returns the address of the next page from the Link header, "" on the last
// page. It refuses an address outside the API, which would receive the token.
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

// linkRelation returns the URL of a relation in the Link header, or "". go-github
// reads only a page number from the header, which is 0 both without a next page and
// for a page without a number, so a list could end early and look complete.
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

// cached returns the cached page of an address, or nil.
func (r *repository) cached(at string) *cachedPage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pages[at]
}

// cache keeps a page for a conditional request. A page without an ETag is not kept.
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
