package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// firstTexts returns the text of the first turn of each session on an issue, as the
// agent got it, the oldest session first.
func (p *project) firstTexts(issue string) []string {
	p.t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.dir, ".symphony", "sessions", issue, "*.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	var texts []string
	for _, name := range logs {
		for line := range strings.Lines(readText(p.t, name)) {
			var entry struct {
				Msg struct {
					Method string
					Params json.RawMessage
				}
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg.Method != "turn/start" {
				continue
			}
			var params struct{ Input []struct{ Text string } }
			if err := json.Unmarshal(entry.Msg.Params, &params); err != nil {
				p.t.Fatal(err)
			}
			texts = append(texts, params.Input[0].Text)
			break
		}
	}
	return texts
}

// TestThePromptThatIsShownIsTheOneThatTheAgentGets compares it with the session that
// follows, and with the next one, which answers a comment.
func TestThePromptThatIsShownIsTheOneThatTheAgentGets(t *testing.T) {
	t.Parallel()
	p := emptyProject(t)
	runGit(t, p.dir, "init", "--quiet", "--initial-branch=main")
	runGit(t, p.dir, "commit", "--quiet", "--allow-empty", "--message", "Begin")
	p.ok("init", "--tracker", "file")
	p.replace("agent:\n", "codex: {command: "+mustJSON(t, scripted(t, filepath.Join(t.TempDir(), "agent")))+"}\nagent:\n")
	const work = "\n- [ ] Create `TESTS.md` containing `go test`\n- [ ] Call `deliver` with `{\"title\": \"Say how\", \"body\": \"In a line.\"}`\n"
	p.write("issues/FIRST-1.md", p.read("issues/FIRST-1.md")+work)

	shown := p.ok("prompt", "first-1").stdout
	if _, err := os.Stat(filepath.Join(p.dir, ".symphony")); err == nil {
		t.Error("showing the prompt made a folder")
	}
	p.ok("--once")
	if got := p.firstTexts("FIRST-1"); len(got) != 1 || got[0]+"\n" != shown || !strings.Contains(shown, "on the branch `symphony/FIRST-1`, whose base is `main`") {
		t.Fatalf("the agent got\n%q\nand this was shown:\n%s", got, shown)
	}

	p.write("issues/FIRST-1.md", p.read("issues/FIRST-1.md")+"\n## Comments\n\n### kim\n\nName the flag `-race` too.\n")
	shown = p.ok("prompt", "FIRST-1").stdout
	_, feedback, ok := strings.Cut(shown, "# What was said about the work on FIRST-1")
	if !ok || !strings.Contains(feedback, "> Name the flag `-race` too.") {
		t.Fatalf("the comment is not in the prompt:\n%s", shown)
	}
	p.ok("--once")
	if got := p.firstTexts("FIRST-1"); len(got) != 2 || !strings.HasSuffix(got[1]+"\n", feedback) {
		t.Errorf("the agent got\n%q\nand this was shown:\n%s", got, shown)
	}
}
