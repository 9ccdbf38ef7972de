package main

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
)

// TestValidateWarnsOfServicesThatDoNotAnswer names one that does and one that does not.
func TestValidateWarnsOfServicesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	there, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip(err)
	}
	defer there.Close()
	p := newProject(t, scripted(t, t.TempDir()), nil)
	p.replace("kind: file", fmt.Sprintf("kind: file\nservices: [localhost:%d, localhost:1]", portOf(there))) // nobody has port 1
	var out strings.Builder
	a := &app{Process: wiring.Process{Stdout: &out, Stderr: io.Discard, Environ: p.env}, logFormat: "text"}
	a.DetectActions()
	a.redactor = a.EnvironmentSecrets()
	_ = (&validateCommand{app: a}).validate(t.Context(), filepath.Join(p.dir, "WORKFLOW.md"), wiring.CheckTimeout) // the agent is scripted, and cannot be tried
	const want = "the service localhost:1 does not answer: start it, or publish its port there, before sessions start"
	if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, fmt.Sprintf("localhost:%d does not", portOf(there))) || !strings.Contains(got, "2 services") {
		t.Errorf("no %q in:\n%s", want, got)
	}
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// TestTheStatusPageIsNoService names the port of --port as one.
func TestTheStatusPageIsNoService(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	p := newProject(t, scripted(t, t.TempDir()), nil)
	port := portOf(gone)
	p.replace("kind: file", fmt.Sprintf("kind: file\nservices: [localhost:%d]", port))
	got := p.run("--port", fmt.Sprint(port))
	if want := fmt.Sprintf("port %d is one of the key services, by which agents would reach the status page; choose another --port", port); got.code != 2 || !strings.Contains(got.stderr, want) {
		t.Errorf("exit status %d, no %q in:\n%s", got.code, want, got.stderr)
	}
}

// TestExplainNamesTheServices prints them after the variables.
func TestExplainNamesTheServices(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	p := newProject(t, scripted(t, t.TempDir()), nil)
	p.replace("kind: file", "kind: file\nservices: [localhost:5432, 127.0.0.1:6379]")
	if got := p.ok("explain", "--environment").stdout; !strings.HasSuffix(got, "\nservices of this machine: localhost:5432, localhost:6379\n") {
		t.Error(got)
	}
}
