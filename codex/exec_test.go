package codex

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/text"
)

// execOptions are the options of a session that may run programs of the host.
func execOptions(t *testing.T) Options {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Options{Cwd: folder, ProfileGiven: true}
}

// beginExec connects to a server that plays a script after CanExec.
func beginExec(t *testing.T, o Options, script func(*fakeServer)) (*Session, *eventLog) {
	t.Helper()
	j := &eventLog{}
	o.Events = j.add
	s, err := Connect(t.Context(), dial(t, func(p *fakeServer) {
		p.hello()
		p.admitExec()
		script(p)
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.CanExec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, j
}

// admitExec plays a server that knows the profile and does not report its configuration.
func (p *fakeServer) admitExec() {
	p.reply(p.expect("permissionProfile/list"), `{"data":[{"id":":read-only"},{"id":"symphony","allowed":true}]}`)
	p.unknown("config/read")
}

// exec reads the call that runs a program.
func (p *fakeServer) exec() (m received, id string) {
	p.unknown("config/read")
	m = p.expect("command/exec")
	var params execParams
	if err := json.Unmarshal(m.Params, &params); err != nil {
		p.t.Error(err)
	}
	return m, params.ProcessID
}

// output returns a piece of output.
func output(id, stream, data string) string {
	return fmt.Sprintf(`{"method":"command/exec/outputDelta","params":{"processId":%q,"stream":%q,"deltaBase64":%q,"capReached":false}}`,
		id, stream, base64.StdEncoding.EncodeToString([]byte(data)))
}

// exited answers a call with an exit code.
func (p *fakeServer) exited(m received, code int) {
	p.reply(m, fmt.Sprintf(`{"exitCode":%d,"stdout":"","stderr":""}`, code))
}

// killed expects that the session has a program killed, and kills it.
func (p *fakeServer) killed(m received, id string) {
	kill := p.expect("command/exec/terminate")
	if diff := cmp.Diff(`{"processId":"`+id+`"}`, string(kill.Params)); diff != "" {
		p.t.Errorf("terminate (-want +got):\n%s", diff)
	}
	p.reply(kill, `{}`)
	p.exited(m, exitKilled)
}

func TestAProgramOfTheHostRunsInTheSandboxOfTheTurns(t *testing.T) {
	t.Parallel()
	o := execOptions(t)
	o.Temp, o.Config.Env = "/temp", []string{"TRACKER_KEY", "GOFLAGS"}
	var params string
	s, _ := beginExec(t, o, func(p *fakeServer) {
		m, id := p.exec()
		params = compact(t, m.Params)
		p.send(output(id, "stdout", "\xff\xfe\x00x"), output(id, "stderr", "\x1b[31mwarn\x00ing\n"), output(id, "stdout", "two\n"))
		p.exited(m, 3)
		p.drain()
	})
	var out bytes.Buffer
	got, err := s.Exec(t.Context(), Exec{
		Argv: []string{"git", "status"}, Env: []string{"LC_ALL=C"}, Inherit: []string{"GOFLAGS"},
		Timeout: time.Minute, MaxOutput: 100, Stdout: &out,
	})
	if diff := cmp.Diff(ExecResult{ExitCode: 3, Stderr: "[31mwarning"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff("\xff\xfe\x00xtwo\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	want := `{"command":["git","status"],"cwd":"` + o.Cwd + `","env":{"CODEX_ACCESS_TOKEN":null,"CODEX_API_KEY":null,"CODEX_HOME":null,` +
		`"LC_ALL":"C","OPENAI_API_KEY":null,"TMPDIR":"/temp","TRACKER_KEY":null},"outputBytesCap":101,` +
		`"permissionProfile":"symphony","processId":"exec-1","streamStdoutStderr":true,"timeoutMs":60000}`
	if diff := cmp.Diff(want, params); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
}

func TestAProgramWithoutLimitsGetsLimits(t *testing.T) {
	t.Parallel()
	var params execParams
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		m, _ := p.exec()
		_ = json.Unmarshal(m.Params, &params) // exec has reported an error
		p.exited(m, 0)
		p.drain()
	})
	if _, err := s.Exec(t.Context(), Exec{Argv: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	if params.TimeoutMS != defaultExecTime.Milliseconds() || params.OutputSize != defaultExecOutput+1 {
		t.Errorf("%+v", params)
	}
}

func TestHowAProgramEndedIsDistinguished(t *testing.T) {
	t.Parallel()
	const panicked = "\nthread 'main' (2) panicked at linux-sandbox/src/linux_run_main.rs:1199:5:\nFailed to execvp no-such: No such file or directory (os error 2)\n"
	for name, test := range map[string]struct {
		code   int
		after  time.Duration
		stderr string
		want   error // nil if the program ended by itself
	}{
		"success":                   {code: 0},
		"failure":                   {code: 1, stderr: "no"},
		"its own 101":               {code: exitPanic},
		"its own 124":               {code: exitTimeout, after: time.Second},
		"a program that is missing": {code: exitPanic, stderr: panicked, want: ErrExecStart},
		"a .git that is a file":     {code: exitPanic, stderr: "bwrap: Can't mkdir parents for /w/.git/config: Not a directory\n", want: ErrExecStart},
		"a .git that is a link":     {code: 1, stderr: "error building bubblewrap command: Fatal error: cannot enforce\n", want: ErrExecStart},
		"too long":                  {code: exitTimeout, after: time.Minute, want: ErrExecTimeout},
		"killed by the system":      {code: exitKilled, want: ErrExecKilled},
		"an exit code below zero":   {code: -1, want: ErrExecKilled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := execOptions(t)
			synctest.Test(t, func(t *testing.T) {
				s, _ := beginExec(t, o, func(p *fakeServer) {
					m, id := p.exec()
					time.Sleep(test.after)
					p.send(output(id, "stderr", test.stderr))
					p.exited(m, test.code)
					p.drain()
				})
				got, err := s.Exec(t.Context(), Exec{Argv: []string{"no-such"}, Timeout: time.Minute})
				switch {
				case !errors.Is(err, test.want):
					t.Errorf("%v, want %v", err, test.want)
				case err == nil && got.ExitCode != test.code:
					t.Errorf("exit code %d", got.ExitCode)
				case err != nil && !strings.Contains(err.Error(), text.OneLine(test.stderr, messageRunes)):
					t.Errorf("%v does not say what the program said", err)
				}
			})
		})
	}
}

func TestOutputThatIsNotWholeEndsTheProgram(t *testing.T) {
	t.Parallel()
	const delta = `{"method":"command/exec/outputDelta","params":{"processId":"exec-1",%s}}`
	for name, line := range map[string]string{
		"the cap is reached":       fmt.Sprintf(delta, `"stream":"stdout","deltaBase64":"eA==","capReached":true`),
		"the cap is ignored":       output("exec-1", "stdout", strings.Repeat("x", 11)),
		"malformed base64":         fmt.Sprintf(delta, `"stream":"stdout","deltaBase64":"???","capReached":false`),
		"base64 of half a byte":    fmt.Sprintf(delta, `"stream":"stdout","deltaBase64":"e","capReached":false`),
		"an unknown stream":        fmt.Sprintf(delta, `"stream":"stdlog","deltaBase64":"eA==","capReached":false`),
		"a stream of another type": fmt.Sprintf(delta, `"stream":[],"deltaBase64":"eA==","capReached":false`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
				m, id := p.exec()
				p.send(output(id, "stdout", "good"), line, output(id, "stdout", "later"))
				p.killed(m, id)
				p.drain()
			})
			var out bytes.Buffer
			_, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}, MaxOutput: 10, Stdout: &out})
			if !errors.Is(err, ErrExecOutput) {
				t.Errorf("%v, want %v", err, ErrExecOutput)
			}
			if strings.Contains(out.String(), "later") {
				t.Errorf("wrote %q", out.String())
			}
		})
	}
}

