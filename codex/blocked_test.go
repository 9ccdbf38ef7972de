package codex

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestARefusedCommandNamesItsHosts(t *testing.T) {
	t.Parallel()
	ended := func(output string) json.RawMessage {
		text, err := json.Marshal(map[string]any{"item": map[string]any{
			"type": "commandExecution", "command": "/bin/bash -c 'npm test'", "aggregatedOutput": output,
			"commandActions": []any{map[string]string{"command": "npm test"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	many := ""
	for i := range 20 {
		many += fmt.Sprintf("Network access to \"host%d.example\" was blocked\n", i)
	}
	for output, want := range map[string][]string{
		"": nil,
		"before\n\nNetwork access to \"registry.npmjs.org\" was blocked: domain is not on the allowlist for the current sandbox mode.": {"registry.npmjs.org"},
		`403 {"status":"blocked","host":"169.254.169.254","reason":"not_allowed"}`:                                                     {"169.254.169.254"},
		"Network access to \"a.example\" was blocked: x\nNetwork access to \"a.example\" was blocked: x":                               {"a.example"},
		"Network access to \"a`b\n.example\" was blocked":                                                                              nil,
		"Network access to \"" + strings.Repeat("a", 300) + "\" was blocked":                                                           nil,
		many: {"host0.example", "host1.example", "host2.example", "host3.example", "host4.example", "host5.example", "host6.example", "host7.example", "host8.example", "host9.example"},
	} {
		var hosts []string
		for _, b := range blockedBy(ended(output)) {
			if b.Command != "npm test" {
				t.Errorf("the command is %q", b.Command)
			}
			hosts = append(hosts, b.Host)
		}
		if !slices.Equal(hosts, want) {
			t.Errorf("%.80q: %q, want %q", output, hosts, want)
		}
	}
}
