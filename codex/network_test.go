package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNoNetworkIsNamedToCodex compares the rules of a session whose commands reach hosts with those
// of a session whose commands reach none.
func TestNoNetworkIsNamedToCodex(t *testing.T) {
	t.Parallel()
	o := Options{Loopback: true, Temp: "/temp", Certificates: "/temp/c.pem"}
	without := permissions(o, o.denied("/home", 0))
	o.Network = Network{Hosts: []string{"a.example"}}
	o.Networks = map[string]Network{"hooks": {Hosts: []string{"b.example"}, Private: true}, "full": {Hosts: []string{"d.example"}, Full: true}, "none": {}}
	rules := permissions(o, o.denied("/home", 0))
	if diff := cmp.Diff(without, rules); diff != "" {
		t.Errorf("(-without +with hosts):\n%s", diff)
	}
	for name, want := range map[string]map[string]string{
		"":      {"SYMPHONY_NETWORK": "hosts:", "SYMPHONY_CERTIFICATES": "/temp/c.pem"},
		"hooks": {"SYMPHONY_NETWORK": "hosts:hooks", "SYMPHONY_CERTIFICATES": "/temp/c.pem"},
		"full":  {"SYMPHONY_NETWORK": "hosts:full"},
		"none":  nil,
		"other": nil,
	} {
		if diff := cmp.Diff(want, o.variables(name)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
	var p posture
	p.complete(o, serverInfo{}, rules)
	if got := p.settings["shell_environment_policy.set.SYMPHONY_NETWORK"]; got != "hosts:" {
		t.Errorf("the turns are told %v", got)
	}
}

func TestANetworkThatCannotBeHeldIsRefused(t *testing.T) {
	t.Parallel()
	hosts := Network{Hosts: []string{"a.example"}}
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
		is     error
	}{
		"no loopback":     {func(o *Options) { o.Loopback = false }, "sandbox.loopback: true", ErrNoSandbox},
		"no profile":      {func(o *Options) { o.ProfileGiven = false }, "one simple command", ErrNoSandbox},
		"another sandbox": {func(o *Options) { o.Config.ThreadSandbox = json.RawMessage(`"read-only"`) }, "codex.thread_sandbox", ErrNoSandbox},
		"no folder":       {func(o *Options) { o.Certificates = "" }, "no folder of its own", ErrNoSandbox},
		"no program":      {func(o *Options) { o.Bubblewrap = &Bubblewrap{Dir: "/x"} }, "no folder of its own", ErrNoSandbox},
		"of a program": {func(o *Options) {
			o.Network, o.Networks, o.Loopback = Network{}, map[string]Network{"hooks": hosts}, false
		}, "sandbox.loopback: true", ErrNoSandbox},
		"a name":          {func(o *Options) { o.Networks = map[string]Network{"a.b": {}} }, `the network "a.b"`, ErrSettings},
		"a name of ours":  {func(o *Options) { o.Networks = map[string]Network{"": {}} }, `the network ""`, ErrSettings},
		"an older server": {func(*Options) {}, "permission profiles", ErrTooOld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && test.is == ErrNoSandbox {
				t.Skip("elsewhere every network is refused")
			}
			o := Options{Cwd: t.TempDir(), ProfileGiven: true, Loopback: true, Network: hosts, Certificates: filepath.Join(t.TempDir(), "c.pem"), Bubblewrap: &Bubblewrap{Dir: t.TempDir(), self: "/symphony"}}
			test.change(&o)
			_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
				p.hello()
				for {
					m, ok := p.next()
					switch {
					case !ok:
						return
					case m.Method == "thread/start": // a server without profiles
						p.reply(m, `{"thread":{"id":"thread-1"}}`)
					default:
						p.reply(m, "{}")
					}
				}
			}), o)
			if !errors.Is(err, test.is) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("%v, want %v with %q", err, test.is, test.want)
			}
		})
	}
}
