package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/workspace"
)

// defaultBaseURL is the API that a key belongs to when Account.BaseURL is empty.
const defaultBaseURL = "https://api.openai.com/v1"

// Account holds the credentials with which a session logs in.
type Account struct {
	Key     string // key of the model's API; empty uses the login of the user's own Codex home
	BaseURL string // address of that API; empty for OpenAI's

	// Tokens gives tokens that do not live long, in place of a key; nil for none.
	Tokens *identity.Source
	// AskCommand is a program with its first arguments that prints the answer of
	// [identity.Ask] for the socket that is its last argument. Tokens need it.
	AskCommand []string
}

func (acc Account) needsHome() bool { return acc.Key != "" || acc.Tokens != nil }

// The folders below Job.SessionDir. Each holds one folder per issue.
const (
	homesDir     = "home"     // Codex homes
	tempsDir     = "tmp"      // temporary folders
	sandboxesDir = "bin"      // the folders of [codex.Bubblewrap]
	picturesDir  = "pictures" // no agent may read it
)

var issueDirs = []string{homesDir, tempsDir, sandboxesDir, picturesDir}

// Forget removes the session folders of an issue whose workspace is removed. Folders that
// do not exist are not an error.
func Forget(sessionDir, identifier string) error {
	if sessionDir == "" {
		return nil
	}
	var errs []error
	for _, folder := range issueDirs {
		errs = append(errs, forceRemoveAll(filepath.Join(sessionDir, folder, workspace.Key(identifier))))
	}
	return errors.Join(errs...)
}

// ForgetUnused removes the session folders of the issues that used does not know by the key of
// their workspace, unless something in them has changed since the given time: a session that
// the caller does not know may run there. Folders that do not exist are not an error.
func ForgetUnused(sessionDir string, used func(key string) bool, since time.Time) error {
	if sessionDir == "" {
		return nil
	}
	var errs []error
	for _, name := range issueDirs {
		folder := filepath.Join(sessionDir, name)
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			if !used(entry.Name()) && !changedSince(path, since) {
				errs = append(errs, forceRemoveAll(path))
			}
		}
	}
	return errors.Join(errs...)
}

