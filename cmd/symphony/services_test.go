package main

import (
	"bufio"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// TestTheAgentReachesAServiceOfTheMachine has the whole program with the real Codex. First validate
// tries it.
func TestTheAgentReachesAServiceOfTheMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives each command a loopback of its own")
	}
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	heard := make(chan string, 1)
	go func() {
		for {
			c, err := service.Accept()
			if err != nil {
				return
			}
			if line, err := bufio.NewReader(c).ReadString('\n'); err == nil { // what only tries it says nothing
				heard <- line
			}
			c.Close()
		}
	}()
	p, m := realProject(t, map[string]string{"A-1": todo("Work")}, codextest.Lane{Replies: []codextest.Reply{
		call("exec_command", map[string]any{"cmd": fmt.Sprintf("echo hello >/dev/tcp/127.0.0.1/%d", portOf(service)), "yield_time_ms": 30_000}), handOver(), say("Done."),
	}})
	p.replace("kind: file", fmt.Sprintf("kind: file\nservices: [localhost:%d]", portOf(service)))
	if got := p.run("validate").stdout; !strings.Contains(got, "ok        services    1 service\n") || !strings.Contains(got, "ok        codex ") {
		t.Errorf("validate:\n%s", got)
	}
	p.run("--once")
	if len(m.Requests()) == 0 {
		t.Fatal("the agent was asked nothing")
	}
	select {
	case got := <-heard:
		if got != "hello\n" {
			t.Errorf("the service heard %q", got)
		}
	case <-time.After(time.Minute):
		t.Error("the service heard nothing")
	}
	if body := string(m.Requests()[0].Body); !strings.Contains(body, fmt.Sprintf("on it the services localhost:%d of this machine", portOf(service))) {
		t.Errorf("the agent is told nothing about it: %.3000s", body)
	}
	p.noProcessLeft()
}
