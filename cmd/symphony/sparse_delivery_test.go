package main

import (
	"strings"
	"testing"
)

// TestASessionChangesNothingOfWhatItDoesNotHave keeps one workspace, which gets some
// folders, other ones, all, and some again, while a person works on the branch as well.
func TestASessionChangesNothingOfWhatItDoesNotHave(t *testing.T) {
	t.Parallel()
	p := newProject(t, agentCommand(t), nil)
	p.env = append(p.env, "OPENAI_API_KEY="+agentKey)
	for _, name := range []string{"services/go.mod", "services/api/main", "services/api/old", "services/web/main", "web/page", "web/img/logo"} {
		p.write("shop/"+name, "old\n")
	}
	git := p.makeRepository("shop")
	git("branch", "symphony/A-1")
	p.replace("codex:", "repository: {url: ./shop, paths: []}\ndelivery: {hand_over: {state: Review}}\nagent: {max_turns: 1}\ncodex:")
	paths := "paths: []"
	for _, session := range []struct {
		paths string
		has   string // files in folders, before the work
		does  string
		want  string // the difference
	}{
		{"paths: [services/api, not/there]", "./services/api/main ./services/api/old ./services/go.mod",
			"echo new > services/api/main; rm services/api/old; mkdir -p not/there; echo new > not/there/yet", "A\tnot/there/yet\nM\tservices/api/main\nD\tservices/api/old"},
		{"paths: [web]", "./web/img/logo ./web/page", "echo new > web/page; git add -A; git commit -qm page", "M\tweb/page"},
		{"paths: []", "./not/there/yet ./services/api/main ./services/go.mod ./services/web/main ./web/img/logo ./web/page", "rm services/web/main", "D\tservices/web/main"},
		{"paths: [services]", "./services/api/main ./services/go.mod", "mkdir web; echo new > web/more", "A\tweb/more"},
	} {
		git("switch", "-q", "symphony/A-1")
		for _, name := range []string{"README.md", "services/go.mod", "services/api/main", "web/page", "web/img/logo"} {
			p.write("shop/"+name, "by a person, for "+session.paths+"\n")
		}
		git("commit", "-q", "-a", "-m", "A person's")
		git("switch", "-q", "main")
		before := git("rev-parse", "symphony/A-1")

		p.replace(paths, session.paths)
		paths = session.paths
		p.write("issues/A-1.md", task(
			"Run `echo $(find . -path ./.git -prune -o -type f -path './*/*' -print | sort) | grep -Fx '"+session.has+"' && test -e README.md`",
			"Run `"+session.does+"`"))
		if r := p.ok("--once"); !strings.Contains(r.stdout, "1 completed") || !strings.Contains(p.read("issues/A-1.md"), "state: Review") {
			t.Fatalf("%s: the run says\n%s\n%s", session.paths, r.stdout, r.stderr)
		}
		if got := git("diff", "--name-status", before, "symphony/A-1"); got != session.want {
			t.Errorf("%s: the session changes\n%s\nwant\n%s", session.paths, got, session.want)
		}
	}
}
