package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// Env is the source of the environments of all children.
type Env struct {
	Parent []string // our own environment, as NAME=value
	Deny   []string // names of secrets that no child may see, even if the workflow names them
}

// alwaysPassed are the variables that every child sees, in addition to LC_* and
// JAVA_HOME_*: those that a shell, git, node and TLS usually need, those by which setup
// actions and images say where tools are, and none that gives authority. SSH_AUTH_SOCK and
// tokens have to be named by the workflow.
var alwaysPassed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"CI", "ImageOS", "ImageVersion", "RUNNER_OS", "RUNNER_ARCH", "RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY",
	"GOROOT", "JAVA_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "DOTNET_ROOT",
	"RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "RBENV_ROOT", "NVM_DIR", "VOLTA_HOME", "PNPM_HOME", "SDKMAN_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR",
	"pythonLocation", "Python_ROOT_DIR", "Python2_ROOT_DIR", "Python3_ROOT_DIR", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH",
	"PLAYWRIGHT_BROWSERS_PATH", "CHROME_BIN", "CHROMEWEBDRIVER", "GECKOWEBDRIVER",
}

// neverPassed reports whether no child may see a variable, even if the workflow names
// it: the command files and tokens of the Actions runtime, its inputs, the mark by
// which the runner finds its processes, our own marks, and the denied names.
func (e Env) neverPassed(name string) bool {
	return strings.HasPrefix(name, "GITHUB_") || strings.HasPrefix(name, "ACTIONS_") ||
		strings.HasPrefix(name, "INPUT_") || name == "RUNNER_TRACKING_ID" ||
		strings.HasPrefix(name, "SYMPHONY_") || slices.Contains(e.Deny, name)
}

// Missing returns a warning for each of the names that children will not see although
// WORKFLOW.md lists it under key.
func (e Env) Missing(key string, names []string) []string {
	var warnings []string
	for _, name := range names {
		if text := e.missing(key, name); text != "" {
			warnings = append(warnings, text)
		}
	}
	return warnings
}

// MissingInSandbox returns a warning for each variable of hooks.env that hooks in the sandbox
// will not see: in the sandbox, hooks get the variables of codex.env, as the agent does.
func (e Env) MissingInSandbox(hooks, agent []string) []string {
	var warnings []string
	for _, name := range hooks {
		text := e.missing("hooks.env", name)
		if text == "" && !isAlwaysPassed(name) && !slices.Contains(agent, name) {
			text = fmt.Sprintf("hooks.env names %s, which hooks will not see: they run in the agent's sandbox, and codex.env does not name it; add it to codex.env, so that the agent sees it too, or remove it from hooks.env", name)
		}
		if text != "" {
			warnings = append(warnings, text)
		}
	}
	return warnings
}

// missing returns the reason why no child will see a variable that WORKFLOW.md lists under key,
// with a remedy; "" if children will see it.
func (e Env) missing(key, name string) string {
	switch {
	case e.neverPassed(name):
		return fmt.Sprintf("%s names %s, which is never passed on: remove it, or give what it holds a name of its own, such as REPO_TOKEN for a token", key, name)
	case e.get(name) == "":
		return fmt.Sprintf("%s names %s, which is not set or empty: set it where symphony runs, or remove it from the list", key, name)
	}
	return ""
}

func isAlwaysPassed(name string) bool {
	return slices.Contains(alwaysPassed, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "JAVA_HOME_")
}

// Environment returns the variables that Start gives an agent, besides those that bear marks.
func (r *Root) Environment(extra []string) []string { return r.env.forChild(extra) }

// forChild returns the environment of a child: the variables that are always passed
// and the extra ones, where NAME passes ours on and NAME=value sets one, without
// those that are never passed.
func (e Env) forChild(extra []string) []string {
	var env []string
	for _, entry := range e.Parent {
		name, _, _ := strings.Cut(entry, "=")
		if isAlwaysPassed(name) || slices.Contains(extra, name) {
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
		return e.neverPassed(name)
	})
}

// afterProfile returns the first lines of a child's script. They correct the effects of the
// login profile, which the shell reads first: they remove again the variables that no child may
// see, and put our own PATH before one that does not have it, as Debian's profile sets another.
// The script stays the shell's last command, so that bash still replaces itself by that command
// where it can.
func (e Env) afterProfile() string {
	line := "unset -v ${!GITHUB_@} ${!ACTIONS_@} ${!INPUT_@} RUNNER_TRACKING_ID"
	for _, name := range e.Deny {
		if shellName().MatchString(name) {
			line += " " + name
		}
	}
	if path := e.get("PATH"); path != "" {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
		line += "\ncase :$PATH: in *:" + path + ":*) ;; *) PATH=" + path + "${PATH:+:$PATH} ;; esac"
	}
	return line + "\n"
}

// shellName matches the names that a shell can set. A profile cannot set others.
var shellName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (e Env) get(name string) string {
	prefix := name + "="
	for _, entry := range slices.Backward(e.Parent) {
		if value, ok := strings.CutPrefix(entry, prefix); ok {
			return value
		}
	}
	return ""
}
