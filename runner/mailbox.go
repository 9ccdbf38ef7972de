package runner

import (
	"github.com/symphony-runner/symphony/runner/attempt"
)

// mailbox hands updates from a session to the loop. It holds at most one: a new
// one is merged into the one that waits, so put never blocks and nothing that
// counts is lost.
type mailbox struct {
	out     chan attempt.Update // of one: the update that waits
	drained chan struct{}
}

func newMailbox() mailbox {
	return mailbox{out: make(chan attempt.Update, 1), drained: make(chan struct{}, 1)}
}

// put is called by one goroutine at a time.
func (m mailbox) put(u attempt.Update) {
	for {
		select {
		case m.out <- u:
			return
		case old := <-m.out:
			u = u.Merge(old)
		}
	}
}

// close ends the mailbox, and returns once the last update has been taken.
func (m mailbox) close() {
	close(m.out)
	<-m.drained
}
