package codex

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAServerThatDoesNotSeparateNetworksIsRefused has servers that fail one part of the test of
// the loopback. The real Codex separates networks by two settings, and says nothing if one of
// them is missing.
func TestAServerThatDoesNotSeparateNetworksIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere every server is refused")
	}
	const on, off = `{"data":[{"name":"other","enabled":true},{"name":"network_proxy","enabled":true}]}`, `{"data":[{"name":"network_proxy","enabled":false}]}`
	for name, test := range map[string]struct {
		profiles string // empty: it has no such method
		status   int    // of the probe
		features string // empty: it has no such method
		want     string // in the error; empty for none
	}{
		"it does":                    {`{"data":[{"id":"symphony"}]}`, 0, on, ""},
		"no programs of the host":    {"", 0, on, "cannot run programs"},
		"another profile":            {`{"data":[{"id":":workspace"}]}`, 0, on, "does not list the permission profile"},
		"a command with the network": {`{"data":[{"id":"symphony"}]}`, 3, on, "exit status 3"},
		"a thread without it":        {`{"data":[{"id":"symphony"}]}`, 0, off, "does not have the feature"},
		"no list of features":        {`{"data":[{"id":"symphony"}]}`, 0, "", "experimentalFeature/list"},
		"an empty list":              {`{"data":[{"id":"symphony"}]}`, 0, `{"data":[]}`, "does not have the feature"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := func(p *fakeServer, m received, result string) {
				if result == "" {
					p.refuse(m, -32600, "Invalid request: unknown variant `"+m.Method+"`")
					return
				}
				p.reply(m, result)
			}
			folder := t.TempDir()
			_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
				p.hello()
				p.unknown("config/read")
				answer(p, p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
				for {
					m, ok := p.next()
					if !ok {
						return
					}
					switch m.Method {
					case "permissionProfile/list":
						answer(p, m, test.profiles)
					case "config/read":
						answer(p, m, "{}")
					case "command/exec":
						answer(p, m, fmt.Sprintf(`{"exitCode":%d,"stdout":"","stderr":""}`, test.status))
					case "experimentalFeature/list":
						if !strings.Contains(string(m.Params), `"threadId":"thread-1"`) {
							p.t.Errorf("the features of another thread: %s", m.Params)
						}
						answer(p, m, test.features)
					}
				}
			}), Options{Cwd: folder, ProfileGiven: true, Loopback: true})
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrNoSandbox) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "sandbox.loopback: false")) {
				t.Errorf("%v", err)
			}
		})
	}
}
