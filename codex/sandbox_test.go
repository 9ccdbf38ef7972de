package codex_test

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/workspace"
)

// These are models of the real Codex: one calls tools, the other writes programs that
// call them.
const (
	plainModel = "gpt-5.5"
	codeModel  = "gpt-6.1-sol"
)

// unguarded returns the settings of a workflow that switches the guard off.
func unguarded() codex.Config {
	return codex.Config{
		ApprovalPolicy: json.RawMessage(`"on-request"`),
		ThreadSandbox:  json.RawMessage(`"danger-full-access"`),
	}
}

// testbed is a place in which the real Codex works: a repository as its workspace, the
// workspace of another issue, a home for Codex and one for the user, and a scripted
// model. All files are below dir.
type testbed struct {
	t         testing.TB
	dir       string
	id        string // that no other testbed has
	name      string // of the model
	model     *codextest.Model
	env       workspace.Env
	root      *workspace.Root
	ws        workspace.Workspace
	sibling   workspace.Workspace
	script    string          // shell code that after_create runs before the first commit
	features  map[string]bool // of Codex, as its home has them
	config    string          // more of config.toml in that home: tables
	tools     []codex.Tool
	deny      []string // more paths
	extra     []string
	closed    bool   // the agent has no loopback
	unix      bool   // it has Unix sockets of its own
	host      string // the path of a socket of the machine
	arguments string // of codex app-server
	network   codex.Network
	networks  map[string]codex.Network
	services  []int          // ports of this machine
	roots     *x509.CertPool // authorities of their hosts; nil for this machine's
	reviews   bool           // there may be reviews
	shared    string         // the --listen of a server that runs already; empty for one of the session's own
	token     string         // of that server
	serving   bool
	hostTmp   bool // commands have the /tmp of this machine: no program stands before bubblewrap

	mu       sync.Mutex
	outputs  []string // of the commands that ended
	approved int
	events   []codex.Event
}

