package codex

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The guarded posture: what the agent may do when the workflow says nothing.
// The table "What the agent can and cannot do" in .github/SECURITY.md has a row for
// each line of it.

// guardedApproval lets Codex refuse by itself whatever would leave the sandbox.
// What it still asks for runs inside, so the answer is always yes (SPEC §10.5).
const guardedApproval = `{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}`

// olderApproval is for servers that know nothing granular: they ask for nothing then.
const olderApproval = `"never"`

// profile is the name of the permission profile of each turn.
const profile = "symphony"

// permissions are the profile: it reads the disk, but for what is denied, and
// writes the workspace and a temporary folder of its own. There is no network.
func permissions(o Options, home string) map[string]any {
	workspace := map[string]string{}
	if o.Repository {
		workspace[".git"] = "write"       // commits
		workspace[".git/hooks"] = "read"  // what the host's git would run
		workspace[".git/config"] = "read" // likewise, by its settings
		workspace[".git/config.worktree"] = "read"
		workspace[".git/commondir"] = "read" // where git looks for both
	}
	files := map[string]any{
		":workspace_roots": workspace,
		":slash_tmp":       "read", // it belongs to everybody, other workspaces' builds too
		":tmpdir":          "read",
	}
	if o.Temp != "" {
		files[o.Temp] = "write"
	}
	for _, path := range denied(o, home) {
		files[path] = "deny"
	}
	return map[string]any{
		"permissions." + profile + ".extends":         ":workspace",
		"permissions." + profile + ".filesystem":      files,
		"permissions." + profile + ".network.enabled": false,

		// Since paths are denied, each look of Codex's own at a file takes two
		// sandboxes and three processes: 45 ms of a processor. It need not look for a
		// .git in every folder up to the root: the first, in the workspace, is always
		// there, if need be as a placeholder that the sandbox mounts. Left are three
		// looks in a session (AGENTS.override.md, AGENTS.md, .agents/skills), one in
		// each further turn, and some nine for each skill of the repository. That is
		// what the denied paths cost, and Codex has no setting for it.
		"project_root_markers": []string{},
	}
}

// denied returns the paths that the agent may not read.
func denied(o Options, home string) []string {
	paths := []string{home}
	if o.Deny != nil {
		paths = o.Deny(home)
	}
	slices.Sort(paths) // a folder comes before what is in it
	var outer []string
	for _, path := range paths {
		// The sandbox cannot mount one denied folder inside another, unless it mounts
		// what stays open in between.
		covered := func(folder string) bool {
			open := func(own string) bool { return own != "" && inside(own, folder) && inside(path, own) }
			return inside(path, folder) && !open(o.Cwd) && !open(o.Temp)
		}
		if path != "" && !slices.ContainsFunc(outer, covered) {
			outer = append(outer, path)
		}
	}
	return outer
}

// inside reports whether a path is a folder or below it.
func inside(path, folder string) bool {
	if path == folder || folder == "" {
		return path == folder
	}
	folder = strings.TrimSuffix(folder, "/")
	return len(path) > len(folder) && path[len(folder)] == '/' && strings.HasPrefix(path, folder)
}

// hardenedSettings are the settings of a thread that keep Codex from working by itself and
// from calling out. What codex.command sets with -c stays as it is.
func hardenedSettings() map[string]any {
	return map[string]any{
		// A thread that starts in a writable sandbox makes Codex trust the
		// repository: it would load its .codex folder, and run the servers
		// named there with no sandbox at all. So the sandbox goes with each turn.
		"default_permissions": ":read-only",

		"allow_login_shell":                     false, // a login profile may bring secrets back
		"features.shell_snapshot":               false, // writes the whole environment to a file
		"features.goals":                        false, // starts turns by itself
		"features.sleep_tool":                   false, // a session that sleeps holds a slot
		"features.plugins":                      false, // fetched from the network at every start
		"features.unbounded_connection_retries": false, // waits for a network for ever
		"agents.enabled":                        false, // more agents than the workflow counts
		"web_search":                            "disabled",
	}
}

// maxIdleTimeout is how long the model may say nothing. It is well below the time after
// which the whole session counts as stalled, so that Codex can ask again.
const maxIdleTimeout = 90 * time.Second

func idleTimeout(stall time.Duration) time.Duration {
	if stall <= 0 {
		return maxIdleTimeout
	}
	return min(maxIdleTimeout, stall/3)
}

// guardedSandbox is as much of the profile as servers that know no profiles can do.
func guardedSandbox(o Options) json.RawMessage {
	roots := []string{}
	if o.Temp != "" {
		roots = append(roots, o.Temp)
	}
	policy, _ := json.Marshal(map[string]any{ // texts and truths: it cannot fail
		"type": "workspaceWrite", "writableRoots": roots, "networkAccess": false,
		"excludeTmpdirEnvVar": true, "excludeSlashTmp": true,
	})
	return policy
}

