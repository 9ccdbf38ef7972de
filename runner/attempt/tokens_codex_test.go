package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// tokenModel is a model that takes nobody without the latest token, and the source of tokens.
type tokenModel struct {
	*codextest.Model
	life   time.Duration
	refuse func(token string) bool // answers with 401
	asked  func()                  // called before each request

	mu     sync.Mutex
	issued int
	failed error
	got    []string // tokens of the requests
}

func (m *tokenModel) issue(context.Context) (identity.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return identity.Token{}, m.failed
	}
	m.issued++
	return identity.Token{Value: fmt.Sprintf("token-that-is-nowhere-%d", m.issued), Issued: time.Now(), Life: m.life}, nil
}

func (m *tokenModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // the list of models, which Codex asks for beside its work
		http.NotFound(w, r)
		return
	}
	m.asked()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	m.mu.Lock()
	m.got = append(m.got, token)
	m.mu.Unlock()
	if !strings.HasPrefix(token, "token-that-is-nowhere-") || m.refuse(token) {
		http.Error(w, `{"error":{"message":"the token was revoked"}}`, http.StatusUnauthorized)
		return
	}
	m.Model.ServeHTTP(w, r)
}

func (m *tokenModel) tokens() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.ReplaceAll(strings.Join(m.got, " "), "token-that-is-nowhere-", "")
}

// newTokenFixture returns a fixture with the real Codex and a model that wants tokens.
func newTokenFixture(t *testing.T, replies ...codextest.Reply) (*fixture, *tokenModel) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux proves who asks for a token")
	}
	f, model := newCodexFixture(t, codextest.Lane{Replies: replies})
	m := &tokenModel{Model: model, life: time.Hour, refuse: func(string) bool { return false }, asked: func() {}}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.job.Account = Account{BaseURL: server.URL + "/v1", Tokens: identity.NewSource(m.issue, func(string) {}), AskCommand: []string{self, "ask"}}
	f.job.Preflight = NewPreflightOnce()
	return f, m
}

// socketOf returns the path of the socket in the settings of the running Codex.
func (f *fixture) socketOf() string {
	config := f.readText(filepath.Join(f.job.SessionDir, "home", issueName, "config.toml"))
	found := regexp.MustCompile(`args = .*"(/[^"]+/s)"\]`).FindStringSubmatch(config)
	if found == nil {
		return "none in " + config
	}
	return found[1]
}

// TestATokenIsRenewedWhileItsAgentGetsNone renews a token in the middle of a turn, once in the
// interval and once because it is revoked. Meanwhile the agent tries everything to get one.
func TestATokenIsRenewedWhileItsAgentGetsNone(t *testing.T) {
	t.Parallel()
	for name, sockets := range map[string]bool{"without Unix sockets": false, "with them": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			raid := runs(t, `exec 2>&1; socket=$(cat socket); self=./program
try() { echo "trying $1"; shift; "$@"; }
try helper "$self" ask "$socket"
for other in /tmp/symphony-identity-*/s; do try found "$self" ask "$other"; done
try relative sh -c 'cd "${1%/*}" && "$2" ask s' - "$socket" "$self"
try bash-of-codex bash -c 'exec -a codex "$1" ask "$2"' - "$self" "$socket"
try folder ls -la "${socket%/*}"
try home cat `+"HOME_OF_CODEX"+`/config.toml
try link ln -s "$socket" link && "$self" ask link
for p in /proc/[0-9]*; do tr '\0' '\n' <$p/environ; tr '\0' '\n' <$p/cmdline; ls -l $p/fd; "$self" ask "$p/root$socket"; done
try python python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(100))' "$socket"
env; echo the raid is over`)
			f, m := newTokenFixture(t)
			f.job.UnixSockets = sockets
			home := filepath.Join(f.job.SessionDir, "home", issueName)
			item := raid.Items[0].(codextest.Call)
			raid.Items[0] = codextest.Call{Name: item.Name, Arguments: strings.Replace(item.Arguments, "HOME_OF_CODEX", home, 1)}
			m.life = 3 * time.Second
			raid.Delay = m.life / 2 // more than the interval
			m.Model = codextest.NewModel(codextest.Lane{Replies: []codextest.Reply{raid, done}})
			t.Cleanup(m.Model.Close)
			found := map[string]bool{}
			look := func() {
				_ = filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
					if err == nil && entry.Type().IsRegular() && entry.Name() != "program" {
						if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte("token-that-is-nowhere")) {
							found[path] = true
						}
					}
					return nil // files come and go
				})
			}
			requests := 0
			m.asked = func() {
				requests++
				if info, err := os.Stat(f.socketOf()); err != nil || info.Mode()&fs.ModeSocket == 0 {
					t.Errorf("there is no socket, so this shows nothing: %v", err)
				}
				err := os.WriteFile(f.inWorkspace("socket"), []byte(f.socketOf()), 0o600)
				if requests == 1 {
					err = errors.Join(err, os.Link(self, f.inWorkspace("program"))) // the very file that Codex starts
				}
				if err != nil {
					t.Error(err)
				}
				look()
			}
			m.refuse = func(string) bool { return requests == 2 } // revoked in the middle of the turn
			got := f.run(t.Context())
			if got.Class != schedule.Done || got.Turns != 1 {
				t.Fatalf("%+v\n%s", got, f.readLog())
			}
			tokens := strings.Fields(m.tokens())
			if len(tokens) != 3 || tokens[0] == tokens[1] || tokens[1] == tokens[2] || tokens[0] == tokens[2] {
				t.Errorf("the requests carried the tokens %q", tokens)
			}
			last := string(m.Requests()[len(m.Requests())-1].Body)
			if strings.Count(last, "only Codex gets it") < 3 || !strings.Contains(last, "trying python") || !strings.Contains(last, "the raid is over") {
				t.Errorf("the agent did not try, so this shows nothing:\n%s", last)
			}
			if strings.Contains(last, "token-that-is") || strings.Contains(f.log.bytes.String()+f.readLog(), "token-that-is") {
				t.Errorf("the agent, or the log, has a token:\n%s", last)
			}
			if look(); len(found) > 0 {
				t.Errorf("a token is in %v", found)
			}
		})
	}
}