func newTestbed(t testing.TB, model string) *testbed {
	t.Helper()
	c := &testbed{t: t, dir: t.TempDir(), id: rand.Text(), name: model}
	for _, folder := range []string{"user/.ssh", "temp/home", "homes/other"} {
		if err := os.MkdirAll(c.path(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.env.Parent = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.path("user"), "CODEX_HOME=" + c.path("homes/own"), "TMPDIR=" + c.path("temp"),
		"GIT_CONFIG_GLOBAL=/dev/null", "SECRET=s3cret",
	}
	return c
}

func (c *testbed) path(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

func (c *testbed) write(name, text string) {
	c.t.Helper()
	path := c.path(name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// read returns the content of a file, or "" if it does not exist.
func (c *testbed) read(name string) string {
	content, _ := os.ReadFile(c.path(name)) // a missing file has no content
	return string(content)
}

func (c *testbed) exists(name string) bool {
	_, err := os.Lstat(c.path(name))
	return err == nil
}

// build creates the workspaces, once.
func (c *testbed) build() {
	c.t.Helper()
	if c.root != nil {
		return
	}
	root, err := workspace.Open(workspace.Config{
		Root: c.path("workspaces"),
		Hooks: workspace.Hooks{
			AfterCreate: "git init -q . && " + c.script + "git add -A && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one",
			Timeout:     time.Minute,
		},
	}, c.env, slog.New(slog.DiscardHandler))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { root.Close() })
	c.root = root
	for name, ws := range map[string]*workspace.Workspace{"own": &c.ws, "sibling": &c.sibling} {
		if *ws, err = root.Prepare(c.t.Context(), workspace.Issue{ID: name, Identifier: name}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// testSession is an open session in a testbed.
type testSession struct {
	*codex.Session
	process *workspace.Process
}

// open starts a session with the posture of a workflow.
func (c *testbed) open(cfg codex.Config, resume string) testSession {
	c.t.Helper()
	s, err := c.tryOpen(cfg, resume)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *testbed) tryOpen(cfg codex.Config, resume string) (testSession, error) {
	c.t.Helper()
	process, options := c.start(cfg, !c.closed && cfg.UsesProfile())
	options.Resume = resume
	session, err := codex.Open(c.t.Context(), c.connection(process), options)
	return testSession{session, process}, err
}

// connect starts a session that may run programs of the host and has no thread yet. The
// server gets the permission profile from config.toml or, with asArguments, from its
// command.
func (c *testbed) connect(asArguments bool) testSession {
	c.t.Helper()
	process, options := c.start(codex.Config{Env: []string{"SECRET"}}, asArguments)
	if !asArguments && c.shared == "" {
		config := c.path("homes/own/config.toml")
		options.SaveProfile = func(lines string) error {
			return os.WriteFile(config, []byte(lines+c.read("homes/own/config.toml")), 0o600)
		}
	}
	session, err := codex.Connect(c.t.Context(), c.connection(process), options)
	if err != nil {
		c.t.Fatal(err)
	}
	return testSession{session, process}
}

// connection returns the connection of a session to its server: the process, or one to a server that
// runs already.
func (c *testbed) connection(process *workspace.Process) io.ReadWriteCloser {
	c.t.Helper()
	if process != nil {
		return process
	}
	address, err := endpoint.Parse(c.shared)
	if err != nil {
		c.t.Fatal(err)
	}
	connection, err := endpoint.Dial(c.t.Context(), endpoint.Server{Address: address, Token: c.token})
	if err != nil {
		c.t.Fatal(err)
	}
	return connection
}

// serve starts a server that listens, as a person does: with an environment that holds secrets.
func (c *testbed) serve(arguments string) {
	c.t.Helper()
	codextest.Serve(c.t, "--listen '"+c.shared+"' "+arguments, append(slices.Clone(c.env.Parent), "FOO_SECRET=s3cret", "OPENAI_API_KEY=s3cret", "TRACKER_KEY=s3cret")...)
}

// start starts Codex, and returns the options of its session.
func (c *testbed) start(cfg codex.Config, asArguments bool) (*workspace.Process, codex.Options) {
	c.t.Helper()
	c.build()
	c.model = codextest.NewModel()
	c.t.Cleanup(c.model.Close)
	features := map[string]bool{"network_proxy": !c.closed && !asArguments}
	maps.Copy(features, c.features)
	home := codextest.Home{URL: c.model.URL(), Model: c.name, Features: features, Config: c.config}
	if err := home.Write(c.path("homes/own")); err != nil {
		c.t.Fatal(err)
	}
	repository, err := c.root.Seal(c.ws)
	if err != nil {
		c.t.Fatal(err)
	}
	cfg.ReadTimeout = time.Minute
	c.write("temp/start.sh", codex.ShellStart())
	c.write("temp/certificates.pem", "")
	c.write("temp/certificates.jks", "")
	bubblewrap, err := codex.MakeBubblewrap(c.path("programs"), self(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	options := codex.Options{
		Version: "1", Cwd: c.ws.Path, Config: cfg, Tools: c.tools,
		Temp: c.path("temp"), Bubblewrap: bubblewrap, Set: map[string]string{"HOME": c.path("temp/home"), "BASH_ENV": c.path("temp/start.sh")}, Repository: repository, ProfileGiven: asArguments, Loopback: !c.closed && cfg.UsesProfile(),
		ShellStart: c.path("temp/start.sh"), Certificates: c.path("temp/certificates.pem"), Roots: c.roots, UnixSockets: c.unix, HostSocket: c.host, Network: c.network, Networks: c.networks, Services: c.services,
		Deny: func(home string, _ int) []string {
			denied := append([]string{c.path("homes"), c.path("workspaces"), c.path("state"), c.path("logs"), c.path("later"), c.path("programs")}, c.deny...)
			if home != "" {
				denied = append(denied, home)
			}
			if err := bubblewrap.Share(append(denied, c.ws.Path, os.Args[0])); err != nil {
				c.t.Error(err)
			}
			return denied
		},
		Events: func(e codex.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, e)
			if e.Kind == codex.ApprovalAutoApproved {
				c.approved++
			}
		},
		Wire: c.wire,
	}
	if c.reviews {
		options.ReviewWork = "work"
	}
	if c.shared != "" {
		options.Shared, options.Environment, options.Bubblewrap, options.ProfileGiven = strings.ToLower(c.id[:8]), c.root.Environment(append(slices.Clone(c.extra), cfg.Env...)), nil, false
		if !c.serving {
			c.serving = true
			c.serve(codex.SharedSettings + c.arguments)
		}
		return nil, options
	}
	command := "exec '" + codextest.Path(c.t) + "' app-server" + c.arguments
	if asArguments {
		var ok bool
		if command, ok = codex.CommandWithProfile(command, options); !ok {
			c.t.Fatalf("%s: no arguments can be appended", command)
		}
	}
	if !c.hostTmp {
		command = bubblewrap.Command(command)
	}
	process, err := c.root.Start(c.t.Context(), c.ws, command, append(slices.Clone(c.extra), cfg.Env...))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { process.Stop(c.t.Context()) })
	return process, options
}

func (c *testbed) close(s testSession) {
	c.t.Helper()
	s.Close()
	if s.process == nil {
		return
	}
	if err := s.process.Stop(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	if err := c.root.Tidy(c.ws); err != nil {
		c.t.Error(err)
	}
}

// wire records what commands print.
func (c *testbed) wire(_ byte, line []byte) {
	if !bytes.Contains(line, []byte("commandExecution")) { // most lines are pieces of output
		return
	}
	var m struct {
		Method string
		Params struct {
			Item struct{ Type, AggregatedOutput string }
		}
	}
	if json.Unmarshal(line, &m) == nil && m.Method == "item/completed" && m.Params.Item.Type == "commandExecution" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.outputs = append(c.outputs, m.Params.Item.AggregatedOutput)
	}
}

// say makes the model call a command, with further arguments if more is not nil.
func (c *testbed) say(command string, more map[string]any) {
	arguments := map[string]any{"cmd": command, "yield_time_ms": 30000}
	for name, value := range more {
		arguments[name] = value
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	var item codextest.Item = codextest.Call{Name: "exec_command", Arguments: string(text)}
	if c.name == codeModel {
		item = codextest.Custom{Name: "exec", Input: "text(JSON.stringify(await tools.exec_command(" + string(text) + ")));"}
	}
	c.reply(item)
}

// reply makes the model reply with an item in the next turn, and end it then.
func (c *testbed) reply(item codextest.Item) {
	c.model.Extend(codextest.Reply{Items: []codextest.Item{item}}, codextest.Reply{Items: []codextest.Item{codextest.Message{Text: "Done."}}})
}

// run runs a command in a session of its own, and returns what it printed.
func (c *testbed) run(cfg codex.Config, command string) string {
	c.t.Helper()
	s := c.open(cfg, "")
	defer c.close(s)
	return c.turn(s, command)
}

// turn runs a command in a turn and returns what it printed. It fails the test if the
// command did not run to its end, because such an attempt proves nothing.
func (c *testbed) turn(s testSession, command string) string {
	c.t.Helper()
	output := c.tryTurn(s, command, nil)
	if !strings.Contains(output, "the command ran") {
		c.t.Fatalf("the command did not run to its end:\n%s", output)
	}
	return output
}

// tryTurn runs a command, with further arguments, in a turn and returns what it printed.
func (c *testbed) tryTurn(s testSession, command string, more map[string]any) string {
	c.t.Helper()
	c.say("{ "+command+"\n} 2>&1; echo; echo the command ran", more)
	c.mu.Lock()
	c.outputs, c.events, c.approved = nil, nil, 0
	c.mu.Unlock()
	if _, err := s.Turn(c.t.Context(), codex.Input{Text: "go"}); err != nil {
		c.t.Fatalf("the turn: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.outputs, "\n")
}

// seen returns the events of the latest turn, and how many requests were approved in it.
func (c *testbed) seen() ([]codex.Event, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events), c.approved
}

// eachModel runs a test once for each kind of model.
func eachModel(t *testing.T, test func(t *testing.T, model string)) {
	t.Helper()
	for _, model := range []string{plainModel, codeModel} {
		t.Run(model, func(t *testing.T) { test(t, model) })
	}
}
