package setup

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/shell"
)

// Kind is a row of the table of kinds of projects.
type Kind struct {
	Name     string   // name of its tool
	Hosts    string   // name of the set of hosts that it fetches from; kinds with the same set are one ecosystem
	Files    []string // patterns: a folder with a matching file is such a project
	With     string   // file that must be beside it; empty for none
	Separate bool     // it is a project of its own below another project of the same ecosystem
	Members  bool     // it prepares all projects of its ecosystem below it, even separate ones
	// Script is the commands. A command with {file} is repeated for each of Files, and
	// {requirements} are the options of pip for the lists of a folder.
	Script []string
	// Update is the command that brings a lock file up to date with its manifest, and changes
	// nothing else in it; empty where Script does that, or where there is no lock file.
	Update  string
	Makes   []string // folders beside Files in which it installs; empty if it installs in the home alone
	Install string   // command that installs it on a runner of GitHub, which does not have it
}

// Kinds returns the table. A folder belongs to the first kind of an ecosystem that fits. The
// scripts install into the folders below Makes, and into the caches of the room's home.
func Kinds() []Kind {
	node, venv := []string{"node_modules"}, []string{".venv"}
	const makeVenv, pip = "python3 -m venv .venv", ".venv/bin/pip install "
	return []Kind{
		{Name: "pnpm", Hosts: "node", Files: []string{"pnpm-lock.yaml"}, Separate: true, Script: []string{"pnpm install --frozen-lockfile"}, Update: "pnpm install --lockfile-only", Makes: node, Install: "npm install --global pnpm"},
		{Name: "Yarn", Hosts: "node", Files: []string{"yarn.lock"}, With: ".yarnrc.yml", Separate: true, Script: []string{"yarn install --immutable"}, Update: "yarn install --mode=update-lockfile", Makes: node, Install: "corepack enable && corepack install"},
		{Name: "Yarn 1", Hosts: "node", Files: []string{"yarn.lock"}, Separate: true, Script: []string{"yarn install --frozen-lockfile"}, Update: "yarn install", Makes: node},
		{Name: "Bun", Hosts: "node", Files: []string{"bun.lock", "bun.lockb"}, Separate: true, Script: []string{"bun install --frozen-lockfile"}, Makes: node, Install: "npm install --global bun"},
		{Name: "npm", Hosts: "node", Files: []string{"package-lock.json", "npm-shrinkwrap.json"}, Separate: true, Script: []string{"npm ci"}, Update: "npm install --package-lock-only", Makes: node},
		{Name: "npm without a lock file", Hosts: "node", Files: []string{"package.json"}, Script: []string{"npm install --no-package-lock"}, Makes: node},

		{Name: "uv", Hosts: "python", Files: []string{"uv.lock"}, Separate: true, Script: []string{"uv sync --locked"}, Update: "uv lock", Makes: venv, Install: "pipx install uv"},
		{Name: "Poetry", Hosts: "python", Files: []string{"poetry.lock"}, Separate: true, Script: []string{"POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction"}, Update: "poetry lock --no-interaction", Makes: venv, Install: "pipx install poetry"},
		{Name: "PDM", Hosts: "python", Files: []string{"pdm.lock"}, Separate: true, Script: []string{"pdm sync"}, Makes: venv, Install: "pipx install pdm"},
		{Name: "Pipenv", Hosts: "python", Files: []string{"Pipfile.lock"}, Separate: true, Script: []string{"PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev"}, Makes: venv, Install: "pipx install pipenv"},
		{Name: "pip", Hosts: "python", Files: []string{"requirements.txt"}, Separate: true, Script: []string{makeVenv, pip + "{requirements}"}, Makes: venv},
		{Name: "pip without lists", Hosts: "python", Files: []string{"pyproject.toml", "setup.py"}, Script: []string{makeVenv, pip + "--editable ."}, Makes: venv},

		{Name: "Go with a workspace", Hosts: "go", Files: []string{"go.work"}, Separate: true, Members: true, Script: []string{"go mod download"}},
		{Name: "Go", Hosts: "go", Files: []string{"go.mod"}, Separate: true, Script: []string{"go mod download", "go build -o /dev/null ./... || true"}, Update: "go get -t ./..."},

		// Maven and Gradle fetch the parts that run the tests only when they run them.
		{Name: "Gradle", Hosts: "java", Files: []string{"settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"}, With: "gradlew", Separate: true, Script: []string{"./gradlew --no-daemon testClasses", "./gradlew --no-daemon --continue test || true"}},
		{Name: "Maven with its wrapper", Hosts: "java", Files: []string{"pom.xml"}, With: "mvnw", Separate: true, Script: []string{"./mvnw --batch-mode -Dmaven.test.failure.ignore test"}},
		{Name: "Maven", Hosts: "java", Files: []string{"pom.xml"}, Script: []string{"mvn --batch-mode -Dmaven.test.failure.ignore test"}},
		{Name: "Gradle without its wrapper", Hosts: "java", Files: []string{"settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"}, Script: []string{"gradle --no-daemon testClasses", "gradle --no-daemon --continue test || true"}},

		{Name: "Cargo", Hosts: "rust", Files: []string{"Cargo.lock"}, Separate: true, Script: []string{"cargo fetch --locked"}, Update: "cargo fetch"},
		{Name: "Cargo without a lock file", Hosts: "rust", Files: []string{"Cargo.toml"}, Script: []string{"cargo fetch"}},

		{Name: "Bundler", Hosts: "ruby", Files: []string{"Gemfile.lock"}, Separate: true, Script: []string{`bundle config set --global path "$HOME/.bundle"`, "BUNDLE_FROZEN=true bundle install"}, Update: "bundle lock"},
		{Name: "Bundler without a lock file", Hosts: "ruby", Files: []string{"Gemfile"}, Script: []string{`bundle config set --global path "$HOME/.bundle"`, "bundle install"}},

		{Name: "Composer", Hosts: "php", Files: []string{"composer.json"}, Script: []string{"composer install --no-interaction --no-progress"}, Makes: []string{"vendor"}},

		{Name: ".NET", Hosts: "dotnet", Files: []string{"*.sln", "*.slnx"}, Script: []string{"dotnet restore {file}"}},
		{Name: ".NET without a solution", Hosts: "dotnet", Files: []string{"*.csproj", "*.fsproj"}, Script: []string{"dotnet restore {file}"}},
	}
}