// TestATokenThatCannotBeRenewedIsNoFaultOfTheIssue revokes the token in the middle of a turn.
func TestATokenThatCannotBeRenewedIsNoFaultOfTheIssue(t *testing.T) {
	t.Parallel()
	for category, want := range map[error]schedule.Class{identity.ErrRefused: schedule.Systemic, identity.ErrUnavailable: schedule.Transient} {
		t.Run(category.Error(), func(t *testing.T) {
			t.Parallel()
			f, m := newTokenFixture(t, runs(t, "echo the command ran"), done)
			m.refuse = func(string) bool { return len(strings.Fields(m.tokens())) > 1 }
			m.asked = func() {
				m.mu.Lock()
				defer m.mu.Unlock()
				if len(m.got) == 1 {
					m.failed = fmt.Errorf("exchange: %w: the account was disabled: enable it", category)
				}
			}
			got := f.run(t.Context())
			if got.Class != want || !strings.HasPrefix(got.Why, "exchange: "+category.Error()+": the account was disabled: enable it") {
				t.Errorf("%+v\n%s", got, f.readLog())
			}
		})
	}
}

// TestWithoutATokenNoSessionStarts has settings with which the agent could get a token too, and a
// provider that gives none.
func TestWithoutATokenNoSessionStarts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		break_ func(f *fixture, m *tokenModel)
		want   error
	}{
		"a sandbox of the workflow's": {func(f *fixture, _ *tokenModel) { f.job.Codex.ThreadSandbox = []byte(`"workspace-write"`) }, codex.ErrSettings},
		"an approval of everything":   {func(f *fixture, _ *tokenModel) { f.job.Codex.ApprovalPolicy = []byte(`"on-request"`) }, codex.ErrSettings},
		"a refusal":                   {func(_ *fixture, m *tokenModel) { m.failed = identity.ErrRefused }, identity.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, m := newTokenFixture(t)
			test.break_(f, m)
			got := f.run(t.Context())
			if got.Class != schedule.Systemic || got.Cause != schedule.CauseStart || !strings.Contains(got.Why, test.want.Error()) || m.tokens() != "" {
				t.Errorf("%+v", got)
			}
			f.job.Issue.ID, f.job.Issue.Identifier = "preflight", "preflight"
			if _, err := preflight(t.Context(), f.job); !errors.Is(err, test.want) {
				t.Errorf("the preflight: %v", err)
			}
		})
	}
}
