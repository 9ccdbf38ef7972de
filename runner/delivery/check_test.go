package delivery

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/workspace/git"
)

// added returns the change that adds an ordinary file.
func added(path string) Change { return Change{Path: path, New: Entry{git.ModeFile, 10}} }

func TestOrdinaryWorkMayLeave(t *testing.T) {
	work := Work{Commits: 3, Changes: []Change{
		added("cart.go"),
		{Path: "old.go", Old: Entry{git.ModeFile, 1}},
		{Path: "run.sh", Old: Entry{git.ModeFile, 1}, New: Entry{git.ModeExecutable, 1}},
		{Path: "docs/latest", New: Entry{git.ModeLink, 8}, Target: "../README.md"},
		{Path: "logo.png", New: Entry{git.ModeFile, 1 << 20}, Binary: true},
		{Path: "a:b", Old: Entry{git.ModeFile, 1}, New: Entry{git.ModeFile, 2}}, // is there already
	}}
	if v := Defaults().Check(work); len(v.Refusals) > 0 || len(v.Review) > 0 || v.Draft {
		t.Errorf("got %+v", v)
	}
}

func TestEachReasonRefusesTheDelivery(t *testing.T) {
	file := Entry{git.ModeFile, 1}
	for name, test := range map[string]struct {
		work Work
		want string // part of the only refusal
	}{
		"too many files":                {Work{Changes: many(101)}, "delivery.max_files"},
		"too many commits":              {Work{Commits: 51}, "delivery.max_commits"},
		"too much content":              {Work{Changes: []Change{{Path: "a", New: Entry{git.ModeFile, 4<<20 + 1}}}}, "delivery.max_bytes"},
		"a large binary":                {Work{Changes: []Change{{Path: "a", New: Entry{git.ModeFile, 1<<20 + 1}, Binary: true}}}, "a: it is a binary file"},
		"a submodule":                   {Work{Changes: []Change{{Path: "a", New: Entry{git.ModeSubmodule, 0}}}}, "a: it is a repository inside the repository"},
		"a submodule at another commit": {Work{Changes: []Change{{Path: "a", Old: Entry{git.ModeSubmodule, 0}, New: Entry{git.ModeSubmodule, 0}}}}, "a: it is a submodule at another commit"},
		"a submodule that is replaced":  {Work{Changes: []Change{{Path: "a", Old: Entry{git.ModeSubmodule, 0}, New: file}}}, "a: it replaces a submodule"},
		"a submodule that is removed":   {Work{Changes: []Change{{Path: "a", Old: Entry{git.ModeSubmodule, 0}}}}, "a: it removes a submodule"},
		"an odd mode":                   {Work{Changes: []Change{{Path: "a", New: Entry{0o100777, 1}}}}, "a: its mode 100777"},
		"a folder as a file":            {Work{Changes: []Change{{Path: "a", New: Entry{0o040000, 1}}}}, "a: its mode 40000"},
		"a link to the outside":         {Work{Changes: []Change{{Path: "a", New: Entry{git.ModeLink, 1}, Target: "../b"}}}, "a: the symbolic link leaves"},
		"content in place of LFS":       {Work{Changes: []Change{{Path: "a", Old: file, New: file, LFS: true}}}, "a: it is a pointer of Git LFS"},
		"an odd name":                   {Work{Changes: []Change{added("a/.GIT/config")}}, `"a/.GIT/config": a name in the path is a spelling of .git`},
		"a name of several lines":       {Work{Changes: []Change{added("a\n::error::b")}}, `"a\n::error::b": a name in the path has`},
		"one file by two names":         {Work{CaseCollisions: [][2]string{{"a/B", "a/b"}}}, "a/B: on some file systems it is the same file as a/b"},
		"a workflow":                    {Work{Changes: []Change{added(".github/workflows/x.yml")}}, "protected (.github/**)"},
		"a workflow by other letters":   {Work{Changes: []Change{added(".GitHub/Workflows/x.yml")}}, "protected (.github/**)"},
		"a workflow that is removed":    {Work{Changes: []Change{{Path: ".github/workflows/x.yml", Old: file}}}, "protected (.github/**)"},
		"a workflow's mode":             {Work{Changes: []Change{{Path: ".github/x", Old: file, New: Entry{git.ModeExecutable, 1}}}}, "protected (.github/**)"},
		"a link for the folder":         {Work{Changes: []Change{{Path: ".github", New: Entry{git.ModeLink, 1}, Target: "ci"}}}, "protected (.github/**)"},
		"the state of this program":     {Work{Changes: []Change{added(".symphony/state.json")}}, "protected (**/.symphony/**)"},
		"a binary of this program":      {Work{Changes: []Change{added("tools/.Symphony/built/symphony")}}, "protected (**/.symphony/**)"},
		"a link for its folder":         {Work{Changes: []Change{{Path: ".symphony", New: Entry{git.ModeLink, 1}, Target: "x"}}}, "protected (**/.symphony/**)"},
		"owners anywhere":               {Work{Changes: []Change{added("docs/CODEOWNERS")}}, "protected (CODEOWNERS)"},
		"rules of agents":               {Work{Changes: []Change{added("pkg/agents.md")}}, "protected (AGENTS.md)"},
		"settings of agents":            {Work{Changes: []Change{added("a/.codex/config.toml")}}, "protected (**/.codex/**)"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Defaults().Check(test.work)
			if len(v.Refusals) != 1 || !strings.Contains(v.Refusals[0].Error(), test.want) {
				t.Errorf("got %v, want one refusal with %q", v.Refusals, test.want)
			}
			for _, refusal := range v.Refusals {
				if strings.Contains(refusal.Error(), "\n") {
					t.Errorf("the reason has several lines: %q", refusal.Error())
				}
			}
		})
	}
}

