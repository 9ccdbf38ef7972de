package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
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

// isDown reports whether no session may start on the host.
func (h HostState) isDown(now time.Time) bool { return now.Before(h.Until) }

// DownHost is a worker host on which no session may start for a time.
type DownHost struct {
	Name string
	HostState
}

// DownHosts returns the hosts of the policy on which no session may start now, in the order of
// the policy.
func (s *State) DownHosts(p Policy, now time.Time) []DownHost {
	var down []DownHost
	for _, name := range p.Hosts {
		if h := s.Hosts[name]; h.isDown(now) {
			down = append(down, DownHost{name, h})
		}
	}
	return down
}

// Hosts returns the worker hosts that may have a workspace of the issue.
func (c Claim) Hosts() []string {
	if c.Host == "" {
		return c.Left
	}
	return append(slices.Clone(c.Left), c.Host)
}

// hostFailed notes that the host of a claim has failed. Of the sessions that end together when a
// host fails, the first counts: the others were not started to try it again.
func (s *State) hostFailed(c Claim, why string, p Policy, now time.Time) {
	hosts := map[string]HostState{}
	for _, name := range p.Hosts {
		h, failed := s.Hosts[name]
		if name == c.Host && !c.Since.Before(h.Until) {
			failures := h.Failures + 1
			h, failed = HostState{now.Add(Backoff(failures, longestHostBackoff)), failures, why}, true
		}
		if failed {
			hosts[name] = h
		}
	}
	s.Hosts = hosts
}

// hostWorks forgets the failures of the host of a claim: a session works there. One that began
// before the last failure proves nothing.
func (s *State) hostWorks(c Claim) {
	if h, failed := s.Hosts[c.Host]; failed && !c.Since.Before(h.Until) {
		s.Hosts = maps.Clone(s.Hosts)
		delete(s.Hosts, c.Host)
	}
}

// isOfHost reports whether no session can work on the host of a claim, for a reason that other
// hosts need not share: it lacks something, or its disk is full.
func (o Outcome) isOfHost(c Claim) bool {
	return o.Class == Systemic && c.Host != "" && (o.Cause == CauseMachine || o.Cause == CauseStart)
}

// hostLoad counts the sessions on a host.
type hostLoad struct {
	sessions int
	tries    int // of these, the ones that began since its last failure
}

// addToHost counts a session on a host that began at a time.
func (pl *planner) addToHost(host string, began time.Time) {
	if host == "" {
		return
	}
	load := pl.perHost[host]
	load.sessions++
	if !began.Before(pl.state.Hosts[host].Until) {
		load.tries++
	}
	pl.perHost[host] = load
}

// hasSlot reports whether a session may start on a host now.
func (pl *planner) hasSlot(host string) bool {
	load, full := pl.perHost[host], pl.p.PerHost > 0 && pl.perHost[host].sessions >= pl.p.PerHost
	h, failed := pl.state.Hosts[host]
	return !full && !h.isDown(pl.now) && (!failed || load.tries == 0)
}

// noHost returns the reason for starting no session on any worker host; zero if there are none
// in the policy.
func (pl *planner) noHost() Why {
	if len(pl.p.Hosts) == 0 || slices.ContainsFunc(pl.p.Hosts, pl.hasSlot) {
		return Why{}
	}
	down := pl.state.DownHosts(pl.p, pl.now)
	left := NameDownHosts(down)
	switch {
	case len(down) == len(pl.p.Hosts):
		return Why{HostsDown, "no worker host works, and they are left alone: " + left}
	case left != "":
		left = "; left alone: " + left
	}
	slots := 0
	for _, host := range pl.p.Hosts {
		slots += pl.slotsOf(host)
	}
	return Why{NoHostSlots, fmt.Sprintf("all %s of worker hosts are taken", text.Count(slots, "slot")) + left}
}

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

// noSlotAtHostOf returns the reason for not starting the issue of a claim now whose last host works and has
// no free slot; zero for none. On another host it would begin again, without its thread and the work that
// is not delivered.
func (pl *planner) noSlotAtHostOf(c Claim) Why {
	if _, failed := pl.state.Hosts[c.Host]; failed || c.Phase == "" || !slices.Contains(pl.p.Hosts, c.Host) || pl.hasSlot(c.Host) {
		return Why{}
	}
	return Why{NoHostSlots, fmt.Sprintf("all %s of worker host %s are taken, where its workspace is", text.Count(pl.p.PerHost, "slot"), c.Host)}
}

// maxNamedHosts bounds the hosts in a reason.
const maxNamedHosts = 3

// slotsOf returns the number of slots of a host that has none free.
func (pl *planner) slotsOf(host string) int {
	h, failed := pl.state.Hosts[host]
	switch {
	case h.isDown(pl.now):
		return 0
	case failed:
		return 1
	}
	return pl.p.PerHost
}

// hostFor returns the worker host for the next session on an issue whose last one was on the host
// last; empty for this machine. noHost has returned no reason. The host of the last session
// comes first, as long as it works: the workspace and the thread are there. After a failure it
// is the last choice. All others are chosen by their load.
func (pl *planner) hostFor(last string) string {
	_, failed := pl.state.Hosts[last]
	if !failed && slices.Contains(pl.p.Hosts, last) && pl.hasSlot(last) {
		return last
	}
	best := ""
	for _, host := range pl.p.Hosts {
		switch {
		case !pl.hasSlot(host):
		case best == "", best == last:
			best = host
		case host != last && pl.perHost[host].sessions < pl.perHost[best].sessions:
			best = host
		}
	}
	return best
}

// lastHost returns the host of the last session on the issue of a claim, or on one without a
// claim.
func (pl *planner) lastHost(issue tracker.Issue) string {
	if c, claimed := pl.state.Claims[issue.ID]; claimed {
		return c.Host
	}
	return pl.talk(issue.ID).Host
}
