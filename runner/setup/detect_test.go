package setup

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// checkoutOf returns a checkout with files of these contents.
func checkoutOf(files map[string]string) fstest.MapFS {
	checkout := fstest.MapFS{}
	for name, text := range files {
		checkout[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return checkout
}

// names returns a checkout with empty files.
func names(list ...string) fstest.MapFS {
	files := map[string]string{}
	for _, name := range list {
		files[name] = ""
	}
	return checkoutOf(files)
}

func TestASetupIsFoundForEachKindOfProject(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		checkout      fstest.MapFS
		script, hosts string
	}{
		"npm":              {names("package.json", "package-lock.json"), "npm ci", "node"},
		"shrinkwrap":       {names("package.json", "npm-shrinkwrap.json"), "npm ci", "node"},
		"no lock file":     {names("package.json"), "npm install --no-package-lock", "node"},
		"pnpm":             {names("package.json", "pnpm-lock.yaml", "package-lock.json"), "pnpm install --frozen-lockfile", "node"},
		"yarn 1":           {names("package.json", "yarn.lock"), "yarn install --frozen-lockfile", "node"},
		"yarn":             {names("package.json", "yarn.lock", ".yarnrc.yml"), "yarn install --immutable", "node"},
		"bun":              {names("package.json", "bun.lock"), "bun install --frozen-lockfile", "node"},
		"pip":              {names("requirements.txt"), "set -e\npython3 -m venv .venv\n.venv/bin/pip install -r requirements.txt", "python"},
		"pip with tests":   {names("requirements.txt", "requirements-dev.txt", "requirements-gpu.txt"), "set -e\npython3 -m venv .venv\n.venv/bin/pip install -r requirements.txt -r requirements-dev.txt", "python"},
		"pyproject":        {checkoutOf(map[string]string{"pyproject.toml": "[project]\nname = \"x\"\n"}), "set -e\npython3 -m venv .venv\n.venv/bin/pip install --editable .", "python"},
		"uv":               {checkoutOf(map[string]string{"pyproject.toml": "[project]\n", "uv.lock": "", "requirements.txt": ""}), "uv sync --locked", "python"},
		"poetry":           {names("pyproject.toml", "poetry.lock"), "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction", "python"},
		"go":               {names("go.mod", "go.sum"), "set -e\ngo mod download\ngo build -o /dev/null ./... || true", "go"},
		"go workspace":     {names("go.work", "a/go.mod", "b/go.mod"), "go mod download", "go"},
		"maven":            {names("pom.xml", "core/pom.xml"), "mvn --batch-mode -Dmaven.test.failure.ignore test", "java"},
		"maven wrapper":    {names("pom.xml", "mvnw"), "./mvnw --batch-mode -Dmaven.test.failure.ignore test", "java"},
		"gradle":           {names("settings.gradle.kts", "gradlew", "app/build.gradle.kts"), "set -e\n./gradlew --no-daemon testClasses\n./gradlew --no-daemon --continue test || true", "java"},
		"gradle alone":     {names("build.gradle"), "set -e\ngradle --no-daemon testClasses\ngradle --no-daemon --continue test || true", "java"},
		"cargo":            {names("Cargo.toml", "Cargo.lock", "sub/Cargo.toml"), "cargo fetch --locked", "rust"},
		"cargo library":    {names("Cargo.toml"), "cargo fetch", "rust"},
		"bundler":          {names("Gemfile", "Gemfile.lock"), "set -e\nbundle config set --global path \"$HOME/.bundle\"\nBUNDLE_FROZEN=true bundle install", "ruby"},
		"composer":         {names("composer.json", "composer.lock"), "composer install --no-interaction --no-progress", "php"},
		"dotnet":           {names("Shop.sln", "src/Shop/Shop.csproj"), "dotnet restore Shop.sln", "dotnet"},
		"dotnet with two":  {names("A b.sln", "B.sln"), "set -e\ndotnet restore 'A b.sln'\ndotnet restore B.sln", "dotnet"},
		"dotnet project":   {names("Shop.fsproj"), "dotnet restore Shop.fsproj", "dotnet"},
		"two in one":       {names("go.work", "package.json", "package-lock.json"), "set -e\nnpm ci\ngo mod download", "go, node"},
		"monorepo":         {names("web/package.json", "web/package-lock.json", "api/requirements.txt"), "set -e\n(cd api && python3 -m venv .venv)\n(cd api && .venv/bin/pip install -r requirements.txt)\n(cd web && npm ci)", "node, python"},
		"one folder":       {names("web/package-lock.json"), "(cd web && npm ci)", "node"},
		"npm workspaces":   {names("package-lock.json", "package.json", "packages/a/package.json"), "npm ci", "node"},
		"own lock below":   {names("package-lock.json", "site/package-lock.json"), "set -e\nnpm ci\n(cd site && npm ci)", "node"},
		"a blank":          {names("my site/package-lock.json"), "(cd 'my site' && npm ci)", "node"},
		"settings alone":   {checkoutOf(map[string]string{"pyproject.toml": "[tool.ruff]\n", "package-lock.json": ""}), "npm ci", "node"},
		"samples and more": {names("package-lock.json", "node_modules/x/package-lock.json", "testdata/yarn.lock", ".hidden/go.mod", "a/b/c/d/e/go.mod"), "npm ci", "node"},
		"vendored modules": {names("go.mod", "vendor/modules.txt", "package-lock.json"), "npm ci", "node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ok := Look(test.checkout)
			if full := strings.Contains(s.Section(), "\n  network_mode: full "); full != (test.hosts == "java") {
				t.Errorf("the mode of the network is full: %v", full)
			}
			if got := strings.Join(s.Hosts, ", "); !ok || s.Script != test.script || got != test.hosts {
				t.Errorf("%v, with %s:\n%s", ok, got, cmp.Diff(test.script, s.Script))
			}
		})
	}
}

