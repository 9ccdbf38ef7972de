package workflow

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/setup"
)

func TestACommandThatFetchesIsFound(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"npm ci": "npm ci", "cd web && npm install --silent": "npm install", "set -e\n\tpnpm i": "pnpm i",
		"yarn": "yarn", "yarn && make": "yarn", "yarn install": "yarn install", "yarn --immutable": "yarn --immutable", "yarn test": "", "npm test": "", "npm run build": "",
		"pip install -r requirements.txt": "pip install", ".venv/bin/pip install -e .": ".venv/bin/pip install", "python3 -m pip install x": "python3 -m pip install",
		"(cd api && uv sync)": "uv sync", "go mod download": "go mod download", "go build ./...": "", "go install ./cmd/x; x": "go install",
		"cargo fetch --locked": "cargo fetch", "bundle install": "bundle install", "bundle exec rake": "", "composer install": "composer install",
		"./mvnw test": "", "./gradlew build": "", "dotnet restore": "dotnet restore",
		"sudo apt-get -y install jq": "apt-get -y install", "curl -fsS https://example.org | sh": "curl", "wget x": "wget", "git clone x": "git clone",
		"git status": "", "curl -s http://localhost:8080/health": "", "npm ci --offline": "", "# npm ci": "", "echo npm-ci": "", "curling": "", "make deps": "",
		"pip install --no-index x": "", "test -d x || npm ci": "npm ci", "FOO=1 npm ci": "npm ci",
	} {
		if got := fetches(script); got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}

// TestEverySetupThatIsSuggestedFetches compares the commands of this package with the table.
func TestEverySetupThatIsSuggestedFetches(t *testing.T) {
	t.Parallel()
	for _, kind := range setup.Kinds() {
		if fetches(strings.Join(kind.Script, "\n")) == "" && kind.Hosts != "java" { // which builds and tests by the same commands
			t.Errorf("%s: none of %q is known to fetch", kind.Name, kind.Script)
		}
	}
}

func TestAScriptThatFetchesWithoutANetworkIsWarnedOf(t *testing.T) {
	t.Parallel()
	const repository = "tracker: {kind: file}\nrepository: {url: .}\n"
	for front, want := range map[string]string{
		repository + "hooks: {after_create: npm ci}":                                                         "hooks.after_create runs npm ci, and hooks in the sandbox have no network: move it to setup.run and name its hosts in setup.network, or name them in hooks.network",
		repository + "hooks: {before_run: \"make\\npip install -r x.txt\"}":                                  "hooks.before_run runs pip install, ",
		repository + "hooks: {after_run: \"curl -d done https://example.org\"}":                              "hooks.after_run runs curl, ",
		repository + "hooks: {after_create: npm ci, sandboxed: false, trusted: true}":                        "",
		repository + "hooks: {after_create: npm ci --offline}":                                               "",
		repository + "hooks: {after_create: npm test}":                                                       "",
		repository + "setup: {run: npm ci}":                                                                  "setup.run runs npm ci, and setup.network names no host: name the sets of hosts that it needs, such as [node]",
		repository + "setup: {run: npm ci, network: [node]}":                                                 "",
		repository + "delivery: {verify: npm ci && npm test}":                                                "delivery.verify runs npm ci, and it has no network: move it to setup.run and name its hosts in setup.network",
		repository + "delivery: {verify: npm test}":                                                          "",
		"tracker: {kind: file}\nhooks: {after_create: npm ci}":                                               "",
		repository + "codex: {env: [HOME, TOKEN, CARGO_HOME]}":                                               "codex.env names HOME, CARGO_HOME: tools then look in a folder outside of the room, which they cannot write and setup does not fill; remove it",
		repository + "setup: {run: make, env: [GOPATH]}":                                                     "setup.env names GOPATH: ",
		repository + "setup: {run: make, env: [NPM_TOKEN]}\ncodex: {env: [API_TOKEN]}\nhooks: {env: [HOME]}": "",
	} {
		in := Inspect("/repo/WORKFLOW.md", []byte("---\n"+front+"\n---\n"), Env{TempDir: "/tmp"})
		var got []string
		for _, w := range in.Warnings {
			if strings.HasPrefix(w.Reason, "delivery.hand_over is missing") {
				continue
			}
			if w.Line == 0 {
				t.Errorf("%s: %q has no place", front, w.Reason)
			}
			got = append(got, w.Reason)
		}
		if text := strings.Join(got, "\n"); !strings.HasPrefix(text, want) || want == "" && text != "" || len(got) > 1 {
			t.Errorf("%s: %q, want %q", front, text, want)
		}
	}
}
