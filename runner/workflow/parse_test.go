package workflow_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/notify"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/linear"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

const path = "/repo/WORKFLOW.md"

// with returns an environment that has these variables and no others.
func with(variables map[string]string) workflow.Env {
	return workflow.Env{
		Lookup:   func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
		Home:     "/home/ada",
		TempDir:  "/var/tmp",
		Trackers: trackers(),
	}
}

// compareBranches lets cmp compare settings.
var compareBranches = cmp.Comparer(func(a, b git.Branch) bool { return a == b })

func branch(t *testing.T, name string) git.Branch {
	t.Helper()
	b, err := git.ParseBranch(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// trackers returns the kinds of tracker that the program has.
func trackers() []tracker.Kind { return []tracker.Kind{file.Kind(), github.Kind(), linear.Kind()} }

// parse returns the workflow of a front matter that must be good.
func parse(t *testing.T, front string, env workflow.Env) workflow.Workflow {
	t.Helper()
	wf, err := workflow.Parse(path, []byte("---\n"+front+"\n---\nDo it.\n"), env)
	if err != nil {
		t.Fatalf("%s\n%v", front, err)
	}
	return wf
}

// problems returns the problems of a front matter that must have some.
func problems(t *testing.T, front string, env workflow.Env) []string {
	t.Helper()
	_, err := workflow.Parse(path, []byte("---\n"+front+"\n---\n"), env)
	var ps workflow.Problems
	if !errors.As(err, &ps) || !errors.Is(err, workflow.ErrInvalid) {
		t.Fatalf("%s\ngot %v, want problems", front, err)
	}
	var texts []string
	for _, p := range ps {
		texts = append(texts, p.String())
	}
	return texts
}

// wantProblem checks that a file tracker with this front matter has exactly one
// problem.
func wantProblem(t *testing.T, front, want string) {
	t.Helper()
	if diff := cmp.Diff([]string{want}, problems(t, "tracker: {kind: file}\n"+front, with(nil))); diff != "" {
		t.Errorf("%s\n%s", front, diff)
	}
}

func TestAMinimalWorkflowHasTheDefaults(t *testing.T) {
	t.Parallel()
	want := workflow.Workflow{
		Path: path,
		Settings: workflow.Settings{
			Tracker: workflow.Tracker{Kind: "file", Config: &file.Config{Path: "/repo/issues"}},
			Poll:    30 * time.Second,
			Workspace: workspace.Config{
				Root:   "/var/tmp/symphony_workspaces",
				Hooks:  workspace.Hooks{Timeout: time.Minute},
				Limits: workspace.Limits{Processes: 16384, OpenFiles: 65536, Memory: workspace.DefaultMemory},
			},
			Policy: schedule.Policy{
				ActiveStates:   []string{"Todo", "In Progress"},
				TerminalStates: []string{"Closed", "Cancelled", "Canceled", "Duplicate", "Done"},
				MaxConcurrent:  10,
				MaxBackoff:     5 * time.Minute,
				Stall:          5 * time.Minute,
				MaxRounds:      5, MaxCheckRounds: 3,
				Budget: schedule.Budget{Attempts: 10, IdleSessions: 3},
			},
			Feedback: workflow.Feedback{Label: "needs-human"},
			Notify:   workflow.Notify{QuietDays: 7},
			MaxTurns: 20,
			Codex: codex.Config{
				Command:      "codex app-server",
				TurnTimeout:  time.Hour,
				ReadTimeout:  5 * time.Second,
				StallTimeout: 5 * time.Minute,
				MaxToolCalls: 200,
			},
			Loopback: runtime.GOOS == "linux",
			Images:   true,
			Setup:    setup.Config{Timeout: 20 * time.Minute},
		},
		Prompt: "Do it.", PromptLine: 4,
	}
	if diff := cmp.Diff(want, parse(t, "tracker: {kind: file}", with(nil))); diff != "" {
		t.Error(diff)
	}
}

func TestEveryKeyReachesItsSetting(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/every-key.md")
	if err != nil {
		t.Fatal(err)
	}
	wf, err := workflow.Parse(path, content, with(map[string]string{"KEY": "lin_1", "SHOP_TOKEN": "shop_1", "OPS_URL": "https://ops.test/hook", "OPS_KEY": "ops_1"}))
	if err != nil {
		t.Fatal(err)
	}
	front, _, _ := strings.Cut(string(content), "\n---\n")
	port := 8080
	want := workflow.Workflow{
		Path: path,
		Settings: workflow.Settings{
			Tracker: workflow.Tracker{
				Kind: "linear",
				Config: &linear.Config{
					Endpoint: "https://linear.test/graphql", APIKey: "lin_1", ProjectSlug: "slug", Assignee: "me",
				},
				Credentials: []string{"lin_1"},
				SecretEnv:   []string{"LINEAR_API_KEY", "KEY"},
			},
			Poll: time.Second,
			Workspace: workspace.Config{
				Root: "/srv/ws",
				Hooks: workspace.Hooks{
					AfterCreate: "git clone .\ngit status\n", BeforeRun: "b $HOME", AfterRun: "c", BeforeRemove: "d",
					Timeout: 2 * time.Second, Env: []string{"GH_HOST"},
				},
				Limits: workspace.Limits{Processes: 100, OpenFiles: 200, Memory: 300},
			},
			Worker: workflow.Worker{PerHost: 2},
			Policy: schedule.Policy{
				PerHost:        2,
				ActiveStates:   []string{"Ready"},
				TerminalStates: []string{"Shipped"},
				RequiredLabels: []string{"agent"},
				MaxConcurrent:  3,
				MaxPerState:    map[string]int{"ready": 2},
				MaxPerTick:     4,
				MaxBackoff:     6 * time.Second,
				Stall:          9 * time.Second,
				MaxOpen:        20, MaxOpenByLabel: map[string]int{"risky": 2, "docs": 3},
				MaxRounds: 6, MaxCheckRounds: 7, HandsOver: true, HandedOver: "In Review",
				Budget: schedule.Budget{Attempts: 11, IdleSessions: 12, TokensPerIssue: 13, TokensPerTick: 14, TokensPerDay: 15,
					USDPerIssue: 16_000_000, USDPerTick: 17_500_000, USDPerDay: 18_000_000, Prices: schedule.Prices{"m": {
						Rates: schedule.Rates{Input: 1.25, Cached: 0.125, CacheWrite: 1.25, Output: 10},
						Long:  &schedule.LongPrice{Above: 272_000, Rates: schedule.Rates{Input: 2.5, Cached: 2.5, CacheWrite: 2.5, Output: 15}},
						Tiers: map[string]float64{"flex": 0.5},
					}}},
			},
			MaxTurns: 5,
			RunsOn:   map[string][]string{"gpu": {"self-hosted", "a100"}, "arm64": {"ubuntu-24.04-arm"}},
			Codex: codex.Config{
				Command:           "my-codex app-server",
				ApprovalPolicy:    json.RawMessage(`"never"`),
				ThreadSandbox:     json.RawMessage(`"workspace-write"`),
				TurnSandboxPolicy: json.RawMessage(`{"networkAccess":true,"type":"workspaceWrite","writableRoots":["/x"]}`),
				Choice:            codex.Choice{Model: "m", Effort: "high", ServiceTier: "flex"},
				Review:            codex.Choice{Model: "m", Effort: "medium"},
				ByLabel: []codex.Choice{
					{Label: "hard", Model: "m", Effort: "max", ServiceTier: "flex"}, {Label: "docs", Model: "m", Effort: "high", ServiceTier: "default"},
					{Model: "m", Effort: "high", ServiceTier: "flex"},
				},
				TurnTimeout: 7 * time.Second, ReadTimeout: 8 * time.Second, StallTimeout: 9 * time.Second,
				MaxToolCalls: 40,
				Env:          []string{"NPM_TOKEN"}, Deny: []string{"/vault"},
			},
			Identity: identity.Config{
				Audience: "https://gateway.example", TokenURL: "https://gateway.example/oauth/token", Grant: identity.JWTBearer, Body: identity.JSONBody,
				Fields: map[string]string{"client_id": "abc", "scope": "models"}, Command: "vault read -field=token models",
			},
			Port: &port,
			Repository: &workflow.Repository{
				Remote: "https://github.test/acme/shop", Base: branch(t, "develop"), BranchPrefix: "agent/",
				Token: "shop_1", SecretEnv: []string{"GITHUB_TOKEN", "SHOP_TOKEN"}, LFS: true, Paths: []string{"services/api", "docs"},
			},
			Delivery: workflow.Delivery{
				Kind: workflow.KindPullRequest,
				Policy: delivery.Settings{
					MaxFiles: 1, MaxBytes: 2, MaxCommits: 3, MaxBinary: 4, MaxLFS: 5, LFS: true,
					Allowed: []string{"src/**", "*.md"},
					Protected: []delivery.Rule{
						{Pattern: "src/z.go", Protection: delivery.Draft}, {Pattern: "*.lock", Protection: delivery.Allow},
						{Pattern: "AGENTS.md", Protection: delivery.Review}, {Pattern: "a", Protection: delivery.Refuse},
					},
					Tokens: delivery.Draft,
				},
				Verified: true,
				Verify:   []string{"make test"}, VerifyRounds: 5, VerifyTimeout: 6 * time.Second,
				Review: workflow.ReviewFork, ReviewRounds: 4, ReviewTimeout: 8 * time.Second, ReviewPrompt: "/repo/every-key.md",
				Draft: true, Labels: []string{"agent", "by agent"}, Reviewers: []string{"ada", "acme/core"}, Assignees: []string{"grace"},
				HandOver: workflow.HandOver{State: "In Review"}, MergedState: "shipped",
			},
			Feedback:     workflow.Feedback{Bots: []string{"linter[bot]", "renovate"}, Label: "waits"},
			TrustHooks:   true,
			SetupNetwork: codex.Network{Private: true, Full: true},
			Setup: setup.Config{
				Run: "make deps", Update: "make lock", Env: []string{"REGISTRY_TOKEN"},
				Inputs: []string{"package-lock.json"}, Keep: []string{"node_modules", "web/node_modules"}, Timeout: 7 * time.Second, Online: true,
			},
			Telemetry: true,
			Notify: workflow.Notify{
				Destinations: []notify.Destination{{
					Name: "ops", Kind: notify.Webhook, URL: "https://ops.test/hook", Secret: "ops_1", Events: []notify.Event{notify.Parked, notify.Merged},
				}},
				QuietDays: 16, SecretEnv: []string{"OPS_URL", "OPS_KEY"},
			},
		},
		Prompt: "Work on {{ issue.identifier }}.\n\n---\n\nBe brief.", PromptLine: strings.Count(front, "\n") + 4,
		Warnings: []string{
			"open /repo/every-key.md: no such file or directory: name a text file with the rules of the review",
			"sandbox.loopback is false, so no command of the agent, of a hook in the sandbox or of delivery.verify can open a socket: tests that start a server, a database or a browser fail; remove the key",
			"delivery.kind is pull_request, which does not use delivery.folder; remove what is not used, or write another kind",
			"worker.max_concurrent_agents_per_host has no effect without worker.ssh_hosts; remove it",
		},
	}
	if diff := cmp.Diff(want, wf, compareBranches); diff != "" {
		t.Error(diff)
	}
	var written map[string]any
	if err := yaml.Unmarshal([]byte(front), &written); err != nil {
		t.Fatal(err)
	}
	for _, key := range workflow.Keys(trackers()) {
		section, name, inside := strings.Cut(key.Name, ".")
		_, isWritten := written[section]
		if inside {
			_, isWritten = written[section].(map[string]any)[name]
		}
		// See TestAnEndpointTakesThePlaceOfTheCommand and TestWorkerHostsTakeThePlaceOfThisMachine.
		excludes := strings.HasPrefix(key.Name, "codex.endpoint") || key.Name == "worker.ssh_hosts"
		if !isWritten && !excludes {
			t.Errorf("testdata/every-key.md has no %s: write it with a value that is not its default, and that value into this test", key.Name)
		}
	}
}

func TestWritingADefaultChangesNothing(t *testing.T) {
	t.Parallel()
	want := parse(t, "tracker: {kind: file}\nrepository: {url: .}", with(nil)).Settings
	want.Policy.MaxOpenByLabel = nil // kind branch does not use it
	want.Policy.MaxPerState, want.RunsOn = map[string]int{}, map[string][]string{}
	sections, front := map[string][]string{}, ""
	for _, key := range workflow.Keys(trackers()) {
		section, name, inside := strings.Cut(key.Name, ".")
		isWord := slices.Contains([]string{"[]", "{}", "codex app-server", "symphony/", "refuse", "squash", "git", "false"}, key.Default)
		if _, err := strconv.Atoi(key.Default); !inside {
			front += key.Name + ": " + key.Default + "\n"
		} else if err == nil || isWord {
			sections[section] = append(sections[section], "  "+name+": "+key.Default+"\n")
		}
	}
	sections["tracker"] = append(sections["tracker"], "  kind: file\n")
	sections["repository"] = append(sections["repository"], "  url: .\n")
	for section, keys := range sections {
		front += section + ":\n" + strings.Join(keys, "")
	}
	if diff := cmp.Diff(want, parse(t, front, with(nil)).Settings, compareBranches); diff != "" {
		t.Errorf("%s\n%s", front, diff)
	}
}

func TestKeysAreUniqueAndExplained(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range workflow.Keys(trackers()) {
		if seen[key.Name] || key.Meaning == "" || strings.Count(key.Name, ".") != 1 && key.Name != "services" {
			t.Errorf("%+v", key)
		}
		seen[key.Name] = true
	}
}

func TestNullIsTheSameAsAbsent(t *testing.T) {
	t.Parallel()
	want := parse(t, "tracker: {kind: file}", with(nil)).Settings
	front := "tracker:\n  kind: file\n  endpoint: null\n  active_states:\n  provider: {path: }\nhooks:\ncodex:\n  command:\n" +
		"  approval_policy: null\n  turn_sandbox_policy: ~\nagent: {max_turns: null}\nserver: {port: null}\nworkspace: {root: }"
	if diff := cmp.Diff(want, parse(t, front, with(nil)).Settings); diff != "" {
		t.Error(diff)
	}
}

func TestAllProblemsAreReportedAtOnceInTheOrderOfLines(t *testing.T) {
	t.Parallel()
	want := []string{
		`line 2: tracker.api_key: missing_tracker_api_key: is missing; set the environment variable LINEAR_API_KEY: export LINEAR_API_KEY=lin_api_…`,
		`line 2: tracker.project_slug: missing_tracker_project_slug: is missing; write the project's slugId, in quotes when it looks like a number`,
		`line 3: polling.interval_ms is "soon": must be an integer from 1 to ` + maxMillis,
		`line 5: agent.max_turns is 0: must be an integer from 1 to 2147483647`,
		`line 6: codex.command is " ": must not be empty; remove the key for the default`,
		`line 7: hooks: must be a map of settings`,
	}
	got := problems(t, "tracker: {kind: linear}\npolling: {interval_ms: soon}\nagent:\n  max_turns: 0\ncodex: {command: ' '}\nhooks: echo", with(nil))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

var maxMillis = strconv.FormatInt(math.MaxInt64/int64(time.Millisecond), 10)

func TestAnErrorNamesTheFileTheCategoryAndOneProblemALine(t *testing.T) {
	t.Parallel()
	_, err := workflow.Parse(path, []byte("---\ntracker: {kind: file}\nagent: {max_turns: x}\nserver: {port: 65536}\n---\n"), with(nil))
	want := "workflow /repo/WORKFLOW.md: invalid_workflow_config:\n" +
		"  line 3: agent.max_turns is \"x\": must be an integer from 1 to 2147483647\n" +
		"  line 4: server.port is 65536: must be an integer from 0 to 65535"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsComeWithProblems(t *testing.T) {
	t.Parallel()
	wf, err := workflow.Parse(path, []byte("---\ntrackers: {kind: file}\n---\n"), with(nil))
	want := "workflow /repo/WORKFLOW.md: invalid_workflow_config:\n" +
		"  tracker.kind: unsupported_tracker_kind: is missing; write one of file, github, linear\n" +
		"  warning: unknown keys are ignored: trackers (did you mean tracker?)"
	if diff := cmp.Diff(want, err.Error()); diff != "" || !errors.Is(err, workflow.ErrInvalid) || !errors.Is(err, tracker.ErrUnsupportedKind) {
		t.Error(err, diff)
	}
	if diff := cmp.Diff(workflow.Workflow{}, wf); diff != "" {
		t.Error(diff)
	}
}

func TestARelativeWorkflowPathIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := workflow.Parse("WORKFLOW.md", []byte("---\ntracker: {kind: file}\n---\n"), with(nil)); !errors.Is(err, workflow.ErrInvalid) {
		t.Error(err)
	}
}

func TestWithoutALookupNoVariableIsSet(t *testing.T) {
	t.Parallel()
	_, err := workflow.Parse(path, []byte("---\ntracker: {kind: linear, project_slug: $X}\n---\n"), workflow.Env{TempDir: "/tmp", Trackers: trackers()})
	var ps workflow.Problems
	if !errors.As(err, &ps) || len(ps) != 2 {
		t.Error(err)
	}
}
