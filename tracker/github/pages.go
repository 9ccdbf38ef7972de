package github

import (
	"context"
	"math"
	"net/http"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// cachedPage is one page of a list, or one issue, kept for a conditional request.
type cachedPage struct {
	etag      string
	records   []*record
	malformed []tracker.Malformed
	next      string // the URL of the next page; "" on the last
}

// allPages is the bound of a list that is read whole.
const allPages = math.MaxInt

// readPages calls take with every record of a list, from its first page on, and returns
// the malformed records. It reads most pages at most; pages is the number of all, 0 if
// there are more. A cached page that has not changed costs nothing of the rate limit. With
// keep, the pages are cached.
func (r *repository) readPages(ctx context.Context, op, first string, keep bool, most int, take func(*record)) (pages int, malformed []tracker.Malformed, err error) {
	more := false
	err = r.client.Walk(first, func(at string) (string, error) {
		p, err := r.readPage(ctx, at, keep)
		if err != nil {
			return "", err
		}
		for _, rec := range p.records {
			take(rec)
		}
		pages++
		malformed = append(malformed, p.malformed...)
		if more = p.next != ""; pages == most {
			return "", nil
		}
		return p.next, nil
	})
	if err != nil {
		return 0, nil, failed(op, err)
	}
	if more {
		pages = 0
	}
	return pages, malformed, nil
}

// readPage returns one page, from the cache when GitHub says that it has not
// changed. It fails as the client does.
func (r *repository) readPage(ctx context.Context, at string, keep bool) (*cachedPage, error) {
	known, _ := r.pages.get(at)
	a, err := r.getIfChanged(ctx, at, known)
	if known != nil && client.Status(err) == http.StatusNotModified {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	records, malformed, err := decodeRecords(r.client, a)
	if err != nil {
		return nil, err
	}
	p := &cachedPage{etag: a.Header.Get("ETag"), records: records, malformed: malformed, next: client.Next(a)}
	if keep {
		r.keepPage(at, p)
	}
	return p, nil
}

// getIfChanged requests an address. It fails with the status 304 when the content is
// the same as in known, which may be nil.
func (r *repository) getIfChanged(ctx context.Context, at string, known *cachedPage) (transport.Answer, error) {
	request := client.Request{Path: at, Permission: client.ReadIssues}
	if known != nil {
		request.ETag = known.etag
	}
	return r.client.Do(ctx, request)
}

// keepPage keeps a page for a conditional request, which needs an ETag.
func (r *repository) keepPage(at string, p *cachedPage) {
	if p.etag != "" {
		r.pages.put(at, p)
	}
}
