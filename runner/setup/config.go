package setup

import (
	"net/url"
	"path/filepath"
	"time"
)

// Config holds the section setup of WORKFLOW.md.
type Config struct {
	Run     string   // shell script; empty prepares nothing
	Update  string   // shell script that makes lock files fit an agent's manifests, before Run; empty for none
	Env     []string // names of the variables that it sees besides the plain ones, and no agent
	Inputs  []string // patterns of the files of the base that decide whether it runs again; empty is Manifests
	Keep    []string // paths of the checkout that are kept; empty is all that git ignores
	Timeout time.Duration
	// Online says that the script has its network also on the agent's work.
	Online bool
}

// minSecret is the length from which on a value of Env counts as a secret, in bytes: a shorter one
// stands in many files by chance.
const minSecret = 8

// Secrets returns the values that the script alone may know. lookup returns a variable of this
// program, and may be nil.
func (c Config) Secrets(lookup func(name string) (string, bool)) (secrets []string) {
	for _, name := range c.Env {
		if lookup == nil {
			return nil
		}
		if value, _ := lookup(name); len(value) >= minSecret && !isPublic(value) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// isPublic reports whether a value is a path, or an address without a password, which files may
// hold.
func isPublic(value string) bool {
	u, err := url.Parse(value)
	return filepath.IsAbs(value) || err == nil && u.Host != "" && u.User == nil && u.RawQuery == ""
}

// Manifests are the patterns of files with dependencies: of manifests and lock files.
var Manifests = []string{
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", ".yarnrc.yml", "bun.lock", "bun.lockb", "deno.lock",
	"poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "requirements*.txt", "pyproject.toml", "setup.py", "setup.cfg",
	"go.mod", "go.sum", "go.work", "go.work.sum",
	"pom.xml", "*.gradle", "*.gradle.kts", "gradle.lockfile", "libs.versions.toml", "gradle-wrapper.properties",
	"Cargo.toml", "Cargo.lock", "Gemfile", "Gemfile.lock", "*.gemspec", "composer.json", "composer.lock",
	"packages.lock.json", "*.sln", "*.slnx", "*.csproj", "*.fsproj", "Directory.Packages.props", "mix.exs", "mix.lock", "cpanfile",
}
