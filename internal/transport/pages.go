package transport

import (
	"sync"
	"time"
)

// The bounds of Pages.
const (
	maxPages    = 100
	pagesPeriod = 10 * time.Minute
)

// Pages bounds the requests for further pages of long lists, so that floods cannot use up
// the rate limit: 100 of them in ten minutes, and those that a list needs that was begun by
// then. The zero value has all of them left. Any number of goroutines may use it.
type Pages struct {
	mu    sync.Mutex
	until time.Time
	left  int
}

// Take reports whether one more page may be read, and counts it. begun says that pages
// were read already that are of no use without it.
func (p *Pages) Take(begun bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); !now.Before(p.until) {
		p.until, p.left = now.Add(pagesPeriod), maxPages
	}
	if !begun && p.left <= 0 {
		return false
	}
	p.left--
	return true
}
