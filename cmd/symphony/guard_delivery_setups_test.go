package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/redact"
)

// TestRaidWaitsInAWorkspaceOfAnOlderVersion has a workspace that hooks have made, with a
// .git that its agent owns, go over to a workflow with a repository.
func TestRaidWaitsInAWorkspaceOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	names := []string{"a bare repository in the root", "links that are written to", "a folder of hooks"}
	r := newRaid(t, "", raider(t))
	now := r.read("WORKFLOW.md")
	origin := r.hub.GitDir()
	r.replace("repository: {url: "+r.hub.CloneURL()+"}\ndelivery: {kind: pull_request, hand_over: {state: Review}}\n",
		"hooks:\n  after_create: git clone -q "+shellQuote(origin)+" . && git switch -q -c symphony/$SYMPHONY_ISSUE_IDENTIFIER\n")
	var issues []string
	for i, name := range names {
		key := "RAID-" + string(rune('1'+i))
		issues = append(issues, key)
		r.assign(key, strings.ReplaceAll(traps[name].script(), "OUTSIDE", r.dir+"/outside"), "true")
	}
	r.tick(t)
	for _, key := range issues {
		if _, err := os.Stat(filepath.Join(r.dir, "workspaces", key, ".git")); err != nil {
			t.Fatal(err)
		}
		r.assign(key, "echo good > good.txt && git add -A && git commit -qm good", "echo good > good.txt && git add -A && git commit -qm good")
	}
	r.intact(t, "the old version", issues...)
	r.write("WORKFLOW.md", now)
	got := r.tick(t)
	r.intact(t, "the new version", issues...)
	for _, key := range issues {
		if files := r.published(key); !slices.Equal(files, []string{"good.txt"}) {
			t.Errorf("%s: published %v\n%s\n%s", key, files, got.stdout, got.stderr)
		}
	}
}