func TestACheckoutOfNoKnownKindHasNoSuggestion(t *testing.T) {
	t.Parallel()
	for name, checkout := range map[string]fstest.MapFS{
		"nothing":             names(),
		"a README":            names("README.md", "Makefile"),
		"a name for a script": names("$(reboot)/package-lock.json", "a'b/go.mod", "x\ny/go.mod", "-x/go.mod"),
		"a folder":            names("go.mod/x"),
	} {
		if s, ok := Look(checkout); ok || s.Section() == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestAFolderThatGitDoesNotIgnoreIsKeptByName(t *testing.T) {
	t.Parallel()
	for ignored, exposed := range map[string]bool{
		"": true, "*.pyc\n": true, "!.venv": true, ".venv-old\n": true, "web/.venv\n": true, "[": true,
		".venv": false, "*.log\r\n.venv/\r\n": false, "/.venv/": false, "**/.venv": false, ".venv/*": false, ".v*": false,
	} {
		s, _ := Look(checkoutOf(map[string]string{"uv.lock": "", ".gitignore": ignored}))
		if (len(s.Exposed) > 0) != exposed || strings.Contains(s.Section(), "keep: [.venv]") != exposed || strings.Contains(s.Line(), ", keep: [.venv]}") != exposed {
			t.Errorf("%q: %q\n%s", ignored, s.Exposed, s.Section())
		}
	}
	s, _ := Look(checkoutOf(map[string]string{"web/package-lock.json": "", "api/uv.lock": "", "web/.gitignore": "/node_modules\n", "api/.gitignore": "node_modules"}))
	if !slices.Equal(s.Exposed, []string{"api/.venv"}) || !strings.Contains(s.Section(), "keep: [api/.venv, web/node_modules]\n") {
		t.Errorf("%q\n%s", s.Exposed, s.Section())
	}
}

// TestEveryKindRunsAgainWhenItsFilesChange compares the table with the default of setup.inputs.
func TestEveryKindRunsAgainWhenItsFilesChange(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		for _, pattern := range kind.Files {
			if !slices.ContainsFunc(Manifests, func(entry string) bool {
				return len(matching([]string{entry}, []string{strings.ReplaceAll(pattern, "*", "x")})) > 0
			}) {
				t.Errorf("%s: setup.inputs does not have %s", kind.Name, pattern)
			}
		}
	}
}

// TestASetupThatKeepsLockFilesHasAnUpdate has a script for agents that add a library wherever
// setup.run installs what a lock file says.
func TestASetupThatKeepsLockFilesHasAnUpdate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		checkout fstest.MapFS
		update   string
	}{
		"npm":            {names("package.json", "package-lock.json"), "npm install --package-lock-only"},
		"Go":             {names("go.mod"), "go get -t ./..."},
		"no lock file":   {names("package.json"), ""},
		"requirements":   {names("requirements.txt"), ""},
		"below the top":  {names("my web/yarn.lock"), "(cd 'my web' && yarn install)"},
		"two of several": {names("api/requirements.txt", "jobs/go.mod", "web/pnpm-lock.yaml"), "set -e\n(cd jobs && go get -t ./...)\n(cd web && pnpm install --lockfile-only)"},
	} {
		if s, _ := Look(test.checkout); s.Update != test.update {
			t.Errorf("%s: %q, want %q", name, s.Update, test.update)
		}
	}
	frozen := regexp.MustCompile(`frozen|FROZEN|immutable|locked|npm ci`)
	for _, kind := range Kinds() {
		if script := strings.Join(kind.Script, "\n"); frozen.MatchString(script) && kind.Update == "" && kind.Name != "Bun" { // of Bun none was tried
			t.Errorf("%s: no update, and %q keeps lock files", kind.Name, script)
		}
	}
}

// TestEveryKindIsPlain checks the conditions under which Section needs no quotes.
func TestEveryKindIsPlain(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		if !regexp.MustCompile(`^[a-z]+$`).MatchString(kind.Hosts) || len(kind.Script) == 0 || strings.ContainsAny(strings.Join(kind.Script, "")+kind.Update, "\n\t") {
			t.Errorf("%+v", kind)
		}
	}
}
