package statuspage

import "sync"

// maxClients bounds how many pages may wait for updates at a time.
const maxClients = 32

// clients holds a channel for each page that waits for updates. A channel holds at most
// one wake-up: a page that is slow misses states, and no state waits for it.
type clients struct {
	mu    *sync.Mutex
	wakes map[chan struct{}]struct{}
	ended chan struct{} // closed when no more updates come
	end   func()
}

func newClients() clients {
	ended := make(chan struct{})
	return clients{mu: new(sync.Mutex), wakes: map[chan struct{}]struct{}{}, ended: ended, end: sync.OnceFunc(func() { close(ended) })}
}

// wake tells every client that there is something new.
func (c *clients) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for wake := range c.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// close tells every client that no more updates come.
func (c *clients) close() { c.end() }

// join adds a client. It reports false if there are too many.
func (c *clients) join() (wake chan struct{}, leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wakes) >= maxClients {
		return nil, nil, false
	}
	wake = make(chan struct{}, 1)
	c.wakes[wake] = struct{}{}
	return wake, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.wakes, wake)
	}, true
}
