package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/setup"
)

// The script of the section setup prepares a project for its agents: it fetches the
// dependencies of the project, and builds the parts that all sessions share. It runs in a
// scratch folder with a clean checkout of the base, in an agent process of its own that has no
// thread and ends before the agent's begins. So it may have hosts and variables that no agent
// has, and no file that an agent has written is near. Its files are kept as a pack (package
// setup), and each workspace and each check of work gets a copy. A script that fails is the
// fault of no issue.

// ErrSetup marks a preparation that failed, which every issue shares.
var ErrSetup = errors.New("setup_failed")

// setupAdvice is the remedy for a preparation that failed.
const setupAdvice = "see its whole output with: symphony setup --again; then fix setup in WORKFLOW.md, or the project"

// folderAdvice is the remedy for a folder in which no preparation can be kept.
const folderAdvice = "give the user who runs symphony a folder there that can be read and written, on a disk with room"

// Setup describes the preparation of the project of a Repository.
type Setup struct {
	setup.Config
	Network      codex.Network // hosts of the script on the base, and on the agent's work if Config.Online is set
	Preparations *Preparations `json:"-"` // shared by the sessions of a run
}

// Preparations makes each pack once. Other sessions that need it wait.
type Preparations struct {
	Folder setup.Folder
	busy   chan struct{} // holds one value while a script runs; guards failed
	failed map[setup.Key]failedPreparation
}

// failedPreparation is the latest failure for a key.
type failedPreparation struct {
	at  time.Time
	err error
}

// NewPreparations returns the preparations whose packs are in a folder.
func NewPreparations(folder string) *Preparations {
	return &Preparations{Folder: setup.Folder{Path: folder}, busy: make(chan struct{}, 1), failed: map[setup.Key]failedPreparation{}}
}

// get returns the pack of a key. If there is none, it calls prepare, unless another session did
// since the caller asked.
func (p *Preparations) get(ctx context.Context, key setup.Key, prepare func() error) (*setup.Pack, error) {
	asked := time.Now()
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	pack, err := p.Folder.Find(key)
	if err == nil {
		return pack, nil
	}
	if !isAny(err, fs.ErrNotExist, setup.ErrDamaged) { // a damaged one is made again
		return nil, setupFailed(err)
	}
	if last := p.failed[key]; last.at.After(asked) {
		return nil, last.err
	}
	err = prepare()
	if err == nil {
		if pack, err = p.Folder.Find(key); err != nil {
			err = setupFailed(fmt.Errorf("%w: what was kept is not there: %w", setup.ErrFolder, err))
		}
	}
	if err != nil && ctx.Err() == nil {
		p.failed[key] = failedPreparation{time.Now(), err}
	}
	return pack, err
}

// preparation gives the preparation of the project to the workspace of a session and to scratch
// folders.
type preparation struct {
	*core
	*Setup // nil for a project that is not prepared

	pack   *setup.Pack       // nil for none
	inputs map[string]string // objects of setup.inputs in the base, by their paths
}

func (p *preparation) find(ctx context.Context, prepare func(setup.Key) error) error {
	if p.Setup == nil {
		return nil
	}
	key, err := p.key(ctx)
	if err == nil {
		p.pack, err = p.Preparations.get(ctx, key, func() error { return prepare(key) })
	}
	return err
}

func (p *preparation) close() {
	if p.pack != nil {
		p.pack.Close()
	}
}

func (p *preparation) key(ctx context.Context) (setup.Key, error) {
	source, base := p.repository.Source, p.repository.Checkout.BaseHead
	inputs, err := p.inputsOf(func(match func(string) bool) (map[string]string, error) { return source.Files(ctx, base, match) })
	if err != nil {
		return "", err
	}
	p.inputs = inputs
	recipe := setup.Recipe{
		Script: p.Run, Hosts: p.Network.Hosts, Env: p.Env, Keep: p.Keep, Inputs: inputs, Tools: setup.Tools(p.lookup), Private: p.Network.Private, Full: p.Network.Full,
	}
	return recipe.Key(), nil
}

