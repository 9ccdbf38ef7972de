package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// realProject returns a project that the real Codex works on, with a scripted model.
func realProject(t testing.TB, issues map[string]string, lanes ...codextest.Lane) (*project, *codextest.Model) {
	t.Helper()
	path := codextest.Path(t)
	m := codextest.NewModel(lanes...)
	t.Cleanup(m.Close)
	p := newProject(t, shellQuote(path)+" app-server", issues)
	home := filepath.Join(t.TempDir(), "codex")
	if err := (codextest.Home{URL: m.URL()}).Write(home); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "CODEX_HOME="+home)
	return p, m
}

func todo(title string) string { return "---\ntitle: " + title + "\nstate: Todo\n---\nPlease.\n" }

// lane returns the replies of the model about one issue.
func lane(issue string, replies ...codextest.Reply) codextest.Lane {
	return codextest.Lane{Match: regexp.MustCompile(`working on ` + issue + `\b`), Replies: replies}
}

func say(text string) codextest.Reply {
	return codextest.Reply{Items: []codextest.Item{codextest.Message{Text: text}}}
}

func call(name string, arguments any) codextest.Reply {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return codextest.Reply{Items: []codextest.Item{codextest.Call{Name: name, Arguments: string(text)}}}
}

func handOver() codextest.Reply { return call("issue_update", map[string]string{"state": "Review"}) }

func TestAnInterruptedRealCodexIsResumedByTheNextRun(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": todo("Interrupted")},
		lane("A-1",
			call("exec_command", map[string]string{"cmd": "echo first > first.txt"}),
			codextest.Reply{End: codextest.Hang},
			handOver(), say("Done.")))
	var stderr strings.Builder
	cmd := p.command(context.Background(), "--once")
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the model to hang", func() bool { return len(m.Requests()) >= 2 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit status %d, %v\n%s", code, err, &stderr)
	}
	p.noProcessLeft()
	if c := p.claims()["A-1"]; c.Phase != schedule.Waiting || c.Thread == "" || c.Failures != 0 {
		t.Fatalf("the claim left behind is %+v", c)
	}
	p.ok("--once")
	if text := p.read("issues/A-1.md"); !strings.Contains(text, "state: Review") {
		t.Errorf("not handed over:\n%s", text)
	}
	requests := m.Requests()
	if body := string(requests[2].Body); !strings.Contains(body, "first.txt") ||
		strings.Count(body, "You are working on A-1") != 2 || strings.Count(body, "The workspace was kept") != 1 {
		t.Error("the second run did not continue the thread of the first with a prompt of its own")
	}
}

// TestTheDemoWorksWithTheUsersOwnCodex runs the demo as somebody does who has
// installed Codex and logged in: it is found by the login shell, and its home is
// the user's.
func TestTheDemoWorksWithTheUsersOwnCodex(t *testing.T) {
	t.Parallel()
	run := func(command string) codextest.Reply { return call("exec_command", map[string]string{"cmd": command}) }
	deliver := call("deliver", map[string]string{"title": "What was asked for", "body": "As the issue says."})
	p, m := realProject(t, nil,
		lane("DEMO-1", run("echo Hello from Symphony. > hello.txt"), deliver, say("Done.")),
		lane("DEMO-2", run("echo one > count.txt"), say("Half of it."), run("echo two, three >> count.txt"), deliver, say("Done.")),
		lane("DEMO-3", run("cat license.key"), say("There is no license.key, so I stop here."), say("Still none."), say("Still none.")))
	p.write(".bash_profile", "PATH="+shellQuote(filepath.Dir(codextest.Path(t)))+":$PATH\n")
	temp := t.TempDir()
	p.env = append(p.env, "TMPDIR="+temp)
	r := p.ok("demo", "--codex")

	folders, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the demo left %v, %v", folders, err)
	}
	demo := project{t: t, dir: folders[0]}
	for name, want := range map[string]string{
		"symphony/DEMO-1:hello.txt": "Hello from Symphony.",
		"symphony/DEMO-2:count.txt": "one\ntwo, three",
	} {
		if got := runGit(t, filepath.Join(demo.dir, "shop"), "show", name); got != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if text := demo.read("patches/DEMO-1.patch"); !strings.Contains(text, "+Hello from Symphony.") {
		t.Errorf("the patch is\n%s", text)
	}
	for name, state := range map[string]string{"DEMO-1": "Review", "DEMO-2": "Review", "DEMO-3": "Todo"} {
		if text := demo.read("issues/" + name + ".md"); !strings.Contains(text, "state: "+state) {
			t.Errorf("%s is not in %s:\n%s", name, state, text)
		}
	}
	if n := len(m.Requests()); n < 8 {
		t.Errorf("the model was asked %d times", n)
	}
	if !strings.Contains(r.stdout, "symphony/DEMO-1") || strings.Contains(r.stdout+r.stderr, "posture") {
		t.Errorf("%s\n%s", r.stdout, r.stderr)
	}
	p.noProcessLeft()
}

