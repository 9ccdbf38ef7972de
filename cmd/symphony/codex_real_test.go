package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// realProject returns a project that the real Codex works on, with a scripted model.
func realProject(t testing.TB, model string, issues map[string]string, lanes ...codextest.Lane) (*project, *codextest.Model) {
	t.Helper()
	codex := codextest.Path(t)
	m := codextest.NewModel(lanes...)
	t.Cleanup(m.Close)
	p := newProject(t, shellQuote(codex)+" app-server", issues)
	home := filepath.Join(t.TempDir(), "codex")
	if err := (codextest.Home{URL: m.URL(), Model: model}).Write(home); err != nil {
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

const patch = "*** Begin Patch\n*** Add File: patched.txt\n+by a patch\n*** End Patch\n"

func TestTheRealCodexWorksOnIssues(t *testing.T) {
	t.Parallel()
	p, _ := realProject(t, "", map[string]string{"A-1": todo("Patch"), "A-2": todo("Command")},
		lane("A-1",
			codextest.Reply{Items: []codextest.Item{codextest.Custom{Name: "apply_patch", Input: patch}}},
			handOver(), say("Done.")),
		lane("A-2",
			call("exec_command", map[string]string{"cmd": "echo by a command > made.txt"}),
			call("issue_update", map[string]string{"state": "Review", "comment": "Please look."}), say("Done.")),
	)
	r := p.ok("--once", "--logs", "logs")
	if got := p.read("workspaces/A-1/patched.txt"); got != "by a patch\n" {
		t.Errorf("patched.txt holds %q", got)
	}
	if got := p.read("workspaces/A-2/made.txt"); got != "by a command\n" {
		t.Errorf("made.txt holds %q", got)
	}
	for _, issue := range []string{"A-1", "A-2"} {
		if text := p.read("issues/" + issue + ".md"); !strings.Contains(text, "state: Review") {
			t.Errorf("%s was not handed over:\n%s", issue, text)
		}
		if log := p.eventLog("logs", issue); !strings.Contains(log, "turn/completed") {
			t.Errorf("the event log of %s does not tell of its turn", issue)
		}
	}
	if text := p.read("issues/A-2.md"); !strings.Contains(text, "Please look.") {
		t.Errorf("the comment is missing:\n%s", text)
	}
	if !strings.Contains(r.stdout, "2 completed") || len(p.claims()) != 0 {
		t.Errorf("report and claims:\n%s\n%v", r.stdout, p.claims())
	}
	p.noProcessLeft()
}

func TestTheRealCodexTakesASecondTurnOnTheSameThread(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, "", map[string]string{"A-1": todo("Two turns")},
		lane("A-1", say("Half of it."), handOver(), say("All of it.")))
	p.ok("--once")
	if text := p.read("issues/A-1.md"); !strings.Contains(text, "state: Review") {
		t.Errorf("not handed over:\n%s", text)
	}
	requests := m.Requests()
	if len(requests) != 3 || !strings.Contains(string(requests[1].Body), "Half of it.") {
		t.Fatalf("%d requests; the second does not go on with the first", len(requests))
	}
	if n := strings.Count(string(requests[1].Body), "You are working on A-1"); n != 1 {
		t.Errorf("the prompt was sent %d times, want once: later turns get guidance", n)
	}
}

func TestTheRealCodexJudgesTheSettings(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, "", map[string]string{"A-1": todo("One"), "A-2": todo("Two")}, lane("A-1", handOver(), say("Done.")), lane("A-2", handOver(), say("Done.")))
	good := p.read("WORKFLOW.md")
	for setting, why := range map[string]string{
		"approval_policy: on-failure":                         "unknown variant `on-failure`",
		"approval_policy: {reject: {sandbox_approval: true}}": "unknown variant `reject`",
		"turn_sandbox_policy: {type: read-only}":              "unknown variant `read-only`",
	} {
		p.write("WORKFLOW.md", strings.Replace(good, "codex:\n", "codex:\n  "+setting+"\n", 1))
		if r := p.run("validate"); r.code == 0 || !strings.Contains(r.stdout, why) {
			t.Errorf("%s: validate ends with %d:\n%s", setting, r.code, r.stdout)
		}
		if r := p.ok("--once"); !strings.Contains(r.stdout, "Nothing starts until") && !strings.Contains(r.stdout, "Nothing can be started until") {
			t.Errorf("%s: no pause:\n%s", setting, r.stdout)
		}
		for id, c := range p.claims() {
			if c.Failures != 0 || c.Phase != schedule.Waiting {
				t.Errorf("%s: %s is charged: %+v", setting, id, c)
			}
		}
	}
	p.write("WORKFLOW.md", good)
	if r := p.ok("--once"); !strings.Contains(r.stdout, "2 completed") || len(p.claims()) != 0 || len(m.Requests()) == 0 {
		t.Errorf("after the repair: %+v\n%s", p.claims(), r.stdout)
	}
}

