package scriptedagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// exchange is one conversation in which the scripted agent and the real Codex must
// behave the same. The prompt is the script of the first; the replies are those of the
// model of the second.
type exchange struct {
	name    string
	prompt  string
	replies []codextest.Reply
	hold    func(t *testing.T, s stage)
}

// stage is the agent with which an exchange is held.
type stage struct {
	prompt string
	cwd    string
	home   string
	start  func() *peer // a new process with the same home
}

// configure adds lines to the top of config.toml in the home.
func (s stage) configure(t *testing.T, lines string) {
	t.Helper()
	path := filepath.Join(s.home, "config.toml")
	old, _ := os.ReadFile(path) // the scripted agent's home has none
	if err := os.WriteFile(path, append([]byte(lines), old...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s stage) hello() *peer {
	p := s.start()
	p.hello()
	return p
}

func TestFakeAndRealHoldTheSameConversations(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			t.Run("fake", func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				x.hold(t, stage{x.prompt, t.TempDir(), home, func() *peer {
					p := startAgent(t, home)
					t.Cleanup(func() { p.checkShapes(true) })
					return p
				}})
			})
			t.Run("real", func(t *testing.T) {
				codextest.Path(t)
				m := codextest.NewModel(codextest.Lane{Replies: x.replies})
				t.Cleanup(m.Close)
				home := t.TempDir()
				x.hold(t, stage{x.prompt, t.TempDir(), home, func() *peer {
					p := startCodex(t, home, m, codextest.Home{})
					t.Cleanup(func() { p.checkShapes(false) })
					return p
				}})
			})
		})
	}
}

func refused(t *testing.T, e event, want string) {
	t.Helper()
	if e.Error == nil || e.Error.Code != -32600 || !strings.HasPrefix(e.Error.Message, want) {
		t.Errorf("got %.200s, want a refusal: %s", e.Line, want)
	}
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// order returns the methods of the notifications so far, except those that depend on
// the machine.
func (p *peer) order() (methods []string) {
	for _, e := range p.all {
		switch e.Method {
		case "", "configWarning", "warning", "remoteControl/status/changed", "thread/settings/updated", "account/rateLimits/updated":
		default:
			methods = append(methods, e.Method)
		}
	}
	return methods
}

func contents(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
