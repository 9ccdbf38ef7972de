package attempt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/receipt"
)

const (
	// maxBlocked bounds the hosts that are kept, and maxNamed those that a text names.
	maxBlocked = 100
	maxNamed   = 10
)

// blockedHosts counts the hosts that commands of the agent asked for and were refused.
type blockedHosts struct {
	mu    sync.Mutex
	hosts []blockedHost // hosts in the order of their first refusal
}

// blockedHost is a host that commands were refused.
type blockedHost struct {
	name    string
	count   int
	command string // the latest
}

// add counts refused requests, whose texts are redacted.
func (b *blockedHosts) add(refused []codex.Blocked, redact func(string) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range refused {
		i := slices.IndexFunc(b.hosts, func(h blockedHost) bool { return h.name == r.Host })
		if i < 0 {
			if len(b.hosts) == maxBlocked {
				continue
			}
			i = len(b.hosts)
			b.hosts = append(b.hosts, blockedHost{name: r.Host})
		}
		b.hosts[i].count++
		b.hosts[i].command = redact(r.Command)
	}
}

// text returns the hosts in one line of Markdown, the most frequent first; empty for none. The
// names and commands are the agent's, so they stand in code spans that they cannot leave.
func (b *blockedHosts) text() string {
	b.mu.Lock()
	hosts := slices.Clone(b.hosts)
	b.mu.Unlock()
	slices.SortStableFunc(hosts, func(a, b blockedHost) int { return cmp.Compare(b.count, a.count) })
	var parts []string
	for _, h := range hosts[:min(len(hosts), maxNamed)] {
		times := ""
		if h.count > 1 {
			times = fmt.Sprintf("%d times, ", h.count)
		}
		parts = append(parts, fmt.Sprintf("%s (%sby %s)", receipt.Code(h.name), times, receipt.Code(h.command)))
	}
	if more := len(hosts) - maxNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// between returns the hosts between two pieces of text; empty for none.
func (b *blockedHosts) between(before, after string) string {
	hosts := b.text()
	if hosts == "" {
		return ""
	}
	return before + hosts + after
}
