package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
)

func TestTheLoginDiffersWhenAnyOfItsCredentialsChanges(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	settings := codex.Config{Env: []string{"AZURE_API_KEY"}}
	login := func(env ...string) []string {
		a := &app{process: process{environ: append([]string{"CODEX_HOME=" + home}, env...)}}
		return a.login(settings)
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
		a := &app{process: process{environ: append([]string{"CODEX_HOME=" + t.TempDir()}, env...)}}
		return a.login(codex.Config{Env: []string{"PROXY_PASSWORD"}})
	}
	if !slices.Equal(login(), login("OPENAI_API_KEY=123456", "PROXY_PASSWORD=correct")) {
		t.Error("it is")
	}
}

func TestTheDefaultDeadlineIsWhatIsLeftOfTheJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		timeout time.Duration
		began   time.Time
		want    time.Duration
	}{
		"a tenth is kept":              {30 * time.Minute, now, 27 * time.Minute},
		"five minutes at most":         {6 * time.Hour, now, 6*time.Hour - 5*time.Minute},
		"half a minute at least":       {3 * time.Minute, now, 150 * time.Second},
		"what is gone is gone":         {30 * time.Minute, now.Add(-7 * time.Minute), 20 * time.Minute},
		"nobody knows when it began":   {30 * time.Minute, time.Time{}, 27 * time.Minute},
		"a clock that was set back":    {30 * time.Minute, now.Add(time.Hour), 27 * time.Minute},
		"a payload of another job":     {30 * time.Minute, now.Add(-time.Hour), 27 * time.Minute},
		"the job is over all but":      {30 * time.Minute, now.Add(-29 * time.Minute), time.Second},
		"shorter than what is kept of": {20 * time.Second, now, time.Second},
	} {
		if got := defaultDeadline(row.timeout, row.began, now); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