// changedSince reports whether something at or below a path has changed since a time. A folder
// that cannot be read counts as unchanged.
func changedSince(path string, since time.Time) bool {
	changed := false
	filepath.WalkDir(path, func(_ string, entry fs.DirEntry, _ error) error {
		if entry == nil {
			return nil
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(since) {
			changed = true
			return fs.SkipAll
		}
		return nil
	})
	return changed
}

// sessionDirs are the folders of a session that belong to no workspace.
type sessionDirs struct {
	rooms
	all      string // Job.SessionDir, which holds them, without links once they are made
	account  Account
	loopback bool
	key      string // key of the issue's workspace, which names them
	suffix   string // end of the name of the Codex home; empty for the home of the issue
	self     string // Job.Program
	required bool   // the session cannot do without them
	guarded  bool   // see [codex.Config.IsGuarded]
	shared   bool   // the app-server is not started by the session

	home, temp string            // the session's own Codex home and temporary folder; empty for none
	bubblewrap *codex.Bubblewrap // program and /tmp of the session; nil for none
	sockets    room.Sockets
	links      codex.Links       // by which paths are denied
	tokens     *identity.Channel // nil without Account.Tokens
	renewal    time.Duration     // time between two renewals of the token
}

// make makes the folders: a temporary one that the agent may write and, with a key, a Codex
// home. It first removes the files of an earlier session, except the thread that is to be
// resumed.
func (d *sessionDirs) make(ctx context.Context, thread string) error {
	if d.all == "" {
		if d.account.needsHome() || d.required {
			return errors.New("an API key or a repository needs a folder for the sessions' own files, and none is given")
		}
		return nil
	}
	err := os.MkdirAll(d.all, 0o700)
	if err == nil { // a sandbox cannot mount a link
		d.all, err = filepath.EvalSymlinks(d.all)
	}
	if err != nil {
		return fmt.Errorf("make the folder of the sessions: %w", err)
	}
	d.temp = filepath.Join(d.all, tempsDir, d.key)
	sandbox := filepath.Join(d.all, sandboxesDir, d.key)
	if err := errors.Join(forceRemoveAll(d.temp), os.MkdirAll(d.temp, 0o700), forceRemoveAll(sandbox)); err != nil {
		return fmt.Errorf("make the agent's temporary folder: %w", err)
	}
	if !d.shared {
		if d.bubblewrap, err = codex.MakeBubblewrap(sandbox, d.self); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(d.temp)
	if err != nil {
		return fmt.Errorf("make the agent's room: %w", err)
	}
	defer root.Close()
	if err := d.room(d.temp, d.network).Make(root, codex.ShellStart()); err != nil {
		return err
	}
	if !d.account.needsHome() {
		return nil
	}
	if err := d.openTokens(ctx); err != nil {
		return err
	}
	d.home = filepath.Join(d.all, homesDir, d.key) + d.suffix
	err = os.MkdirAll(d.home, 0o700)
	if err == nil {
		err = cleanHome(d.home, thread)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(d.home, "config.toml"), []byte(d.config()), 0o600)
	}
	if err != nil {
		return fmt.Errorf("make a Codex home: %w", err)
	}
	return nil
}

// openTokens makes the channel by which Codex gets tokens, and gets the first one: without it no
// session can work.
func (d *sessionDirs) openTokens(ctx context.Context) error {
	if d.account.Tokens == nil {
		return nil
	}
	if !d.guarded {
		return fmt.Errorf("give the session tokens: %w: its agent could get them too: remove codex.thread_sandbox, codex.turn_sandbox_policy and codex.approval_policy, or use an API key", codex.ErrSettings)
	}
	first, err := d.account.Tokens.Token(ctx, "")
	if err != nil {
		return err
	}
	d.renewal = first.Interval()
	d.tokens, err = identity.Listen(d.account.Tokens)
	return err
}

// withTokenFailure returns the error of a session, with its cause in front if Codex got no token.
func (d *sessionDirs) withTokenFailure(err error) error {
	if err == nil || d.tokens == nil || d.tokens.Failed() == nil {
		return err
	}
	return fmt.Errorf("%w (%w)", d.tokens.Failed(), err)
}

// saveProfile adds the agent's permission profile to the config.toml of the session's
// Codex home. It is added later because the rules depend on where the programs of the
// running agent are. Codex reads the file again when it needs it.
func (d *sessionDirs) saveProfile(lines string) error {
	path := filepath.Join(d.home, "config.toml")
	err := os.WriteFile(path+".new", []byte(lines+d.config()), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("save the permission profile in the session's Codex home: %w", err)
	}
	return nil
}

// shareTmp gives the commands a /tmp of their own, in which they see the entries of this
// machine's that the permission profile, PATH, the running programs (all in paths) and the
// variables of the agent's process name.
func (d *sessionDirs) shareTmp(paths, environment []string) error {
	if d.bubblewrap == nil {
		return nil
	}
	for _, variable := range environment {
		if name, value, _ := strings.Cut(variable, "="); name != "TMPDIR" {
			paths = append(paths, filepath.SplitList(value)...)
		}
	}
	return d.bubblewrap.Share(paths)
}

// named returns the denied paths that Codex may name to the sandbox. Where /tmp is denied as a
// whole, it names none of the sockets there, and they may be gone before the next command.
func (d *sessionDirs) named(denied []string) []string {
	if !slices.Contains(denied, "/tmp") {
		return denied
	}
	return slices.DeleteFunc(slices.Clone(denied), func(path string) bool { return slices.Contains(d.sockets.Denied, path) })
}

func (d *sessionDirs) renewCheckTmp() error {
	if d.bubblewrap == nil {
		return nil
	}
	err := forceRemoveAll(d.bubblewrap.CheckTmp())
	if err == nil {
		err = d.bubblewrap.RenewCheckTmp()
	}
	return err
}

// environment returns the environment of the agent's process besides the plain variables. Codex
// also keeps notes of the mounts of its sandboxes in TMPDIR; it hides them from the agent
// itself.
func (d *sessionDirs) environment() []string {
	env := slices.Clone(d.kept)
	if d.temp != "" {
		env = append(env, "TMPDIR="+d.temp)
	}
	if d.home != "" {
		env = append(env, "CODEX_HOME="+d.home)
	}
	return env
}

func (d *sessionDirs) clean(thread string) (err error) {
	d.sockets.Close()
	err = d.links.Close()
	if d.tokens != nil {
		d.tokens.Close()
	}
	if d.temp != "" {
		err = errors.Join(err, forceRemoveAll(d.temp), os.RemoveAll(filepath.Join(d.all, picturesDir, d.key)))
	}
	if d.bubblewrap != nil {
		err = errors.Join(err, forceRemoveAll(d.bubblewrap.Dir))
	}
	if d.home != "" {
		err = errors.Join(err, cleanHome(d.home, thread))
	}
	return err
}

// config returns the config.toml of the session's Codex home. The key is not in it:
// Codex gets it over the connection and keeps it in memory. The provider is not the
// built-in one, because the timeouts of that one cannot be set. The feature network_proxy is the
// server's half of the loopback. With tokens, Codex asks for them by a program.
func (d *sessionDirs) config() string {
	login := "requires_openai_auth = true\n"
	if d.tokens != nil {
		words := append(slices.Clone(d.account.AskCommand[1:]), d.tokens.Socket())
		arguments, _ := json.Marshal(words) // strings always marshal, and so they are in TOML
		login = fmt.Sprintf(`
[model_providers.symphony.auth]
command = %q
args = %s
cwd = %q
timeout_ms = %d
refresh_interval_ms = %d
`, d.account.AskCommand[0], arguments, d.home, identity.AskTime.Milliseconds(), d.renewal.Milliseconds())
	}
	return madeForSessions + fmt.Sprintf(`
cli_auth_credentials_store = "ephemeral"
check_for_update_on_startup = false
model_provider = "symphony"

[model_providers.symphony]
name = "Symphony"
base_url = %q
wire_api = "responses"
%s
[analytics]
enabled = false

[features]
network_proxy = %t
plugins = false
shell_snapshot = false
`, cmp.Or(d.account.BaseURL, defaultBaseURL), login, d.loopback)
}

// madeForSessions is the first line of config.toml in each home that sessionDirs makes. The
// lines of the permission profile stand before it.
const madeForSessions = "# Made for the sessions of one issue, and removed with its workspace."

// IsSessionHome reports whether a folder is a Codex home that was made for the sessions of one
// issue, and not a person's own.
func IsSessionHome(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "config.toml"))
	return err == nil && strings.Contains("\n"+string(text), "\n"+madeForSessions+"\n")
}

// cleanHome empties a Codex home, except the rollout of one thread, from which Codex
// can resume it.
func cleanHome(home, thread string) error {
	sessions := filepath.Join(home, rolloutFolder)
	return filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == home:
			return nil
		case entry.IsDir() && (path == sessions || strings.HasPrefix(path, sessions+"/")):
			return nil // folders by date; there are few
		case entry.IsDir():
			if err := forceRemoveAll(path); err != nil {
				return err
			}
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err == nil && isRollout(entry.Name(), thread) && info.Mode().IsRegular() && info.Size() <= MaxRollout {
			return nil
		}
		return errors.Join(err, os.Remove(path))
	})
}

// forceRemoveAll removes a folder in which programs may have made subfolders
// unwritable.
func forceRemoveAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	filepath.WalkDir(path, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			os.Chmod(path, 0o700) // RemoveAll reports a folder that this cannot open
		}
		return nil
	})
	return os.RemoveAll(path)
}
