package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// traps are what agents leave in the repository of their workspace.
var traps = map[string]trap{
	"a bare repository in the root": {`mv .git/HEAD .git/away; cp -r .git/objects .git/refs .; echo ref: refs/heads/x > HEAD
printf '[core]\n\tbare = true\n[protocol "ext"]\n\tallow = always\n[remote "origin"]\n\turl = "ext::RAN"\n' > config`, true, ""},
	"a branch that is a symbolic ref": {`b=$(git symbolic-ref HEAD); git commit -q --allow-empty -m x; git update-ref refs/heads/gh-pages HEAD
git symbolic-ref "$b" refs/heads/gh-pages`, true, ""},
	"a branch of others at HEAD": {`git checkout -q -B release/1; git commit -q --allow-empty -m x`, true, ""},
	"links that are written to": {`for n in FETCH_HEAD ORIG_HEAD COMMIT_EDITMSG; do rm -f .git/$n; ln -s OUTSIDE/file .git/$n; done
rm -rf .git/logs; ln -s OUTSIDE/folder .git/logs`, true, ""},
	"a folder of hooks":       {`mkdir -p .git/hooks; for n in pre-push reference-transaction pre-commit post-checkout post-index-change; do printf '#!/bin/sh\nRAN\n' > .git/hooks/$n; chmod +x .git/hooks/$n; done`, true, ""},
	"a filter":                {`git config filter.x.clean 'RAN; cat'; git config filter.x.smudge 'RAN; cat'; git config filter.x.required true; echo '* filter=x' > .git/info/attributes; echo x > new`, true, ""},
	"a monitor":               {`git config core.fsmonitor 'RAN; false'`, true, ""},
	"another configuration":   {`cp -r .git evil; git config -f evil/config core.fsmonitor 'RAN; false'; rm -f .git/commondir; echo ../evil > .git/commondir`, true, ""},
	"a worktree":              {`mkdir -p .git/worktrees; ln -s OUTSIDE/folder .git/worktrees/x`, true, ""},
	"a replaced commit":       {`git replace HEAD $(git commit-tree -m x HEAD^{tree})`, false, ""},
	"a pipe beside the files": {`mkfifo src/.gitignore src/pipe`, true, "src/.gitignore"},
}

// TestRaidLeavesAHostileRepository lets agents leave each trap, and others continue in the
// same workspace.
func TestRaidLeavesAHostileRepository(t *testing.T) {
	t.Parallel()
	r := newRaid(t, "", raider(t))
	keys := map[string]string{}
	const work = "rm -rf inner && echo good >> good.txt && git add -A && git commit -qm good"
	for i, name := range slices.Sorted(maps.Keys(traps)) {
		key := fmt.Sprintf("RAID-%d", i+1)
		keys[name] = key
		script := strings.ReplaceAll(traps[name].script(), "OUTSIDE", r.dir+"/outside")
		r.assign(key, "mkdir -p cache; echo left > left.txt\n"+script, work)
	}
	for name, trap := range traps {
		t.Run(name, func(t *testing.T) {
			switch reached := r.naiveHost(t, trap); {
			case reached != "" || !trap.naive:
			case regexp.MustCompile(`^git version 2\.(3\d|4[0-5])\.`).MatchString(outputOf("git", "version")):
				t.Error("a naive host does not fall for it, so this shows nothing")
			default:
				t.Log("a naive host with this version of git does not fall for it")
			}
		})
	}
	issues := slices.Sorted(maps.Values(keys))
	first := r.tick(t)
	r.intact(t, "the first tick", issues...)
	for _, key := range issues {
		r.assign(key, work)
	}
	second := r.tick(t)
	r.intact(t, "the second tick", issues...)
	for name, key := range keys {
		if got := r.published(key); !slices.Contains(got, "good.txt") {
			t.Errorf("%s: %s published %v\n%s\n%s", name, key, got, first.stdout, second.stdout)
		}
		r.write("issues/"+key+".md", "---\ntitle: "+key+"\nstate: Done\n---\n")
	}
	for _, pull := range r.hub.Pulls() {
		if key := strings.TrimPrefix(pull.Head, "symphony/"); !slices.Contains(issues, key) || pull.Base != "main" {
			t.Errorf("a pull request from %s to %s", pull.Head, pull.Base)
		}
		r.hub.ClosePull(pull.Number) // while it is open the workspace is kept
	}
	r.tick(t)
	last := r.tick(t) // a tick looks at a part of many workspaces
	r.intact(t, "the removal of the workspaces", issues...)
	if left, err := os.ReadDir(filepath.Join(r.dir, "workspaces")); err != nil || len(left) != 1 { // but the notes
		t.Errorf("workspaces are left: %v, %v\n%s", left, err, last.stderr)
	}
}
