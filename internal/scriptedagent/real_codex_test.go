package scriptedagent

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// startCodex returns a peer of the real Codex with a scripted model.
func startCodex(t *testing.T, dir string, m *codextest.Model, home codextest.Home) *peer {
	t.Helper()
	path := codextest.Path(t)
	home.URL = m.URL()
	if err := home.Write(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "app-server")
	// Codex runs commands in a login shell, which must not read the developer's profile.
	cmd.Env = append(os.Environ(), "CODEX_HOME="+dir, "HOME="+t.TempDir(), "PATH="+hiddenBubblewrap(t)+":"+os.Getenv("PATH"))
	return start(t, cmd)
}

// hiddenBubblewrap returns a folder with a bubblewrap that says nothing, behind which Codex
// does not see one of the machine that is too old for it. Codex takes no notice of one in a
// temporary folder, which its sandboxes may write.
func hiddenBubblewrap(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("testdata/hidden")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func saying(text string) codextest.Reply {
	return codextest.Reply{Items: []codextest.Item{codextest.Message{Text: text}}}
}

func calling(name, arguments string) codextest.Reply {
	return codextest.Reply{Items: []codextest.Item{codextest.Call{Name: name, Arguments: arguments}}}
}

// running returns the reply with which Codex runs a command. It sets the longest wait,
// because on a busy machine a command can take longer than the default.
func running(command string) codextest.Reply {
	arguments, err := json.Marshal(object{"cmd": command, "yield_time_ms": 30000})
	if err != nil {
		panic(err)
	}
	return calling("exec_command", string(arguments))
}

func model(t *testing.T, lanes ...codextest.Lane) *codextest.Model {
	m := codextest.NewModel(lanes...)
	t.Cleanup(m.Close)
	return m
}

func TestCodexTellsTheModelWhatItsToolsSaid(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	for name, first := range map[string]codextest.Item{
		"gpt-5.5":     running("echo from the command").Items[0],
		"gpt-6.1-sol": codextest.Custom{Name: "exec", Input: `text((await tools.exec_command({cmd: "echo from the command", yield_time_ms: 30000})).output)`},
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, codextest.Lane{Match: regexp.MustCompile("ABC-7"), Replies: []codextest.Reply{
				{Items: []codextest.Item{codextest.Reasoning{Summary: "I shall look."}, codextest.Message{Text: "I look.", Phase: "commentary"}, first},
					Usage: &codextest.Usage{Input: 1000, Cached: 900, CacheWrite: 60, Output: 50, Reasoning: 10}},
				saying("Done."),
			}})
			home := t.TempDir()
			p := startCodex(t, home, m, codextest.Home{Model: name})
			p.hello()
			equal(t, "status", "completed", p.turn(p.thread(t.TempDir(), nil), "Work on ABC-7.").Status)
			equal(t, "messages", []string{"I look.", "Done."}, p.said())
			equal(t, "output", "from the command\n", p.item("commandExecution")["aggregatedOutput"].(string))
			equal(t, "tokens", [4]float64{1100, 900, 60, 70}, p.spent())
			requests := m.Requests()
			equal(t, "requests", 2, len(requests))
			if !strings.Contains(string(requests[1].Body), "from the command\\n") {
				t.Errorf("the model was not told: %s", requests[1].Body)
			}
		})
	}
}

func TestCodexFailsTheTurnWithWhatTheModelFailsWith(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	replies := []codextest.Reply{
		{Failed: &codextest.Failed{Code: "context_length_exceeded", Message: "too long"}},
		{Incomplete: "max_output_tokens"},
		{Items: []codextest.Item{codextest.Message{Text: "Half"}}, End: codextest.Cut},
		{End: codextest.Closed},
		{End: codextest.Reset},
		{Status: 500, Body: `{"error":{"message":"oops"}}`},
		{Status: 429, Body: `{"error":{"message":"slow down"}}`},
	}
	m := model(t, codextest.Lane{Replies: replies})
	p := startCodex(t, t.TempDir(), m, codextest.Home{})
	p.hello()
	thread := p.thread(t.TempDir(), nil)
	var causes []any
	for range replies {
		causes = append(causes, p.turn(thread, "Go on.").Error.CodexErrorInfo)
	}
	tooMany := map[string]any{"responseTooManyFailedAttempts": map[string]any{"httpStatusCode": 429.0}}
	equal(t, "causes", []any{"contextWindowExceeded", "other", "other", "other", "other", "internalServerError", tooMany}, causes)
}
