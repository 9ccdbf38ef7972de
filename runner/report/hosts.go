package report

import (
	"maps"
	"slices"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxHosts is how many worker hosts a list shows.
const maxHosts = 20

// HostDown describes a worker host that has failed and is left alone for a time.
type HostDown struct {
	Host     string `json:"worker_host"`
	Why      string `json:"error"`
	Until    Time   `json:"until"`
	Failures int    `json:"failures"` // in a row
}

func hostsDown(hosts []schedule.DownHost) []HostDown {
	var list []HostDown // nil is left out
	for _, h := range hosts {
		list = append(list, HostDown{h.Name, h.Why, Time{h.Until}, h.Failures})
	}
	return list
}

func addHosts(d *document, hosts []schedule.DownHost) {
	if len(hosts) == 0 {
		return
	}
	l := list{left: max(0, len(hosts)-maxHosts)}
	for _, h := range hosts[:min(len(hosts), maxHosts)] {
		l.items = append(l.items, item{text: phrase{foreign(h.Name), own(" until "), instantSpan(h.Until), own(": "), foreign(text.InWords(h.Why))}})
	}
	d.add(section{heading: "Worker hosts", detail: "left alone after a failure; then one session tries each", body: document{l}})
}

// downHosts returns the worker hosts of the state that are left alone now, sorted.
func (v StateView) downHosts() []schedule.DownHost {
	return v.state.Hosts.Down(slices.Sorted(maps.Keys(v.state.Hosts)), v.now)
}
