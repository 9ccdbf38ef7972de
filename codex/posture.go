package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The guarded posture limits the agent when the workflow sets no policy. The table "What the
// agent can and cannot do" in .github/SECURITY.md has a row for each of its rules.

// guardedApproval makes Codex itself refuse everything that would leave the sandbox. Its
// remaining questions are about commands inside the sandbox, so the answer is always yes (SPEC
// §10.5).
const guardedApproval = `{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}}`

// profile is the name of the permission profile of each turn.
const profile = "symphony"

// denied returns the paths that the agent may not read. home is the Codex home of the server, and
// pid its process with Options.Shared.
func (o *Options) denied(home string, pid int) []string {
	if o.Deny == nil {
		return []string{home}
	}
	return o.Deny(home, pid)
}

// permissions returns the permission profiles: the agent may read the disk except the denied
// paths, write the workspace and a temporary folder of its own, and use no network but its own
// loopback and the hosts of Options.Network. A program of the host in a network of
// Options.Networks may do the same, with the hosts of that network.
func permissions(o Options, denied []string) map[string]any {
	workspace := map[string]any{}
	if o.Repository {
		workspace[".git"] = "write"       // commits
		workspace[".git/hooks"] = "read"  // programs that the host's git runs
		workspace[".git/config"] = "read" // its settings name programs that the host's git runs
		workspace[".git/config.worktree"] = "read"
		workspace[".git/commondir"] = "read" // folder in which git looks for both
	}
	files := map[string]any{}
	files[":workspace_roots"] = workspace
	files[":slash_tmp"] = "read" // shared with everybody, such as the builds of other workspaces
	files[":tmpdir"] = "read"
	if o.Temp != "" {
		files[o.Temp] = "write"
	}
	if o.ShellStart != "" {
		files[o.ShellStart] = "read"
	}
	if o.Certificates != "" {
		files[o.Certificates], files[trustStorePath(o.Certificates)] = "read", "read"
	}
	o.deny(files, outermost(denied, o.Cwd, o.Temp))
	rules := map[string]any{
		// Because paths are denied, each file that Codex itself looks at takes two sandboxes
		// and three processes: 45 ms of CPU time. This setting saves the search for a .git in
		// every folder up to the root; the one in the workspace always exists, if necessary as
		// a placeholder that the sandbox mounts. There remain three lookups in a session
		// (AGENTS.override.md, AGENTS.md, .agents/skills), one in each further turn, and about
		// nine for each skill of the repository. Codex has no setting that avoids them.
		"project_root_markers": []string{},
	}
	for _, name := range o.profiles() {
		key := profileKey(name)
		rules[key+"extends"], rules[key+"filesystem"] = ":workspace", files
		if name == o.profileOf(reviewName) {
			rules[key+"filesystem"] = reviewFiles(o, denied)
		}
		if o.Loopback {
			rules[key+"network"] = loopbackRules(o.UnixSockets)
		} else {
			rules[key+"network.enabled"] = false
		}
	}
	if o.Loopback {
		rules[networkFeature] = true
	}
	return rules
}

// reviewFiles returns the files of a review. Besides the paths that the turns are denied, it cannot
// read Options.Temp: the agent whose work is read writes there.
func reviewFiles(o Options, denied []string) map[string]any {
	files := map[string]any{":workspace_roots": map[string]any{o.ReviewWork: "read", ".git": "read"}, ":slash_tmp": "read", ":tmpdir": "read"}
	o.deny(files, outermost(append(denied, o.Temp)))
	return files
}

// deny adds the rules for denied paths. A path that Codex takes for a pattern is denied by a link,
// except where the agent could write the link.
func (o Options) deny(files map[string]any, paths []string) {
	for _, path := range paths {
		if o.Link != nil && strings.ContainsAny(path, patternCharacters) && !inside(path, o.Cwd) && !inside(path, o.Temp) {
			path = cmp.Or(o.Link(path), path)
		}
		files[path] = "deny"
	}
}

