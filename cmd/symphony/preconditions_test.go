package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/codex"
)

func TestTheLoginDiffersWhenAnyOfItsCredentialsChanges(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	settings := codex.Config{Env: []string{"AZURE_API_KEY"}}
	login := func(env ...string) []string {
		a := &app{Process: wiring.Process{Environ: append([]string{"CODEX_HOME=" + home}, env...)}}
		return a.Login(settings)
	}
	key := "OPENAI_API_KEY=sk-0123456789abcdef"
	before := login(key)
	if !slices.Equal(before, login(key)) {
		t.Error("the same login is another one")
	}
	for name, after := range map[string][]string{
		"another key":             login("OPENAI_API_KEY=sk-0123456789abcdeX"),
		"another address":         login(key, "OPENAI_BASE_URL=https://models.example"),
		"a variable of codex.env": login(key, "AZURE_API_KEY=0123456789abcdef"),
		"no key":                  login(),
	} {
		if slices.Equal(before, after) {
			t.Errorf("%s: it is the same", name)
		}
	}
	for _, name := range []string{"auth.json", "config.toml"} {
		before := login(key)
		if err := os.WriteFile(filepath.Join(home, name), []byte("0123456789abcdef"), 0o600); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(before, login(key)) {
			t.Errorf("%s: it is the same", name)
		}
	}
}

// TestAPasswordThatCanBeGuessedIsNoPartOfALogin: the digest of a login would reveal it
// to a reader who tries all passwords.
func TestAPasswordThatCanBeGuessedIsNoPartOfALogin(t *testing.T) {
	t.Parallel()
	login := func(env ...string) []string {
		a := &app{Process: wiring.Process{Environ: append([]string{"CODEX_HOME=" + t.TempDir()}, env...)}}
		return a.Login(codex.Config{Env: []string{"PROXY_PASSWORD"}})
	}
	if !slices.Equal(login(), login("OPENAI_API_KEY=123456", "PROXY_PASSWORD=correct")) {
		t.Error("it is")
	}
}
