package wiring

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// minGuessproof is the length in bytes from which a value counts as one that cannot
// be guessed from its digest.
const minGuessproof = 16

// Login returns the login of sessions, to see whether it has changed: the
// key, its address, the variables that codex.env names, and the files of the
// user's own Codex home. A value too short to withstand guessing is left out.
func (p Process) Login(c codex.Config) []string {
	texts := []string{p.Value("OPENAI_BASE_URL"), p.Value(identityProviderVariable), p.Value(serviceAccountVariable)}
	add := func(name, value string) {
		if len(value) >= minGuessproof {
			texts = append(texts, name+"="+value)
		}
	}
	add("key", p.ModelKey())
	for _, name := range c.Env {
		add(name, p.Value(name))
	}
	for _, name := range LoginFiles {
		add(name, readStart(filepath.Join(p.CodexHome(), name)))
	}
	return texts
}

// readStart returns the first megabyte of a file, empty when it cannot be read.
func readStart(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return ""
	}
	return string(text)
}

// LoginFiles lists the files of a Codex home that log sessions in.
var LoginFiles = []string{"auth.json", "config.toml"}

// CodexHome returns the folder of Codex with its login and settings.
func (p Process) CodexHome() string {
	if home, set := p.Getenv("CODEX_HOME"); set {
		return home
	}
	return filepath.Join(p.Value("HOME"), ".codex")
}

// keyNames lists the environment variables of keys that no child process sees, even if
// codex.env names them. Sessions get the API key over their connection.
var keyNames = []string{"OPENAI_API_KEY", "CODEX_API_KEY", AppKeyVariable}

// Account returns the login of sessions of a workflow. A key of the environment takes precedence
// over tokens, except inside Actions, where checkLogin refuses both together.
func (p Process) Account(wf workflow.Workflow) attempt.Account {
	account := attempt.Account{Key: p.ModelKey(), BaseURL: p.Value("OPENAI_BASE_URL")}
	if config, err := p.Identity(wf); err == nil && account.Key == "" {
		account.Tokens = p.Tokens.Source(p, wf, config)
	}
	account.AskCommand = []string{Program(), ModelTokenName} // an empty one makes Codex say that it gets no token
	return account
}

// Program returns the path of this program; empty if the system does not know it.
func Program() string {
	self, _ := os.Executable()
	return self
}

// ThreadSecret returns the secret that seals the threads of a fleet; empty for none. All shards of
// this run and of later ones have it, and no agent, and nobody can guess it. Without an API key it
// takes another secret that is stored for the jobs. Nothing else will do: each job has another
// token, and everybody who can read the repository can read the outputs, artifacts, caches and
// references of a plan.
func (p Process) ThreadSecret() string {
	for _, secret := range []string{p.ModelKey(), p.Value(AppKeyVariable), p.Value("LINEAR_API_KEY")} {
		if secret = strings.TrimSpace(secret); len(secret) >= minGuessproof {
			return secret
		}
	}
	return ""
}

// ModelKey returns the API key of the environment. CODEX_API_KEY takes precedence over
// OPENAI_API_KEY, as for `codex exec`: users who set both mean the first for Codex and
// the second for other programs.
func (p Process) ModelKey() string {
	return cmp.Or(p.Value("CODEX_API_KEY"), p.Value("OPENAI_API_KEY"))
}
