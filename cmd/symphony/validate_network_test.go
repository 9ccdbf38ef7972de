package main

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
)

// TestValidateNamesHostsThatTheSandboxRefuses looks hosts up that are this machine, of a
// private network, public and unknown.
func TestValidateNamesHostsThatTheSandboxRefuses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	for _, row := range []struct {
		keys string
		want []string
	}{
		{"codex: {network: [own.example, public.example, unknown.example]}\nhooks:\n  network: [mirror.example]", []string{
			"codex.network: own.example is 127.0.0.1, this machine or a service of its own",
			"hooks.network: mirror.example is 10.1.2.3, an address that is not public, which the sandbox refuses: remove it",
		}},
		{"setup: {run: make deps, network: [own.example, mirror.example]}", []string{
			"setup.network: own.example is 127.0.0.1", "which the sandbox refuses: write `setup.network_private: true` if it is a mirror of yours, or remove it",
		}},
	} {
		p := newProject(t, scripted(t, t.TempDir()), nil)
		p.replace("kind: file", "kind: file\nrepository: {url: "+p.dir+"}\ndelivery: {kind: none}\n"+row.keys)
		var out strings.Builder
		a := &app{
			Process: wiring.Process{Stdout: &out, Stderr: io.Discard, Environ: p.env, Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
				address, known := map[string]string{"own.example": "127.0.0.1", "public.example": "8.8.8.8", "mirror.example": "10.1.2.3"}[host]
				if !known {
					return nil, errors.New("no such host")
				}
				return []netip.Addr{netip.MustParseAddr(address)}, nil
			}},
			logFormat: "text",
		}
		a.DetectActions()
		a.redactor = a.EnvironmentSecrets()
		if err := (&validateCommand{app: a}).validate(t.Context(), filepath.Join(p.dir, "WORKFLOW.md"), wiring.CheckTimeout); err == nil || !strings.Contains(err.Error(), "network") {
			t.Errorf("%s: %v", row.keys, err)
		}
		for _, want := range row.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in:\n%s", row.keys, want, &out)
			}
		}
		if strings.Contains(out.String(), "public.example") || strings.Contains(out.String(), "unknown.example") {
			t.Errorf("%s: %s", row.keys, &out)
		}
	}
}
