package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// serverInfo holds a server's report about itself before a thread is opened.
type serverInfo struct {
	version    string          // "" when it does not say
	home       string          // Codex home of the server; "" when it does not say
	provider   string          // provider of the model
	model      string          // model of its own configuration; "" for its default
	tier       string          // service tier of its own configuration; "" for the default
	custom     bool            // the provider is not built in, so its settings can be changed
	idle       time.Duration   // time after which the provider's silence is a failure; 0 is Codex's default
	overridden map[string]bool // the settings that its command line gives
	shared     sharedServer    // facts about a server of Options.Shared
}

// handshake initializes the connection, logs in and reads the server's report about itself
// (SPEC §10.2).
func (c *core) handshake(ctx context.Context) (serverInfo, error) {
	var about serverInfo
	params := map[string]any{
		"clientInfo":   map[string]string{"name": "symphony", "title": "Symphony", "version": c.o.Version},
		"capabilities": map[string]bool{"experimentalApi": true}, // the tools, the granular approval policy and the permission profile
	}
	err := c.conn.call(ctx, max(c.o.Config.ReadTimeout, initializeTimeout), "initialize", params, func(result json.RawMessage) error {
		answer := members(result)
		_, version, _ := strings.Cut(answer.text("useragent"), "/") // symphony/0.169.0 (Debian 12; x86_64) …
		about.version, _, _ = strings.Cut(version, " ")
		about.home = answer.text("codexhome")
		return nil
	})
	refused, isRefusal := errors.AsType[*ResponseError](err) // with one code for all reasons
	if isRefusal && (strings.Contains(refused.Message, "experimentalApi") || strings.Contains(refused.Message, "apabilities")) {
		err = tooOld("the experimental API", err)
	}
	if errors.Is(err, ErrResponseTimeout) {
		err = fmt.Errorf("%w: %w; what the login shell does comes first: `time bash -lc true` shows its part", ErrSlowStart, err)
	}
	if errors.Is(err, ErrPortExit) {
		err = fmt.Errorf("%w: %w", ErrSlowStart, err)
	}
	if err != nil {
		return serverInfo{}, err
	}
	if err := c.conn.send(ctx, request{Method: "initialized"}); err != nil {
		return serverInfo{}, err
	}
	if c.o.Home != "" && about.home != "" && filepath.Clean(about.home) != filepath.Clean(c.o.Home) {
		return serverInfo{}, mismatch("the Codex home", c.o.Home, about.home)
	}
	if err := c.login(ctx); err != nil {
		return serverInfo{}, err
	}
	return about, c.callOptional(ctx, "config/read", struct{}{}, about.readConfig)
}

// login sends the API key to the server, which keeps it in memory if its home is
// configured so. No other message contains the key, and Options.Wire sees it masked.
func (c *core) login(ctx context.Context) error {
	if c.o.Key == "" {
		return nil
	}
	params := map[string]string{"type": "apiKey", "apiKey": c.o.Key}
	err := c.call(ctx, "account/login/start", params, nil)
	refused, isRefusal := errors.AsType[*ResponseError](err)
	switch {
	case isRefusal && refused.unknown():
		// Older servers have account/login or loginApiKey instead. They would keep
		// the key in a file that the agent can read, so they do not get it.
		return fmt.Errorf("%w: install Codex 0.169 or later, or run `codex login` and unset OPENAI_API_KEY and CODEX_API_KEY: it cannot keep a key in memory: %w", ErrTooOld, err)
	case isRefusal:
		return fmt.Errorf("%w: the key is not taken: %w", ErrNotLoggedIn, err)
	}
	return err
}

// readConfig reads the answer to config/read: the configuration that the server runs
// with.
func (s *serverInfo) readConfig(result json.RawMessage) error {
	var r struct {
		Config struct {
			Permissions string `json:"default_permissions"`
			Features    struct {
				Network bool `json:"network_proxy"`
			} `json:"features"`
			Model     string `json:"model"`
			Tier      string `json:"service_tier"`
			Provider  string `json:"model_provider"`
			Providers map[string]struct {
				Idle int64 `json:"stream_idle_timeout_ms"`
			} `json:"model_providers"`
		} `json:"config"`
		Origins map[string]struct {
			Name struct {
				Type string `json:"type"`
			} `json:"name"`
		} `json:"origins"`
	}
	decodeLenient(result, &r)
	s.provider, s.model, s.tier = cmp.Or(r.Config.Provider, "openai"), r.Config.Model, r.Config.Tier
	s.shared.ready = r.Config.Permissions != "" && r.Config.Features.Network
	p, custom := r.Config.Providers[s.provider]
	s.custom, s.idle = custom, time.Duration(p.Idle)*time.Millisecond
	s.overridden = map[string]bool{}
	for key, origin := range r.Origins {
		s.overridden[key] = origin.Name.Type == "sessionFlags"
	}
	return nil
}
