package attempt

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/setup"
)

func TestOnlyAScriptThatFailedHasAFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code int
		err  error
		want string
	}{
		"success":                  {0, nil, ""},
		"an exit status":           {3, nil, "exit status 3"},
		"too long":                 {0, codex.ErrExecTimeout, "too long"},
		"too much":                 {0, fmt.Errorf("run: %w", codex.ErrExecOutput), "too much"},
		"a signal":                 {0, codex.ErrExecKilled, "it was killed"},
		"an error of the session":  {1, codex.ErrPortExit, ""},
		"a sandbox that is broken": {0, codex.ErrNoSandbox, ""},
	} {
		how, err := failureOf(test.code, test.err, "too long", "too much")
		if how != test.want || (err != nil) != (how == "" && test.err != nil) || !errors.Is(test.err, err) && err != nil {
			t.Errorf("%s: %q, %v", name, how, err)
		}
	}
}

func TestProgramsOfTheHostHaveTheirNetworksOnlyInTheSandbox(t *testing.T) {
	t.Parallel()
	hooks, registry := codex.Network{Hosts: []string{"hooks.example"}}, codex.Network{Hosts: []string{"registry.example"}}
	prepared := func(online bool) *Setup {
		return &Setup{Config: setup.Config{Run: "npm ci", Online: online}, Network: registry}
	}
	for name, test := range map[string]struct {
		repository *Repository
		preparing  bool
		want       map[string]codex.Network
	}{
		"no repository":                  {nil, false, map[string]codex.Network{}},
		"hooks in the sandbox":           {&Repository{}, false, map[string]codex.Network{hooksNetwork: hooks}},
		"trusted hooks":                  {&Repository{TrustedHooks: true}, false, map[string]codex.Network{}},
		"setup on the work of the agent": {&Repository{TrustedHooks: true, Setup: prepared(false)}, false, map[string]codex.Network{}},
		"setup that stays online":        {&Repository{TrustedHooks: true, Setup: prepared(true)}, false, map[string]codex.Network{setupNetwork: registry}},
		"setup on the base":              {&Repository{TrustedHooks: true, Setup: prepared(false)}, true, map[string]codex.Network{setupNetwork: registry}},
	} {
		if diff := cmp.Diff(test.want, networks(test.repository, hooks, test.preparing)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