// inputsOf returns the objects of the files that decide whether the script runs again, by their
// paths. list returns the objects of the files that match.
func (p *preparation) inputsOf(list func(match func(path string) bool) (map[string]string, error)) (map[string]string, error) {
	patterns := p.Inputs
	if len(patterns) == 0 {
		patterns = setup.Manifests
	}
	inputs, err := list(func(path string) bool { return delivery.Match(patterns, path) })
	if err != nil || len(inputs) > 0 {
		return inputs, err
	}
	all, err := list(func(string) bool { return true })
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(sum, "%s %s\x00", all[path], path)
	}
	return map[string]string{anyFile: hex.EncodeToString(sum.Sum(nil))}, err
}

// anyFile stands for all files of a base that has none of the inputs.
const anyFile = ""

// Keys of WORKFLOW.md whose values are the scripts of setup.
const (
	runKey    = "setup.run"
	updateKey = "setup.update"
)

// runScript runs the script of a key in a place. It has the network
// of setup if the session has one, and variables are those that it sees besides the plain ones. The
// error of a script that fails is a [*scriptError].
func (p *preparation) runScript(ctx context.Context, at place, key string, variables []string) error {
	began, text := time.Now(), p.Run
	if key == updateKey {
		text = p.Update
	}
	code, output, err := p.shell(ctx, at, script{text: text, doing: "preparing the project (" + key + ")", network: setupNetwork, timeout: p.Timeout, variables: variables})
	how, err := failureOf(code, err, fmt.Sprintf("it was not done after %v (setup.timeout_ms)", p.Timeout), fmt.Sprintf("it printed more than %d bytes", maxProgramOutput))
	if err != nil {
		return err
	}
	p.eventLog.hook("setup", output, &code, time.Since(began), how)
	if how != "" {
		return &scriptError{key: key, how: how, output: output}
	}
	return nil
}

// scriptError reports that a script of setup failed.
type scriptError struct{ key, how, output string }

// Error returns the failure of a preparation of the base.
func (e *scriptError) Error() string {
	s := e.key + " failed: " + e.how
	if said := text.Output(e.output, maxHookOutput); said != "" {
		s += ": " + said
	}
	return setupFailed(errors.New(s)).Error()
}

// Unwrap returns [ErrSetup].
func (e *scriptError) Unwrap() error { return ErrSetup }

func setupFailed(cause error) error {
	advice := setupAdvice
	if errors.Is(cause, setup.ErrFolder) {
		advice = folderAdvice
	}
	return fmt.Errorf("prepare the project: %w: %w: %s", ErrSetup, cause, advice)
}

// keep makes the pack of a key from the tars in a scratch folder. No process runs there any
// more.
func (p *preparation) keep(at place, key setup.Key) (content setup.Content, err error) {
	err = p.workspaces.Fill(at.Workspace, func(root *os.Root) error {
		work, err := openRegular(root, path.Join(".git", scratchTemp, "work.tar"))
		if err != nil {
			return err
		}
		defer work.Close()
		home, err := openRegular(root, path.Join(".git", scratchTemp, "home.tar"))
		if err != nil {
			return err
		}
		defer home.Close()
		content, err = p.Preparations.Folder.Save(key, setup.Made{Places: at.setupPlaces(), WorkTar: work, HomeTar: home, Secrets: p.Secrets(p.lookup)})
		return err
	})
	if err != nil {
		err = setupFailed(err)
	}
	return content, err
}

// openRegular opens a file that an untrusted program has made, if it is a regular one.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", setup.ErrRefused, err)
	}
	return root.Open(name)
}

