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
printf '[core]\n\tbare = true\n[protocol "ext"]\n\tallow = always\n[remote "origin"]\n\turl = "ext::RAN"\n' > config`, true, "", false},
	"a branch that is a symbolic ref": {`b=$(git symbolic-ref HEAD); git commit -q --allow-empty -m x; git update-ref refs/heads/gh-pages HEAD
git symbolic-ref "$b" refs/heads/gh-pages`, true, "", false},
	"a branch of others at HEAD": {`git checkout -q -B release/1; git commit -q --allow-empty -m x`, true, "", false},
	"no branch at HEAD":          {`git checkout -q --detach; git commit -q --allow-empty -m x; echo garbage > .git/refs/heads/odd`, false, "", false},
	"links that are written to": {`for n in FETCH_HEAD ORIG_HEAD COMMIT_EDITMSG; do rm -f .git/$n; ln -s OUTSIDE/file .git/$n; done
rm -rf .git/logs; ln -s OUTSIDE/folder .git/logs`, true, "", false},
	"links that are read from": {`mv .git/objects .git/away; ln -s "$PWD/.git/away" .git/objects; rm -rf .git/refs/remotes; ln -s OUTSIDE/folder .git/refs/remotes`, true, "", false},
	"a folder of hooks":        {`mkdir -p .git/hooks; for n in pre-push reference-transaction pre-commit post-checkout post-index-change; do printf '#!/bin/sh\nRAN\n' > .git/hooks/$n; chmod +x .git/hooks/$n; done`, true, "", false},
	"a filter":                 {`git config filter.x.clean 'RAN; cat'; git config filter.x.smudge 'RAN; cat'; git config filter.x.required true; echo '* filter=x' > .git/info/attributes; echo x > new`, true, "", false},
	"a monitor":                {`git config core.fsmonitor 'RAN; false'`, true, "", false},
	"another configuration":    {`cp -r .git evil; git config -f evil/config core.fsmonitor 'RAN; false'; rm -f .git/commondir; echo ../evil > .git/commondir`, true, "", false},
	"an include":               {`printf '[core]\n\tfsmonitor = "RAN; false"\n' > c; git config include.path ../c`, true, "", false},
	"a promisor": {`git config remote.origin.promisor true; git config remote.origin.url 'ext::RAN'; git config protocol.ext.allow always
git config extensions.partialClone origin; git config core.repositoryFormatVersion 1`, true, "", false},
	"an address of its own": {`git config remote.origin.pushurl 'ext::RAN'; git config protocol.ext.allow always`, true, "", false},
	"a worktree":            {`mkdir -p .git/worktrees; ln -s OUTSIDE/folder .git/worktrees/x`, true, "", false},
	"alternates": {`git init -q ../../$$; git -C ../../$$ commit -q --allow-empty -m theirs
echo "$PWD/../../$$/.git/objects" > .git/objects/info/alternates; git update-ref HEAD $(git -C ../../$$ rev-parse HEAD)`, false, "", false},
	"a graft":                 {`echo $(git rev-parse HEAD) > .git/info/grafts; git commit -q --allow-empty -m x`, false, "", false},
	"a replaced commit":       {`git replace HEAD $(git commit-tree -m x HEAD^{tree})`, false, "", false},
	"a shallow history":       {`git rev-parse HEAD > .git/shallow; git commit -q --allow-empty -m x`, false, "", false},
	"an index that is split":  {`git update-index --split-index; rm -f .git/sharedindex.*; ln -s OUTSIDE/file .git/sharedindex.$(printf %040d 0); git config core.splitIndex true`, false, "", false},
	"an index of garbage":     {`printf 'DIRC\0\0\0\2\0\0\0\1zzzz' > .git/index`, false, "", false},
	"locks":                   {`touch .git/index.lock .git/HEAD.lock .git/config.lock .git/packed-refs.lock`, false, "", false},
	"no repository":           {`rm -rf .git`, false, "", false},
	"a file for .git":         {`rm -rf .git; echo gitdir: OUTSIDE/folder > .git`, false, "", false},
	"a link for .git":         {`mv .git away; ln -s OUTSIDE/folder .git`, false, "", false},
	"a repository inside":     {`git init -q inner; git -C inner commit -q --allow-empty -m x; git add inner; git -C inner config core.fsmonitor 'RAN; false'; touch inner/file`, true, "", false},
	"pipes":                   {`for n in HEAD FETCH_HEAD ORIG_HEAD index packed-refs info/exclude; do rm -f .git/$n; mkfifo .git/$n; done; mkfifo pipe src/.gitignore`, true, ".git/HEAD", false},
	"a pipe beside the files": {`mkfifo src/.gitignore src/pipe`, true, "src/.gitignore", false},
	"devices":                 {`for n in HEAD packed-refs index config.worktree; do rm -f .git/$n; ln -s /dev/zero .git/$n; done; ln -s /dev/random random`, false, "", false},
	"a socket":                {`perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $_, Listen => 1) or die for ".git/socket", "socket"'`, false, "", false},
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
			switch reached, _ := r.naiveHost(t, trap); {
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