// checkPaths returns an error if Codex takes a path of the rules for a pattern, because it has no
// link. The rule would close other paths than this one, and for a folder none at all, and before
// each command Codex would search the folder around it, which fails when a file goes away meanwhile.
func (s *sandbox) checkPaths() error {
	for _, key := range slices.Sorted(maps.Keys(s.rules)) {
		files, _ := s.rules[key].(map[string]any)
		if !strings.HasSuffix(key, ".filesystem") {
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if strings.ContainsAny(path, patternCharacters) {
				return fmt.Errorf("%w: Codex takes the path %q for a pattern, and no rule for it would hold: give it a name without the characters *, ?, [ and ], or remove it", ErrNoSandbox, path)
			}
		}
	}
	return nil
}

// outermost returns the denied paths that are in no other one, except by way of a folder that
// remains readable.
func outermost(paths []string, readable ...string) []string {
	slices.Sort(paths) // a folder comes before its contents
	var outer []string
	for _, path := range paths {
		// The sandbox cannot mount one denied folder inside another, unless it mounts a
		// readable folder between the two.
		covered := func(folder string) bool {
			open := func(own string) bool { return own != "" && inside(own, folder) && inside(path, own) }
			return inside(path, folder) && !slices.ContainsFunc(readable, open)
		}
		if path != "" && !slices.ContainsFunc(outer, covered) {
			outer = append(outer, path)
		}
	}
	return outer
}

func inside(path, folder string) bool {
	if folder == "" {
		return path == ""
	}
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(folder, "/"))
}

// hardenedSettings returns the settings of a thread that keep Codex from starting
// work by itself and from using the network. A setting that codex.command gives with
// -c takes precedence.
func hardenedSettings() map[string]any {
	return map[string]any{
		// A thread that starts in a writable sandbox makes Codex trust the
		// repository: it would load its .codex folder, and run the servers
		// named there with no sandbox at all. So the sandbox goes with each turn.
		"default_permissions": ":read-only",

		"allow_login_shell":                     false, // a login profile may bring secrets back
		"features.shell_snapshot":               false, // writes the environment to a file
		"features.goals":                        false, // starts turns by itself
		"features.sleep_tool":                   false, // a session that sleeps holds a slot
		"features.plugins":                      false, // fetches them from the network at every start
		"features.unbounded_connection_retries": false, // waits for a network forever
		"agents.enabled":                        false, // starts agents that the workflow does not count
		"web_search":                            "disabled",
	}
}

// maxIdleTimeout is the longest silence of the model that a session accepts. It is
// well below the time after which the session counts as stalled, so that Codex has
// time to retry.
const maxIdleTimeout = 90 * time.Second

// guardedSandbox returns the sandbox policy with which a server tries its sandbox before it has the
// permission profile: the part of the profile that a policy can say.
func guardedSandbox(o Options) json.RawMessage {
	roots := []string{}
	if o.Temp != "" {
		roots = append(roots, o.Temp)
	}
	policy, _ := json.Marshal(map[string]any{ // strings and booleans always marshal
		"type": "workspaceWrite", "writableRoots": roots, "networkAccess": false,
		"excludeTmpdirEnvVar": true, "excludeSlashTmp": true,
	})
	return policy
}

// posture is everything about permissions that a session sends with its thread and
// with each turn.
type posture struct {
	approval json.RawMessage // approvalPolicy
	sandbox  json.RawMessage // sandboxPolicy of each turn; nil selects the permission profile
	settings map[string]any  // configuration of the thread
	tools    []toolSpec
	turns    string // name of the permission profile of the turns
	guarded  bool   // approval is guardedApproval because the workflow sets none
}

// UsesProfile reports whether turns get the permission profile, because the workflow sets no
// sandbox of its own.
func (c Config) UsesProfile() bool { return !present(c.TurnSandboxPolicy) && !present(c.ThreadSandbox) }

// IsGuarded reports whether the agent can neither read the denied paths nor leave its sandbox.
func (c Config) IsGuarded() bool { return c.UsesProfile() && !allowsEscalation(c.ApprovalPolicy) }