// Caches returns the folders below a home in which the tools of a set of hosts keep their
// downloads, as far as they do without variables.
func Caches(hosts string) []string {
	return map[string][]string{
		"node": {".npm", ".yarn/berry", ".local/share/pnpm", ".bun/install"}, "python": {".cache/pip", ".cache/uv", ".cache/pypoetry"},
		"java": {".m2/repository", ".gradle/caches"}, "rust": {".cargo/registry"}, "ruby": {".bundle", ".gem"},
		"php": {".cache/composer"}, "dotnet": {".nuget/packages"},
	}[hosts] // go reads the modules of the person's home
}

// Suggestion is the section setup that fits a checkout.
type Suggestion struct {
	Files    []string // files that it was made from, one for each project
	Script   string   // setup.run, without a newline at its end
	Update   string   // setup.update, without a newline at its end; empty for none
	Hosts    []string // setup.network: names of sets
	Makes    []string // folders of the checkout in which the script installs
	Full     bool     // setup.network_mode is full, for tools that do not take the certificate of Codex
	Exposed  []string // parts of Makes that git does not ignore
	Installs []string // commands for a runner of GitHub that lacks the tools
}

// project is a folder that a kind of project was found in.
type project struct {
	kind   Kind
	folder string   // "." for the top
	files  []string // names that matched, sorted
	beside []string // names of all files there
}

