package workflow_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostsAreReadFromSetsAndNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	s := parse(t, "tracker: {kind: file}\nrepository: {url: /srv/a.git}\ndelivery: {kind: none}\ncodex: {network: [python]}\nhooks: {network: [Mirror.Example, python]}\nsetup: {run: x, network: [debian, python]}", with(nil)).Settings
	want := []string{"files.pythonhosted.org", "pypi.org"}
	if !slices.Equal(s.Network.Hosts, want) || s.Network.Full || s.Network.Private {
		t.Errorf("codex.network: %+v", s.Network)
	}
	if want := []string{"files.pythonhosted.org", "mirror.example", "pypi.org"}; !slices.Equal(s.HookNetwork.Hosts, want) {
		t.Errorf("hooks.network: %+v", s.HookNetwork)
	}
	if want := []string{"deb.debian.org", "files.pythonhosted.org", "pypi.org", "security.debian.org"}; !slices.Equal(s.SetupNetwork.Hosts, want) {
		t.Errorf("setup.network: %+v", s.SetupNetwork)
	}
}

func TestHostsThatNoSandboxHoldsCommandsToAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	for _, test := range []struct {
		front    string
		problems []string
	}{
		{"codex: {network: [localhost, go, '*.example.org', 'pypi.org:443']}", []string{
			`line 5: codex.network[0] is "localhost": is this machine, of which it would open every port: a command has a loopback of its own; remove it`,
			`line 5: codex.network[2] is "*.example.org": is a pattern, which also names hosts of strangers: write each host`,
			`line 5: codex.network[3] is "pypi.org:443": has a port or is an address: write the name of a host without a port`,
		}},
		{"codex: {network: go}", []string{`line 5: codex.network is "go": must be a list, such as [one, two]`}},
		{"codex: {network: [go], thread_sandbox: read-only}", []string{"line 5: codex.network is a list: has no effect beside codex.thread_sandbox or codex.turn_sandbox_policy, which are a sandbox of their own; remove one of the keys"}},
		{"codex: {network: [go]}\nsandbox: {loopback: false}", []string{"line 5: codex.network is a list: needs the network that sandbox.loopback gives; remove one of the two keys"}},
		{"hooks: {network: [go]}\nsandbox: {loopback: false}", []string{"line 5: hooks.network is a list: needs the network that sandbox.loopback gives; remove one of the two keys"}},
	} {
		got := problems(t, "tracker: {kind: file}\nrepository: {url: /srv/a.git}\ndelivery: {kind: none}\n"+test.front, with(nil))
		if diff := cmp.Diff(test.problems, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.front, diff)
		}
	}
}

// TestHooksOutsideTheSandboxHaveTheNetworkOfTheMachine has a list for hooks that need none.
func TestHooksOutsideTheSandboxHaveTheNetworkOfTheMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	wf := parse(t, "tracker: {kind: file}\nhooks: {network: [go]}", with(nil))
	want := "hooks.network has no effect: hooks run outside the sandbox, with the network of this machine; remove the key"
	if len(wf.Settings.HookNetwork.Hosts) > 0 || !slices.Contains(wf.Warnings, want) {
		t.Errorf("%+v, %q", wf.Settings.HookNetwork, wf.Warnings)
	}
}
