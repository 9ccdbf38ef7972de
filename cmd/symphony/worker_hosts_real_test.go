package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/sshtest"
)

// TestIssuesAreWorkedOnByHosts spreads issues over two hosts with a real sshd and the real Codex. One host dies in
// the middle, and its issue goes on at the other. Setup, the check, the conversation and the cleanup are made on
// the hosts.
func TestIssuesAreWorkedOnByHosts(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	hosts := map[string]*sshtest.Host{}
	for _, name := range []string{"first", "second"} {
		hosts[name] = n.Start(t, sshtest.Options{Profile: "echo Welcome to " + name})
	}
	work := func(file string) []codextest.Reply {
		return []codextest.Reply{
			call("exec_command", map[string]any{"cmd": "cat made/by-setup && echo work > " + file, "yield_time_ms": 30_000}), say("Done."),
		}
	}
	about := func(issue string) *regexp.Regexp { return regexp.MustCompile("Work on " + issue + `\b`) }
	m := codextest.NewModel(
		codextest.Lane{Match: about("GH-1"), Replies: append(work("one.txt"), call("reply", map[string]string{"to": "1", "text": "It is fast."}), say("Answered."))},
		codextest.Lane{Match: about("GH-2"), Replies: append([]codextest.Reply{{End: codextest.Hang}}, work("two.txt")...)},
	)
	t.Cleanup(m.Close)
	model, err := url.Parse(m.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy, works := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: model.Scheme, Host: model.Host}), make(chan struct{})
	asked := sync.OnceFunc(func() { close(works) })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the model refuses half a request
		if about("GH-2").Match(body) {
			asked()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)

	s := newShop(t, "Nothing")
	s.hub.Commit("main", map[string]string{".gitignore": "made/\n"})
	s.hub.AddIssue(githubtest.Issue{Title: "Two", Labels: []string{"symphony"}})
	s.hub.SetPermission("kim", "write")
	var ahead atomic.Int64 // of our clock, in seconds: each event has one of its own
	s.hub.SetClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Add(1)) * time.Second) })
	s.env = append(s.env, "OPENAI_BASE_URL="+front.URL+model.Path, "PATH="+filepath.Dir(n.Client)+":"+os.Getenv("PATH"))
	s.replace("command: "+mustJSON(t, agentCommand(t)), "command: "+mustJSON(t, shellQuote(codextest.Path(t))+" app-server")+"\n  model: gpt-5.5")
	s.replace("root: workspaces", "root: ~/work")
	s.replace("delivery:\n", "worker:\n  ssh_hosts: ["+hosts["first"].Name+", "+hosts["second"].Name+"]\n  max_concurrent_agents_per_host: 2\n"+
		"setup: {run: 'mkdir -p made && echo \"$HOME\" > made/by-setup'}\n"+
		"delivery:\n  verify: [test -e made/by-setup]\n")
	s.replace("{{ issue.description }}", "Work on {{ issue.identifier }}.")

	dead := make(chan string, 1)
	go func() { // the host of GH-2 dies when it works
		select {
		case <-works:
		case <-t.Context().Done():
			return
		}
		for name, host := range hosts {
			if _, err := os.Stat(filepath.Join(host.Home, "work", "GH-2")); err == nil {
				host.Kill()
				dead <- name
				return
			}
		}
		dead <- ""
	}()
	s.tick()
	select {
	case <-works:
	default:
		t.Fatalf("no host has worked on GH-2:\n%s", s.out)
	}
	dying := <-dead
	if dying == "" {
		t.Fatalf("no host has the workspace of GH-2:\n%s", s.out)
	}
	left := hosts["first"]
	if dying == "first" {
		left = hosts["second"]
	}
	if got, _ := s.hub.File("symphony/GH-1", "one.txt"); got != "work\n" || len(s.hub.Pulls()) != 1 {
		t.Errorf("delivered by the first tick: %q\n%s", got, s.out)
	}
	if lost := hosts[dying].Name; !strings.Contains(s.out, "worker host "+lost) || strings.Contains(s.out, "worker host "+left.Name) {
		t.Errorf("the report does not name the dead host %s alone:\n%s", lost, s.out)
	}
	state, generation := s.state()
	claim := state.Claims["2"]
	if claim.Attempt != 0 || claim.Failures != 0 || state.Hosts[hosts[dying].Name].Failures != 1 || !state.Pause.Since.IsZero() {
		t.Errorf("the loss of a host was charged: %+v, %+v", claim, state.Hosts)
	}
	if wait := claim.Due.Sub(claim.Since); wait < 50*time.Second {
		t.Errorf("the issue starts again after %v, when the agent of the lost host may still run", wait)
	}
	claim.Due, claim.LostUntil = time.Now(), time.Time{} // a minute has passed
	state.Claims["2"] = claim
	s.saveState(state, generation)
	s.out = ""
	s.tick()
	if got, _ := s.hub.File("symphony/GH-2", "two.txt"); got != "work\n" || len(s.hub.Pulls()) != 2 {
		t.Errorf("delivered by the second tick: %q\n%s", got, s.out)
	}

	pull := s.hub.Pulls()[0].Number // of GH-1
	s.hub.AddComment(pull, "kim", "Is it fast?")
	s.out = ""
	s.tick()
	if ours := strings.Join(s.ourComments(pull), "\n"); !strings.Contains(ours, "It is fast.") || !strings.Contains(s.out, "resumed=true") {
		t.Errorf("no answer in %q:\n%s", ours, s.out)
	}

	hosts[dying].Restart(t)
	state, generation = s.state()
	state.Hosts = nil // it has been left alone long enough
	s.saveState(state, generation)
	s.hub.Merge(s.hub.Pulls()[0].Number)
	s.hub.Merge(s.hub.Pulls()[1].Number)
	s.out = ""
	s.tick()
	for name, host := range hosts {
		workspaces, err := filepath.Glob(filepath.Join(host.Home, "work", "GH-*"))
		if err != nil || len(workspaces) > 0 {
			t.Errorf("left on %s: %q (%v)\n%s", name, workspaces, err, s.out)
		}
		if running := host.Left(); len(running) > 0 {
			t.Errorf("%s still runs %q", name, running)
		}
	}
	out, err := s.command(t.Context(), "validate").CombinedOutput()
	if err != nil || !strings.Contains(string(out), left.Name+", codex 0.169.0") {
		t.Errorf("validate says %v:\n%s", err, out)
	}
}