// Detect returns the suggestion for a checkout with these files; false if it has
// no project of a known kind. Exposed is empty.
func Detect(paths []string) (Suggestion, bool) {
	projects := projectsOf(paths)
	if len(projects) == 0 {
		return Suggestion{}, false
	}
	var s Suggestion
	var lines, updates []string
	for _, p := range projects {
		s.Files = append(s.Files, path.Join(p.folder, p.files[0]))
		s.Hosts = append(s.Hosts, p.kind.Hosts)
		s.Full = s.Full || p.kind.Hosts == "java" // not all clients of java take the certificate
		for _, name := range p.kind.Makes {
			s.Makes = append(s.Makes, path.Join(p.folder, name))
		}
		if p.kind.Install != "" {
			s.Installs = append(s.Installs, p.kind.Install)
		}
		lines = append(lines, p.commands()...)
		if p.kind.Update != "" {
			updates = append(updates, p.inFolder(p.kind.Update))
		}
	}
	s.Script, s.Update = scriptOf(lines), scriptOf(updates)
	for _, list := range []*[]string{&s.Hosts, &s.Installs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s, true
}

// scriptOf returns a script that ends with the first of its commands that fails.
func scriptOf(lines []string) string {
	if len(lines) > 1 {
		lines = slices.Insert(lines, 0, "set -e")
	}
	return strings.Join(lines, "\n")
}

// projectsOf returns the projects of a checkout, a folder's own before the ones below it.
func projectsOf(paths []string) (found []project) {
	folders := map[string][]string{}
	for _, p := range paths {
		if folder, name := path.Dir(p), path.Base(p); plainPath().MatchString(p) {
			folders[folder] = append(folders[folder], name)
		}
	}
	order := func(a, b string) int { return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b)) }
	for _, folder := range slices.SortedFunc(maps.Keys(folders), order) {
		slices.Sort(folders[folder])
		taken := map[string]bool{}
		for _, kind := range Kinds() {
			p := project{kind: kind, folder: folder, files: matching(kind.Files, folders[folder]), beside: folders[folder]}
			if len(p.files) == 0 || taken[kind.Hosts] || kind.With != "" && !slices.Contains(p.beside, kind.With) {
				continue
			}
			taken[kind.Hosts] = true
			if !slices.ContainsFunc(found, p.isPartOf) {
				found = append(found, p)
			}
		}
	}
	return found
}

// plainPath matches the paths that a script may name: others are no project's.
var plainPath = lazy.Regexp(`^[A-Za-z0-9._@+][A-Za-z0-9._@+/ -]*$`)

func depth(folder string) int {
	if folder == "." {
		return 0
	}
	return strings.Count(folder, "/") + 1
}

func matching(patterns, names []string) (matched []string) {
	for _, name := range names {
		if slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, _ := path.Match(pattern, name) // the patterns of the table are well formed
			return ok
		}) {
			matched = append(matched, name)
		}
	}
	return matched
}

// isPartOf reports whether another project, of a folder above, is prepared together with p.
func (p project) isPartOf(other project) bool {
	below := other.folder == "." || strings.HasPrefix(p.folder, other.folder+"/")
	return below && other.kind.Hosts == p.kind.Hosts && (other.kind.Members || !p.kind.Separate)
}

func (p project) commands() []string {
	var lines []string
	for _, command := range p.kind.Script {
		command = strings.ReplaceAll(command, "{requirements}", p.requirements())
		if !strings.Contains(command, "{file}") {
			lines = append(lines, command)
			continue
		}
		for _, name := range p.files {
			lines = append(lines, strings.ReplaceAll(command, "{file}", shell.Word(name)))
		}
	}
	for i, line := range lines {
		lines[i] = p.inFolder(line)
	}
	return lines
}

func (p project) inFolder(command string) string {
	if p.folder == "." {
		return command
	}
	return "(cd " + shell.Word(p.folder) + " && " + command + ")"
}

// testRequirements matches the lists of requirements of tests besides requirements.txt.
var testRequirements = lazy.Regexp(`^(requirements[-_.](dev|test|tests|testing|development|ci)|(dev|test)[-_]requirements)\.txt$`)

func (p project) requirements() string {
	options := "-r requirements.txt"
	for _, name := range p.beside {
		if testRequirements().MatchString(name) {
			options += " -r " + name
		}
	}
	return options
}