func TestOutputThatJustFitsIsWhole(t *testing.T) {
	t.Parallel()
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		m, id := p.exec()
		p.send(output(id, "stdout", "01234"), output(id, "stdout", ""), output(id, "stdout", "56789"), output(id, "stderr", strings.Repeat("e", 20)))
		p.exited(m, 0)
		p.drain()
	})
	var out bytes.Buffer
	if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}, MaxOutput: 10, Stdout: &out}); err != nil || out.String() != "0123456789" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestOutputThatIsNotStreamedIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		m, _ := p.exec()
		p.reply(m, `{"exitCode":0,"stdout":"\ufffd","stderr":""}`)
		p.drain()
	})
	if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}}); !errors.Is(err, ErrExecOutput) {
		t.Error(err)
	}
}

// writerFunc is a function as a writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestASlowWriterStopsNeitherTheSessionNorTheEndOfTheProgram(t *testing.T) {
	t.Parallel()
	blocked, release := make(chan struct{}), make(chan struct{})
	const id = "exec-1"
	const first = "ab" // with it, all that may wait for a writer is a multiple of three bytes more
	piece := output(id, "stdout", "x")
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		m, _ := p.exec()
		p.send(output(id, "stdout", first))
		<-blocked
		p.send(piece)
		p.send(`{"method":"no/such","id":"asked","params":{}}`)
		for answered, killed := false, false; !answered || !killed; {
			switch m, ok := p.next(); {
			case !ok:
				t.Error("the session hung up")
				return
			case string(m.ID) == `"asked"`:
				answered = true
			case m.Method == "command/exec/terminate":
				killed = true
				p.reply(m, `{}`)
			}
		}
		for range 2 { // what the server still had
			p.send(piece)
		}
		p.exited(m, exitKilled)
		close(release)
		p.drain()
	})
	written := 0
	_, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}, MaxOutput: 1 << 30, Stdout: writerFunc(func(b []byte) (int, error) {
		if written == 0 {
			s.programs.mu.Lock()
			run := s.programs.running[id]
			s.programs.mu.Unlock()
			fill(t, run, maxUnwritten/3) // without the time that parsing takes
			close(blocked)
		}
		written += len(b)
		<-release
		return len(b), nil
	})})
	if !errors.Is(err, ErrExecOutput) || !strings.Contains(err.Error(), "too slow") {
		t.Error(err)
	}
	if written != len(first) {
		t.Errorf("%d bytes were kept for the writer after the refusal", written)
	}
}

