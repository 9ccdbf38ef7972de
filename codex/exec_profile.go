package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/shell"
)

// A thread gets the permission profile with its own settings (posture.go). A program of the
// host runs outside of any thread, so the server's configuration has to hold the same profile,
// and the profiles of Options.Networks, in one of two ways: in the config.toml of a Codex home
// of ours (Options.SaveProfile), or as arguments of the app-server (CommandWithProfile). The
// second way leaves no trace in the user's own home.

// execAdvice is the remedy for a server that cannot run programs.
const execAdvice = "this server cannot run programs of the host in its sandbox: install Codex 0.169 or later"

// serverSettings returns the rules of the profiles as assignments of TOML, each on one
// line, which config.toml and the argument -c take. Codex does not start with a profile
// and without default_permissions.
func serverSettings(rules map[string]any) []string {
	lines := []string{`default_permissions=":read-only"`}
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		if isRule(key) {
			lines = append(lines, key+"="+toml(rules[key]))
		}
	}
	return lines
}

func profileKey(name string) string { return "permissions." + name + "." }

func isRule(key string) bool {
	return strings.HasPrefix(key, profileKey(profile)) || strings.HasPrefix(key, "permissions."+profile+"-")
}

// toml returns a string, a boolean or a table of them as TOML on one line.
func toml(v any) string {
	if table, ok := v.(map[string]any); ok {
		fields := make([]string, 0, len(table))
		for _, key := range slices.Sorted(maps.Keys(table)) {
			fields = append(fields, toml(key)+"="+toml(table[key]))
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	text, _ := json.Marshal(v) // strings and booleans always marshal
	return strings.ReplaceAll(string(text), "\x7f", `\u007f`)
}

// CommandWithProfile returns codex.command with arguments that give the app-server the
// permission profile of these options, for [Options.ProfileGiven]. It returns false if
// it cannot append arguments: the command is not one simple command of the shell with
// the word app-server, or sets permissions itself.
func CommandWithProfile(command string, o Options) (string, bool) {
	command = strings.TrimSpace(command)
	if !slices.Contains(strings.Fields(command), "app-server") || !simpleCommand(command) || strings.Contains(command, "permissions") {
		return command, false
	}
	rules := permissions(o, o.denied("", 0))
	settings := serverSettings(rules)
	if o.Loopback {
		settings = append(settings, networkFeature+"="+toml(rules[networkFeature]))
	}
	for _, setting := range settings {
		command += " -c " + shell.Quote(setting)
	}
	return command, true
}

// simpleCommand reports whether arguments can be appended to a line of shell: it ends
// with a word of one command, and has no operator, comment, substitution or line end.
func simpleCommand(line string) bool {
	var quote rune
	escaped, wordStart := false, true
	for _, r := range line {
		switch {
		case r == '\n' || r == '`':
			return false
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune(";&|<>()", r), r == '#' && wordStart:
			return false
		}
		wordStart = r == ' ' || r == '\t'
	}
	return quote == 0 && !escaped && !strings.HasSuffix(line, " --")
}

// CanExec checks whether [Session.Exec] will work: whether the server knows the permission
// profile and nothing changes its rules. The errors are [ErrNoExec], [ErrPosture] and errors of
// a call.
func (s *sandbox) CanExec(ctx context.Context) error {
	if s.o.SaveProfile == nil && !s.o.ProfileGiven && s.o.Shared == "" {
		return fmt.Errorf("%w: the app-server was started without the permission profile: make codex.command one simple command like `codex app-server` that does not set permissions, or set an API key", ErrNoExec)
	}
	var has struct {
		Data []struct {
			ID      string
			Allowed *bool
		}
	}
	err := s.call(ctx, "permissionProfile/list", map[string]string{"cwd": s.o.Cwd}, into(&has))
	if refused, ok := errors.AsType[*ResponseError](err); ok {
		return fmt.Errorf("%w: %s: %w", ErrNoExec, execAdvice, refused)
	}
	if err != nil {
		return err
	}
	missing := s.o.profiles()
	for _, p := range has.Data {
		if p.Allowed == nil || *p.Allowed {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == p.ID })
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s: it does not list the permission profile %s", ErrNoExec, execAdvice, missing[0])
	}
	if err := s.verifyProfile(ctx, s.o.Cwd); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isListed = true
	return nil
}

// verifyProfile checks that the rules of the profiles in the server's configuration are ours. A
// user's own configuration, and the configuration of a repository that the user trusts, can add
// rules to it, by the folder in which a program runs. A server that does not report its
// configuration is not checked.
func (s *sandbox) verifyProfile(ctx context.Context, folder string) error {
	err := s.call(ctx, "config/read", map[string]string{"cwd": folder}, func(result json.RawMessage) error {
		got := member(member(result, "config"), "permissions")
		if got == nil {
			return nil
		}
		var profiles map[string]any
		decodeLenient(got, &profiles)
		for _, name := range s.o.profiles() {
			if !reflect.DeepEqual(withoutNulls(profiles[name]), withoutNulls(s.profileTable(name))) {
				return fmt.Errorf("%w: the permission profile %s has other rules in Codex's configuration: remove it from config.toml "+
					"and the repository's .codex/config.toml, and install Codex outside of its home", ErrPosture, name)
			}
		}
		return nil
	})
	if refused, ok := errors.AsType[*ResponseError](err); ok && refused.unknown() {
		return nil
	}
	return err
}

// profileTable returns the rules of a profile as the server reports them.
func (s *sandbox) profileTable(profile string) any {
	table := map[string]any{}
	for key, value := range s.rules {
		name, isRule := strings.CutPrefix(key, profileKey(profile))
		if !isRule {
			continue
		}
		at, path := table, strings.Split(name, ".")
		for _, part := range path[:len(path)-1] {
			inner, _ := at[part].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				at[part] = inner
			}
			at = inner
		}
		at[path[len(path)-1]] = value
	}
	text, _ := json.Marshal(table) // strings and booleans always marshal
	var v any
	decodeLenient(text, &v)
	return v
}

// withoutNulls returns a decoded value without the fields that are null and the tables
// that are empty, which servers leave out or fill in.
func withoutNulls(v any) any {
	table, ok := v.(map[string]any)
	if !ok {
		return v
	}
	kept := map[string]any{}
	for key, value := range table {
		value = withoutNulls(value)
		if inner, isTable := value.(map[string]any); value != nil && (!isTable || len(inner) > 0) {
			kept[key] = value
		}
	}
	return kept
}