// stage writes the tars of the session's pack into a folder, for a place: the tar of the home,
// and the tar of the work tree if work is set.
func (p *preparation) stage(into *os.Root, at place, work bool) error {
	if p.pack == nil {
		return nil
	}
	if err := into.Mkdir(packFolder, 0o700); err != nil {
		return err
	}
	var files []*os.File
	create := func(name string) (io.Writer, error) {
		f, err := into.Create(path.Join(packFolder, name))
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	home, err := create("home.tar")
	var tree io.Writer
	if err == nil && work {
		tree, err = create("work.tar")
	}
	if err == nil {
		err = p.pack.Extract(at.setupPlaces(), tree, home)
	}
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// isNeeded reports whether the workspace needs the prepared files of the session's pack.
func (p *preparation) isNeeded() bool {
	return p.pack != nil && (p.here.CreatedNow || p.workspaces.Files(p.here.Workspace) != string(p.pack.Key))
}

// takeHere unpacks the session's pack in its workspace. Where hooks run outside the sandbox,
// the agent's process and its home are still to be made, and the home gets its files then.
func (p *preparation) takeHere(ctx context.Context) error {
	if p.pack == nil {
		return nil
	}
	home := p.here.home()
	if p.repository.TrustedHooks {
		home = ""
	}
	err := p.take(ctx, p.here, home)
	if err == nil {
		err = p.workspaces.SaveFiles(p.here.Workspace, string(p.pack.Key))
	}
	return err
}

// keptPaths returns the patterns of the paths of setup.keep, for git to ignore.
func (p *preparation) keptPaths() (patterns []string) {
	if p.Setup == nil {
		return nil
	}
	for _, path := range p.Keep {
		patterns = append(patterns, "/"+path)
	}
	return patterns
}

// packFolder is the folder for the tars of a pack, below .git.
const packFolder = "symphony-setup"

// take unpacks the tars in the .git of a place. An empty home leaves the tar of the home for
// later.
func (p *preparation) take(ctx context.Context, at place, home string) error {
	if p.pack == nil {
		return nil
	}
	command := p.repository.Host.TakeCommand(path.Join(".git", packFolder), home)
	result, err := p.run(ctx, at, command, "copying the prepared files", checkoutTime, nil)
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("copy the prepared files: %w with exit status %d: %s", errCheckout, result.ExitCode, p.brief(result.Stderr))
	}
	return err
}

// prepareWork prepares a scratch folder with work, if the work changes a file that the
// preparation is known to depend on. A script that fails on the work is a [*verifyError].
func (p *preparation) prepareWork(ctx context.Context, at place, work Work) error {
	if _, unknown := p.inputs[anyFile]; p.Setup == nil || unknown {
		return nil
	}
	inputs, err := p.inputsOf(func(match func(string) bool) (map[string]string, error) {
		return work.Files(ctx, work.About().Tip, match)
	})
	if err != nil || maps.Equal(inputs, p.inputs) {
		return err
	}
	err = p.runScript(ctx, at, runKey, nil)
	if failed, isScript := errors.AsType[*scriptError](err); isScript {
		return &verifyError{how: "setup.run, which prepares it, failed" + p.offline() + ": " + failed.how, output: lastLines(failed.output)}
	}
	return err
}

// offline returns the words behind a failure of the script for a script that has no network.
func (p *preparation) offline() string {
	if p.Online || len(p.Network.Hosts) == 0 {
		return ""
	}
	return " without a network (setup.for_agent is offline, which a person can change)"
}

// tool returns the tool by which the agent prepares its own tree again.
func (p *preparation) tool() codex.Tool {
	with := "with the same hosts as before"
	if !p.Online || len(p.Network.Hosts) == 0 {
		with = "without a network, from the caches"
	}
	locks := ""
	if p.Update != "" {
		locks = " It changes lock files to what the manifests say first, so change the manifests alone."
	}
	return codex.Tool{
		Name: "setup",
		Description: "Prepare the project again in the workspace, as it was prepared before the session, " + with + ". " +
			"Call it when you have changed what the project depends on." + locks + " The answer is the end of the output.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Timeout:     2*p.Timeout + time.Minute, // both scripts have this time
		Call: func(ctx context.Context, _ json.RawMessage) (string, bool) {
			text, ok := p.call(ctx)
			return p.redact(text), ok
		},
	}
}

func (p *preparation) call(ctx context.Context) (answer string, ok bool) {
	var err error
	if p.Update != "" {
		err = p.runScript(ctx, p.here, updateKey, nil)
	}
	if err == nil {
		err = p.runScript(ctx, p.here, runKey, nil)
	}
	failed, isScript := errors.AsType[*scriptError](err)
	switch {
	case err == nil:
		return "The project is prepared.", true
	case !isScript:
		return "The project was not prepared: " + err.Error(), false
	}
	answer = "The project was not prepared: " + failed.key + " failed" + p.offline() + ": " + failed.how + ". The end of its output:\n\n" + lastLines(failed.output)
	if p.offline() != "" {
		answer += "\n\nWhat is not in the caches cannot be fetched. If the work needs it, name it in your description, and say that a person can allow it with setup.for_agent: network."
	}
	if p.Update == "" {
		answer += "\n\nIf a lock file has to change for it, say also that a person can write the script that changes it into setup.update."
	}
	return answer, false
}
