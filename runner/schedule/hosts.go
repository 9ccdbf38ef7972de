package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	// HostNotice is the time in which a worker host that is cut off notices that and has
	// stopped its agent. Nothing is done about an issue before, so that two agents never work
	// on it at once.
	HostNotice = time.Minute
	// longestHostBackoff is the longest time for which a host that fails is left alone.
	longestHostBackoff = 5 * time.Minute
)

// HostState describes a worker host that has failed and has not worked since. After Until one
// session at a time tries it.
type HostState struct {
	Until    time.Time `json:"until,omitzero"`                 // time before which no session starts on it
	Failures int       `json:"failures,omitempty"`             // failures in a row
	Why      string    `json:"why,omitempty" bound:"line=500"` // the last of them
}

func (h HostState) isDown(now time.Time) bool { return now.Before(h.Until) }

// DownHost is a worker host on which no session may start for a time.
type DownHost struct {
	Name string
	HostState
}

// FailedHosts holds the worker hosts that have failed and have not worked since, by name.
type FailedHosts map[string]HostState

// Down returns the hosts among names on which no session may start now, in their order.
func (f FailedHosts) Down(names []string, now time.Time) []DownHost {
	var down []DownHost
	for _, name := range names {
		if h := f[name]; h.isDown(now) {
			down = append(down, DownHost{name, h})
		}
	}
	return down
}

// fail returns the hosts among names after the host of a claim has failed. Of the sessions that
// end together when a host fails, the first counts: the others were not started to try it again.
func (f FailedHosts) fail(c Claim, why string, names []string, now time.Time) FailedHosts {
	hosts := FailedHosts{}
	for _, name := range names {
		h, failed := f[name]
		if name == c.Host && !c.Since.Before(h.Until) {
			failures := h.Failures + 1
			h, failed = HostState{now.Add(Backoff(failures, longestHostBackoff)), failures, why}, true
		}
		if failed {
			hosts[name] = h
		}
	}
	return hosts
}

// work forgets the failures of the host of a claim: a session works there. One that began
// before the last failure proves nothing.
func (f FailedHosts) work(c Claim) {
	if !c.Since.Before(f[c.Host].Until) {
		delete(f, c.Host)
	}
}

// Hosts returns the worker hosts that may have a workspace of the issue.
func (c Claim) Hosts() []string {
	if c.Host == "" {
		return c.Left
	}
	return append(slices.Clone(c.Left), c.Host)
}

// isOfHost reports whether no session can work on the host of a claim, for a reason that other
// hosts need not share: it lacks something, or its disk is full.
func (o Outcome) isOfHost(c Claim) bool {
	return o.Class == Systemic && c.Host != "" && (o.Cause == CauseMachine || o.Cause == CauseStart)
}

type hostLoad struct {
	sessions int
	tries    int // of these, the ones that began since its last failure
}

type hostSlots struct {
	names  []string // of the policy; empty if sessions run on this machine
	each   int      // maximum of sessions at once on each; 0: no limit
	failed FailedHosts
	now    time.Time
	loads  map[string]hostLoad
}

// add counts a session on a host that began at a time.
func (s *hostSlots) add(host string, began time.Time) {
	if host == "" {
		return
	}
	load := s.loads[host]
	load.sessions++
	if !began.Before(s.failed[host].Until) {
		load.tries++
	}
	s.loads[host] = load
}

func (s *hostSlots) isFree(host string) bool {
	load := s.loads[host]
	h, failed := s.failed[host]
	return !(s.each > 0 && load.sessions >= s.each) && !h.isDown(s.now) && (!failed || load.tries == 0)
}

// none returns the reason for starting no session on any worker host; zero if there are none
// in the policy.
func (s *hostSlots) none() Why {
	if len(s.names) == 0 || slices.ContainsFunc(s.names, s.isFree) {
		return Why{}
	}
	down := s.failed.Down(s.names, s.now)
	left := NameDownHosts(down)
	switch {
	case len(down) == len(s.names):
		return Why{HostsDown, "no worker host works, and they are left alone: " + left}
	case left != "":
		left = "; left alone: " + left
	}
	slots := 0
	for _, host := range s.names { // none of which has a free slot
		h, failed := s.failed[host]
		switch {
		case h.isDown(s.now):
		case failed:
			slots++
		default:
			slots += s.each
		}
	}
	return Why{NoHostSlots, fmt.Sprintf("all %s of worker hosts are taken", text.Count(slots, "slot")) + left}
}

// noneAtHostOf returns the reason for not starting the issue of a claim now whose last host works and has
// no free slot; zero for none. On another host it would begin again, without its thread and the work that
// is not delivered.
func (s *hostSlots) noneAtHostOf(c Claim) Why {
	if _, failed := s.failed[c.Host]; failed || c.Phase == "" || !slices.Contains(s.names, c.Host) || s.isFree(c.Host) {
		return Why{}
	}
	return Why{NoHostSlots, fmt.Sprintf("all %s of worker host %s are taken, where its workspace is", text.Count(s.each, "slot"), c.Host)}
}

// choose returns the worker host for the next session on an issue whose last one was on the host
// last; empty for this machine. One is free. The host of the last session comes first, as long as
// it works: the workspace and the thread are there. After a failure it is the last choice. All
// others are chosen by their load.
func (s *hostSlots) choose(last string) string {
	_, failed := s.failed[last]
	if !failed && slices.Contains(s.names, last) && s.isFree(last) {
		return last
	}
	best := ""
	for _, host := range s.names {
		switch {
		case !s.isFree(host):
		case best == "", best == last:
			best = host
		case host != last && s.loads[host].sessions < s.loads[best].sessions:
			best = host
		}
	}
	return best
}

const maxNamedHosts = 3

// NameDownHosts returns hosts for people, each with its time and its reason, in one line. It names
// the first ones; empty for no host.
func NameDownHosts(down []DownHost) string {
	var names []string
	for _, h := range down[:min(len(down), maxNamedHosts)] {
		names = append(names, fmt.Sprintf("%s until %s (%s)", h.Name, h.Until.UTC().Format(time.RFC3339), h.Why))
	}
	if more := len(down) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
