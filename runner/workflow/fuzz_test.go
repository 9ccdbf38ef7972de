package workflow_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/workspace/git"
)

// check parses content twice and checks the invariants of every result.
func check(t rapid.TB, content []byte) {
	t.Helper()
	env := with(map[string]string{"A": "a", "B": "/b", "LINEAR_API_KEY": "k", "GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "o/r"})
	wf, err := workflow.Parse(path, content, env)
	again, errAgain := workflow.Parse(path, content, env)
	if diff := cmp.Diff(wf, again, compareBranches); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
		t.Errorf("not deterministic: %v, %v\n%s", err, errAgain, diff)
	}
	if err != nil {
		if !cmp.Equal(workflow.Settings{}, wf.Settings, compareBranches) {
			t.Errorf("settings in spite of %v", err)
		}
		var ps workflow.Problems
		if !errors.As(err, &ps) && !errors.Is(err, workflow.ErrParse) && !errors.Is(err, workflow.ErrNotAMap) {
			t.Errorf("neither a category nor problems: %v", err)
		}
		return
	}
	s := wf.Settings
	if root := s.Workspace.Root; len(s.Worker.Hosts) > 0 {
		if root != "" || len(s.Worker.Hosts) > 200 {
			t.Errorf("root %q with %d hosts", root, len(s.Worker.Hosts))
		}
	} else if !filepath.IsAbs(root) || filepath.Clean(root) != root || s.Worker.Root != "" {
		t.Errorf("root %q, of hosts %q", root, s.Worker.Root)
	}
	if min(s.Poll, s.Workspace.Hooks.Timeout, s.Policy.MaxBackoff, s.Codex.TurnTimeout, s.Codex.ReadTimeout) <= 0 || s.Codex.StallTimeout != s.Policy.Stall {
		t.Errorf("times %+v", s)
	}
	if min(s.MaxTurns, s.Policy.MaxConcurrent, s.Policy.PerTick()) <= 0 {
		t.Errorf("counts %+v", s)
	}
	if b := s.Policy.Budget; min(b.Attempts, b.IdleSessions) < 0 || min(b.TokensPerIssue, b.TokensPerTick, b.TokensPerDay) < 0 {
		t.Errorf("budget %+v", b)
	}
	if strings.TrimSpace(s.Codex.Command) == "" || len(s.Policy.ActiveStates) == 0 {
		t.Errorf("command %q, states %q", s.Codex.Command, s.Policy.ActiveStates)
	}
	if s.Port != nil && (*s.Port < 0 || *s.Port > math.MaxUint16) {
		t.Errorf("port %d", *s.Port)
	}
	for _, state := range s.Policy.ActiveStates {
		if strings.TrimSpace(state) != state || state == "" || slices.Contains(s.Policy.TerminalStates, state) {
			t.Errorf("state %q", state)
		}
	}
	for state, n := range s.Policy.MaxPerState {
		if tracker.NormalState(state) != state || n < 1 {
			t.Errorf("limit %q %d", state, n)
		}
	}
	for label, runner := range s.RunsOn {
		if tracker.NormalLabel(label) != label || label == "" || len(runner) < 1 || len(runner) > 10 || slices.Contains(runner, "") {
			t.Errorf("runner %q %q", label, runner)
		}
	}
	checkDelivery(t, s)
	if cfg, ok := s.Tracker.Config.(*file.Config); ok != (s.Tracker.Kind == "file") || ok && !filepath.IsAbs(cfg.Path) {
		t.Errorf("tracker %+v", s.Tracker)
	}
}

// checkDelivery checks the invariants of the settings of repository and delivery.
func checkDelivery(t rapid.TB, s workflow.Settings) {
	t.Helper()
	r, d := s.Repository, s.Delivery
	if r == nil {
		if s.SandboxHooks || !cmp.Equal(workflow.Delivery{}, d) {
			t.Errorf("no repository, and %v %+v", s.SandboxHooks, d)
		}
		return
	}
	isPath := filepath.IsAbs(r.Remote)
	if !isPath && !strings.HasPrefix(r.Remote, "http") || isPath && (r.Token != "" || d.Kind == workflow.KindPullRequest) {
		t.Errorf("%+v, kind %q", r, d.Kind)
	}
	if _, err := git.BranchFor(r.BranchPrefix, "A-1"); err != nil || r.BranchPrefix == "" {
		t.Errorf("prefix %q: %v", r.BranchPrefix, err)
	}
	if !slices.Contains([]workflow.DeliveryKind{"pull_request", "branch", "patch", "none"}, d.Kind) || d.Kind == "patch" && d.Folder == "" || d.Folder != "" && (!filepath.IsAbs(d.Folder) || d.Kind != "patch" && d.Kind != "branch") {
		t.Errorf("kind %q, folder %q", d.Kind, d.Folder)
	}
	if p := d.Policy; min(p.MaxFiles, p.MaxCommits) < 1 || p.MaxBytes < 1 || p.MaxBinary < 0 || p.MaxLFS < 1 || p.MaxLFS > 1<<30 || p.LFS != r.LFS || p.Tokens.Validate() != nil {
		t.Errorf("policy %+v", p)
	}
	for _, rule := range d.Policy.Protected {
		if delivery.ValidatePattern(rule.Pattern) != nil || rule.Protection.Validate() != nil {
			t.Errorf("rule %+v", rule)
		}
	}
	if d.VerifyRounds < 0 || d.VerifyTimeout <= 0 || d.HandOver.State != "" && d.HandOver.RemoveLabel != "" {
		t.Errorf("delivery %+v", d)
	}
	if (!s.SandboxHooks || s.Workspace.Hooks.BeforeRemove != "") && !s.TrustHooks {
		t.Errorf("hooks outside the sandbox without trust")
	}
}

func FuzzParse(f *testing.F) {
	every, err := os.ReadFile("testdata/every-key.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(every), "", "---\n---\n", good, broken, garbled,
		"---\ntracker: {kind: github, provider: {project: {owner: $A}}}\n---\n",
		"---\ntracker: &t {kind: file}\nworkspace: {root: ~/$A/${B}}\nagent: {max_concurrent_agents_by_state: {1: 2, 0x1: 3}, runs_on: &r {gpu: [a, b], arm64: c, <<: *r, [x]: y, *t : z}}\ncodex: *t\n---\n",
		"---\ntracker: {kind: file}\nrepository:\n  url: ../shop\ndelivery: {protected: &p {a: allow, *x : draft}, kind: patch}\n---\n",
		"---\ntracker: {kind: github}\nrepository: {url: https://github.com/o/r}\ndelivery: {hand_over: {remove_label: a}, protected: {<<: {a: b}}}\n---\n",
		"\uFEFF---\r\nhooks: {timeout_ms: -1}\r\nx: {<<: [{a: 1}]}\r\n---\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) { check(t, content) })
}

// The fuzzer seldom produces valid YAML; this property produces nothing else.
func TestAnyValueOfAnyKeyIsAProblemOrHoldsTheInvariants(t *testing.T) {
	t.Parallel()
	names := []string{"unknown", "unknown.key", "tracker.provider", "tracker.kind.more"}
	for _, key := range workflow.Keys(trackers()) {
		names = append(names, key.Name)
	}
	values := rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "null", "true", "1.5", ".inf", "0", "-1", "7", `" 7 "`, "9223372036854775808", "'' ", "text", "$A", "$B/x", "$NONE", "~/x", "2020-01-01",
			"[]", "[a, A, b]", "[a, 1]", "[null]", "{}", "{a: 1, A: 2}", "{1: 2}", "{path: x}", "{api_key: $A}", "{a: {b: [c]}}", "file", "github", "linear",
			".", "https://github.com/o/r", "pull_request", "branch", "patch", "none", "false", "{state: Review}", "{state: Todo}", "{'*.go': draft}", "{a: b}", "refuse", "keep",
		}),
		rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprint(n) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.MapOf(rapid.SampledFrom(names), values).Draw(t, "keys")
		if rapid.Bool().Draw(t, "a good kind") {
			keys["tracker.kind"] = rapid.SampledFrom([]string{"file", "github", "linear"}).Draw(t, "kind")
		}
		if rapid.Bool().Draw(t, "a good repository") {
			keys["repository.url"] = rapid.SampledFrom([]string{".", "https://github.com/o/r", "http://localhost/r"}).Draw(t, "url")
		}
		sections := map[string]string{}
		for name, text := range keys {
			section, key, dotted := strings.Cut(name, ".")
			if dotted {
				text = "\n  " + key + ": " + text
			}
			sections[section] += text
		}
		front := ""
		for section, text := range sections {
			front += section + ":" + text + "\n"
		}
		check(t, []byte("---\n"+front+"---\n"))
	})
}
