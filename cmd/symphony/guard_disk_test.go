package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/room"
)

// These tests let an agent read the disk with the whole program, because cmd, runner
// and attempt together make the list of what it may not read.

// noGuard is the line of WORKFLOW.md that takes the sandbox away.
const noGuard = "  thread_sandbox: danger-full-access\n"

// reads returns those of some paths that the agent of a tick can read or list.
func (p *project) reads(t *testing.T, paths []string) (can []string) {
	t.Helper()
	p.write("paths", strings.Join(paths, "\n")+"\n")
	p.ok("--once", "--logs", "logs")
	text, err := os.ReadFile(filepath.Join(p.dir, "workspaces", "A-1", "open"))
	if err != nil {
		t.Fatalf("the agent did not look: %v", err)
	}
	return strings.Fields(string(text))
}

// reader returns a project whose agent tries to read the paths of a list.
func reader(t *testing.T, posture string) *project {
	t.Helper()
	p, m := realProject(t, map[string]string{"A-1": todo("Look")})
	try := `while read -r p; do { cat "$p" || ls "$p/"; } > /dev/null 2>&1 && echo "$p"; done < ` + shellQuote(filepath.Join(p.dir, "paths")) + ` > open`
	m.Add(lane("A-1", call("exec_command", map[string]any{"cmd": try}), handOver(), say("Done.")))
	p.replace("codex:\n", "codex:\n"+posture)
	return p
}

func TestRaidReadsAPlaceWhereKeysAreKept(t *testing.T) {
	t.Parallel()
	var places []string
	try := func(t *testing.T, posture string) map[string]bool {
		p := reader(t, posture)
		dir := filepath.Join(p.dir, "a", "b") // where every variable of the list leads
		keys := room.DenyCredentials(func(name string) (string, bool) {
			switch value := filepath.Join(dir, name); name {
			case "PATH":
				return os.LookupEnv(name)
			case "CODEX_HOME": // the session needs it; another test tries to read it
				return "", false
			default:
				p.env = append(p.env, name+"="+value)
				return value, true
			}
		})
		var paths []string
		for n, path := range keys.Paths {
			if strings.HasPrefix(path, p.dir) {
				name := strings.ReplaceAll(strings.TrimPrefix(path, p.dir), " ", "_")
				if name != strings.TrimPrefix(path, p.dir) {
					continue // a name of macOS with a space: it is like its neighbors
				}
				if n%2 == 0 { // a folder is denied as a file is
					path = filepath.Join(path, "key")
				}
				if info, err := os.Stat(filepath.Dir(path)); err == nil && !info.IsDir() {
					continue
				}
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					path = filepath.Join(path, "key")
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("s3cret"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			paths = append(paths, path)
		}
		can := map[string]bool{}
		for _, path := range p.reads(t, paths) {
			can[strings.TrimPrefix(path, p.dir)] = true
		}
		places = nil
		for _, path := range paths {
			places = append(places, strings.TrimPrefix(path, p.dir))
		}
		return can
	}
	without, with := try(t, noGuard), try(t, "")
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			_, err := os.Stat(place)
			switch machine := !strings.HasPrefix(place, "/a/b/"); {
			case with[place]:
				t.Error("it can be read")
			case without[place]:
			case machine && (errors.Is(err, fs.ErrNotExist) || os.Getuid() != 0):
				t.Skip("nobody can read it on this machine")
			default:
				t.Error("it cannot be read without the guard, so this shows nothing")
			}
		})
	}
	if len(places) < 90 {
		t.Errorf("only %d places were tried", len(places))
	}
}

func TestRaidReadsWhatCodexDenyNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		posture string
		want    []string
	}{
		"guarded":  {"  deny: [~/vault, secrets, secrets/inner]\n", nil},
		"no guard": {"  deny: [~/vault, secrets]\n" + noGuard, []string{"home/vault/key", "secrets/inner/key"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := reader(t, test.posture)
			p.env = append(p.env, "HOME="+filepath.Join(p.dir, "home"))
			p.write("home/vault/key", "s3cret")
			p.write("secrets/inner/key", "s3cret")
			var got []string
			for _, path := range p.reads(t, []string{p.dir + "/home/vault/key", p.dir + "/secrets/inner/key"}) {
				got = append(got, strings.TrimPrefix(path, p.dir+"/"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the agent can read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRaidReadsWhatOtherSessionsMakeMeanwhile lets one command of an agent wait
// until another issue's workspace, event log and home are there, and the state
// was saved again. It works as a shard of a fleet, so other shards leave results.
func TestRaidReadsWhatOtherSessionsMakeMeanwhile(t *testing.T) {
	t.Parallel()
	late := []string{
		"workspaces/LATE/work", "workspaces/.symphony/LATE.json", "logs/LATE/1.jsonl", ".symphony/sessions/LATE/1.jsonl", "elsewhere/state.json",
		".symphony/state.json", ".symphony/codex/home/LATE/sessions/rollout.jsonl", ".symphony/codex/tmp/LATE/file",
		"exchange/plan.json", "exchange/results/result-2/result.json", "exchange/threads/LATE",
	}
	for name, posture := range map[string]string{"guard off": noGuard, "guarded": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, m := realProject(t, map[string]string{"A-1": todo("Look")})
			p.replace("codex:\n", "codex:\n"+posture)
			look := "touch waiting; until test -e go; do sleep 0.05; done; cd " + shellQuote(p.dir) + "; cat " + strings.Join(late, " ") + " > \"$OLDPWD/seen\"; echo the command ran"
			m.Add(lane("A-1", call("exec_command", map[string]any{"cmd": look, "yield_time_ms": 30000}), handOver(), say("Done.")))
			p.ok("plan", "--exchange", "exchange", "--state", "file:elsewhere/state.json")
			cmd := p.command(t.Context(), "work", "--exchange", "exchange", "--shard", "1", "--logs", "logs", "--state", "file:elsewhere/state.json")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			own := filepath.Join(p.dir, "workspaces", "A-1")
			waitFor(t, "the agent to wait", func() bool { _, err := os.Stat(filepath.Join(own, "waiting")); return err == nil })
			for _, name := range late {
				p.write("new", "s3cret\n") // as a save does: a new file takes the name
				target := filepath.Join(p.dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.Rename(filepath.Join(p.dir, "new"), target)); err != nil {
					t.Fatal(err)
				}
			}
			p.write("workspaces/A-1/go", "")
			err := cmd.Wait()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if seen := strings.Count(p.read("workspaces/A-1/seen"), "s3cret"); (seen > 0) != (posture != "") {
				t.Errorf("the agent has seen %d of %d secrets", seen, len(late))
			}
		})
	}
}

// TestCodexInsideADeniedFolderStillWorks installs Codex where a job's steps put
// programs: its sandbox runs Codex itself once more, so it has to be readable.
func TestCodexInsideADeniedFolderStillWorks(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": todo("Look")})
	real, err := filepath.EvalSymlinks(codextest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	modules, _, found := strings.Cut(real, "/@openai/")
	if !found {
		t.Skipf("%s is not installed by npm", real)
	}
	temp := filepath.Join(p.dir, "temp")
	p.write("temp/token", "s3cret")
	if out, err := exec.Command("cp", "-al", modules, filepath.Join(temp, "node_modules")).CombinedOutput(); err != nil {
		t.Skipf("Codex cannot be linked into the folder of this test: %s", out)
	}
	p.replace("root: workspaces", "root: temp/workspaces")
	p.replace(codextest.Path(t), filepath.Join(temp, "node_modules", ".bin", "codex"))
	p.env = append(p.env, "RUNNER_TEMP="+temp)
	m.Add(lane("A-1", call("exec_command", map[string]any{"cmd": "cat ../../token > seen; ls ../.. > listed; echo the command ran"}), handOver(), say("Done.")))
	out := oneSpaced(p.ok("--once", "--logs", "logs").stdout)
	if !strings.Contains(out, "the agent cannot open sockets") {
		t.Errorf("nothing says that the agent has no loopback:\n%s", out)
	}
	if seen := p.read("temp/workspaces/A-1/seen"); seen != "" {
		t.Errorf("the agent reads %q", seen)
	}
	if listed := p.read("temp/workspaces/A-1/listed"); !strings.Contains(listed, "node_modules") {
		t.Errorf("Codex is not where the test thinks: %s", listed)
	}
}

// TestRaidTakesTheMachine asks inside the sandbox for the bounds that hold there.
func TestRaidTakesTheMachine(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": todo("Take")})
	p.replace("codex:\n", "codex:\n  max_processes: 5000\n  max_open_files: 300\n  max_memory_mb: 3000\n")
	m.Add(lane("A-1", call("exec_command", map[string]any{"cmd": "(ulimit -Hn; ulimit -Hu; ulimit -Hd; cat /proc/self/oom_score_adj) > bounds"}), handOver(), say("Done.")))
	p.ok("--once")
	if got := p.read("workspaces/A-1/bounds"); got != "300\n5000\n3072000\n500\n" {
		t.Errorf("the bounds are %q", got)
	}
}
