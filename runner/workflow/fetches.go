package workflow

import (
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// fetchingCommand matches a command of a script that needs a network.
var fetchingCommand = lazy.Regexp(`(?:^|[\s;&|(])(` +
	`npm (?:ci|i|install)|pnpm (?:i|install|fetch)|yarn install|yarn(?: -\S+)* *(?:$|[;&|)])|bun install|corepack (?:install|enable)|` +
	`(?:pip3?|(?:[\w./-]*/)?pip3?|python3? -m pip) (?:install|download)|uv (?:sync|pip install)|poetry install|pdm (?:sync|install)|pipenv (?:sync|install)|` +
	`go mod (?:download|tidy)|go (?:get|install)|` +
	`cargo (?:fetch|install|update)|rustup|bundle (?:install|update)|gem install|composer (?:install|update)|dotnet (?:restore|tool restore)|` +
	`apt(?:-get)? (?:-\S+ )*(?:install|update)|apk add|(?:yum|dnf|brew) install|curl|wget|` +
	`git (?:clone|fetch|pull|push|submodule update)|docker pull` +
	`)(?:$|[\s;&|)])`)

// noFetch matches a line that needs no network, although a command in it may.
var noFetch = lazy.Regexp(`^#|--offline|--no-index|localhost|127\.0\.0\.1`)

func fetches(script string) string {
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if m := fetchingCommand().FindStringSubmatch(line); m != nil && !noFetch().MatchString(line) {
			return strings.TrimRight(m[1], ";&|) ")
		}
	}
	return ""
}

// warnAboutFetches warns of scripts that fetch something and run where there is no network.
func (d *decoder) warnAboutFetches() {
	s := &d.settings
	const toSetup = "move it to setup.run and name its hosts in setup.network"
	warn := func(key, script, where, advice string) {
		if command := fetches(script); command != "" {
			d.warn(d.written[key], "%s runs %s, and %s: %s", key, command, where, advice)
		}
	}
	if _, named := d.written["hooks.network"]; s.SandboxHooks && d.repository.on && !named {
		const where = "hooks in the sandbox have no network"
		const advice = toSetup + ", or name them in hooks.network"
		warn("hooks.after_create", s.Workspace.Hooks.AfterCreate, where, advice)
		warn("hooks.before_run", s.Workspace.Hooks.BeforeRun, where, advice)
		warn("hooks.after_run", s.Workspace.Hooks.AfterRun, where, advice)
	}
	if len(s.SetupNetwork.Hosts) == 0 {
		warn("setup.run", s.Setup.Run, "setup.network names no host", "name the sets of hosts that it needs, such as [node]")
	}
	warn("delivery.verify", strings.Join(s.Delivery.Verify, "\n"), "it has no network", toSetup)
}

// ownFolders are variables by which tools find their caches and settings. In the room of the
// agent they name, or by default lie in, folders of the room.
var ownFolders = []string{
	"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR",
	"npm_config_cache", "NPM_CONFIG_CACHE", "YARN_CACHE_FOLDER", "YARN_GLOBAL_FOLDER", "BUN_INSTALL_CACHE_DIR",
	"PIP_CACHE_DIR", "UV_CACHE_DIR", "POETRY_CACHE_DIR", "POETRY_HOME", "PIPENV_CACHE_DIR",
	"GOPATH", "GOMODCACHE", "GOCACHE", "GRADLE_USER_HOME", "CARGO_HOME", "BUNDLE_PATH", "BUNDLE_USER_HOME", "GEM_HOME",
	"COMPOSER_HOME", "COMPOSER_CACHE_DIR", "NUGET_PACKAGES", "DOTNET_CLI_HOME",
}

// warnAboutOwnFolders warns of variables from outside that lead tools out of the room, where
// they can write nothing and find nothing that setup has made.
func (d *decoder) warnAboutOwnFolders() {
	warn := func(key string, list []string) {
		var named []string
		for _, name := range list {
			if slices.Contains(ownFolders, name) {
				named = append(named, name)
			}
		}
		if len(named) > 0 {
			d.warn(d.written[key], "%s names %s: tools then look in a folder outside of the room, which they cannot write and setup does not fill; remove it", key, strings.Join(named, ", "))
		}
	}
	warn("codex.env", d.settings.Codex.Env)
	warn("setup.env", d.settings.Setup.Env)
}
