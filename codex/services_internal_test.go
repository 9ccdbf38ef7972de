package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheNetworksOfASessionHaveItsServices(t *testing.T) {
	t.Parallel()
	o := Options{
		Services: []int{5432}, Certificates: "/temp/c.pem", ReviewWork: "work",
		Networks: map[string]Network{"setup": {}, "hooks": {Hosts: []string{"a.example"}, Full: true}},
	}
	for name, want := range map[string]map[string]string{
		"":         {"SYMPHONY_NETWORK": "services:"},
		"setup":    {"SYMPHONY_NETWORK": "services:setup"},
		"hooks":    {"SYMPHONY_NETWORK": "hosts:hooks"},
		reviewName: nil,
		"other":    nil,
	} {
		if diff := cmp.Diff(want, o.variables(name)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
}

func TestServicesThatCannotBeHeldAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere all services are refused")
	}
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no loopback":     {func(o *Options) { o.Loopback = false }, "no services: it needs sandbox.loopback: true: remove the key `services` from WORKFLOW.md"},
		"another sandbox": {func(o *Options) { o.Config.ThreadSandbox = json.RawMessage(`"read-only"`) }, "no services: codex.thread_sandbox sets a sandbox of its own for the turns"},
		"another server":  {func(o *Options) { o.Shared = "a" }, "no services: the app-server of codex.endpoint starts commands without this program"},
		"no profile":      {func(o *Options) { o.ProfileGiven = false }, "one simple command"},
		"no folder":       {func(o *Options) { o.Bubblewrap = nil }, "no folder of its own"},
		"hosts too": {func(o *Options) { o.Loopback, o.Network.Hosts = false, []string{"a.example"} },
			"no services and no network of named hosts: it needs sandbox.loopback: true: remove the keys `services` and `network` from WORKFLOW.md"},
		"all well": {func(*Options) {}, ""},
	} {
		o := Options{ProfileGiven: true, Loopback: true, Services: []int{5432}, Certificates: "/c.pem", Bubblewrap: &Bubblewrap{Dir: "/x", self: "/symphony"}}
		test.change(&o)
		s := newSession(&core{o: o})
		var err error
		if s.posture, err = newPosture(o); err != nil {
			t.Fatal(err)
		}
		err = s.checkNetworks()
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrNoSandbox) || !strings.Contains(fmt.Sprint(err), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