func TestWhatServersToolsAndAgentsObeyIsRefused(t *testing.T) {
	refused := func(path string) bool {
		return len(Defaults().Check(Work{Changes: []Change{added(path)}}).Refusals) > 0
	}
	for _, path := range []string{
		".woodpecker.yaml", ".woodpecker/check.yml", ".drone.yml", ".cirrus.yml", "bitbucket-pipelines.yml", "appveyor.yml", "azure-pipelines-nightly.yaml", "ci/Jenkinsfile.release", ".mergify.yml",
		".cursorrules", "web/.cursorrules", ".windsurfrules", ".clinerules", ".clinerules/all.md", ".roo/rules/all.md", ".kiro/steering/all.md", ".junie/guidelines.md", "opencode.json", "opencode.jsonc",
		".amazonq/rules/all.md", ".opencode/agent/all.md", "CLAUDE.local.md", "QWEN.md",
		"cloudbuild.yaml", "deploy/cloudbuild-prod.json", "buildspec.yml", ".tekton/push.yaml", ".zuul.yaml", "zuul.d/jobs.yaml", ".builds/alpine.yml", "netlify.toml", "web/vercel.json", "render.yaml", "amplify.yml", ".readthedocs.yaml", "railway.toml", ".platform.app.yaml",
		"codemagic.yaml", "bitrise.yml", "ci_scripts/ci_post_clone.sh", ".prow.yaml", ".taskcluster.yml", "atlantis.yaml", "ci/x.gitlab-ci.yml", "renovate.json5", ".renovaterc", ".kodiak.toml", "bors.toml", ".coderabbit.yaml",
		".pnpmfile.cjs", ".yarn/releases/yarn-4.cjs", ".yarn/plugins/x.cjs", ".gitpod.yml", ".envrc", ".exrc", ".vimrc", ".gdbinit", ".lldbinit", ".Rprofile", ".replit", ".idx/dev.nix", "shop.sublime-project", ".dir-locals.el", "sitecustomize.py",
		".huskyrc.js", ".simple-git-hooks.json", "prek.toml", "captainhook.json", ".pre-commit-config.yml", "AGENT.md", "WARP.md", ".agent/rules/x.md", ".factory/x.md", ".trae/rules/x.md", ".kilocode/rules/x.md", ".roomodes", "crush.json", ".rules", ".openhands/microagents/x.md", ".specify/x",
		"lefthook.yaml", ".lefthook.yml", "lefthook-local.toml", ".overcommit.yml", "shop.code-workspace", ".zed/tasks.json", ".devcontainer.json",
	} {
		if !refused(path) {
			t.Errorf("%s may be delivered", path)
		}
	}
	for _, path := range []string{"docs/agent.md", "lefthook_test.go", "internal/lefthook.go", "drone.yml", "cursorrules.md", "mergify/README.md", "docs/warp.md", "docs/replit.md", "data/static.json", "src/rules.go", "maps/railway.json", "src/render.go", "model.pth", ".editorconfig"} {
		if refused(path) {
			t.Errorf("%s is refused", path)
		}
	}
	for _, path := range []string{
		"gradlew", "mvnw.cmd", ".mvn/wrapper/maven-wrapper.properties", "gradle/wrapper/gradle-wrapper.jar", ".cargo/config.toml", ".bazelrc", "tools/bazel", "Procfile", "fly.toml", "wrangler.jsonc", "conftest.py", "Rakefile", "Directory.Build.props", "docker-bake.hcl", "turbo.json",
	} {
		if v := Defaults().Check(Work{Changes: []Change{added(path)}}); len(v.Refusals) > 0 || len(v.Review) != 1 {
			t.Errorf("%s: %+v", path, v)
		}
	}
}