// newPosture returns the posture that the workflow asks for.
func newPosture(o Options) (posture, error) {
	_, policy, err := o.Config.sandbox()
	if err != nil {
		return posture{}, err
	}
	p := posture{approval: o.Config.ApprovalPolicy, sandbox: policy, turns: o.profileOf("")}
	if !present(p.approval) {
		p.approval, p.guarded = json.RawMessage(guardedApproval), true
	}
	for _, t := range o.Tools {
		p.tools = append(p.tools, toolSpec{Type: "function", Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return p, nil
}

// complete adds the settings that depend on the server, and the rules of the permission
// profile of the turns if they use it. It returns the names of the
// settings that codex.command overrides, which are left out.
func (p *posture) complete(o Options, s serverInfo, rules map[string]any) (overridden []string) {
	p.settings = hardenedSettings()
	limit := maxIdleTimeout
	if stall := o.Config.StallTimeout; stall > 0 {
		limit = min(limit, stall/3)
	}
	if s.custom && (s.idle <= 0 || s.idle > limit) {
		p.settings["model_providers."+s.provider+".stream_idle_timeout_ms"] = limit.Milliseconds()
	}
	if p.sandbox == nil {
		for key, rule := range rules {
			if !isRule(key) || strings.HasPrefix(key, profileKey(p.turns)) {
				p.settings[key] = rule
			}
		}
		for name, value := range o.variables("") {
			p.settings["shell_environment_policy.set."+name] = value
		}
		if o.Temp != "" {
			p.settings["shell_environment_policy.set.TMPDIR"] = o.Temp
		}
		if o.Shared != "" {
			p.settings["shell_environment_policy.inherit"] = "none"
		}
		for _, assignment := range o.Environment {
			name, value, _ := strings.Cut(assignment, "=")
			p.settings["shell_environment_policy.set."+name] = value
		}
		for name, value := range o.Set {
			p.settings["shell_environment_policy.set."+name] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.settings)) {
		if s.overridden[key] && key != networkFeature && !((o.ProfileGiven || o.Shared != "") && (key == "default_permissions" || isRule(key))) {
			overridden = append(overridden, key)
			delete(p.settings, key)
		}
	}
	return overridden
}

// turnSandbox converts the sandbox mode of a thread to the policy of a turn, for
// which Codex takes an object with other names. It returns nil if there is none.
func turnSandbox(thread json.RawMessage) (json.RawMessage, error) {
	if !present(thread) {
		return nil, nil
	}
	if thread[0] == '{' {
		return thread, nil
	}
	var mode string
	if err := json.Unmarshal(thread, &mode); err != nil {
		return nil, fmt.Errorf("codex.thread_sandbox: %w: %w: use read-only, workspace-write or danger-full-access", ErrSettings, err)
	}
	for _, name := range []string{"readOnly", "workspaceWrite", "dangerFullAccess"} {
		if strings.EqualFold(strings.ReplaceAll(mode, "-", ""), name) {
			return json.RawMessage(`{"type":"` + name + `"}`), nil
		}
	}
	return nil, fmt.Errorf("codex.thread_sandbox: %w: unknown value %q: use read-only, workspace-write or danger-full-access", ErrSettings, mode)
}

// lacking returns the part of the posture that the server does not know, as a refusal says, and
// "" for another refusal. It looks for the protocol's names in the message because the error
// code is always the same. A setting of the workflow itself is not a part of the posture.
func (p *posture) lacking(refused *ResponseError) string {
	names := func(name string) bool { return strings.Contains(refused.Message, name) }
	switch {
	case len(p.tools) > 0 && (names("dynamicTools") || names("experimentalApi")):
		return "tools of the host (dynamicTools)"
	case p.guarded && (names("granular") || names("approvalPolicy") || names("experimentalApi")):
		return "granular approval policies"
	case p.sandbox == nil && names("permissions"):
		return "permission profiles"
	}
	for _, key := range slices.Sorted(maps.Keys(p.settings)) {
		if names(key) {
			return "the setting " + key
		}
	}
	return ""
}
