package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/githubtest"
)

// checkout returns an empty checkout of a repository.
func checkout(t testing.TB, origin string) *project {
	t.Helper()
	p := emptyProject(t)
	p.write(".git/config", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = "+origin+"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
	return p
}

// initArguments returns every sound combination of the flags of init, by a name.
func initArguments() map[string][]string {
	all := map[string][]string{}
	for _, tracker := range []string{"github", "linear", "file"} {
		for _, schedule := range []string{"15m", "none"} {
			for _, delivery := range []string{"pull_request", "branch", "patch"} {
				if schedule != "none" && (tracker == "file" || delivery == "patch") {
					continue
				}
				args := []string{"init", "--tracker", tracker, "--delivery", delivery}
				if tracker != "file" {
					args = append(args, "--schedule", schedule)
				}
				if tracker == "linear" {
					args = append(args, "--project", "https://linear.app/acme/project/shop-0c79b11b75ea/overview")
				}
				all[tracker+" "+schedule+" "+delivery] = args
			}
		}
	}
	return all
}

// TestWhatInitWritesIsValid checks every combination like validate and the linter do, in
// the environment in which it is to run: that of a job, or of a laptop with a token.
func TestWhatInitWritesIsValid(t *testing.T) {
	t.Parallel()
	schema := printedSchema(t)
	actions, err := actionlint.NewProject(repositoryRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(initArguments()); n != 13 {
		t.Errorf("%d combinations", n)
	}
	for name, args := range initArguments() {
		for _, server := range []string{"https://github.com", "https://github.example.org"} {
			p := checkout(t, server+"/acme/shop.git")
			out := p.ok(args...)
			variables := map[string]string{"GITHUB_TOKEN": "ghs_api0123456789", "LINEAR_API_KEY": "lin_api_0123456789"}
			runs := filepath.Join(p.dir, filepath.FromSlash(workflowFile))
			if text, err := os.ReadFile(runs); err == nil {
				lint(t, name, strings.Replace(string(text), ownUse, "uses: ./", 1), actions)
				maps.Copy(variables, map[string]string{"GITHUB_SERVER_URL": server, "GITHUB_REPOSITORY": "acme/shop", "GITHUB_API_URL": "https://api.github.com"})
			} else if !strings.Contains(name, "none") {
				t.Errorf("%s: there is no workflow of Actions", name)
			}
			env := workflow.Env{Trackers: trackers(), TempDir: t.TempDir(), Home: p.dir, Lookup: func(name string) (string, bool) {
				value, ok := variables[name]
				return value, ok
			}}
			wf, err := workflow.NewSource(filepath.Join(p.dir, "WORKFLOW.md"), env).Current()
			if err != nil || len(wf.Warnings) > 0 {
				t.Fatalf("%s: %v %q\n%s", name, err, wf.Warnings, p.read("WORKFLOW.md"))
			}
			if err := prompt.Check(wf.Prompt, wf.PromptLine); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := schema.Validate(frontMatter(t, p.read("WORKFLOW.md"))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if kind := strings.Fields(name)[2]; string(wf.Settings.Delivery.Kind) != kind || wf.Settings.Delivery.HandOver == (workflow.HandOver{}) {
				t.Errorf("%s delivers by %+v", name, wf.Settings.Delivery)
			}
			if r := wf.Settings.Repository; r.Remote != server+"/acme/shop" && r.Remote != p.dir {
				t.Errorf("%s works on %s", name, r.Remote)
			}
			for line := range strings.Lines(p.read("WORKFLOW.md")) {
				if strings.Contains(line, "[[") || strings.TrimRight(line, " \t\n")+"\n" != line {
					t.Errorf("%s has the line %q", name, line)
				}
			}
			if strings.Contains(out.stdout, "acme") == strings.Contains(name, "none") && !strings.HasPrefix(name, "file") {
				t.Errorf("%s prints the steps:\n%s", name, out.stdout)
			}
		}
	}
}

// TestTheSamplesOfTheReadmeAreWhatInitWrites keeps the samples of testdata/workflows: UPDATE_README=1
// writes them.
func TestTheSamplesOfTheReadmeAreWhatInitWrites(t *testing.T) {
	t.Parallel()
	for tracker, args := range map[string][]string{"github": nil, "linear": {"--project", "0c79b11b75ea"}} {
		p := checkout(t, "https://github.com/acme/shop")
		p.ok(append([]string{"init", "--tracker", tracker}, args...)...)
		for sample, file := range map[string]string{tracker + ".md": "WORKFLOW.md", tracker + ".yml": workflowFile} {
			if os.Getenv("UPDATE_README") != "" {
				if err := os.WriteFile(samplePath(sample), []byte(p.read(file)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if readText(t, samplePath(sample)) != p.read(file) {
				t.Errorf("%s is not what init writes as %s: UPDATE_README=1 writes it", sample, file)
			}
		}
	}
}

func TestAScheduleIsATimeOrACronExpression(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"5m": "3,8,13,18,23,28,33,38,43,48,53,58 * * * *", "15m": "13,28,43,58 * * * *", "20m": "13,33,53 * * * *", "30m": "13,43 * * * *",
		"1h": "13 * * * *", "60m": "13 * * * *", "6h": "13 */6 * * *", "24h": "13 5 * * *", "none": "",
		" 7,27  6-18/2 * * 1-5 ": "7,27 6-18/2 * * 1-5",
	} {
		if cron, ok := parseSchedule(text); !ok || cron != want {
			t.Errorf("%q means %q, %v; want %q", text, cron, ok, want)
		}
	}
	for _, text := range []string{"", "1m", "7m", "90m", "5h", "48h", "-1h", "hourly", "1h30s", "* * * *", "60 * * * *", "* * * * 7", "*/0 * * * *", "9-3 * * * *", `" * * * *`, "* * * * * *"} {
		if cron, ok := parseSchedule(text); ok {
			t.Errorf("%q is accepted as %q", text, cron)
		}
	}
}

func TestARepositoryIsANameOrAnAddressThatGitTakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"acme/shop":                                {gitHub, "acme/shop"},
		"https://github.com/acme/shop.git":         {gitHub, "acme/shop"},
		"https://kim:secret@github.com/acme/shop/": {gitHub, "acme/shop"},
		"git@github.com:acme/shop.git":             {gitHub, "acme/shop"},
		"ssh://git@GitHub.com:22/acme/shop":        {gitHub, "acme/shop"},
		"https://ghe.example.org:8443/acme/shop":   {"https://ghe.example.org:8443", "acme/shop"},
	} {
		if server, name, ok := parseRepository(text); !ok || server != want[0] || name != want[1] {
			t.Errorf("%q is %q on %q, %v", text, name, server, ok)
		}
	}
	for _, text := range []string{"", "shop", "../shop", "/srv/git/shop", "file:///srv/shop", "acme/shop/x", "https://github.com/acme", "a/b; rm -rf /", "git@[::1]:a/b", "https://$(id)/a/b", "acme/shop\nx: y"} {
		if server, name, ok := parseRepository(text); ok {
			t.Errorf("%q is accepted as %q on %q", text, name, server)
		}
	}
}

func TestInitFindsTheWorkflowsThatCheckPullRequests(t *testing.T) {
	t.Parallel()
	p := checkout(t, "https://github.com/acme/shop")
	p.write(".github/workflows/ci.yml", "name: Build and test # all of it\non: [push, pull_request]\n")
	p.write(".github/workflows/lint.yaml", "name: \"lint\"\non:\n  pull_request:\n    branches: [main]\n")
	p.write(".github/workflows/release.yml", "name: release\non:\n  push:\n    tags: [v1]\n")
	p.write(".github/workflows/odd.yml", "name: '}] , x: ['\non: pull_request\n")
	p.ok("init", "--tracker", "github")
	if want := "workflows: [\"Build and test\", lint], types: [completed] }"; !strings.Contains(p.read(workflowFile), want) {
		t.Errorf("no %s in\n%s", want, p.read(workflowFile))
	}
}

// TestInitWritesAllFilesOrNone puts something into the way of each file.
func TestInitWritesAllFilesOrNone(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, row := range map[string]struct {
		block func(p *project) error
		want  string
	}{
		"the first file":        {func(p *project) error { p.write("WORKFLOW.md", "mine"); return nil }, "WORKFLOW.md is there already"},
		"the last file":         {func(p *project) error { p.write(workflowFile, "mine"); return nil }, workflowFile + " is there already"},
		"a link to nothing":     {func(p *project) error { return os.Symlink("nowhere", filepath.Join(p.dir, "WORKFLOW.md")) }, "WORKFLOW.md is there already"},
		"a folder of that name": {func(p *project) error { return os.Mkdir(filepath.Join(p.dir, "WORKFLOW.md"), 0o755) }, "WORKFLOW.md is there already"},
		"a link out":            {func(p *project) error { return os.Symlink(outside, filepath.Join(p.dir, ".github")) }, "nothing was written"},
		"a file as the folder":  {func(p *project) error { p.write(".github", "mine"); return nil }, ".github is not a folder; nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkout(t, "https://github.com/acme/shop")
			if err := row.block(p); err != nil {
				t.Fatal(err)
			}
			before := tree(t, p.dir)
			r := p.run("init", "--tracker", "github")
			if r.code != exitUsage || !strings.Contains(r.stderr, row.want) || r.stdout != "" {
				t.Errorf("exit status %d\n%s\n%s", r.code, r.stdout, r.stderr)
			}
			if after := tree(t, p.dir); !slices.Equal(before, after) || len(tree(t, outside)) > 1 {
				t.Errorf("it wrote: %q, then %q", before, after)
			}
		})
	}
	t.Run("a folder that cannot be written", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() == 0 {
			t.Skip("the superuser may write everywhere")
		}
		p := checkout(t, "https://github.com/acme/shop")
		p.write(".github/CODEOWNERS", "*")
		if err := os.Chmod(filepath.Join(p.dir, ".github"), 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(p.dir, ".github"), 0o755)
		if r := p.run("init", "--tracker", "github"); r.code != exitUsage || slices.Contains(tree(t, p.dir), "WORKFLOW.md") {
			t.Errorf("exit status %d\n%s", r.code, r.stderr)
		}
	})
}

// tree returns the paths of all files and folders below a folder.
func tree(t *testing.T, folder string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if rel, relErr := filepath.Rel(folder, path); relErr == nil {
			paths = append(paths, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// firstCommands returns the commands of a newcomer, from init to the first dry run: those
// that init prints.
func firstCommands(t *testing.T) []string {
	t.Helper()
	p := emptyProject(t)
	p.write(".git/config", "[core]\n\tbare = false\n") // there is no remote to name
	commands := []string{"symphony init"}
	for line := range strings.Lines(p.ok("init", "--tracker", "github").stdout) {
		if command, ok := strings.CutPrefix(line, "       "); ok {
			commands = append(commands, strings.TrimSuffix(command, "\n"))
		}
	}
	return commands
}

// firstRun returns these commands for the README.
func firstRun(t *testing.T) string {
	t.Helper()
	return "```sh\n" + strings.Join(firstCommands(t), "\n") + "\n```\n"
}

// TestTheFirstDryRunTakesFiveCommands performs the last of them with act, on what init has
// written. Those of gh, which change settings on GitHub, are done already there.
func TestTheFirstDryRunTakesFiveCommands(t *testing.T) {
	t.Parallel()
	commands := firstCommands(t)
	if len(commands) != 5 || !strings.HasPrefix(commands[4], "act ") {
		t.Fatalf("the commands are %q", commands)
	}
	d := newDeliveries(t, "github.md")
	for _, name := range []string{"WORKFLOW.md", ".github"} {
		if err := os.RemoveAll(filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.write(".git/config", "[remote \"origin\"]\n\turl = https://github.com/"+d.repository+"\n")
	d.ok("init", "--tracker", "github")
	if err := os.RemoveAll(filepath.Join(d.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	d.github.AddIssue(githubtest.Issue{Title: "Keep the cart", Body: "It forgets.", Labels: []string{"symphony"}})
	j := d.job()
	j.workflow = strings.Replace(d.read(workflowFile), "- "+ownUse, "- id: symphony\n        "+ownUse, 1)
	for _, word := range strings.Fields(strings.TrimPrefix(commands[4], "act ")) {
		if strings.HasPrefix(word, "GITHUB_TOKEN=") {
			break // the harness gives both secrets
		}
		j.start = append(j.start, word)
	}
	j.start = append(slices.Delete(j.start, len(j.start)-1, len(j.start)), "-s", "OPENAI_API_KEY=sk-0123456789abcdefghij")
	o := j.perform()
	o.want(t, "success", "work", "true", "dispatched", "0")
	if !strings.Contains(o.summary, "GH-1") || len(d.github.Pulls()) != 0 || o.stateBranch {
		t.Errorf("the dry run says, and did:\n%s\n%v", o.summary, d.github.Log())
	}
}

// TestAnInterruptEndsAQuestion cancels the context, as Ctrl-C does.
func TestAnInterruptEndsAQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	i := &initCommand{app: &app{process: process{stderr: io.Discard}}}
	err := i.askOne(ctx, make(chan string), questions()[0], "github", new(setup))
	if exitStatus(err) != exitInterrupted || !strings.Contains(fmt.Sprint(err), "nothing was written") {
		t.Errorf("%v", err)
	}
}