func many(n int) (changes []Change) {
	for i := range n {
		changes = append(changes, added(fmt.Sprintf("f%d", i)))
	}
	return changes
}

func TestTheReasonsAreAShortList(t *testing.T) {
	if got := (Verdict{}).Reasons(); got != "" {
		t.Errorf("without refusals: %q", got)
	}
	v := Defaults().Check(Work{Changes: []Change{added("a."), added(".github/x")}})
	want := "- \"a.\": a name in the path ends with a dot or a space, which Windows drops; rename it\n" +
		"- .github/x: the path is protected (.github/**); leave it as it is on the base branch\n"
	if diff := cmp.Diff(want, v.Reasons()); diff != "" {
		t.Error(diff)
	}
	for range 50 {
		v.refuse("a", "b")
	}
	if got := v.Reasons(); strings.Count(got, "\n") != maxReasons+1 || !strings.HasSuffix(got, "- and 32 more\n") {
		t.Errorf("got %q", got)
	}
}

func TestProtectedPathsAreShownOrMakeADraft(t *testing.T) {
	s := Defaults()
	s.Protected = []Rule{
		{".github/ISSUE_TEMPLATE/**", Allow},
		{"migrations/**", Draft},
		{"go.mod", Allow},
		{"odd/**", "maybe"},
	}
	got := s.Check(Work{Changes: []Change{
		added(".github/ISSUE_TEMPLATE/bug.md"), added("db/x.sql"), added("migrations/1.sql"), added("go.mod"), added("tools/go.sum"), added("odd/x"), added(".github/x"),
	}})
	want := Verdict{
		Refusals: []Refusal{
			{Path: "odd/x", Reason: "the path is protected (odd/**); leave it as it is on the base branch"},
			{Path: ".github/x", Reason: "the path is protected (.github/**); leave it as it is on the base branch"},
		},
		Review: []string{"migrations/1.sql", "tools/go.sum"},
		Draft:  true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheFileOfTheOwnSettingsIsProtectedByItsPath(t *testing.T) {
	file := Entry{git.ModeFile, 1}
	settings := Defaults()
	settings.Workflow = []string{"ops/Flow [a].md"}
	for name, test := range map[string]struct {
		change  Change
		refused bool
	}{
		"it":                      {Change{Path: "ops/Flow [a].md", Old: file, New: file}, true},
		"in other letters":        {added("OPS/flow [A].md"), true},
		"its removal":             {Change{Path: "ops/Flow [a].md", Old: file}, true},
		"a link for its folder":   {Change{Path: "ops", New: Entry{git.ModeLink, 1}, Target: "evil"}, true},
		"what a glob would match": {added("ops/Flow a.md"), false},
		"that name elsewhere":     {added("docs/Flow [a].md"), false},
		"a name with that ending": {added("devops/Flow [a].md"), false},
		"a neighbour":             {added("ops/notes.md"), false},
	} {
		v := settings.Check(Work{Changes: []Change{test.change}})
		if len(v.Refusals) > 0 != test.refused || test.refused && !strings.Contains(v.Reasons(), "the path is protected (ops/Flow [a].md, the settings of this program)") {
			t.Errorf("%s: %q", name, v.Reasons())
		}
	}
	settings.Protected = []Rule{{"ops/**", Review}}
	if v := settings.Check(Work{Changes: []Change{added("ops/Flow [a].md")}}); len(v.Refusals) > 0 || len(v.Review) != 1 {
		t.Errorf("the rules of WORKFLOW.md do not come first: %+v", v)
	}
}

func TestOnlyAllowedPathsMayChange(t *testing.T) {
	s := Defaults()
	s.Allowed = []string{"docs/**", "*.md"}
	v := s.Check(Work{Changes: []Change{
		added("docs/a/b.txt"), added("pkg/README.md"), added("pkg/a.go"), {Path: "b.go", Old: Entry{git.ModeFile, 1}},
	}})
	var refused []string
	for _, refusal := range v.Refusals {
		refused = append(refused, refusal.Path)
	}
	if diff := cmp.Diff([]string{"pkg/a.go", "b.go"}, refused); diff != "" {
		t.Error(diff)
	}
}

func TestAPatternThatMatchesNothingIsRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		" ":      "is empty",
		"/docs":  "begins with a slash or a dot",
		"./docs": "begins with a slash or a dot",
		"docs/":  "ends with a slash",
		"a[":     "is not a valid glob",
	} {
		if err := ValidatePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
	for _, rule := range builtIn() {
		if err := ValidatePattern(strings.TrimPrefix(rule.Pattern, "/")); err != nil {
			t.Errorf("the built-in %s: %v", rule.Pattern, err)
		}
	}
}

func TestAWordThatIsNoPolicyIsRefused(t *testing.T) {
	for _, p := range []Protection{"", "deny", "Refuse", "allow "} {
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "write refuse, review, draft or allow") {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, rule := range append(builtIn(), Rule{Protection: Draft}, Rule{Protection: Allow}, Rule{Protection: Defaults().Tokens}) {
		if err := rule.Protection.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestAProtectedPathIsProtectedInEverySpelling(t *testing.T) {
	spell := map[rune][]string{'g': {"g", "G", "ｇ"}, 'i': {"i", "I", "ı", "i\u200b"}, 'u': {"u", "U"}, 'k': {"k", "\u212a"}, 's': {"s", "ſ"}}
	rapid.Check(t, func(t *rapid.T) {
		var path strings.Builder
		for _, r := range ".github/workflows/check.yml" {
			if options := spell[r]; options != nil {
				path.WriteString(rapid.SampledFrom(options).Draw(t, "spelling"))
			} else {
				path.WriteRune(r)
			}
		}
		if v := Defaults().Check(Work{Changes: []Change{added(path.String())}}); len(v.Refusals) == 0 {
			t.Errorf("%q may be delivered", path.String())
		}
	})
}

func TestNamesOfOneFolderThatAreOneFileSomewhere(t *testing.T) {
	isNew := func(name string) bool { return name == "readme.md" || name == "É" }
	got := CaseCollisions("docs", []string{"README.md", "readme.md", "a", "A", "e\u0301", "É"}, isNew)
	want := [][2]string{{"docs/readme.md", "docs/README.md"}, {"docs/É", "docs/e\u0301"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const (
	ourSecret  = "hunter2-hunter2"
	someToken  = "ghp_0123456789abcdefghij0123456789abcdef"
	otherToken = "ghp_zzzzzzzzzzzzzzzzzzzz0123456789abcdef"
)

func TestSecretsDoNotLeave(t *testing.T) {
	secrets := redact.New(ourSecret)
	for name, test := range map[string]struct {
		change   Change
		old, new string
		tokens   Protection
		want     Verdict
	}{
		"none": {added("a"), "", "x := 1\n", Refuse, Verdict{}},
		"one of the run": {added("a"), "", "x\ny " + ourSecret, Allow,
			Verdict{Refusals: []Refusal{{"a", "line 2 holds a secret of this run; remove it, also from the history of the branch", true}}}},
		"in base64": {added("a"), "", "aHVudGVyMi1odW50ZXIy", Allow,
			Verdict{Refusals: []Refusal{{"a", "line 1 holds a secret of this run; remove it, also from the history of the branch", true}}}},
		"in hex": {added("a"), "", "68756e746572322d68756e74657232", Allow,
			Verdict{Refusals: []Refusal{{"a", "line 1 holds a secret of this run; remove it, also from the history of the branch", true}}}},
		"in the path": {added(ourSecret), "", "", Allow,
			Verdict{Refusals: []Refusal{{"", "the path holds a secret of this run; remove it, also from the history of the branch", true}}}},
		"in a link": {Change{Path: "a", New: Entry{git.ModeLink, 1}, Target: ourSecret}, "", "", Allow,
			Verdict{Refusals: []Refusal{{"a", "the target of the link holds a secret of this run; remove it, also from the history of the branch", true}}}},
		"that was there": {added("a"), "x " + ourSecret, "y " + ourSecret, Refuse, Verdict{}},
		"a token": {added("a"), "", someToken, Refuse,
			Verdict{Refusals: []Refusal{{"a", "line 1 looks like a token or a private key; remove it, or write one that cannot be taken for a real one", true}}}},
		"another token": {added("a"), someToken, someToken + "\n" + otherToken, Refuse,
			Verdict{Refusals: []Refusal{{"a", "line 2 looks like a token or a private key; remove it, or write one that cannot be taken for a real one", true}}}},
		"a token that was there":  {added("a"), someToken, "x" + "\n" + someToken, Refuse, Verdict{}},
		"a token for review":      {added("a"), "", someToken, Review, Verdict{Review: []string{"a"}}},
		"a token for a draft":     {added("a"), "", someToken, Draft, Verdict{Review: []string{"a"}, Draft: true}},
		"a token that is allowed": {added("a"), "", someToken, Allow, Verdict{}},
		"an unknown word":         {added("a"), "", someToken, "maybe", Verdict{Refusals: []Refusal{{"a", "line 1 looks like a token or a private key; remove it, or write one that cannot be taken for a real one", true}}}},
		"an example of a manual":  {added("a"), "", "https://user:password@example.org and Authorization: Bearer abcdefgh12345678", Refuse, Verdict{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Defaults()
			s.Tokens = test.tokens
			var got Verdict
			s.CheckContent(&got, test.change, []byte(test.old), []byte(test.new), secrets)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnObjectOfGitLFSIsTakenWithItsPointerOrNamed(t *testing.T) {
	pointer := func(path string, size int64, taken bool) Change {
		return Change{Path: path, New: Entry{git.ModeFile, 130}, Object: Object{ID: strings.Repeat("a", 64), Size: size, Taken: taken}}
	}
	on := Defaults()
	on.LFS, on.MaxLFS = true, 10
	for name, test := range map[string]struct {
		settings Settings
		changes  []Change
		want     []string // the refusals
	}{
		"taken":          {on, []Change{pointer("a", 4, true), pointer("b", 6, true)}, nil},
		"not there":      {on, []Change{pointer("a", 4, true), pointer("b", 6, false)}, []string{"b: it is a pointer of Git LFS, and the workspace does not have its object"}},
		"too much":       {on, []Change{pointer("a", 5, false), pointer("b", 6, false)}, []string{"the new files in Git LFS have 11 bytes, and delivery.max_lfs_bytes is 10"}},
		"more than that": {on, []Change{pointer("a", math.MaxInt64, false), pointer("b", math.MaxInt64, false)}, []string{"the new files in Git LFS have 9223372036854775807 bytes"}},
		"switched off":   {Defaults(), []Change{pointer("a", math.MaxInt64, false)}, nil},
	} {
		v := test.settings.Check(Work{Changes: test.changes})
		if len(v.Refusals) != len(test.want) {
			t.Errorf("%s: %v", name, v.Refusals)
			continue
		}
		for i, want := range test.want {
			if !strings.Contains(v.Refusals[i].Error(), want) {
				t.Errorf("%s: %v, want %q", name, v.Refusals[i], want)
			}
		}
		if named := len(v.Warnings) == 1 && slices.Equal(v.Review, []string{"a"}); named != (name == "switched off") {
			t.Errorf("%s: warnings %q, review %q", name, v.Warnings, v.Review)
		}
	}
}