// fill adds three bytes of output some times, in one piece. It must not be refused.
func fill(t *testing.T, run *execOutput, times int) {
	t.Helper()
	if err := run.add(execDelta{Stream: "stdout", Data: strings.Repeat("AAAA", times)}); err != nil {
		t.Error(err)
	}
	if err := run.failure(); err != nil {
		t.Error(err)
	}
}

// TestOutputThatIsWrittenDoesNotWait has a program that writes more than may wait for a writer.
func TestOutputThatIsWrittenDoesNotWait(t *testing.T) {
	t.Parallel()
	const third = maxUnwritten/3 + 1
	run, answered, written := newExecOutput(2*maxUnwritten, false), make(chan struct{}), 0
	fill(t, run, third/3+1)
	run.drain(writerFunc(func(b []byte) (int, error) {
		if written += len(b); written <= maxUnwritten {
			fill(t, run, third/3+1)
		}
		if written > maxUnwritten || t.Failed() {
			close(answered)
		}
		return len(b), nil
	}), nil, answered)
}

func TestAWriterThatFailsEndsTheProgram(t *testing.T) {
	t.Parallel()
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		m, id := p.exec()
		p.send(output(id, "stdout", "a"))
		p.killed(m, id)
		p.drain()
	})
	_, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}, Stdout: writerFunc(func([]byte) (int, error) { return 0, io.ErrShortWrite })})
	if !errors.Is(err, ErrExecOutput) || !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

func TestAProgramOfTheHostIsShownInWords(t *testing.T) {
	t.Parallel()
	const command = "the host runs `git status`"
	for doing, want := range map[string]string{"packing the work": "packing the work", "": command} {
		s, events := beginExec(t, execOptions(t), func(p *fakeServer) {
			m, _ := p.exec()
			p.reply(m, `{"exitCode":0,"stdout":"","stderr":""}`)
			p.drain()
		})
		if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git", "status"}, Doing: doing}); err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, e := range events.all() {
			if e.Method == execMethod && e.Doing != "" {
				shown = append(shown, e.Doing, e.Summary)
			}
		}
		if diff := cmp.Diff([]string{want, want}, shown); diff != "" {
			t.Errorf("%q: %s", doing, diff)
		}
	}
}

func TestAStopKillsTheProgram(t *testing.T) {
	t.Parallel()
	cause := errors.New("the run was interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		m, id := p.exec()
		cancel(cause)
		p.killed(m, id)
		p.drain()
	})
	if _, err := s.Exec(ctx, Exec{Argv: []string{"sleep", "9"}}); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestAStopThatComesBeforeTheProgramHasStartedKillsIt(t *testing.T) {
	t.Parallel()
	o := execOptions(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, _ := beginExec(t, o, func(p *fakeServer) {
			m, id := p.exec()
			cancel()
			p.refuse(p.expect("command/exec/terminate"), -32600, "no active command/exec for process id")
			p.killed(m, id)
			p.drain()
		})
		if _, err := s.Exec(ctx, Exec{Argv: []string{"sleep", "9"}}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestAServerThatDoesNotKillAProgramIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]bool{"no answer": false, "an answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := execOptions(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s, _ := beginExec(t, o, func(p *fakeServer) {
					p.exec()
					cancel()
					if m := p.expect("command/exec/terminate"); answer {
						p.reply(m, `{}`)
					}
					p.drain()
				})
				began := time.Now()
				if _, err := s.Exec(ctx, Exec{Argv: []string{"sleep", "9"}}); !errors.Is(err, context.Canceled) || time.Since(began) != killWait {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		})
	}
}