// posture is what a session was given of all this: everything about permissions
// that the thread and each turn are told.
type posture struct {
	approval json.RawMessage // approvalPolicy
	sandbox  json.RawMessage // sandboxPolicy of each turn; nil: the profile instead
	settings map[string]any  // of the thread
	tools    []toolSpec
	guarded  bool // approval is ours, the workflow says nothing
}

// newPosture is the workflow's posture. thread_sandbox is applied per turn, for
// the reason that quiet gives.
func newPosture(o Options) (posture, error) {
	p := posture{approval: o.Config.ApprovalPolicy, sandbox: o.Config.TurnSandboxPolicy}
	if !present(p.approval) {
		p.approval, p.guarded = json.RawMessage(guardedApproval), true
	}
	if !present(p.sandbox) {
		var err error
		if p.sandbox, err = turnSandbox(o.Config.ThreadSandbox); err != nil {
			return posture{}, err
		}
	}
	for _, t := range o.Tools {
		p.tools = append(p.tools, toolSpec{Type: "function", Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return p, nil
}

// complete completes the posture with what has to be known of the server. It
// returns the settings that codex.command gives itself: they stay as they are.
func (p *posture) complete(o Options, s serverInfo) (given []string) {
	p.settings = hardenedSettings()
	if limit := idleTimeout(o.Config.StallTimeout); s.custom && (s.idle <= 0 || s.idle > limit) {
		p.settings["model_providers."+s.provider+".stream_idle_timeout_ms"] = limit.Milliseconds()
	}
	if p.sandbox == nil {
		maps.Copy(p.settings, permissions(o, s.home))
		if o.Temp != "" {
			p.settings["shell_environment_policy.set.TMPDIR"] = o.Temp
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.settings)) {
		if s.overridden[key] {
			given = append(given, key)
			delete(p.settings, key)
		}
	}
	return given
}

// turnSandbox is a thread's sandbox in the words of a turn, where Codex takes
// an object and spells the names differently. It is nil when there is none.
func turnSandbox(thread json.RawMessage) (json.RawMessage, error) {
	if !present(thread) {
		return nil, nil
	}
	if thread[0] == '{' {
		return thread, nil
	}
	var mode string
	if err := json.Unmarshal(thread, &mode); err != nil {
		return nil, fmt.Errorf("codex.thread_sandbox: %w: use read-only, workspace-write or danger-full-access", err)
	}
	switch strings.ToLower(strings.ReplaceAll(mode, "-", "")) {
	case "readonly":
		return json.RawMessage(`{"type":"readOnly"}`), nil
	case "workspacewrite":
		return json.RawMessage(`{"type":"workspaceWrite"}`), nil
	case "dangerfullaccess":
		return json.RawMessage(`{"type":"dangerFullAccess"}`), nil
	}
	return nil, fmt.Errorf("codex.thread_sandbox: unknown value %q: use read-only, workspace-write or danger-full-access", mode)
}

// downgradeFor drops what an older server's refusal names, and returns what is lost
// with it; "" when there is nothing to drop. It goes by the names of the
// protocol in the message because the code is the same for everything. What the
// workflow asks for itself is never dropped.
func (p *posture) downgradeFor(o Options, refused *ResponseError) string {
	names := func(name string) bool { return strings.Contains(refused.Message, name) }
	var lost []string
	if len(p.tools) > 0 && (names("dynamicTools") || names("experimentalApi")) {
		p.tools = nil
		lost = append(lost, "the tools of the host (dynamicTools): the agent has to do without")
	}
	if p.guarded && (names("granular") || names("approvalPolicy") || names("experimentalApi")) {
		p.approval, p.guarded = json.RawMessage(olderApproval), false
		lost = append(lost, "the granular approval policy: `never` is used, which refuses some commands")
	}
	if p.sandbox == nil && names("permissions") {
		lost = append(lost, p.dropProfile(o))
	}
	for _, key := range slices.Sorted(maps.Keys(p.settings)) {
		if names(key) {
			delete(p.settings, key)
			lost = append(lost, "the setting "+key)
		}
	}
	return strings.Join(lost, "; ")
}

// dropProfile does without the profile.
func (p *posture) dropProfile(o Options) (lost string) {
	p.sandbox = guardedSandbox(o)
	maps.DeleteFunc(p.settings, func(key string, _ any) bool {
		return key == "default_permissions" || strings.HasPrefix(key, "permissions.")
	})
	return "the permission profile: logins, keys and other issues' workspaces can be read, and nothing committed"
}