func TestFailuresOfTheRealCodexMeanWhatTheyShould(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		reply codextest.Reply
		check func(t *testing.T, p *project, r result)
	}{
		{"rate limited", codextest.Reply{Status: 429, Body: `{"error":{"message":"slow down"}}`},
			func(t *testing.T, p *project, r result) {
				if c := p.claims()["A-1"]; c.Phase != schedule.Waiting || c.Failures != 0 || c.Attempt != 1 {
					t.Errorf("a failure that passes left %+v", c)
				}
			}},
		{"usage limit", codextest.Reply{Status: 429, Body: `{"error":{"type":"usage_limit_reached","message":"limit"}}`},
			func(t *testing.T, p *project, r result) {
				if c := p.claims()["A-1"]; c.Phase != schedule.Waiting || c.Failures != 0 {
					t.Errorf("a failure of everyone's left %+v", c)
				}
				if !strings.Contains(r.stdout, "usage limit") {
					t.Errorf("the report does not name it:\n%s", r.stdout)
				}
			}},
		{"context window", codextest.Reply{Failed: &codextest.Failed{Code: "context_length_exceeded", Message: "too long"}},
			func(t *testing.T, p *project, r result) {
				if c := p.claims()["A-1"]; c.Phase != schedule.Waiting || c.Thread != "" || c.Failures != 1 {
					t.Errorf("a full context window left %+v", c)
				}
			}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, _ := realProject(t, "", map[string]string{"A-1": todo("Fails")}, lane("A-1", tc.reply))
			tc.check(t, p, p.ok("--once"))
			p.noProcessLeft()
		})
	}
}

func TestAnInterruptedRealCodexIsResumedByTheNextRun(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, "", map[string]string{"A-1": todo("Interrupted")},
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

func TestACodeModeModelWorksOnAnIssue(t *testing.T) {
	t.Parallel()
	script := fmt.Sprintf(`await tools.exec_command({cmd: "echo by code > made.txt"});
await tools.apply_patch(%q);
text(JSON.stringify(await tools.issue_update({state: "Review"})));`, patch)
	p, _ := realProject(t, "gpt-6.1-sol", map[string]string{"A-1": todo("Code mode")},
		lane("A-1", codextest.Reply{Items: []codextest.Item{codextest.Custom{Name: "exec", Input: script}}}, say("Done.")))
	p.ok("--once")
	if got := p.read("workspaces/A-1/made.txt") + p.read("workspaces/A-1/patched.txt"); got != "by code\nby a patch\n" {
		t.Errorf("the workspace holds %q", got)
	}
	if text := p.read("issues/A-1.md"); !strings.Contains(text, "state: Review") {
		t.Errorf("not handed over:\n%s", text)
	}
	p.noProcessLeft()
}

func TestAProviderOfTheUsersOwnIsUsedWithItsKeyFromCodexEnv(t *testing.T) {
	t.Parallel()
	const key = "a-key-of-the-provider"
	codex := codextest.Path(t)
	m := codextest.NewModel(lane("A-1", handOver(), say("Done.")))
	t.Cleanup(m.Close)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, `{"error":{"message":"who are you?"}}`, http.StatusUnauthorized)
			return
		}
		m.ServeHTTP(w, r)
	}))
	defer model.Close()
	p := newProject(t, codex+` -c model=gpt-5.5 -c model_provider=mine -c model_providers.mine.name=mine `+
		`-c model_providers.mine.base_url=`+model.URL+`/v1 -c model_providers.mine.wire_api=responses `+
		`-c model_providers.mine.env_key=MODEL_KEY -c features.plugins=false app-server`, map[string]string{"A-1": todo("Work")})
	p.replace("codex:\n", "codex:\n  env: [MODEL_KEY]\n")
	p.write("event.json", "{}")
	p.env = append(p.env, "MODEL_KEY="+key, "CODEX_HOME=", "GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=schedule",
		"GITHUB_EVENT_PATH="+p.dir+"/event.json", "RUNNER_TEMP="+p.dir+"/temp",
		"GITHUB_OUTPUT="+p.dir+"/outputs", "GITHUB_STEP_SUMMARY="+p.dir+"/summary")
	r := p.run("--once", "--state", "file:state.json")
	if r.code != 0 || !strings.Contains(p.read("issues/A-1.md"), "state: Review") {
		t.Errorf("exit status %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}

// TestTheDemoWorksWithTheUsersOwnCodex runs the demo as somebody does who has
// installed Codex and logged in: it is found by the login shell, and its home is
// the user's.
func TestTheDemoWorksWithTheUsersOwnCodex(t *testing.T) {
	t.Parallel()
	run := func(command string) codextest.Reply { return call("exec_command", map[string]string{"cmd": command}) }
	deliver := call("deliver", map[string]string{"title": "What was asked for", "body": "As the issue says."})
	p, m := realProject(t, "", nil,
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
	p, m := realProject(t, "", map[string]string{"A-1": todo("Work"), "A-2": todo("Work"), "A-3": todo("Work")})
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

// TestTheRealCodexIsInTheConversations runs the scripts of conversations once more, with
// the real Codex and a scripted model in place of the scripted agent.
func TestTheRealCodexIsInTheConversations(t *testing.T) {
	t.Parallel()
	codex := codextest.Path(t)
	params := scriptParams(func(env *testscript.Env) {
		model := codextest.NewModel()
		env.Defer(model.Close)
		env.Setenv("AGENT", "exec "+shellQuote(codex)+" -c model=gpt-5.5 -c model_provider=scripted -c model_providers.scripted.name=scripted"+
			" -c model_providers.scripted.base_url="+model.URL()+" -c model_providers.scripted.wire_api=responses -c features.plugins=false app-server")
		setUpStory(env, model)
	})
	var err error
	if params.Files, err = filepath.Glob(filepath.Join(scriptFolder, "conversation*.txt")); err != nil || len(params.Files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	testscript.Run(t, params)
}
