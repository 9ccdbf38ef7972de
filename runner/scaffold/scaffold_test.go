package scaffold

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/linear"
)

var trackers = []tracker.Kind{file.Kind(), github.Kind(), linear.Kind()}

// checkout returns a folder with a checkout of a repository and files.
func checkout(t *testing.T, origin string, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	all := map[string]string{}
	if origin != "" {
		all[".git/config"] = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = " + origin + "\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	}
	maps.Copy(all, files)
	for name, text := range all {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// setUp returns the setup of a checkout with these answers, by the names of the questions.
// Other questions have their default answer.
func setUp(t *testing.T, folder string, answers map[string]string) Setup {
	t.Helper()
	s, err := Find(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range Questions() {
		answer, given := answers[q.Name]
		if q.Unneeded(s) != "" {
			continue
		}
		if !given {
			answer = q.Default(s)
		}
		if err := q.Take(&s, answer); err != nil {
			t.Fatalf("%s %q: %v", q.Name, answer, err)
		}
	}
	return s
}

func TestAnIdentityIsOfferedFirstWhereItFits(t *testing.T) {
	t.Parallel()
	for origin, fits := range map[string]bool{"https://github.com/acme/shop": true, "https://github.example.org/acme/shop": false} {
		folder := checkout(t, origin, nil)
		s := setUp(t, folder, map[string]string{"tracker": "github", "login": "identity"})
		runs := texts(t, s)[actionsWorkflow]
		for _, problem := range lint(t, "symphony.yml", strings.Replace(runs, publicAction, "uses: ./", 1), repository(t)) {
			t.Errorf("%s: %v", origin, problem)
		}
		for _, text := range []string{"\n  id-token: write", "openai-identity-provider: ${{ vars.OPENAI_IDENTITY_PROVIDER_ID }}", "openai-service-account: ${{ vars.OPENAI_SERVICE_ACCOUNT_ID }}"} {
			if strings.Contains(runs, text) != fits {
				t.Errorf("%s: %q is there: %v", origin, text, !fits)
			}
		}
		steps := fmt.Sprint(s.Steps("symphony"))
		if strings.Contains(runs+steps, "OPENAI_API_KEY") == fits || strings.Contains(steps, "gh variable set OPENAI_SERVICE_ACCOUNT_ID") != fits {
			t.Errorf("%s:\n%s", origin, steps)
		}
	}
	for _, q := range Questions() {
		if q.Name == "login" && (q.Choices[0] != "identity" || q.Default(Setup{}) != "key") {
			t.Errorf("%+v", q)
		}
	}
}

func TestAChoiceIsTakenAsPeopleSpellIt(t *testing.T) {
	t.Parallel()
	s := setUp(t, checkout(t, "https://github.com/acme/shop", nil), map[string]string{"tracker": "GitHub", "schedule": "None", "delivery": "Pull Request", "repository": "acme/shop"})
	if s.Tracker != "github" || s.Cron != "" || s.Delivery != "pull_request" {
		t.Errorf("%+v", s)
	}
}

func TestARepositoryOnAServerWithoutGitHubsAPIIsRefused(t *testing.T) {
	t.Parallel()
	at := slices.IndexFunc(Questions(), func(q Question) bool { return q.Name == "repository" })
	for address, refused := range map[string]bool{
		"https://gitlab.com/acme/shop": true, "git@gitlab.com:acme/shop.git": true, "https://gitlab.acme.example:8443/acme/shop": true,
		"https://gitlab.com/acme/group/shop": true, "https://bitbucket.org/acme/shop": true, "https://dev.azure.com/acme/shop/_git/shop": true,
		"https://acme.visualstudio.com/shop/_git/shop": true, "https://GitLab.com/acme/shop": true,
		"gitlab/shop": false, "https://github.com/gitlab.com/shop": false, "https://github.acme.example/gitlab/shop": false,
		"https://acme.ghe.com/acme/shop": false, "https://codeberg.org/acme/shop": true, "https://code.acme.example/acme/shop": false,
		"https://gitea.com/acme/shop": true, "ssh://git@forgejo.acme.example:2222/acme/shop.git": true, "git@gitlab.com:acme/group/shop.git": true,
		"gitlab.com:acme/shop": true, "gitea/shop": false,
	} {
		s := Setup{Tracker: "linear", Delivery: "branch"}
		err := Questions()[at].Take(&s, address)
		says := err != nil && strings.Contains(err.Error(), "does not speak GitHub's API: ") && strings.Contains(err.Error(), "--tracker file --delivery patch")
		if says != refused || refused && s.Repository != "" {
			t.Errorf("%s: %v, and the repository is %q", address, err, s.Repository)
		}
	}
}

func TestACheckoutOfAServerWithoutGitHubsAPIIsSetUpForGitHubOnlyWithARepository(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"https://codeberg.org/acme/shop.git", "git@gitlab.com:acme/group/shop.git", "ssh://git@gitea.acme.example:2222/acme/shop"} {
		s, err := Find(checkout(t, origin, nil))
		if err != nil {
			t.Fatal(err)
		}
		if tracker := Questions()[0].Default(s); tracker != "file" {
			t.Errorf("%s: the default tracker is %s", origin, tracker)
		}
		s.Tracker, s.Delivery, s.Cron = "github", "pull_request", "13 * * * *"
		q := Questions()[slices.IndexFunc(Questions(), func(q Question) bool { return q.Name == "repository" })]
		if err := q.Take(&s, q.Default(s)); err == nil || !strings.Contains(err.Error(), "does not speak GitHub's API: ") {
			t.Errorf("%s: %v", origin, err)
		}
		if err := q.Take(&s, "acme/shop"); err != nil || s.Repository != "acme/shop" {
			t.Errorf("%s: %v, and the repository is %q", origin, err, s.Repository)
		}
	}
}

// texts returns the files of a setup, by their paths.
func texts(t *testing.T, s Setup) map[string]string {
	t.Helper()
	files, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]string{}
	for _, f := range files {
		byPath[f.Path] = f.Text
	}
	return byPath
}

// combinations returns every sound combination of answers.
func combinations() (all []map[string]string) {
	for _, tracker := range []string{"github", "linear", "file"} {
		for _, schedule := range []string{"15m", "none"} {
			for _, delivery := range []string{"pull_request", "branch", "patch"} {
				if schedule != "none" && (tracker == "file" || delivery == "patch") {
					continue
				}
				all = append(all, map[string]string{
					"tracker": tracker, "schedule": schedule, "delivery": delivery, "project": "https://linear.app/acme/project/shop-0c79b11b75ea/overview",
				})
			}
		}
	}
	return all
}

// frontMatterSchema returns the program's own JSON schema of WORKFLOW.md.
func frontMatterSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := workflow.Schema(trackers)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(workflow.SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(workflow.SchemaURL)
}

// frontMatter returns the values of the front matter of a workflow file.
func frontMatter(t *testing.T, text string) (values any) {
	t.Helper()
	_, front, _ := strings.Cut(text, "---\n")
	front, _, ok := strings.Cut(front, "\n---\n")
	if err := yaml.Unmarshal([]byte(front), &values); err != nil || !ok {
		t.Fatalf("no front matter: %v\n%s", err, text)
	}
	return values
}

// TestWhatIsWrittenIsValid checks every combination like validate and the linter do, in the
// environment in which it is to run: that of a job, or of a laptop with a token.
func TestWhatIsWrittenIsValid(t *testing.T) {
	t.Parallel()
	schema := frontMatterSchema(t)
	if n := len(combinations()); n != 13 {
		t.Errorf("%d combinations", n)
	}
	for _, answers := range combinations() {
		for _, server := range []string{"https://github.com", "https://github.example.org"} {
			name := fmt.Sprint(answers["tracker"], " ", answers["schedule"], " ", answers["delivery"], " on ", server)
			folder := checkout(t, server+"/acme/shop.git", nil)
			s := setUp(t, folder, answers)
			files, err := s.Files()
			if err == nil {
				_, err = Write(folder, files)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			written := texts(t, s)
			variables := map[string]string{"GITHUB_TOKEN": "ghs_api0123456789", "LINEAR_API_KEY": "lin_api_0123456789"}
			runs, inActions := written[actionsWorkflow]
			if inActions {
				for _, problem := range lint(t, "symphony.yml", strings.Replace(runs, publicAction, "uses: ./", 1), repository(t)) {
					t.Errorf("%s: %v", name, problem)
				}
				maps.Copy(variables, map[string]string{"GITHUB_SERVER_URL": server, "GITHUB_REPOSITORY": "acme/shop", "GITHUB_API_URL": "https://api.github.com"})
			}
			if inActions != (answers["tracker"] != "file" && answers["schedule"] != "none") {
				t.Errorf("%s: there is a workflow of Actions: %v", name, inActions)
			}
			env := workflow.Env{Trackers: trackers, TempDir: t.TempDir(), Home: folder, Lookup: func(name string) (string, bool) {
				value, ok := variables[name]
				return value, ok
			}}
			wf, err := workflow.NewSource(filepath.Join(folder, "WORKFLOW.md"), env).Current()
			if err != nil || len(wf.Warnings) > 0 {
				t.Fatalf("%s: %v %q\n%s", name, err, wf.Warnings, written["WORKFLOW.md"])
			}
			if err := prompt.Check(wf.Prompt, wf.PromptLine); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := schema.Validate(frontMatter(t, written["WORKFLOW.md"])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if string(wf.Settings.Delivery.Kind) != answers["delivery"] || wf.Settings.Delivery.HandOver == (workflow.HandOver{}) {
				t.Errorf("%s delivers by %+v", name, wf.Settings.Delivery)
			}
			if r := wf.Settings.Repository; r.Remote != server+"/acme/shop" && r.Remote != folder {
				t.Errorf("%s works on %s", name, r.Remote)
			}
			for line := range strings.Lines(written["WORKFLOW.md"]) {
				if strings.Contains(line, "[[") || strings.TrimRight(line, " \t\n")+"\n" != line {
					t.Errorf("%s has the line %q", name, line)
				}
			}
			if steps := fmt.Sprint(s.Steps("symphony")); strings.Contains(steps, "acme") != inActions {
				t.Errorf("%s has the steps %s", name, steps)
			}
		}
	}
}

// TestTheSamplesOfTheReadmeAreWhatIsWritten keeps the samples of testdata/workflows: UPDATE_README=1
// writes them.
func TestTheSamplesOfTheReadmeAreWhatIsWritten(t *testing.T) {
	t.Parallel()
	for _, tracker := range []string{"github", "linear"} {
		written := texts(t, setUp(t, checkout(t, "https://github.com/acme/shop", nil), map[string]string{"tracker": tracker, "project": "0c79b11b75ea"}))
		for sample, path := range map[string]string{tracker + ".md": "WORKFLOW.md", tracker + ".yml": actionsWorkflow} {
			name := filepath.Join("..", "..", "testdata", "workflows", sample)
			if os.Getenv("UPDATE_README") != "" {
				if err := os.WriteFile(name, []byte(written[path]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := os.ReadFile(name); err != nil || string(text) != written[path] {
				t.Errorf("%s is not what is written as %s (%v): UPDATE_README=1 writes it", sample, path, err)
			}
		}
	}
}

func TestTheWorkflowsThatCheckPullRequestsAreFound(t *testing.T) {
	t.Parallel()
	folder := checkout(t, "https://github.com/acme/shop", map[string]string{
		".github/workflows/ci.yml":      "name: Build and test # all of it\non: [push, pull_request]\n",
		".github/workflows/lint.yaml":   "name: \"lint\"\non:\n  pull_request:\n    branches: [main]\n",
		".github/workflows/release.yml": "name: release\non:\n  push:\n    tags: [v1]\n",
		".github/workflows/odd.yml":     "name: '}] , x: ['\non: pull_request\n",
	})
	runs := texts(t, setUp(t, folder, nil))[actionsWorkflow]
	if want := "workflows: [\"Build and test\", lint], types: [completed] }"; !strings.Contains(runs, want) {
		t.Errorf("no %s in\n%s", want, runs)
	}
}

func TestOnlyTheRootOfARepositoryIsACheckout(t *testing.T) {
	t.Parallel()
	folder := checkout(t, "https://github.com/acme/shop", map[string]string{"docs/deep/README.md": ""})
	_, err := Find(filepath.Join(folder, "docs", "deep"))
	if below, ok := errors.AsType[*NotRootError](err); !ok || below.Root != folder {
		t.Errorf("below it: %v", err)
	}
	if _, err := Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "git init") {
		t.Errorf("outside of it: %v", err)
	}
}

func TestTheWorkflowsOfAFolderAreFoundWhateverItsName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "a[b", "a*b?", `back\slash`} {
		folder := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(folder, ".github", "workflows"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, ".github", "workflows", "ci.yml"), []byte("name: CI\non: [pull_request]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := checkWorkflows(folder); len(got) != 1 || got[0] != "CI" {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// GitHub's own hosts have their API on a host of its own, and other servers below a path.
func TestTheAPIIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"https://github.com": "", "https://acme.ghe.com": "    api_url: https://api.acme.ghe.com\n", "https://ghe.example.org": "    api_url: https://ghe.example.org/api/v3\n",
	} {
		s := setUp(t, checkout(t, "", map[string]string{".git/config": ""}), map[string]string{"tracker": "github", "schedule": "none", "repository": server + "/acme/shop"})
		line := ""
		for l := range strings.Lines(texts(t, s)["WORKFLOW.md"]) {
			if strings.Contains(l, "api_url:") {
				line = l
			}
		}
		if line != want {
			t.Errorf("%s: %q, want %q", server, line, want)
		}
	}
}

// TestThePreparationOfTheProjectIsWritten reads what is written for projects of several kinds as
// the program and editors do.
func TestThePreparationOfTheProjectIsWritten(t *testing.T) {
	t.Parallel()
	schema := frontMatterSchema(t)
	for name, test := range map[string]struct {
		files    map[string]string
		run      string
		hosts    []string
		keep     []string
		installs string
	}{
		"one line": {map[string]string{"package-lock.json": "", ".gitignore": "node_modules\n"}, "npm ci", []string{"node"}, nil, ""},
		"a monorepo": {
			map[string]string{"web app/pnpm-lock.yaml": "", "api/uv.lock": "", "Gemfile.lock": "", ".gitignore": "node_modules/\n"},
			"set -e\nbundle config set --global path \"$HOME/.bundle\"\nBUNDLE_FROZEN=true bundle install\n(cd api && uv sync --locked)\n(cd 'web app' && pnpm install --frozen-lockfile)\n",
			[]string{"node", "python", "ruby"}, []string{"api/.venv", "web app/node_modules"},
			"      - run: npm install --global pnpm # for setup.run of WORKFLOW.md, and for the agent\n      - run: pipx install uv # for setup.run of WORKFLOW.md, and for the agent\n",
		},
		"nothing": {nil, "", nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := checkout(t, "https://github.com/acme/shop", test.files)
			written := texts(t, setUp(t, folder, map[string]string{"tracker": "github"}))
			env := workflow.Env{Trackers: trackers, TempDir: t.TempDir(), Home: folder, Lookup: func(name string) (string, bool) {
				value, ok := map[string]string{"GITHUB_TOKEN": "ghs_api0123456789", "GITHUB_REPOSITORY": "acme/shop"}[name]
				return value, ok
			}}
			text := written["WORKFLOW.md"]
			wf, err := workflow.Parse(filepath.Join(folder, "WORKFLOW.md"), []byte(text), env)
			if err != nil || len(wf.Warnings) > 0 {
				t.Fatalf("%v %q\n%s", err, wf.Warnings, text)
			}
			wanted, err := hosts.Expand(test.hosts)
			if err != nil {
				t.Fatal(err)
			}
			got := wf.Settings.Setup
			if got.Run != test.run || !slices.Equal(wf.Settings.SetupNetwork.Hosts, wanted) || !slices.Equal(got.Keep, test.keep) {
				t.Errorf("%+v\n%s", got, text)
			}
			if err := schema.Validate(frontMatter(t, text)); err != nil {
				t.Error(err)
			}
			runs := written[actionsWorkflow]
			if !strings.Contains(runs, "persist-credentials: false }\n"+test.installs+"      # Where actions") {
				t.Errorf("the workflow of Actions does not install\n%s\n%s", test.installs, runs)
			}
			for _, problem := range lint(t, "symphony.yml", strings.Replace(runs, publicAction, "uses: ./", 1), repository(t)) {
				t.Error(problem)
			}
			if commented := strings.Contains(text, "\n# setup:\n"); commented != (test.run == "") {
				t.Errorf("there is an example: %v", commented)
			}
		})
	}
}

// TestTheLineOfASuggestionIsTheSection reads both as the program does.
func TestTheLineOfASuggestionIsTheSection(t *testing.T) {
	t.Parallel()
	for _, kind := range setup.Kinds() {
		file := strings.ReplaceAll(kind.Files[0], "*", "Big shop")
		suggestion, ok := setup.Detect([]string{file, "my api/" + file, kind.With})
		suggestion.Exposed = suggestion.Makes
		var configs []any
		for _, text := range []string{suggestion.Section(), suggestion.Line()} {
			wf, err := workflow.Parse("/repo/WORKFLOW.md", []byte("---\ntracker: {kind: file}\nrepository: {url: .}\n"+text+"\n---\n"), workflow.Env{Trackers: trackers, TempDir: "/tmp"})
			if err != nil {
				t.Fatalf("%s: %v\n%s", kind.Name, err, text)
			}
			for _, script := range []*string{&wf.Settings.Setup.Run, &wf.Settings.Setup.Update} {
				*script = strings.TrimSpace(*script)
			}
			configs = append(configs, wf.Settings.Setup)
		}
		if diff := cmp.Diff(configs[0], configs[1]); diff != "" || !ok {
			t.Errorf("%s (-section +line):\n%s", kind.Name, diff)
		}
	}
}
