package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestATickWithoutASandboxBurnsNoTurn gives the real Codex a machine on which it
// can make no user namespace, as many are.
func TestATickWithoutASandboxBurnsNoTurn(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, "", map[string]string{"A-1": todo("Work"), "A-2": todo("Work"), "A-3": todo("Work")})
	const forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
	if exec.Command("unshare", "--user", "--map-root-user", "sh", "-c", forbid).Run() != nil {
		t.Skip("no user namespaces here to forbid others in")
	}
	p.replace(`command: "`, `command: "exec unshare --user --map-root-user sh -c '`+forbid+` && exec \"$@\"' - `)
	r := p.ok("--once")
	if n := len(m.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if !strings.Contains(r.stdout, "sandbox_unavailable") || !strings.Contains(r.stdout, "kernel.apparmor_restrict_unprivileged_userns=0") {
		t.Errorf("the report does not say what is wrong and what to do:\n%s", r.stdout)
	}
	for id, claim := range p.claims() {
		if claim.Failures != 0 || claim.Thread != "" {
			t.Errorf("%s is charged: %+v", id, claim)
		}
	}
	if v := p.run("validate"); v.code != exitUsage || !strings.Contains(v.stdout, "sandbox_unavailable") {
		t.Errorf("validate: exit status %d\n%s", v.code, v.stdout)
	}
	p.noProcessLeft()
}
