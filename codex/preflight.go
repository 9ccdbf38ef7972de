package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// sandboxTime bounds the start of a sandbox around a command that does nothing.
const sandboxTime = 20 * time.Second

// Preflight finds out over a connection of its own whether sessions can work at
// all: whether the server speaks the protocol, and what [Session.Check] finds
// out. It opens no thread. The connection is closed at the end.
//
// The errors are those of [Session.Check] and of [Open]. The version is the
// server's; "" when it does not say.
func Preflight(ctx context.Context, rwc io.ReadWriteCloser, o Options) (version string, err error) {
	s, err := connect(ctx, rwc, o, (*Session).check)
	if err != nil {
		return "", fmt.Errorf("checking Codex: %w", err)
	}
	return s.server.version, s.Close()
}

// Check finds out whether any session can work: whether the server is logged in,
// has the model, and can start the sandbox that the turns will have. It asks no
// model. What an older server cannot be asked is passed over. A login or a model
// that cannot be checked in time, and a skill that is missing, are events of kind
// [Warning].
//
// The errors are [ErrNotLoggedIn], [ErrNoModel], [ErrNoSandbox], and those of a
// call; the session has then failed to start.
func (s *Session) Check(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		s.emit(Event{Kind: StartupFailed, Summary: err.Error()})
		return fmt.Errorf("checking Codex: %w", err)
	}
	return nil
}

func (s *Session) check(ctx context.Context) error {
	needsLogin, err := s.checkLogin(ctx)
	if err != nil {
		return err
	}
	if needsLogin { // any other provider knows its models better than Codex does
		if err := s.checkModel(ctx); err != nil {
			return err
		}
	}
	if err := s.checkSkills(ctx); err != nil {
		return err
	}
	return s.checkSandbox(ctx)
}

// checkLogin also reports whether the model's provider asks for a login.
func (s *Session) checkLogin(ctx context.Context) (needed bool, err error) {
	missing := false
	err = s.callOptional(ctx, "account/read", struct{}{}, func(result json.RawMessage) error {
		needed = string(member(result, "requiresopenaiauth")) == "true"
		account := member(result, "account")
		missing = needed && account == nil
		s.hasUnreadLimits = needed && account != nil && text(account, "type") != "apiKey"
		return nil
	})
	if errors.Is(err, ErrResponseTimeout) {
		// With a ChatGPT login Codex asks the account's service first, which may
		// take longer than a request may. Whether it is logged in a turn tells too.
		s.warn(fmt.Sprintf("the login of Codex is not checked: %v", err))
		return false, nil
	}
	if err == nil && missing {
		err = fmt.Errorf("%w: set OPENAI_API_KEY or CODEX_API_KEY, or run `codex login` as the user of this program", ErrNotLoggedIn)
	}
	return needed, err
}

// readLimits asks once for the limits of an account that has some: Codex reports
// them by itself only with the answers of a model. Nothing waits for the answer,
// and the first turn has started before the question, because the server asks the
// account's service for it.
func (s *Session) readLimits(ctx context.Context) {
	if !s.hasUnreadLimits {
		return
	}
	s.hasUnreadLimits = false
	const method = "account/rateLimits/read"
	_, _ = s.conn.sendCall(ctx, method, nil, func(result json.RawMessage, err error) {
		e := Event{Kind: Notification, Method: method, Summary: method}
		if s.onRateLimits(&e, rateLimits(result)); e.RateLimits != nil {
			s.emit(e)
		}
	}) // without a connection the turn fails by itself
}

// checkModel looks for codex.model among the models of the login.
func (s *Session) checkModel(ctx context.Context) error {
	want := s.o.Config.Model
	var models []string
	found := want == ""
	for cursor := ""; !found; {
		params := map[string]any{"includeHidden": true}
		if cursor != "" {
			params["cursor"] = cursor
		}
		last := cursor
		cursor = ""
		err := s.callOptional(ctx, "model/list", params, func(result json.RawMessage) error {
			var page struct {
				Data       []struct{ ID, Model string }
				NextCursor string
			}
			_ = json.Unmarshal(result, &page) // of another shape: nothing is known then
			for _, m := range page.Data {
				found = found || m.ID == want || m.Model == want
				models = append(models, m.ID)
			}
			cursor = page.NextCursor
			return nil
		})
		if errors.Is(err, ErrResponseTimeout) { // the list may come from the account's service too
			s.warn(fmt.Sprintf("codex.model is not checked: %v", err))
			return nil
		}
		if err != nil {
			return err
		}
		if cursor == "" || cursor == last {
			break
		}
	}
	if found || len(models) == 0 {
		return nil
	}
	return fmt.Errorf("codex.model %q: %w: use one of %s, or install a newer Codex", want, ErrNoModel, strings.Join(models, ", "))
}

// checkSandbox runs `true` in the sandbox of the turns, or in as much of it as
// can be had before there is a thread.
func (s *Session) checkSandbox(ctx context.Context) error {
	policy := s.posture.sandbox
	if policy == nil {
		policy = guardedSandbox(s.o)
	}
	params := map[string]any{
		"command": []string{"true"}, "cwd": s.o.Cwd, "sandboxPolicy": policy, "timeoutMs": sandboxTime.Milliseconds(),
	}
	var r struct {
		ExitCode int
		Stderr   string
	}
	err := s.conn.call(ctx, sandboxTime+s.o.Config.ReadTimeout, "command/exec", params, func(result json.RawMessage) error {
		_ = json.Unmarshal(result, &r) // of another shape: it ran
		return nil
	})
	refused, isRefusal := errors.AsType[*ResponseError](err)
	switch {
	case isRefusal && refused.unknown():
		return nil
	case isRefusal:
		return fmt.Errorf("%w: %s: %w", ErrNoSandbox, sandboxAdvice(), err) // what to do comes first: nothing cuts it off
	case err == nil && r.ExitCode != 0:
		return fmt.Errorf("%w: %s: exit status %d: %s", ErrNoSandbox, sandboxAdvice(), r.ExitCode, oneLine(r.Stderr, messageRunes))
	}
	return err
}

// sandboxAdvice is what to do about a sandbox that does not start, on this system.
func sandboxAdvice() string {
	if runtime.GOOS != "linux" {
		return "Codex uses the system's Seatbelt, which cannot be nested: do not run this program inside another sandbox"
	}
	return "Codex needs user namespaces. " +
		"Ubuntu 24.04 and later: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`. " +
		"Others: `sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=28633`. " +
		"Docker: run the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
}