// TestATickWithoutASandboxBurnsNoTurn gives the real Codex a machine on which it
// can make no user namespace, as many are.
func TestATickWithoutASandboxBurnsNoTurn(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": todo("Work"), "A-2": todo("Work"), "A-3": todo("Work")})
	const forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
	if exec.Command("unshare", "--user", "--map-root-user", "sh", "-c", forbid).Run() != nil {
		t.Skip("no user namespaces here to forbid others in")
	}
	p.replace(`command: "`, `command: "exec unshare --user --map-root-user sh -c '`+forbid+` && exec \"$@\"' - `)
	r := p.ok("--once")
	if n := len(m.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if !strings.Contains(r.stdout, "kernel.apparmor_restrict_unprivileged_userns=0") {
		t.Errorf("the report does not say what is wrong and what to do:\n%s", r.stdout)
	}
	for id, claim := range p.claims() {
		if claim.Failures != 0 || claim.Thread != "" {
			t.Errorf("%s is charged: %+v", id, claim)
		}
	}
	if v := p.run("validate"); v.code != exitUsage || !strings.Contains(v.stdout, "sandbox_unavailable") {
		t.Errorf("validate: exit status %d\n%s", v.code, v.stdout)
	}
	p.noProcessLeft()
}

// TestTheRealCodexIsInAConversation runs the script of a conversation once more, with the real
// Codex and a scripted model in place of the scripted agent.
func TestTheRealCodexIsInAConversation(t *testing.T) {
	t.Parallel()
	codex := codextest.Path(t)
	params := scriptParams(func(env *testscript.Env) {
		model := codextest.NewModel()
		env.Defer(model.Close)
		env.Setenv("AGENT", "exec "+shellQuote(codex)+" -c model=gpt-5.5 -c model_provider=scripted -c model_providers.scripted.name=scripted"+
			" -c model_providers.scripted.base_url="+model.URL()+" -c model_providers.scripted.wire_api=responses -c features.plugins=false app-server")
		setUpStory(env, model)
	})
	params.Files = []string{filepath.Join(scriptFolder, "conversation.txt")}
	testscript.Run(t, params)
}

// TestAPlantedDefectIsFoundByTheSecondLook lets the real Codex deliver a defect, and a model that reads the
// work find it.
func TestAPlantedDefectIsFoundByTheSecondLook(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	look := func(findings string) codextest.Reply {
		r := say(`{"verdict":"not_ready","title":"Keeps carts","summary":"Carts are kept.","findings":[` + findings + `]}`)
		r.Usage = &codextest.Usage{Input: 7000, Output: 70}
		return r
	}
	shell := func(command string) codextest.Reply {
		return call("exec_command", map[string]any{"cmd": command, "yield_time_ms": 30_000})
	}
	minor := `{"path":"cart.txt","line":1,"severity":"minor","text":"thanks @admin, a test would help"}`
	m := codextest.NewModel(
		codextest.Lane{Match: regexp.MustCompile("You review a change"), Replies: []codextest.Reply{
			look(minor + `,{"path":"cart.txt","line":1,"severity":"severe","text":"the cart loses its last item"}`), look(minor),
		}},
		codextest.Lane{Replies: []codextest.Reply{shell("echo items=1 > cart.txt"), say("Done."), shell("echo items=2 > cart.txt"), say("Done.")}})
	t.Cleanup(m.Close)
	s.replace(mustJSON(t, agentCommand(t)), mustJSON(t, shellQuote(codextest.Path(t))+" app-server")+"\n  model: gpt-5.5")
	s.replace("delivery:\n", "delivery:\n  review: fresh\n  verify: [grep -q items cart.txt]\n")
	s.env = append(s.env, "OPENAI_BASE_URL="+m.URL()+"/v1")
	s.tick()
	if got, _ := s.hub.File("symphony/GH-1", "cart.txt"); got != "items=2\n" {
		t.Errorf("%q is delivered", got)
	}
	pulls := s.hub.Pulls()
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests", len(pulls))
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(pulls[0].Body, "\r\n", "\n"), "-->\n")
	want := "Fixes #1\n\nAn agent wrote this. To ask for more, comment here or on a line, with write access to this repository.\n\n" +
		"- **Asked:** [GH-1](" + s.hub.ServerURL() + "/acme/shop/issues/1) Carts forget\n" +
		"- **Checked:** `grep -q items cart.txt` passed in a clean checkout of this work\n" +
		"- **Second look:** `gpt-5.5` read this work and found nothing severe, and does not call it ready\n" +
		"- **Model:** `gpt-5.5`\n" +
		"- **Spent:** 1 session, 14.6k tokens, on this issue so far\n\n" +
		"<details><summary>1 minor finding of the second look</summary>\n\n- `cart.txt:1` thanks @\u200badmin, a test would help\n\n</details>\n\n" +
		"<!-- symphony: by the agent -->\n\nCarts are kept.\n"
	if diff := cmp.Diff(want, body); diff != "" || pulls[0].Title != "Keeps carts" {
		t.Errorf("the pull request is %q:\n%s", pulls[0].Title, diff)
	}
	state, _ := s.state()
	if got := state.Days[0].Usage.Input; got < 14_000 {
		t.Errorf("%d tokens of input are counted, which lacks the two looks", got)
	}
}

