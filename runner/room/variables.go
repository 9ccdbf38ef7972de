package room

import (
	"net/url"
	"path/filepath"
	"strings"
)

// fixed are the variables with the same value in every room. No client looks for news of
// itself: a request that the sandbox refuses is a failure of the agent's command.
var fixed = []Variable{
	{"CI", "true", "tools ask no questions and draw no progress"},
	{"ASAN_OPTIONS", "detect_leaks=0", "LeakSanitizer needs ptrace, which the sandbox refuses"},
	{"LSAN_OPTIONS", "detect_leaks=0", "the same, for programs that link it alone"},
	{"GOFLAGS", "-modcacherw", "the module cache can be removed with the room"},
	{"npm_config_audit", "false", "npm would ask its registry"},
	{"npm_config_fund", "false", "npm would ask its registry"},
	{"npm_config_update_notifier", "false", "npm would ask its registry"},
	{"YARN_ENABLE_TELEMETRY", "0", "yarn would report what it does"},
	{"PIP_DISABLE_PIP_VERSION_CHECK", "1", "pip would ask its registry"},
	{"DOTNET_CLI_TELEMETRY_OPTOUT", "1", "dotnet would report what it does"},
}

// offline are the variables of a room without a network. All clients fail at once there
// instead of waiting.
var offline = []Variable{
	{"GOTOOLCHAIN", "local", "go would fetch the toolchain that go.mod names"},
	{"GOSUMDB", "off", "go would ask for the checksums of modules that go.sum does not have"},
	{"CARGO_NET_OFFLINE", "true", "there is no network"},
	{"npm_config_fetch_retries", "0", "there is no network"},
	{"YARN_ENABLE_NETWORK", "0", "there is no network"},
	{"PIP_RETRIES", "0", "there is no network"},
	{"UV_OFFLINE", "1", "there is no network"},
	{"MAVEN_ARGS", "--offline", "there is no network"},
	{"COMPOSER_DISABLE_NETWORK", "1", "there is no network"},
	{"BUNDLE_RETRY", "0", "there is no network"},
}

// online are the variables of a room whose commands reach hosts.
var online = []Variable{
	{"MAVEN_ARGS", "-Daether.connector.http.useSystemProperties=true", "maven goes by the proxy that the other programs of Java have"},
}

// homes are the variables that name folders below the room's home.
var homes = []Variable{
	{"XDG_CACHE_HOME", ".cache", "caches are the session's own"},
	{"XDG_CONFIG_HOME", ".config", "settings are the session's own"},
	{"XDG_DATA_HOME", ".local/share", "data are the session's own"},
	{"XDG_STATE_HOME", ".local/state", "states are the session's own"},
	{"GRADLE_USER_HOME", ".gradle", "Java does not look at HOME"},
	{"GEM_HOME", ".gem", "gem would write to the folder of Ruby, which is read-only"},
}

// toolchains are the variables by which tools find their toolchains in a home, with the place
// there. Where the program has the variable, its value stays.
var toolchains = []Variable{
	{"RUSTUP_HOME", ".rustup", "the toolchains of the person's home"},
	{"PYENV_ROOT", ".pyenv", "the Pythons of the person's home"},
	{"RBENV_ROOT", ".rbenv", "the Rubies of the person's home"},
	{"NVM_DIR", ".nvm", "the Nodes of the person's home"},
	{"VOLTA_HOME", ".volta", "the Nodes of the person's home"},
	{"COREPACK_HOME", ".cache/node/corepack", "the package managers of the person's home"},
	{"SDKMAN_DIR", ".sdkman", "the Javas of the person's home"},
	{"ASDF_DATA_DIR", ".asdf", "the tools of the person's home"},
	{"MISE_DATA_DIR", ".local/share/mise", "the tools of the person's home"},
	{"PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright", "the browsers of the person's home"},
	{"DOTNET_ROOT", ".dotnet", "the .NET of the person's home"},
}

// Variables returns the variables of the agent's commands, each once, besides the variables of
// the job that package workspace passes to every child.
func (r Room) Variables() []Variable {
	list := []Variable{
		{"HOME", r.Home(), "a home that can be written, and is nobody else's"},
		{"TMPDIR", r.Temp(), "temporary files are the session's own; /tmp is too where it can be written"},
		{"BASH_ENV", r.ShellStart(), "bash looks at the network of each command, and unsets the proxies of Codex where they refuse everything"},
	}
	for _, v := range homes {
		list = append(list, Variable{v.Name, filepath.Join(r.Home(), v.Value), v.Why})
	}
	list = append(list, Variable{"MAVEN_OPTS", "-Duser.home=" + r.Home(), "Java does not look at HOME"})
	for _, v := range toolchains {
		if path := r.personal(v.Name, v.Value, ""); isThere(path) {
			list = append(list, Variable{v.Name, path, v.Why})
		}
	}
	if base := r.personal("PYTHONUSERBASE", ".local", ""); hasPython(base) {
		list = append(list, Variable{"PYTHONUSERBASE", base, "the Python programs of the person's home find their packages"})
	}
	if path := r.gemPath(); path != "" {
		list = append(list, Variable{"GEM_PATH", path, "the gems of the job, besides those of Ruby and of the room"})
	}
	list = append(list, fixed...)
	if r.Network {
		return append(list, online...)
	}
	return append(append(list, r.goProxy()), offline...)
}

// goProxy returns the variable that names where go finds modules: those that the person's home
// has, and nothing else.
func (r Room) goProxy() Variable {
	cache := filepath.Join(r.personal("GOPATH", "go", "pkg/mod"), "cache/download")
	if own := r.lookup("GOMODCACHE"); filepath.IsAbs(own) {
		cache = filepath.Join(own, "cache/download")
	}
	if !filepath.IsAbs(cache) || !isThere(cache) {
		return Variable{"GOPROXY", "off", "there is no network"}
	}
	return Variable{"GOPROXY", (&url.URL{Scheme: "file", Path: filepath.ToSlash(cache)}).String() + ",off", "the modules that the person's home has; there is no network"}
}

// gemPath returns the folders of the job's gems, as an image of Ruby names them; empty if the
// job names none. The separator at the end stands for the folders that Ruby knows itself.
func (r Room) gemPath() string {
	var path string
	for _, name := range []string{"GEM_PATH", "GEM_HOME"} {
		if value := strings.TrimRight(r.lookup(name), ":"); filepath.IsAbs(value) {
			path += value + ":"
		}
	}
	return path
}

// hasPython reports whether packages for a Python are installed below a folder.
func hasPython(base string) bool {
	found, _ := filepath.Glob(filepath.Join(base, "lib/python*")) // the pattern is well formed
	return base != "" && len(found) > 0
}