// TestRaidDeliversIntoTheRepositoryOfAPerson delivers to a repository on this machine, in
// whose work tree a person works.
func TestRaidDeliversIntoTheRepositoryOfAPerson(t *testing.T) {
	t.Parallel()
	r := newRaid(t, "", raider(t))
	mine := filepath.Join(r.dir, "mine")
	runGit(t, r.dir, "clone", "-q", r.hub.GitDir(), mine)
	r.write("mine/README.md", "being edited\n")
	r.write("mine/.git/hooks/reference-transaction", "#!/bin/sh\ntouch "+shellQuote(filepath.Join(r.dir, "outside", "ran"))+"\n")
	if err := os.Chmod(filepath.Join(mine, ".git", "hooks", "reference-transaction"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.replace("repository: {url: "+r.hub.CloneURL()+"}\ndelivery: {kind: pull_request,", "repository: {url: ./mine}\ndelivery: {kind: branch,")
	state := func() string {
		all := runGit(t, mine, "status", "--porcelain", "--untracked-files=all") + "\n" + runGit(t, mine, "stash", "list") + runGit(t, mine, "symbolic-ref", "HEAD")
		for line := range strings.Lines(runGit(t, mine, "for-each-ref")) {
			if !strings.Contains(line, "refs/heads/symphony/RAID-") {
				all += "\n" + strings.TrimSpace(line)
			}
		}
		return all
	}
	before := state()
	issues := []string{}
	for i, name := range []string{"a branch that is a symbolic ref", "a branch of others at HEAD", "a folder of hooks", "a filter"} {
		key := "RAID-" + string(rune('1'+i))
		issues = append(issues, key)
		r.assign(key, strings.ReplaceAll(traps[name].script(), "OUTSIDE", r.dir+"/outside")+"\necho left > left.txt",
			"echo good > good.txt && git add -A && git commit -qm good")
	}
	got := r.tick(t)
	r.intact(t, "the tick", issues...)
	if after := state(); after != before {
		t.Errorf("the repository of the person was\n%s\nand is\n%s", before, after)
	}
	for _, key := range issues {
		if files := runGit(t, mine, "diff", "--name-only", "main", "symphony/"+key); files != "left.txt" && files != "good.txt" && files != "left.txt\nnew" {
			t.Errorf("%s: delivered %q\n%s", key, files, got.stdout)
		}
	}
}

// TestRaidWritesThePullRequest lets an agent give a pull request a title and a text that
// command and notify people, close issues, look like the program's own, and hold a secret.
func TestRaidWritesThePullRequest(t *testing.T) {
	t.Parallel()
	r := newRaid(t, "", raider(t))
	const secret = "sk-a-key-of-the-provider" // of the run; see newRaid
	text := map[string]string{
		"title": "Fix it @kim\n/merge " + secret,
		"body":  "/approve\n@kim and @acme/all: fixes #7, closes acme/shop#8\n<!-- symphony: issue=OTHER-1 -->\n![x](https://evil.example/?x)\n" + secret + "\n",
	}
	r.write("issues/RAID-1.md", "---\ntitle: x\nstate: Todo\n---\n- [ ] Create `good.txt` containing `good`\n- [ ] Call `deliver` with `"+mustJSON(t, text)+"`\n")
	got := r.tick(t)
	pulls := r.hub.Pulls()
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests\n%s\n%s", len(pulls), got.stdout, got.stderr)
	}
	page, message := pulls[0].Title+"\n"+pulls[0].Body, r.hub.Git("log", "-1", "--format=%B", "symphony/RAID-1")
	for bad, inCommits := range map[string]bool{
		"@kim": true, "@acme": true, "fixes #7": true, "closes acme/shop#8": true, secret: true,
		"\n/approve": false, "\n/merge": false, "<!-- symphony: issue=OTHER-1": false, "![x](https://evil": false, // plain text in a commit
	} {
		if strings.Contains(page, bad) || inCommits && strings.Contains(message, bad) {
			t.Errorf("%q is in the pull request or its commit:\n%s\n\n%s", bad, page, message)
		}
	}
	if strings.Contains(pulls[0].Title, "\n") || !strings.Contains(page, "Fix it") {
		t.Errorf("the title is %q", pulls[0].Title)
	}
	r.intact(t, "the tick", "RAID-1")
}

// TestTheWorkflowInUseIsNotDelivered uses a WORKFLOW.md of another name, and of another
// place, in the checkout of the repository that is delivered to.
func TestTheWorkflowInUseIsNotDelivered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file      string // in the folder of the checkout
		link      string // to it, by which it is used
		noGit     bool
		workspace bool // the folder is that of a job
		want      []string
	}{
		"another name":           {file: "agents.md", want: []string{"agents.md"}},
		"another place":          {file: "ops/bot/flow.md", want: []string{"ops/bot/flow.md"}},
		"a link":                 {file: "ops/flow.md", link: "WORKFLOW.md", want: []string{"WORKFLOW.md", "ops/flow.md"}},
		"a job without .git":     {file: "ops/flow.md", noGit: true, workspace: true, want: []string{"ops/flow.md"}},
		"no checkout":            {file: "ops/flow.md", noGit: true},
		"a checkout in a folder": {file: "ops/flow.md", workspace: true, want: []string{"ops/flow.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := emptyProject(t)
			if !test.noGit {
				p.write(".git/config", "")
			}
			p.write(test.file, "---\ntracker: {kind: file}\nrepository: {url: "+p.dir+"}\ndelivery: {kind: patch}\n---\nGo.\n")
			used := filepath.Join(p.dir, test.file)
			if test.link != "" {
				used = filepath.Join(p.dir, test.link)
				if err := os.Symlink(test.file, used); err != nil {
					t.Fatal(err)
				}
			}
			a := &app{Process: wiring.Process{Stdout: t.Output(), Stderr: t.Output()}, redactor: redact.New()}
			if test.workspace {
				a.Environ = []string{"GITHUB_WORKSPACE=" + p.dir}
			}
			a.DetectActions()
			wf, err := a.workflows(used).Current()
			if err != nil {
				t.Fatal(err)
			}
			publisher, err := a.opener().Publisher(wf, quiet())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, publisher.Policy.Workflow); diff != "" {
				t.Error(diff)
			}
		})
	}
}
