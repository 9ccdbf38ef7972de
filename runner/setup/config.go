package setup

import "time"

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

// Manifests are the patterns of the files that say what is installed: of manifests and lock files.
var Manifests = []string{
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", ".yarnrc.yml", "bun.lock", "bun.lockb", "deno.lock",
	"poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "requirements*.txt", "pyproject.toml", "setup.py", "setup.cfg",
	"go.mod", "go.sum", "go.work", "go.work.sum",
	"pom.xml", "*.gradle", "*.gradle.kts", "gradle.lockfile", "libs.versions.toml", "gradle-wrapper.properties",
	"Cargo.toml", "Cargo.lock", "Gemfile", "Gemfile.lock", "*.gemspec", "composer.json", "composer.lock",
	"packages.lock.json", "*.sln", "*.slnx", "*.csproj", "*.fsproj", "Directory.Packages.props", "mix.exs", "mix.lock", "cpanfile",
}
