package codex

import (
	"encoding/json"
	"regexp"
	"sync"
)

// Blocked is a request of a command that the proxy of Codex has refused, because the network
// of the turns does not name its host. Both texts come from the command.
type Blocked struct{ Host, Command string }

// maxBlocked bounds the hosts that one command reports.
const maxBlocked = 10

// blockedHost matches the message of Codex, or of its proxy, at the end of a refused command,
// inside JSON text.
var blockedHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:Network access to \\"|\{\\"status\\":\\"blocked\\",\\"host\\":\\")([\w.:\[\]-]{1,253})\\"`)
})

// blockedBy returns the requests that a command was refused, each host once, by the
// notification that it has ended.
func blockedBy(params json.RawMessage) []Blocked {
	var blocked []Blocked
	seen := map[string]bool{}
	for _, found := range blockedHost().FindAllSubmatch(params, -1) {
		host := string(found[1])
		if seen[host] || len(blocked) == maxBlocked {
			continue
		}
		seen[host] = true
		blocked = append(blocked, Blocked{Host: host})
	}
	if blocked == nil {
		return nil
	}
	var p struct{ Item item }
	decodeLenient(params, &p)
	for i := range blocked {
		blocked[i].Command = p.Item.command()
	}
	return blocked
}
