package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// TestRaidDeliversFromCodexsSandbox lets the real Codex leave traps, and try to reach the
// repository of the program, its token and the remote.
func TestRaidDeliversFromCodexsSandbox(t *testing.T) {
	t.Parallel()
	command := shellQuote(codextest.Path(t)) + " app-server"
	r := newRaid(t, "", command)
	m := codextest.NewModel()
	t.Cleanup(m.Close)
	r.replace("codex:\n", "codex:\n  model: gpt-5.5\n")
	r.env = append(r.env, "OPENAI_BASE_URL="+m.URL()+"/v1")

	const reach = `{ ls .git/config DIR/.symphony/repositories/*; cat DIR/.symphony/state.json; cat /proc/[0-9]*/environ | tr '\0' '\n' | grep GITHUB_; env | grep -i token; git push origin HEAD:refs/heads/stolen; git fetch origin; } > seen.txt 2>/dev/null; true`
	set := func(names ...string) (script string) {
		for _, name := range names {
			script += strings.ReplaceAll(traps[name].script(), "OUTSIDE", r.dir+"/outside") + "\n"
		}
		return script
	}
	// One trap does not hide another in its workspace: links in .git, which end the
	// harvest before git starts, are only beside other links there.
	scripts := []string{
		strings.ReplaceAll(reach, "DIR", r.dir) + "\n" + set("a replaced commit"),
		set("a bare repository in the root"), set("a branch that is a symbolic ref"), set("links that are written to", "a worktree"),
	}
	work := call("exec_command", map[string]any{"cmd": "echo good >> good.txt && git add -A && git commit -qm good", "yield_time_ms": 30000})
	var issues []string
	for i, script := range scripts {
		key := fmt.Sprintf("RAID-%d", i+1)
		issues = append(issues, key)
		r.write("issues/"+key+".md", todo(key))
		leave := call("exec_command", map[string]any{"cmd": "echo left > left.txt\n" + script + "\necho; echo this is set: " + key, "yield_time_ms": 30000})
		m.Add(lane(key, leave, say("Done."), work, say("Done."), work, say("Done.")))
	}
	first := r.tick(t)
	r.intact(t, "the first tick", issues...)
	for _, key := range issues {
		if !slices.ContainsFunc(m.Requests(), func(q codextest.Request) bool { return said(q, "this is set: "+key) }) {
			t.Errorf("%s: the agent has not done what it should, so this shows nothing", key)
		}
		r.write("issues/"+key+".md", todo(key))
	}
	second := r.tick(t)
	r.intact(t, "the second tick", issues...)
	for _, key := range issues {
		if got := r.published(key); !slices.Contains(got, "good.txt") {
			t.Errorf("%s: published %v\n%s\n%s", key, got, first.stdout, second.stdout)
		}
	}
	if seen, _ := r.hub.File("symphony/"+issues[0], "seen.txt"); seen != ".git/config\n" {
		t.Errorf("the agent saw, besides its own files:\n%s", seen)
	}
	if stores := outputOf("bash", "-c", "ls -d "+shellQuote(r.dir)+"/.symphony/repositories/*"); stores == "" {
		t.Error("there was no repository to see, so this shows nothing")
	}
}