// TestASecondLookCostsOneTurn compares a run with the same one without a look.
func TestASecondLookCostsOneTurn(t *testing.T) {
	t.Parallel()
	run := func(review string) (requests []string, turns int) {
		s := newShop(t)
		s.killer.whole = true
		m := codextest.NewModel(
			codextest.Lane{Match: regexp.MustCompile("You review a change"), Replies: []codextest.Reply{say(`{"verdict":"ready","title":"","summary":"","findings":[]}`)}},
			codextest.Lane{Replies: []codextest.Reply{call("exec_command", map[string]any{"cmd": "echo items=2 > cart.txt", "yield_time_ms": 30_000}), say("Done.")}})
		t.Cleanup(m.Close)
		s.replace(mustJSON(t, agentCommand(t)), mustJSON(t, shellQuote(codextest.Path(t))+" app-server")+"\n  model: gpt-5.5")
		s.replace("delivery:\n", "delivery:\n  review: "+review+"\n")
		s.replace("workspace:\n", "polling:\n  interval_ms: 3600000\nworkspace:\n") // none on a slow machine
		s.env = append(s.env, "OPENAI_BASE_URL="+m.URL()+"/v1")
		s.tick()
		requests = slices.DeleteFunc(s.killer.log, func(request string) bool {
			return strings.Contains(request, "/git/") // of the state, which is looked at every few seconds
		})
		slices.Sort(requests)
		return requests, len(m.Requests())
	}
	without, turns := run("none")
	with, more := run("fresh")
	if diff := cmp.Diff(without, with); diff != "" || turns != 2 || more != 3 {
		t.Errorf("%d requests of the model without a look, %d with one; requests to GitHub:\n%s", turns, more, diff)
	}
}

// TestAServerThatRunsAlreadyServesATick has the real Codex listen on a port, with a token.
func TestAServerThatRunsAlreadyServesATick(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	m := codextest.NewModel(codextest.Lane{Replies: []codextest.Reply{
		call("exec_command", map[string]any{"cmd": "echo items=2 > cart.txt; env | grep -c TOKEN > tokens", "yield_time_ms": 30_000}), say("Done."),
	}})
	t.Cleanup(m.Close)
	const token = "a-token-that-nobody-guesses-0123456789"
	home, listen := t.TempDir(), "ws://"+freeAddress(t)
	if err := (codextest.Home{URL: m.URL()}).Write(home); err != nil {
		t.Fatal(err)
	}
	s.write("token", token)
	codextest.Serve(t, "--listen "+listen+" --ws-auth capability-token --ws-token-file "+shellQuote(filepath.Join(s.dir, "token"))+" "+codex.SharedSettings,
		"PATH="+os.Getenv("PATH"), "HOME="+home, "CODEX_HOME="+home)
	s.replace("command: "+mustJSON(t, agentCommand(t)), "endpoint: "+listen+"\n  endpoint_token: $CODEX_ENDPOINT_TOKEN")
	s.replace("delivery:\n", "delivery:\n  verify: [grep -q items=2 cart.txt, grep -qx 0 tokens]\n")
	s.env = append(s.env, "CODEX_ENDPOINT_TOKEN=wrong-"+token)
	s.tick()
	if want := "codex_endpoint_refused: 401 Unauthorized: compare codex.endpoint_token with the token of the server"; !strings.Contains(s.out, want) || strings.Contains(s.out, token) || len(s.hub.Pulls()) > 0 {
		t.Errorf("with a wrong token:\n%s", s.out)
	}
	s.env = append(s.env, "CODEX_ENDPOINT_TOKEN="+token)
	s.tick()
	if got, _ := s.hub.File("symphony/GH-1", "cart.txt"); got != "items=2\n" || len(s.hub.Pulls()) != 1 || strings.Contains(s.out, token) {
		t.Errorf("%q is delivered:\n%s", got, s.out)
	}
	out, err := s.command(t.Context(), "validate").CombinedOutput()
	if !strings.Contains(string(out), listen+" 0.169.0") {
		t.Errorf("validate says %v:\n%s", err, out)
	}
}

// freeAddress returns an address of this machine on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