func TestAServerThatNeverAnswersForAProgramIsGivenUp(t *testing.T) {
	t.Parallel()
	o := execOptions(t)
	synctest.Test(t, func(t *testing.T) {
		s, _ := beginExec(t, o, func(p *fakeServer) {
			p.exec()
			p.drain()
		})
		if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}, Timeout: time.Second}); !errors.Is(err, ErrResponseTimeout) {
			t.Error(err)
		}
	})
}

func TestTheEndOfTheConnectionEndsTheProgram(t *testing.T) {
	t.Parallel()
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		_, id := p.exec()
		p.send(output(id, "stdout", "half"))
	})
	if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}}); !errors.Is(err, ErrPortExit) {
		t.Error(err)
	}
}

func TestOutputOfNoProgramIsIgnored(t *testing.T) {
	t.Parallel()
	s, j := beginExec(t, execOptions(t), func(p *fakeServer) {
		m, id := p.exec()
		p.send(output("exec-2", "stdout", "early"), output("", "stdout", "nobody's"), output(id, "stdout", "one"))
		p.exited(m, 0)
		p.exited(m, 9)
		p.send(output(id, "stdout", "late"), `{"method":"command/exec/outputDelta"}`, `{"method":"command/exec/outputDelta","params":[]}`)
		m, id = p.exec()
		p.send(output(id, "stdout", "two"))
		p.exited(m, 0)
		p.drain()
	})
	for _, want := range []string{"one", "two"} {
		var out bytes.Buffer
		if got, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}, Stdout: &out}); err != nil || got.ExitCode != 0 || out.String() != want {
			t.Errorf("%q, %+v, %v", out.String(), got, err)
		}
	}
	if j.count(Malformed) == 0 {
		t.Error("a line that cannot be understood made no event")
	}
}

func TestProgramsAtTheSameTimeGetTheirOwnOutput(t *testing.T) {
	t.Parallel()
	const n = 4
	s, _ := beginExec(t, execOptions(t), func(p *fakeServer) {
		for range n * 2 { // the calls of n programs, in any order
			switch m, _ := p.next(); m.Method {
			case "config/read":
				p.refuse(m, -32600, "Invalid request: unknown variant `config/read`")
			case "command/exec":
				var params execParams
				_ = json.Unmarshal(m.Params, &params) // its command says whose output it is
				p.send(output(params.ProcessID, "stdout", params.Command[0]))
				p.exited(m, 0)
			}
		}
		p.drain()
	})
	done := make(chan error, n)
	for i := range n {
		go func() {
			var out bytes.Buffer
			name := fmt.Sprint("program-", i)
			_, err := s.Exec(t.Context(), Exec{Argv: []string{name}, Stdout: &out})
			if out.String() != name {
				err = errors.Join(err, fmt.Errorf("%s got %q", name, out.String()))
			}
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestAWorkspaceThatIsALinkIsRefused(t *testing.T) {
	t.Parallel()
	o := execOptions(t)
	link := filepath.Join(o.Cwd, "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Join(link, "tmp"), filepath.Join(o.Cwd, "missing"), ""} {
		o.Cwd = path
		s, err := Connect(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			if m, ok := p.next(); ok {
				t.Errorf("%q: the session wrote %+v", path, m)
			}
		}), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}}); !errors.Is(err, ErrExecStart) {
			t.Errorf("%q: %v", path, err)
		}
		s.Close()
	}
}

func TestTheEndOfStandardErrorIsKept(t *testing.T) {
	t.Parallel()
	run := newExecOutput(0, false)
	for range 3000 {
		if err := run.add(execDelta{Stream: "stderr", Data: base64.StdEncoding.EncodeToString([]byte("€uro\x07\u202e"))}); err != nil {
			t.Fatal(err)
		}
	}
	got := run.stderrTail()
	if !strings.HasSuffix(got, "€uro€uro") || strings.ContainsAny(got, "\x07\u202e�") || len(got) > maxStderr {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
