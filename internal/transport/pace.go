package transport

import (
	"sync"
	"time"
)

// Pace bounds how many requests of one kind are sent in a minute and in an hour. Any number
// of goroutines, and of clients, may use it.
type Pace struct {
	aMinute, anHour int

	mu   sync.Mutex
	sent []time.Time // within the last hour, oldest first
}

// NewPace returns a Pace of so many requests a minute and an hour.
func NewPace(aMinute, anHour int) *Pace { return &Pace{aMinute: aMinute, anHour: anHour} }

// Take returns the time to wait before a request may be sent. If that is 0, it counts it.
func (p *Pace) Take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.sent) > 0 && now.Sub(p.sent[0]) >= time.Hour {
		p.sent = p.sent[1:]
	}
	wait := time.Duration(0)
	if n := len(p.sent); n >= p.aMinute {
		wait = time.Minute - now.Sub(p.sent[n-p.aMinute])
	}
	if n := len(p.sent); n >= p.anHour {
		wait = max(wait, time.Hour-now.Sub(p.sent[n-p.anHour]))
	}
	if wait > 0 {
		return wait
	}
	p.sent = append(p.sent, now)
	return 0
}
