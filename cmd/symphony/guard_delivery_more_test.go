package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRaidPutsAnotherGitOnThePath gives the agent a PATH with a git, a shell and other
// programs of its own. The work is packed by the programs of the host all the same.
func TestRaidPutsAnotherGitOnThePath(t *testing.T) {
	t.Parallel()
	r := newRaid(t, "", "")
	r.write("bin/git", "#!/bin/sh\necho \"git $*\" >> "+shellQuote(filepath.Join(r.dir, "called"))+"\nexit 1\n")
	r.write("bin/sh", "#!/bin/bash\necho \"sh $*\" >> "+shellQuote(filepath.Join(r.dir, "called"))+"\nexit 1\n")
	for _, name := range []string{"git", "sh"} {
		if err := os.Chmod(filepath.Join(r.dir, "bin", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.replace(`command: ""`, "command: "+mustJSON(t, "export PATH="+shellQuote(filepath.Join(r.dir, "bin"))+":$PATH; "+raider(t)))
	r.assign("RAID-1", "echo good > good.txt; git status; test $? = 1") // the agent calls its own
	got := r.tick(t)
	r.intact(t, "the tick", "RAID-1")
	if files := r.published("RAID-1"); !slices.Equal(files, []string{"good.txt"}) {
		t.Errorf("published %v\n%s\n%s", files, got.stdout, got.stderr)
	}
	if called := r.read("called"); called != "git status\n" {
		t.Errorf("the programs of the agent were called:\n%s", called)
	}
}

// TestRaidWaitsInAWorkspaceOfAnOlderVersion has a workspace that hooks have made, with a
// .git that its agent owns, go over to a workflow with a repository.
func TestRaidWaitsInAWorkspaceOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	names := []string{"a bare repository in the root", "a monitor", "links that are written to", "a branch that is a symbolic ref", "a folder of hooks"}
	r := newRaid(t, "", raider(t))
	now := r.read("WORKFLOW.md")
	origin := strings.TrimSpace(r.hub.Git("rev-parse", "--absolute-git-dir"))
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
	runGit(t, r.dir, "clone", "-q", strings.TrimSpace(r.hub.Git("rev-parse", "--absolute-git-dir")), mine)
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
