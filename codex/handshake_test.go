package codex

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAKeyIsSentOnceAndNeverShown(t *testing.T) {
	t.Parallel()
	const key = `sk-"odd"/key`
	var mu sync.Mutex
	var tapped bytes.Buffer
	s, j := begin(t, Options{Key: key, Wire: func(_ byte, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		tapped.Write(append(line, '\n'))
	}}, func(p *fakeServer) {
		p.reply(p.expect("initialize"), `{}`)
		p.expect("initialized")
		m := p.expect("account/login/start")
		if diff := cmp.Diff(`{"apiKey":"sk-\"odd\"/key","type":"apiKey"}`, compact(t, m.Params)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.reply(m, `{"type":"apiKey","echo":"sk-\"odd\"/key"}`)
		p.unknown("config/read")
		p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
		p.drain()
	})
	s.Close()
	mu.Lock()
	defer mu.Unlock()
	if text := tapped.String(); strings.Contains(text, "odd") || !strings.Contains(text, "[key]") {
		t.Errorf("the tap was shown\n%s", text)
	}
	for _, e := range j.all() {
		if strings.Contains(e.Summary, "odd") {
			t.Errorf("an event says %q", e.Summary)
		}
	}
}

func TestAKeyThatTheServerRefusesIsNoLogin(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
		p.reply(p.expect("initialize"), `{}`)
		p.expect("initialized")
		p.refuse(p.expect("account/login/start"), -32600, "no keys here")
		p.drain()
	}), Options{Key: "sk-secret"})
	if !errors.Is(err, ErrNotLoggedIn) || strings.Contains(err.Error(), "sk-secret") {
		t.Error(err)
	}
}

// An older server refuses the request itself, not the key.
func TestAServerTooOldForAKeyIsNotALoginThatFailed(t *testing.T) {
	t.Parallel()
	for code, text := range map[int]string{
		-32600: "Invalid request: unknown variant `account/login/start`, expected one of `initialize`, `account/login`",
		-32601: "Method not found",
	} {
		_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.reply(p.expect("initialize"), `{}`)
			p.expect("initialized")
			p.refuse(p.expect("account/login/start"), code, text)
			p.drain()
		}), Options{Key: "sk-secret"})
		if !errors.Is(err, ErrTooOld) || errors.Is(err, ErrNotLoggedIn) || strings.Contains(err.Error(), "sk-secret") {
			t.Error(err)
		}
	}
}

func TestWhatTheCommandLineSetsStaysAsItIs(t *testing.T) {
	t.Parallel()
	var s serverInfo
	err := s.readConfig([]byte(`{"config":{"model_provider":"mine","model_providers":{"mine":{"stream_idle_timeout_ms":null}}},
		"origins":{"agents.enabled":{"name":{"type":"sessionFlags"}},"features.goals":{"name":{"type":"user"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var p posture
	given := p.complete(Options{Config: Config{StallTimeout: time.Minute}}, s, nil)
	if diff := cmp.Diff([]string{"agents.enabled"}, given); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ours := p.settings["agents.enabled"]; ours {
		t.Error("a setting of the command line is overridden")
	}
	if p.settings["features.goals"] != false {
		t.Error("a setting of the user's file is not overridden")
	}
	if got := p.settings["model_providers.mine.stream_idle_timeout_ms"]; got != int64(20_000) {
		t.Errorf("the model may be silent for %v ms, want a third of the stall timeout", got)
	}
}

func TestAShorterTimeoutOfTheProviderStays(t *testing.T) {
	t.Parallel()
	for _, s := range []serverInfo{{provider: "mine", custom: true, idle: time.Second}, {provider: "openai"}} {
		var p posture
		p.complete(Options{}, s, nil)
		if got, set := p.settings["model_providers."+s.provider+".stream_idle_timeout_ms"]; set {
			t.Errorf("%+v: set to %v", s, got)
		}
	}
}

func TestDeniedPathsAreNotInsideEachOther(t *testing.T) {
	t.Parallel()
	o := Options{
		Cwd: "/work/all/A-1", Temp: "/state/codex/tmp/A-1",
		Deny: func(home string, _ int) []string {
			return []string{home, "/work/all/A-1/.env", "/state/codex/tmp", "/work/all", "/state/codex", "/work/all/A-2"}
		},
	}
	for home, want := range map[string][]string{
		"/state/codex/home/A-1": {"/state/codex", "/work/all", "/work/all/A-1/.env"},
		"/state/codex":          {"/state/codex", "/work/all", "/work/all/A-1/.env"},
		"/state/codex2":         {"/state/codex", "/state/codex2", "/work/all", "/work/all/A-1/.env"},
		"/state":                {"/state", "/work/all", "/work/all/A-1/.env"},
		"":                      {"/state/codex", "/work/all", "/work/all/A-1/.env"},
	} {
		if diff := cmp.Diff(want, outermost(o.Deny(home, 0), o.Cwd, o.Temp)); diff != "" {
			t.Errorf("with the home %q (-want +got):\n%s", home, diff)
		}
	}
	files := permissions(Options{}, new(Options).denied("/home", 0))[profileKey(profile)+"filesystem"].(map[string]any)
	if files["/home"] != "deny" {
		t.Errorf("without a list the Codex home is not denied: %v", files)
	}
}

func TestAPathThatIsAPatternForCodexIsRefused(t *testing.T) {
	t.Parallel()
	for path, refused := range map[string]bool{
		"/tmp/a?b": true, "/tmp/a*": true, "/tmp/[a/key": true, "/tmp/a]": true, "/tmp/{a}, b!c (1)": false,
	} {
		rwc := dial(t, func(p *fakeServer) { p.hello(); p.drain() })
		s, err := Connect(t.Context(), rwc, Options{Cwd: "/work", Deny: func(string, int) []string { return []string{path} }})
		if err == nil {
			s.Close()
		}
		if said := errors.Is(err, ErrNoSandbox) && strings.Contains(err.Error(), strconv.Quote(path)); said != refused || !refused && err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestALinkStandsForAPathThatIsAPatternForCodex has paths with a link, in which the agent could
// write one, and that are denied with the folder around them.
func TestALinkStandsForAPathThatIsAPatternForCodex(t *testing.T) {
	t.Parallel()
	o := Options{Cwd: "/work", Temp: "/temp", Link: func(path string) string {
		return "/link" + strings.Map(func(r rune) rune {
			if strings.ContainsRune(patternCharacters, r) {
				return '-'
			}
			return r
		}, path)
	}}
	o.Deny = func(string, int) []string {
		return []string{"/a[1]", "/a[1]/b", "/c/d?", "/c", "/work/e*", "/temp/f]", "/plain"}
	}
	files := permissions(o, o.denied("/home", 0))[profileKey(profile)+"filesystem"].(map[string]any)
	var denied []string
	for path, rule := range files {
		if rule == "deny" {
			denied = append(denied, path)
		}
	}
	slices.Sort(denied)
	if diff := cmp.Diff([]string{"/c", "/link/a-1-", "/plain", "/temp/f]", "/work/e*"}, denied); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAServerWithoutTheExperimentalAPIIsRefused refuses the capability, as a server does that does
// not know it.
func TestAServerWithoutTheExperimentalAPIIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Connect(t.Context(), dial(t, func(p *fakeServer) {
		p.refuse(p.expect("initialize"), -32600, "Invalid request: unknown field `capabilities`")
	}), Options{})
	if !errors.Is(err, ErrTooOld) || !strings.Contains(err.Error(), "this one does not know the experimental API") {
		t.Error(err)
	}
}
