package codex

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
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

// TestTheDeniedPathsAreFoundOnce has a server that cannot try the loopback, so that the rules are made
// again without it.
func TestTheDeniedPathsAreFoundOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	s, err := Connect(t.Context(), dial(t, func(p *fakeServer) { p.hello(); p.drain() }), Options{
		Cwd: "/work", Loopback: true, Deny: func(string, int) []string { asked++; return []string{"/secret"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rules := strings.Join(serverSettings(s.sandbox.rules), "\n")
	if asked != 1 || !strings.Contains(rules, `"/secret"="deny"`) || !strings.Contains(rules, "network.enabled=false") {
		t.Errorf("asked %d times:\n%s", asked, rules)
	}
}

// TestTheProbeKnowsThisProgramByItsGreeting asks ports of this machine as the probe does. A
// listener of Codex inside the sandbox can have the number of the probe's port by chance.
func TestTheProbeKnowsThisProgramByItsGreeting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		serve func(net.Listener) // nil: nobody listens
		want  int
	}{
		"this program": {greet, 3},
		"nobody":       {nil, 0},
		"somebody else": {func(l net.Listener) {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				c.Close()
			}
		}, 0},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if test.serve == nil {
			l.Close()
		} else {
			go test.serve(l)
		}
		cmd := exec.Command("bash", "-c", refuseProbe+askPort)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", probePort, l.Addr().(*net.TCPAddr).Port), "LC_ALL=C")
		said, _ := cmd.CombinedOutput() // the exit status says it
		if got := cmd.ProcessState.ExitCode(); got != test.want {
			t.Errorf("%s: status %d, want %d: %s", name, got, test.want, said)
		}
	}
}
