package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/store"
)

// A patch is a delivery as a pull request is one: also for a later session that has
// nothing new.
func TestAPatchIsDeliveredAndKnownToLaterSessions(t *testing.T) {
	t.Parallel()
	p := newProject(t, agentCommand(t), nil)
	p.env = append(p.env, "OPENAI_API_KEY="+agentKey)
	p.replace("codex:", "repository: {url: ./shop}\ndelivery: {kind: patch, hand_over: {state: Review}}\nagent: {max_turns: 1}\ncodex:")
	p.makeRepository("shop")
	patch := filepath.Join(p.dir, ".symphony", "patches", "A-1.patch")
	for _, step := range []string{"Create `cart.go` containing `package shop`", "Create `cart.go` containing `package shop`", "Say `nothing is missing`"} {
		p.write("issues/A-1.md", task(step))
		out := p.ok("--once").stdout
		if !strings.Contains(out, "completed") || !strings.Contains(out, "patch") || !strings.Contains(p.read("issues/A-1.md"), "state: Review") {
			t.Errorf("%s: the run says\n%s", step, out)
		}
		state, err := store.ReadFile(t.Context(), filepath.Join(p.dir, ".symphony", "state.json"))
		if err != nil {
			t.Fatal(err)
		}
		if d := state.Deliveries["A-1"]; d.URL != patch || d.At.IsZero() || d.Identifier != "A-1" || len(state.Claims) > 0 {
			t.Errorf("%s: the delivery is %+v, the claims %v", step, d, state.Claims)
		}
	}
	if files, err := filepath.Glob(filepath.Join(p.dir, ".symphony", "patches", "*")); err != nil || len(files) != 1 || !strings.Contains(p.read(".symphony/patches/A-1.patch"), "+package shop") {
		t.Errorf("the patches are %q, %v", files, err)
	}
}

// An agent that commits again and again what is published cannot keep its issue alive.
func TestAnIssueOfWhichNothingNewIsPublishedIsParked(t *testing.T) {
	t.Parallel()
	const step = "Run `echo shop > cart.go; git add -A; git commit -q --allow-empty -m again`"
	p := newProject(t, agentCommand(t), map[string]string{"A-1": task(step) + strings.Repeat("\n## Next turn\n\n- [ ] "+step+"\n", 5)})
	p.env = append(p.env, "OPENAI_API_KEY="+agentKey)
	p.replace("codex:", "repository: {url: ./shop}\ndelivery: {kind: branch}\nagent: {max_turns: 1, max_issues_per_tick: 6}\nbudget: {max_idle_sessions: 2}\ncodex:")
	git := p.makeRepository("shop")
	p.ok("--once")
	if c := p.claims()["A-1"]; c.Sessions != 3 || !strings.Contains(c.Why, "2 sessions in a row delivered nothing new") {
		t.Errorf("the claim is %+v", c)
	}
	if got := git("rev-list", "--count", "main..symphony/A-1"); got != "1" {
		t.Errorf("the branch has %s commits", got)
	}
}

// olderAgent returns the command of an agent that runs no programs of the host in its
// sandbox, as a Codex without permission profiles.
func olderAgent(t *testing.T) string {
	return agentCommand(t) + " --unknown permissionProfile/list --unknown command/exec --unknown command/exec/terminate --unknown thread/backgroundTerminals/clean"
}

func TestAnOlderCodexIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"branch, hand_over: {state: Review}", "patch, hand_over: {state: Review}", "none"} {
		p := newProject(t, olderAgent(t), map[string]string{"A-1": task("Say `hello`"), "A-2": task("Say `hello`")})
		p.env = append(p.env, "OPENAI_API_KEY="+agentKey)
		p.replace("codex:", "repository: {url: ./shop}\ndelivery: {kind: "+kind+"}\ncodex:")
		p.makeRepository("shop")
		for _, args := range [][]string{{"validate"}, {"--once"}} {
			r, category := p.run(args...), ""
			if args[0] == "validate" {
				category = "exec_unavailable: " // a report has no categories, validate has
			}
			want := category + "this server cannot run programs of the host in its sandbox: install Codex 0.169 or later"
			if (r.code == 0) == (args[0] == "validate") || !strings.Contains(oneSpaced(r.stdout), want) {
				t.Errorf("%s: symphony %s: exit status %d\n%s\n%s", kind, args[0], r.code, r.stdout, r.stderr)
			}
		}
		for id, c := range p.claims() {
			if c.Failures > 0 {
				t.Errorf("%s: %s is charged: %+v", kind, id, c)
			}
		}
		if keys, _ := filepath.Glob(filepath.Join(p.dir, "workspaces", "A-*")); len(keys) > 0 {
			t.Errorf("%s: the workspaces are %q", kind, keys)
		}
	}
}
