package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// The script of the section setup prepares a project for its agents: it fetches what the project
// depends on, and builds what all sessions share. It runs in a scratch folder with a clean
// checkout of the base, in an agent process of its own that has no thread and ends before the
// agent's begins. So it may have hosts and variables that no agent has, and no file that an agent
// has written is near. What it made is kept as a pack (package setup), and each workspace and each
// check of work gets a copy. A script that fails is the fault of no issue.

// ErrSetup marks a preparation that failed, which every issue shares.
var ErrSetup = errors.New("setup_failed")

// setupAdvice says what to do about a preparation that failed.
const setupAdvice = "see its whole output with: symphony setup --again; then fix setup in WORKFLOW.md, or the project"

// folderAdvice says what to do about a folder in which no preparation can be kept.
const folderAdvice = "give the user who runs symphony a folder there that can be read and written, on a disk with room"

// Setup says how the project of a Repository is prepared.
type Setup struct {
	setup.Config
	Network      codex.Network // of the script on the base, and on the agent's work if Config.Online is set
	Preparations *Preparations // shared by the sessions of a run
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

// prepared is the preparation that a session works with.
type prepared struct {
	pack   *setup.Pack       // nil for none
	inputs map[string]string // of the base: the objects of setup.inputs by their paths
}

// sessionHome returns the home of the session's room.
func (a *attempt) sessionHome() string { return a.roomIn(a.temp, a.Network).Home() }

// scratchHome returns the home of the room in a scratch folder.
func (a *attempt) scratchHome(folder string) string {
	return a.roomIn(scratchRoom(folder), codex.Network{}).Home()
}

// setup returns the preparation of the project; nil for a project that is not.
func (a *attempt) setup() *Setup {
	if a.Repository == nil || !a.Repository.isPrepared() {
		return nil
	}
	return a.Repository.Setup
}

// isPrepared reports whether the project is prepared.
func (r *Repository) isPrepared() bool { return r.Setup != nil && r.Setup.Run != "" }

// Prepare makes the pack for the base of a job's repository, as the first session of a tick does,
// also if there is one and again is set. It reports the pack, which is closed, and whether it was made now. The
// workspaces of the job should be a scratch folder and its issue a placeholder.
func Prepare(ctx context.Context, job Job, again bool) (pack *setup.Pack, made bool, err error) {
	a := newAttempt(job, func(Update) {})
	ws, err := a.Workspaces.Begin(ctx, workspace.Issue{ID: string(a.Issue.ID), Identifier: a.Issue.Identifier})
	if err != nil {
		return nil, false, err
	}
	defer a.Workspaces.Release(ws)
	key, err := a.packKey(ctx)
	if err == nil && again {
		if err = a.setup().Preparations.Folder.Remove(key); err != nil {
			err = setupFailed(err)
		}
	}
	if err != nil {
		return nil, false, err
	}
	pack, err = a.setup().Preparations.get(ctx, key, func() error {
		made = true
		return a.prepareProject(ctx, ws, key)
	})
	if pack != nil {
		pack.Close()
	}
	for _, warning := range a.warnings {
		if a.Warn != nil {
			a.Warn(warning)
		}
	}
	return pack, made, err
}

// findPack finds the pack for the base of the session, or makes it.
func (a *attempt) findPack(ctx context.Context, ws workspace.Workspace) error {
	if a.setup() == nil {
		return nil
	}
	key, err := a.packKey(ctx)
	if err == nil {
		a.prepared.pack, err = a.setup().Preparations.get(ctx, key, func() error { return a.prepareProject(ctx, ws, key) })
	}
	return err
}

// closePack closes the pack of the session.
func (a *attempt) closePack() {
	if a.prepared.pack != nil {
		a.prepared.pack.Close()
	}
}

// packKey returns the key of the pack for the base of the session.
func (a *attempt) packKey(ctx context.Context) (setup.Key, error) {
	s := a.setup()
	store, base := a.Repository.Store, a.Repository.Checkout.BaseHead
	inputs, err := a.inputs(func(match func(string) bool) (map[string]string, error) { return store.Files(ctx, base, match) })
	if err != nil {
		return "", err
	}
	a.prepared.inputs = inputs
	recipe := setup.Recipe{
		Script: s.Run, Hosts: s.Network.Hosts, Env: s.Env, Keep: s.Keep, Inputs: inputs, Tools: setup.Tools(a.Lookup), Private: s.Network.Private, Full: s.Network.Full,
	}
	return recipe.Key(), nil
}

// inputs returns the objects of the files that decide whether the script runs again, by their
// paths. list returns those of the files that match.
func (a *attempt) inputs(list func(match func(path string) bool) (map[string]string, error)) (map[string]string, error) {
	patterns := a.setup().Inputs
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

// prepareProject runs the script and keeps what it made as the pack of a key.
func (a *attempt) prepareProject(ctx context.Context, ws workspace.Workspace, key setup.Key) (err error) {
	began := time.Now()
	folder, err := a.Workspaces.Scratch(ws)
	if err != nil {
		return fmt.Errorf("prepare the project: %w", err)
	}
	defer func() {
		err = errors.Join(err, a.Workspaces.RemoveScratch(folder))
		if ctx.Err() != nil {
			a.warn("the preparation of the project was not done when the session was stopped, and nothing of it is kept", context.Cause(ctx))
		}
	}()
	b := a.preparer()
	err = b.runAgent(ctx, folder, codex.Connect, func(session *codex.Session) error {
		b.work.session = session
		return b.prepareIn(ctx, folder)
	})
	a.warnings = append(a.warnings, b.warnings...)
	if err != nil {
		return err
	}
	content, err := a.keepPrepared(folder, key)
	if err == nil {
		a.logger().InfoContext(ctx, "the project is prepared", "files", content.Files, "bytes", content.Bytes, "took", time.Since(began).Round(time.Millisecond))
		if err := a.setup().Preparations.Folder.Prune(time.Now()); err != nil {
			a.warn("old preparations cannot be removed", err)
		}
	}
	return err
}

// preparer returns the attempt in which the script runs. Its agent process has the variables of
// setup.env, and passes them to the script alone.
func (a *attempt) preparer() *attempt {
	job := a.Job
	job.Codex.Env = slices.Concat(job.Codex.Env, a.setup().Env)
	job.Network, job.HookNetwork = codex.Network{}, codex.Network{}
	repository := *a.Repository
	repository.Checkout.Head, repository.Checkout.Pushed = repository.Checkout.BaseHead, git.ObjectID{}
	job.Repository = &repository
	b := newAttempt(job, a.report)
	b.preparing = true
	return b
}

// prepareIn checks the base out in a folder, runs the script there, and has what it made written
// to the two tars.
func (a *attempt) prepareIn(ctx context.Context, folder workspace.Workspace) error {
	session, s := a.work.session, a.setup()
	err := session.CanExec(ctx)
	if err == nil {
		err = a.awaitPreflight(ctx, session)
	}
	if err == nil {
		err = a.findSubmodules(ctx)
	}
	checkout := a.Repository.Checkout
	checkout.Submodules = a.work.submodules
	if err == nil {
		checkout.Objects, err = a.objects(ctx)
	}
	if err == nil {
		err = a.checkOutScratch(ctx, folder, checkout, nil)
	}
	if err == nil {
		err = a.runScript(ctx, runKey, folder.Path, s.Env)
	}
	if err != nil {
		return err
	}
	command := a.Repository.Host.KeepCommand(scratchRoom(folder.Path), a.scratchHome(folder.Path), setup.MaxBytes, s.Keep)
	var changed outputTail
	result, err := session.Exec(ctx, execIn(folder.Path, codex.Exec{
		Argv: command.Args, Env: command.Env, Doing: "keeping what the preparation has made", Timeout: checkoutTime, MaxOutput: maxProgramOutput, Stdout: &changed,
	}))
	if err == nil && result.ExitCode != 0 {
		err = setupFailed(fmt.Errorf("what it made cannot be kept: %s", a.brief(result.Stderr)))
	}
	if files := text.OneLine(a.Redact(changed.text()), maxHookOutput); err == nil && files != "" {
		a.warn("setup.run has changed files that git tracks, and these changes are not kept", errors.New(files))
	}
	return err
}

// Keys of WORKFLOW.md whose values are the scripts of setup.
const (
	runKey    = "setup.run"
	updateKey = "setup.update"
)

// runScript runs the script of a key in a folder; an empty one is the workspace. It has the network
// of setup if the session has one, and variables are those that it sees besides the plain ones. The
// error of a script that fails is a [*scriptError].
func (a *attempt) runScript(ctx context.Context, key, folder string, variables []string) error {
	began, s := time.Now(), a.setup()
	script := s.Run
	if key == updateKey {
		script = s.Update
	}
	code, output, err := a.shell(ctx, a.work.session, folder, "preparing the project ("+key+")", script, setupNetwork, s.Timeout, variables)
	failed := &scriptError{key: key, output: output}
	switch {
	case errors.Is(err, codex.ErrExecTimeout):
		failed.how = fmt.Sprintf("it was not done after %v (setup.timeout_ms)", s.Timeout)
	case errors.Is(err, codex.ErrExecOutput):
		failed.how = fmt.Sprintf("it printed more than %d bytes", maxProgramOutput)
	case errors.Is(err, codex.ErrExecKilled):
		failed.how = "it was killed"
	case err != nil:
		return err
	case code != 0:
		failed.how = fmt.Sprintf("exit status %d", code)
	default:
		a.EventLog.hook("setup", output, &code, time.Since(began), "")
		return nil
	}
	a.EventLog.hook("setup", output, &code, time.Since(began), failed.how)
	return failed
}

// scriptError reports that a script of setup failed.
type scriptError struct{ key, how, output string }

// Error returns the failure as that of a preparation of the base.
func (e *scriptError) Error() string {
	s := e.key + " failed: " + e.how
	if said := text.Output(e.output, maxHookOutput); said != "" {
		s += ": " + said
	}
	return setupFailed(errors.New(s)).Error()
}

// Unwrap returns [ErrSetup].
func (e *scriptError) Unwrap() error { return ErrSetup }

// setupFailed returns an error of category [ErrSetup].
func setupFailed(cause error) error {
	advice := setupAdvice
	if errors.Is(cause, setup.ErrFolder) {
		advice = folderAdvice
	}
	return fmt.Errorf("prepare the project: %w: %w: %s", ErrSetup, cause, advice)
}

// keepPrepared makes the pack of a key from the tars in a scratch folder. No process runs there
// any more.
func (a *attempt) keepPrepared(folder workspace.Workspace, key setup.Key) (content setup.Content, err error) {
	err = a.Workspaces.Fill(folder, func(root *os.Root) error {
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
		content, err = a.setup().Preparations.Folder.Save(key, setup.Made{
			Places: setup.Places{Work: folder.Path, Home: a.scratchHome(folder.Path)}, WorkTar: work, HomeTar: home, Secrets: a.setupSecrets(),
		})
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

// minSecret is the length from which on a value of setup.env counts as a secret, in bytes: a
// shorter one stands in many files by chance.
const minSecret = 8

// setupSecrets returns the values that the script alone may know.
func (a *attempt) setupSecrets() (secrets []string) {
	for _, name := range a.setup().Env {
		if a.Lookup == nil {
			return nil
		}
		if value, _ := a.Lookup(name); len(value) >= minSecret && !isPublic(value) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// isPublic reports whether a value is a path, or an address without a password, which files may
// hold.
func isPublic(value string) bool {
	u, err := url.Parse(value)
	return filepath.IsAbs(value) || err == nil && u.Host != "" && u.User == nil && u.RawQuery == ""
}

// stagePack writes the tars of the session's pack into a new .git: that of the home, and that of
// the work tree if it is wanted.
func (a *attempt) stagePack(git *os.Root, to setup.Places, work bool) error {
	if a.prepared.pack == nil {
		return nil
	}
	if err := git.Mkdir(packFolder, 0o700); err != nil {
		return err
	}
	var files []*os.File
	create := func(name string) (io.Writer, error) {
		f, err := git.Create(path.Join(packFolder, name))
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
		err = a.prepared.pack.Extract(to, tree, home)
	}
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// needsPack reports whether a workspace has other prepared files than those of the session's pack.
func (a *attempt) needsPack(ws workspace.Workspace) bool {
	return a.prepared.pack != nil && (ws.CreatedNow || a.Workspaces.Files(ws) != string(a.prepared.pack.Key))
}

// takePrepared unpacks the session's pack in its workspace. Where hooks run outside the sandbox,
// the agent's process and its home are still to be made, and the home gets its files then.
func (a *attempt) takePrepared(ctx context.Context, ws workspace.Workspace) error {
	if a.prepared.pack == nil {
		return nil
	}
	home := a.sessionHome()
	if a.Repository.TrustedHooks {
		home = ""
	}
	err := a.takePack(ctx, "", home)
	if err == nil {
		err = a.Workspaces.SaveFiles(ws, string(a.prepared.pack.Key))
	}
	return err
}

// keptPaths returns the patterns of the paths of setup.keep, for git to ignore.
func (a *attempt) keptPaths() (patterns []string) {
	if a.setup() == nil {
		return nil
	}
	for _, path := range a.setup().Keep {
		patterns = append(patterns, "/"+path)
	}
	return patterns
}

// packFolder is the folder below .git for the tars of a pack.
const packFolder = "symphony-setup"

// takePack unpacks the tars in the .git of a folder; an empty folder is the workspace. An empty
// home leaves the tar of the home for later.
func (a *attempt) takePack(ctx context.Context, folder, home string) error {
	if a.prepared.pack == nil {
		return nil
	}
	command := a.Repository.Host.TakeCommand(path.Join(".git", packFolder), home)
	result, err := a.work.session.Exec(ctx, execIn(folder, codex.Exec{
		Argv: command.Args, Env: command.Env, Doing: "copying the prepared files", Timeout: checkoutTime, MaxOutput: maxProgramOutput,
	}))
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("copy the prepared files: %w with exit status %d: %s", errCheckout, result.ExitCode, a.brief(result.Stderr))
	}
	return err
}

// prepareWork prepares a scratch folder with work, if the work changes a file that the
// preparation is known to depend on. A script that fails on the work is a [*verifyError].
func (a *attempt) prepareWork(ctx context.Context, folder string, work *git.Incoming) error {
	if _, unknown := a.prepared.inputs[anyFile]; a.setup() == nil || unknown {
		return nil
	}
	inputs, err := a.inputs(func(match func(string) bool) (map[string]string, error) { return work.Files(ctx, work.Tip, match) })
	if err != nil || maps.Equal(inputs, a.prepared.inputs) {
		return err
	}
	err = a.runScript(ctx, runKey, folder, nil)
	if failed, isScript := errors.AsType[*scriptError](err); isScript {
		return &verifyError{how: "setup.run, which prepares it, failed" + a.offline() + ": " + failed.how, output: lastLines(failed.output)}
	}
	return err
}

// offline returns the words behind a failure of the script for a script that has no network.
func (a *attempt) offline() string {
	if a.setup().Online || len(a.setup().Network.Hosts) == 0 {
		return ""
	}
	return " without a network (setup.for_agent is offline, which a person can change)"
}
