package codex_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// rawCodex is the real Codex in a testbed without our session: a test sends the messages
// itself, including some that our sessions never send, to show their effect.
type rawCodex struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	dead  bool
}

// startRaw starts Codex and initializes the connection. Codex ends with the test at the
// latest.
func (c *testbed) startRaw() *rawCodex {
	c.t.Helper()
	c.build()
	c.model = codextest.NewModel()
	c.t.Cleanup(c.model.Close)
	if err := (codextest.Home{URL: c.model.URL(), Model: c.name, Features: c.features}).Write(c.path("homes/own")); err != nil {
		c.t.Fatal(err)
	}
	b := &rawCodex{t: c.t, cmd: exec.Command(codextest.Path(c.t), "app-server")}
	b.cmd.Dir, b.cmd.Env = c.ws.Path, c.env.Parent
	in, err := b.cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	b.in, b.lines = in, bufio.NewScanner(out)
	b.lines.Buffer(nil, 16<<20)
	c.t.Cleanup(b.close)
	b.send(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}`)
	return b
}

func (b *rawCodex) send(format string, args ...any) {
	b.t.Helper()
	if _, err := fmt.Fprintf(b.in, format+"\n", args...); err != nil {
		b.t.Fatal(err)
	}
}

// turn runs one turn on a thread of its own, with the policies of the thread and of the
// turn as JSON, and gives the answer to each request for approval.
func (b *rawCodex) turn(cwd, approval, sandbox, answer string) {
	b.t.Helper()
	b.send(`{"id":2,"method":"thread/start","params":{"cwd":%q,"approvalPolicy":%s}}`, cwd, approval)
	for b.lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ Thread struct{ ID string } }
		}
		if err := json.Unmarshal(b.lines.Bytes(), &m); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case m.Method == "turn/completed":
			return
		case m.Method == "" && string(m.ID) == "2":
			b.send(`{"id":3,"method":"turn/start","params":{"threadId":%q,"input":[{"type":"text","text":"go"}],"sandboxPolicy":%s}}`, m.Result.Thread.ID, sandbox)
		case m.Method != "" && m.ID != nil:
			b.send(`{"id":%s,"result":%s}`, m.ID, answer)
		}
	}
	b.t.Fatalf("Codex ended in the middle: %v", b.lines.Err())
}

// close hangs up and waits for Codex, but not for processes that Codex started.
func (b *rawCodex) close() {
	if b.dead {
		return
	}
	b.dead = true
	b.in.Close()
	for b.lines.Scan() {
	}
	b.cmd.Wait()
}
