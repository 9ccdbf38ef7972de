package workspace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Env is what the children's environments are made of.
type Env struct {
	Parent []string // our own environment, as NAME=value
	Deny   []string // names of secrets that no child may see, whoever asks for them
}

// plain are the variables every child sees: what a shell, git, node and TLS
// reasonably need, and nothing that gives authority. SSH_AUTH_SOCK and tokens
// have to be asked for by name. LC_* goes along too.
var plain = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
}

// forbidden reports whether no child may see a variable, even if it is asked
// for: the command files and tokens of the Actions runtime, its inputs, the mark
// by which the runner finds its processes, our own marks, and what is denied.
func (e Env) forbidden(name string) bool {
	return strings.HasPrefix(name, "GITHUB_") || strings.HasPrefix(name, "ACTIONS_") ||
		strings.HasPrefix(name, "INPUT_") || name == "RUNNER_TRACKING_ID" ||
		strings.HasPrefix(name, "SYMPHONY_") || slices.Contains(e.Deny, name)
}

// Missing returns a warning for each of these names that children who are to see
// it will not: it is never passed on, or not set. The key of WORKFLOW.md that
// lists the names begins the text.
func (e Env) Missing(key string, names []string) []string {
	var warnings []string
	for _, name := range names {
		switch {
		case e.forbidden(name):
			warnings = append(warnings, fmt.Sprintf("%s names %s, which is never passed on: remove it, or give what it holds a name of its own, such as REPO_TOKEN for a token", key, name))
		case e.get(name) == "":
			warnings = append(warnings, fmt.Sprintf("%s names %s, which is not set or empty: set it, or remove it from the list", key, name))
		}
	}
	return warnings
}

// child is the environment of a process: the plain variables and the extra ones,
// where NAME passes ours on and NAME=value sets one. The forbidden go last.
func (e Env) child(extra []string) []string {
	var env []string
	for _, entry := range e.Parent {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(plain, name) || strings.HasPrefix(name, "LC_") || slices.Contains(extra, name) {
			env = append(env, entry)
		}
	}
	for _, entry := range extra {
		if strings.Contains(entry, "=") {
			env = append(env, entry)
		}
	}
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return e.forbidden(name)
	})
}

// unset is the line in front of a child's script that removes, once more, what
// no child may see: the login profile, which the shell reads first, may have set
// it again. It leaves the script the shell's last command, so that bash becomes
// it where it would have without.
func (e Env) unset() string {
	line := "unset -v ${!GITHUB_@} ${!ACTIONS_@} ${!INPUT_@} RUNNER_TRACKING_ID"
	for _, name := range e.Deny {
		if shellName.MatchString(name) {
			line += " " + name
		}
	}
	return line + "\n"
}

// shellName are the names that a shell can set. Others it cannot bring back.
var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// get is a variable of our own environment.
func (e Env) get(name string) string {
	for _, entry := range slices.Backward(e.Parent) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
