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
	looks bool // whether a naive host pushes it that looks for workflows first
}

// workflowRoads bring a workflow of the agent, or an old one, to the remote.
var workflowRoads = map[string]forbidden{
	"a new file":            {`mkdir -p .github/workflows; echo on: push > .github/workflows/x.yml`, ".github/workflows/x.yml: the path is protected", false},
	"a renamed file":        {`mkdir -p .github/workflows; git mv docs/ci.yml .github/workflows/ci.yml; git commit -qm x`, ".github/workflows/ci.yml: the path is protected", false},
	"a merged history":      {`b=$(git branch --show-current); git checkout -q --orphan other; mkdir -p .github/workflows; echo on: push > .github/workflows/x.yml; git add -A; git commit -qm x; git checkout -q $b; git merge -q --allow-unrelated-histories -m x -X ours other`, "the path is protected", false},
	"an old commit":         {`git reset -q --hard origin/main~1; echo x > x; git add x; git commit -qm x`, "on which the session began", false},
	"a merged old commit":   {`echo x > x; git add x; git commit -qm x; git checkout -q origin/main~1 -- .github/workflows/old.yml; git commit -qm x`, "the path is protected", false},
	"another case":          {`mkdir -p .GitHub/Workflows; echo on: push > .GitHub/Workflows/x.yml`, "the path is protected", false},
	"a dot behind the name": {`mkdir -p .github./workflows; echo on: push > .github./workflows/x.yml`, "it", false},
	"an invisible letter":   {`d=$(printf '.git\342\200\213hub'); mkdir -p $d/workflows; echo on: push > $d/workflows/x.yml`, "it", false},
	"a link for the folder": {`git rm -rq .github; mkdir -p w/workflows; echo on: push > w/workflows/x.yml; ln -s w .github`, "the path is protected", false},
	"a link in the folder":  {`mkdir -p .github w; echo on: push > w/x.yml; ln -s ../w .github/workflows`, "the path is protected", false},
	"a replaced commit":     {`mkdir -p .github/workflows; echo on: push > .github/workflows/x.yml; git add -A; git commit -qm x; git rm -rq --cached .github/workflows; git replace HEAD $(git commit-tree -m x $(git write-tree)); git read-tree HEAD`, "the path is protected", true},
	"the owners of code":    {`git rm -q .github/CODEOWNERS`, ".github/CODEOWNERS: the path is protected", false},
	"another server":        {`echo x > .gitlab-ci.yml`, "the path is protected", false},
	"the next agent":        {`echo x > AGENTS.md; mkdir .codex; echo x > .codex/config.toml`, "the path is protected", false},
}

// secretRoads bring the token of the program to the remote. The agent knows it here.
var secretRoads = map[string]forbidden{
	"plain":               {`echo "key = $t" > x`, "x: line 1 holds a secret of this run", false},
	"base64":              {`printf %s "$t" | base64 > x`, "secret of this run", false},
	"base64 of more":      {`printf 'ab%scd' "$t" | base64 | tr -d '\n' > x`, "secret of this run", false},
	"base64 for URLs":     {`printf '~~~%s~~~' "$t" | base64 | tr -d '\n' | tr +/ -_ > x`, "secret of this run", false},
	"hex":                 {`printf %s "$t" | od -An -tx1 | tr -d ' \n' > x`, "secret of this run", false},
	"capital hex":         {`printf %s "$t" | od -An -tx1 | tr -d ' \n' | tr a-f A-F > x`, "secret of this run", false},
	"a name":              {`mkdir d; echo x > "d/$t"`, "the path holds a secret of this run", false},
	"a link":              {`ln -s "$t" x`, "holds a secret of this run", false},
	"a binary file":       {`printf '\0\1%s\0' "$t" > x`, "secret of this run", false},
	"a header":            {`printf 'Authorization: basic %s' "$(printf 'x-access-token:%s' "$t" | base64 | tr -d '\n')" > x`, "secret of this run", false},
	"the model's key":     {`echo sk-a-key-of-the-"provider" > x`, "secret of this run", false},
	"a token of somebody": {`echo ghp_0123456789"abcdefghijABCDEFGHIJ012345" > x`, "x: line 1 looks like a token", false},
	"a private key":       {`printf -- '-----BEGIN %s KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END %s KEY-----\n' PRIVATE PRIVATE > x`, "looks like a token or a private key", false},
}

