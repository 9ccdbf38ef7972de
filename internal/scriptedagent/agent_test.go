package scriptedagent

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scripted returns a peer of an agent in this process, with a thread in a new folder.
func scripted(t *testing.T) (p *peer, thread, cwd string) {
	t.Helper()
	cwd = t.TempDir()
	p = serve(t, Options{Home: t.TempDir()})
	p.hello()
	return p, p.thread(cwd, commentTool), cwd
}

func TestStepsChangeFiles(t *testing.T) {
	t.Parallel()
	p, thread, cwd := scripted(t)
	end := p.turn(thread, "- [ ] Create `a/b.txt` containing `one`\n"+
		"- [ ] Append `two` to `a/b.txt`\n"+
		"- [ ] Create `c.txt` containing:\n```\nx\n\ny\n```\n"+
		"- [ ] Create `c.txt` containing `z`\n"+
		"- [ ] Append `new` to `d.txt`")
	equal(t, "status", "completed", end.Status)
	equal(t, "a/b.txt", "one\ntwo\n", contents(t, cwd, "a/b.txt"))
	equal(t, "c.txt", "z\n", contents(t, cwd, "c.txt"))
	equal(t, "d.txt", "new\n", contents(t, cwd, "d.txt"))
	var diffs []any
	for _, item := range p.items("fileChange") {
		change := item["changes"].([]any)[0].(map[string]any)
		diffs = append(diffs, change["kind"].(map[string]any)["type"], change["diff"])
	}
	equal(t, "diffs", []any{
		"add", "one\n",
		"update", "@@ -1,0 +2,1 @@\n+two\n",
		"add", "x\n\ny\n",
		"update", "@@ -1,3 +1,1 @@\n-x\n-\n-y\n+z\n",
		"add", "new\n",
	}, diffs)
	p.checkShapes(true)
}

func TestAFileOutsideTheFolderFailsTheTurn(t *testing.T) {
	t.Parallel()
	p, thread, cwd := scripted(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(cwd, "out")); err != nil {
		t.Fatal(err)
	}
	equal(t, "status", "failed", p.turn(thread, "- [ ] Create `out/a.txt` containing `x`").Status)
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}

func TestACommandThatFailsFailsTheTurn(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	end := p.turn(thread, "- [ ] Run `echo no >&2; exit 7`\n- [ ] Say `never`")
	equal(t, "status", "failed", end.Status)
	equal(t, "cause", "other", end.Error.CodexErrorInfo)
	ran := p.item("commandExecution")
	equal(t, "item", []any{"failed", 7.0, "no\n"}, []any{ran["status"], ran["exitCode"], ran["aggregatedOutput"]})
	equal(t, "output", "no\n", p.first("item/commandExecution/outputDelta")["delta"])
	equal(t, "messages", 0, len(p.said()))
	p.checkShapes(true)
}

func TestALargeOutputComesInChunksAndIsCappedAtTheEnd(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	equal(t, "status", "completed", p.turn(thread, "- [ ] Output `3000000` bytes").Status)
	total := 0
	for _, d := range p.of("item/commandExecution/outputDelta") {
		n := len(d["delta"].(string))
		if total += n; n > 40_000 {
			t.Fatalf("a chunk of %d bytes", n)
		}
	}
	equal(t, "bytes in chunks", 3000000, total)
	equal(t, "bytes in all", 1<<20, len(p.item("commandExecution")["aggregatedOutput"].(string)))
}

func TestOutputIsNeverCutInsideARune(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	p.turn(thread, "- [ ] Run `printf a; for i in {1..5000}; do printf '✔'; done`")
	var b strings.Builder
	for _, d := range p.of("item/commandExecution/outputDelta") {
		b.WriteString(d["delta"].(string))
	}
	equal(t, "output", "a"+strings.Repeat("✔", 5000), b.String())
}

func TestAnInterruptedCommandRunsUntilTheAgentEnds(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	turn := p.begin(thread, "- [ ] Run `echo $$; exec sleep 300`")
	pid := pidOf(t, p.until("item/commandExecution/outputDelta")["delta"])
	p.ok("turn/interrupt", object{"threadId": thread, "turnId": turn})
	equal(t, "status", "interrupted", p.completed().Status)
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the command is gone: %v", err)
	}
	p.in.Close()
	if err := p.end(); err != nil {
		t.Errorf("end of input: %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the command outlives the agent: %v", err)
	}
}

func TestACommandThatIsLeftOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	equal(t, "status", "completed", p.turn(thread, "- [ ] Leave `exec sleep 300` running").Status)
	var pid int
	for _, started := range p.of("item/started") {
		if item := started["item"].(map[string]any); item["type"] == "commandExecution" {
			pid = pidOf(t, item["processId"])
		}
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	p.in.Close()
	p.end()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the command is gone: %v", err)
	}
}

