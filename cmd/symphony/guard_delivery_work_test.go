package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// forbidden is work that must not leave, with a piece of the reason why it does not.
type forbidden struct {
	leave string
	why   string
}

// workflowRoads bring a workflow of the agent, or an old one, to the remote.
var workflowRoads = map[string]forbidden{
	"a new file":            {`mkdir -p .github/workflows; echo on: push > .github/workflows/x.yml`, ".github/workflows/x.yml: the path is protected"},
	"a merged history":      {`b=$(git branch --show-current); git checkout -q --orphan other; mkdir -p .github/workflows; echo on: push > .github/workflows/x.yml; git add -A; git commit -qm x; git checkout -q $b; git merge -q --allow-unrelated-histories -m x -X ours other`, "the path is protected"},
	"an old commit":         {`git reset -q --hard origin/main~1; echo x > x; git add x; git commit -qm x`, "on which the session began"},
	"another case":          {`mkdir -p .GitHub/Workflows; echo on: push > .GitHub/Workflows/x.yml`, "the path is protected"},
	"a link for the folder": {`git rm -rq .github; mkdir -p w/workflows; echo on: push > w/workflows/x.yml; ln -s w .github`, "the path is protected"},
	"a replaced commit":     {`mkdir -p .github/workflows; echo on: push > .github/workflows/x.yml; git add -A; git commit -qm x; git rm -rq --cached .github/workflows; git replace HEAD $(git commit-tree -m x $(git write-tree)); git read-tree HEAD`, "the path is protected"},
	"the next agent":        {`echo x > AGENTS.md; mkdir .codex; echo x > .codex/config.toml`, "the path is protected"},
}

// secretRoads bring the token of the program to the remote. The agent knows it here.
var secretRoads = map[string]forbidden{
	"plain":               {`echo "key = $t" > x`, "x: line 1 holds a secret of this run"},
	"base64 of more":      {`printf 'ab%scd' "$t" | base64 | tr -d '\n' > x`, "secret of this run"},
	"a name":              {`mkdir d; echo x > "d/$t"`, "the path holds a secret of this run"},
	"a binary file":       {`printf '\0\1%s\0' "$t" > x`, "secret of this run"},
	"a header":            {`printf 'Authorization: basic %s' "$(printf 'x-access-token:%s' "$t" | base64 | tr -d '\n')" > x`, "secret of this run"},
	"the model's key":     {`echo sk-a-key-of-the-"provider" > x`, "secret of this run"},
	"a token of somebody": {`echo ghp_0123456789"abcdefghijABCDEFGHIJ012345" > x`, "x: line 1 looks like a token"},
}

// oddWork is work that harms whoever takes it.
var oddWork = map[string]forbidden{
	"a link that leaves":   {`ln -s ../../../etc/passwd x`, "the symbolic link leaves the repository"},
	"a submodule":          {`git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),x; git commit -qm x; mkdir x`, "a repository inside the repository"},
	"twins":                {`echo x > readme.md`, "the same file as README.md"},
	"a folder .git":        {`o=$(git rev-parse HEAD:README.md | sed 's/../\\x&/g'); t=$(printf "100644 .git\0$o" | git hash-object -t tree -w --stdin --literally); git update-ref HEAD $(git commit-tree -p HEAD -m x $t)`, "work_refused"},
	"another history":      {`git update-ref HEAD $(git commit-tree -m x HEAD^{tree}); echo x > x`, "work_refused"},
	"zeros in the history": {`dd if=/dev/zero of=x bs=1048576 count=48 2> /dev/null; git add x; git commit -qm x; git rm -q x; git commit -qm x`, "work_refused"},
	"too many files":       {`mkdir d; for i in $(seq 101); do echo $i > d/$i; done`, "delivery.max_files"},
}

// TestRaidDeliversWhatMustNotLeave lets agents deliver forbidden work, and repair it in
// their next session.
func TestRaidDeliversWhatMustNotLeave(t *testing.T) {
	t.Parallel()
	for name, works := range map[string]map[string]forbidden{"workflows": workflowRoads, "secrets": secretRoads, "odd work": oddWork} {
		if runtime.GOOS == "darwin" {
			delete(works, "twins") // of which the file system has only one
		}
		family := name
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			settings := "budget: {max_attempts_per_issue: 1}\n"
			if family == "workflows" { // these agents repair their work in the next session
				settings = ""
			}
			r := newRaid(t, settings, raider(t))
			known := "t=" + r.token[:10] + `""` + r.token[10:] + "\n"
			keys := map[string]string{}
			for i, name := range slices.Sorted(maps.Keys(works)) {
				keys[name] = fmt.Sprintf("RAID-%d", i+1)
				r.assign(keys[name], known+works[name].leave,
					"git reset -q --hard origin/main && git clean -ffdqx && echo good > good.txt && git add -A && git commit -qm good")
			}
			issues := slices.Sorted(maps.Values(keys))
			got := r.tick(t)
			if settings == "" {
				r.tick(t) // of those that were not due any more
			}
			for _, key := range issues { // what the agents have written themselves does not count
				_ = os.RemoveAll(filepath.Join(r.dir, "workspaces", key, "x"))
			}
			r.intact(t, "the tick", issues...)
			for name, key := range keys {
				refused := regexp.MustCompile(`.*issue_identifier=` + key + ` .*work_refused.*`).FindString(got.stderr)
				if !strings.Contains(refused, works[name].why) {
					t.Errorf("%s: the reason %q is not in\n%s", name, works[name].why, refused)
				}
				if files := r.published(key); settings == "" && !slices.Equal(files, []string{"good.txt"}) || settings != "" && files != nil {
					t.Errorf("%s: published %v", name, files)
				}
				if kept, _ := filepath.Glob(filepath.Join(r.dir, "logs", "refused", key, "*")); len(kept) > 0 && family == "secrets" {
					t.Errorf("%s: kept %v", name, kept)
				}
			}
			if t.Failed() {
				t.Log(got.stdout)
			}
		})
	}
}