// oddWork is work that harms whoever takes it.
var oddWork = map[string]forbidden{
	"a link that leaves":       {`ln -s ../../../etc/passwd x`, "the symbolic link leaves the repository", false},
	"an absolute link":         {`ln -s /etc/passwd x`, "the symbolic link is absolute", false},
	"a link through another":   {`ln -s src a; ln -s a/../../x b`, "climbs after a name", false},
	"a submodule":              {`git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),x; git commit -qm x; mkdir x`, "a repository inside the repository", false},
	"twins":                    {`echo x > readme.md`, "the same file as README.md", false},
	"a device of Windows":      {`echo x > aux.txt`, "aux.txt", false},
	"a name of two lines":      {`echo x > "$(printf 'a\nb')"`, "invisible or control character", false},
	"a folder .git":            {`o=$(git rev-parse HEAD:README.md | sed 's/../\\x&/g'); t=$(printf "100644 .git\0$o" | git hash-object -t tree -w --stdin --literally); git update-ref HEAD $(git commit-tree -p HEAD -m x $t)`, "work_refused", false},
	"a name that climbs":       {`o=$(git rev-parse HEAD:README.md | sed 's/../\\x&/g'); t=$(printf "100644 ..\0$o" | git hash-object -t tree -w --stdin --literally); git update-ref HEAD $(git commit-tree -p HEAD -m x $t)`, "work_refused", false},
	"a commit without an end":  {`c=$(git cat-file commit HEAD | sed 's/^author .*/author x/' | git hash-object -t commit -w --stdin --literally); git update-ref HEAD $c`, "work_refused", false},
	"another history":          {`git update-ref HEAD $(git commit-tree -m x HEAD^{tree}); echo x > x`, "work_refused", false},
	"zeros in the history":     {`dd if=/dev/zero of=x bs=1048576 count=48 2> /dev/null; git add x; git commit -qm x; git rm -q x; git commit -qm x`, "work_refused", false},
	"a hundred thousand files": {`{ echo "commit refs/heads/x"; echo "committer a <a@b> 1 +0000"; echo "data 0"; echo "from $(git rev-parse HEAD)"; seq 100000 | awk '{printf "M 644 inline f%d/%d\ndata %d\n%s\n", $1%300, $1, length($1), $1}'; } | git fast-import --quiet; git update-ref HEAD refs/heads/x`, "work_refused", false},
	"too many commits":         {`for i in $(seq 60); do git commit -q --allow-empty -m $i; done; echo x > x`, "delivery.max_commits", false},
	"too many files":           {`mkdir d; for i in $(seq 101); do echo $i > d/$i; done`, "delivery.max_files", false},
	"a large text":             {`yes | head -c 5000000 > x`, "delivery.max_bytes", false},
	"a large binary":           {`{ printf '\0'; head -c 1100000 /dev/urandom; } > x`, "delivery.max_binary_bytes", false},
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
				t.Run(name, func(t *testing.T) {
					if _, branch := r.naiveHost(t, trap{leave: known + works[name].leave, looks: works[name].looks}); branch == "" || branch == r.hub.Head("main") {
						t.Error("a naive host does not push it, so this shows nothing")
					}
				})
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

// TestRaidHidesASecretInTheHistory lets an agent commit the token and remove it again,
// where the agent's own commits are published and where they are not.
func TestRaidHidesASecretInTheHistory(t *testing.T) {
	t.Parallel()
	for history, published := range map[string]bool{"keep": false, "squash": true} {
		t.Run(history, func(t *testing.T) {
			t.Parallel()
			r := newRaid(t, "budget: {max_attempts_per_issue: 1}\n", raider(t))
			r.replace("kind: pull_request,", "kind: pull_request, history: "+history+",")
			script := "t=" + r.token[:10] + `""` + r.token[10:] + "\necho $t > x; git add x; git commit -qm x; git rm -q x; echo good > good.txt; git add -A; git commit -qm y"
			if _, branch := r.naiveHost(t, trap{leave: script}); branch == "" {
				t.Error("a naive host does not push it, so this shows nothing")
			}
			r.assign("RAID-1", script)
			got := r.tick(t)
			r.intact(t, "the tick", "RAID-1")
			if files := r.published("RAID-1"); (files != nil) != published || strings.Contains(got.stderr, "holds a secret of this run") == published {
				t.Errorf("published %v\n%s", files, got.stderr)
			}
			if kept, _ := filepath.Glob(filepath.Join(r.dir, "logs", "refused", "*")); len(kept) > 0 {
				t.Errorf("kept %v", kept)
			}
			if log := r.hub.Git("log", "--all", "-p"); strings.Contains(log, r.token) || strings.Contains(log, "+++ b/x") {
				t.Errorf("the remote has the secret:\n%s", log)
			}
		})
	}
}