func pidOf(t *testing.T, v any) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(v.(string)))
	if err != nil || pid < 2 {
		t.Fatalf("no process id: %v", v)
	}
	return pid
}

func TestATaskThatIsNotUnderstoodFailsTheTurnBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	p, thread, cwd := scripted(t)
	end := p.turn(thread, "- [ ] Create `a.txt` containing `x`\n- [ ] Do the dishes")
	equal(t, "status", "failed", end.Status)
	if !strings.Contains(end.Error.Message, "Do the dishes") {
		t.Errorf("the line is not named: %s", end.Error.Message)
	}
	if _, err := os.Stat(filepath.Join(cwd, "a.txt")); err == nil {
		t.Error("the first step was done")
	}
}

func TestOnlyTheFirstPromptIsAScript(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	p.turn(thread, "- [ ] Spend `1200` tokens")
	p.turn(thread, "- [ ] Say `never`")
	equal(t, "messages", []string{"Done: 1 of 1 parts.", "There is nothing left to do."}, p.said())
	equal(t, "tokens", [4]float64{1400, 0, 0, 40}, p.spent())
	p.checkShapes(true)
}

func TestAToolThatTheClientDoesNotOfferIsNotCalled(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	equal(t, "status", "completed", p.turn(thread, "- [ ] Move this issue to `Review`").Status)
	equal(t, "messages", []string{"unsupported call: issue_update"}, p.said())
	equal(t, "calls", 0, len(p.of("item/tool/call")))
}

func TestAQuestionIsAskedAndTheAnswerRepeated(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]object{
		"The answer is: Blue": {"result": object{"answers": object{"q1": object{"answers": []string{"Blue"}}}}},
		"There is no answer.": {"error": object{"code": -32000, "message": "nobody is here"}},
	} {
		p, thread, _ := scripted(t)
		p.answers["item/tool/requestUserInput"] = func(object) object { return answer }
		equal(t, "status", "completed", p.turn(thread, "- [ ] Ask `Which colour?`").Status)
		asked := p.first("item/tool/requestUserInput")["questions"].([]any)[0].(map[string]any)
		equal(t, "question", "Which colour?", asked["question"])
		equal(t, "messages", []string{want}, p.said())
		p.checkShapes(true)
	}
}

func TestAWaitLastsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, Options{})
		p.hello()
		thread := p.thread(".", nil)
		began := time.Now()
		p.turn(thread, "- [ ] Wait `30s`")
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestAClientThatStopsReadingCannotHoldTheAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, Options{})
		p.hello()
		p.begin(p.thread(".", nil), "- [ ] Flood `1000000`")
		synctest.Wait() // everything is full
		p.in.Close()
		if err := p.end(); err != nil {
			t.Errorf("end of input: %v", err)
		}
	})
}

func TestTheScriptCanEndTheProcess(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	p.begin(thread, "- [ ] Exit `3`\n- [ ] Say `never`")
	var exit *ExitError
	if err := p.end(); !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("got %v, want exit 3", err)
	}
	equal(t, "turns completed", 0, len(p.of("turn/completed")))
}

func TestAnAgentThatIgnoresSignalsAndTheEndOfInputGoesOn(t *testing.T) {
	t.Parallel()
	p := startAgent(t, t.TempDir())
	p.hello()
	cwd := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(cwd, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	thread := p.thread(cwd, nil)
	p.begin(thread, "- [ ] Ignore signals and EOF\n- [ ] Say `Deaf.`\n"+
		"- [ ] Run `read < go`\n- [ ] Say `Still here.`")
	p.until("item/agentMessage/delta")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(p.pid, s); err != nil {
			t.Fatal(err)
		}
	}
	p.in.Close()
	if err := os.WriteFile(filepath.Join(cwd, "go"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "status", "completed", p.completed().Status)
	equal(t, "messages", []string{"Deaf.", "Still here."}, p.said())
}

func TestPoliciesThatCodexDoesNotKnowAreRefused(t *testing.T) {
	t.Parallel()
	p, thread, _ := scripted(t)
	refused(t, p.call("thread/start", object{"sandbox": "workspaceWrite"}), "Invalid request: unknown variant `workspaceWrite`")
	refused(t, p.call("thread/start", object{"approvalPolicy": "on-failure"}), "Invalid request: unknown variant `on-failure`")
	refused(t, p.call("turn/start", object{"threadId": thread, "input": []object{}, "sandboxPolicy": "read-only"}), "Invalid request: ")
	refused(t, p.call("turn/start", object{"threadId": thread, "input": []object{},
		"sandboxPolicy": object{"type": "read-only"}}), "Invalid request: unknown variant `read-only`")
	p.thread(".", object{"approvalPolicy": object{"granular": object{"rules": false}}})
}
