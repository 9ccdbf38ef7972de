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

	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// sandboxTime is the longest that a sandbox may take to run a command that does
// nothing.
const sandboxTime = 20 * time.Second

// Preflight checks, over a connection of its own, whether sessions can work at all:
// whether the server speaks the protocol, and everything that [Session.Check]
// checks. It opens no thread and closes the connection at the end.
//
// The errors are those of [Session.Check] and of [Open]. The version is that of the
// server, or "" if the server does not report one.
func Preflight(ctx context.Context, rwc io.ReadWriteCloser, o Options) (version string, err error) {
	s, err := connect(ctx, rwc, o, (*Session).check)
	if err != nil {
		return "", fmt.Errorf("checking Codex: %w", err)
	}
	return s.server.version, s.Close()
}

// Check checks whether any session can work: whether the server is logged in, has
// the model, and can start the sandbox of the turns. It does not use the model.
// Checks that an older server does not support are skipped. A login or a model that
// cannot be checked in time, and a skill that is missing, are reported as events of
// kind [Warning].
//
// The errors are [ErrNotLoggedIn], [ErrNoModel], [ErrNoSandbox], those of
// [Session.CanExec], if Options.NoExec is set and returns them, and those of a call.
// After an error the session has failed to start.
func (s *Session) Check(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		s.emit(Event{Kind: StartupFailed, Summary: err.Error()})
		return fmt.Errorf("checking Codex: %w", err)
	}
	return nil
}

// check makes the checks of Check.
func (s *Session) check(ctx context.Context) error {
	needsLogin, err := s.checkLogin(ctx)
	if err != nil {
		return err
	}
	if needsLogin { // Codex does not know the models of other providers
		if err := s.checkModel(ctx); err != nil {
			return err
		}
	}
	if err := s.checkSkills(ctx); err != nil {
		return err
	}
	if err := s.checkSandbox(ctx); err != nil || s.o.NoExec == nil {
		return err
	}
	err = s.CanExec(ctx)
	if errors.Is(err, ErrNoExec) {
		return s.o.NoExec(err)
	}
	return err
}

// checkLogin fails if a login is missing. It reports whether the model's provider
// needs one.
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
		// With a ChatGPT login Codex first asks the account's service, which can take
		// longer than ReadTimeout. If the login is missing the turn fails with it.
		s.warn(fmt.Sprintf("the login of Codex is not checked: %v", err))
		return false, nil
	}
	if err == nil && missing {
		err = fmt.Errorf("%w: set OPENAI_API_KEY or CODEX_API_KEY, or run `codex login` as the user of this program", ErrNotLoggedIn)
	}
	return needed, err
}

// readLimits asks once for the rate limits of an account that has some. Codex itself
// reports them only with the answers of a model. The server has to ask the account's
// service, so the request is sent after the first turn has started and nothing waits
// for the answer.
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
	}) // if the connection has ended the turn fails with the reason
}

// checkModel fails if codex.model is not one of the models of the login.
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
			decodeLenient(result, &page)
			for _, m := range page.Data {
				found = found || m.ID == want || m.Model == want
				models = append(models, m.ID)
			}
			cursor = page.NextCursor
			return nil
		})
		if errors.Is(err, ErrResponseTimeout) { // the server may have to ask the account's service
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

// checkSandbox runs `true` in the sandbox of the turns. For the permission profile,
// which exists only with a thread, it uses guardedSandbox instead.
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
		decodeLenient(result, &r) // an answer of an unknown shape still means that it ran
		return nil
	})
	refused, isRefusal := errors.AsType[*ResponseError](err)
	switch {
	case isRefusal && refused.unknown():
		return nil
	case isRefusal:
		return fmt.Errorf("%w: %s: %w", ErrNoSandbox, sandboxAdvice(), err) // the advice comes first so that it is never truncated
	case err == nil && r.ExitCode != 0:
		return fmt.Errorf("%w: %s: exit status %d: %s", ErrNoSandbox, sandboxAdvice(), r.ExitCode, untrusted.OneLine(r.Stderr, messageRunes))
	}
	return err
}

// sandboxAdvice returns what to do on this system if the sandbox does not start.
func sandboxAdvice() string {
	if runtime.GOOS != "linux" {
		return "do not run this program inside another sandbox: Codex uses the system's Seatbelt, which cannot be nested"
	}
	return "allow user namespaces: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; " +
		"in Docker `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
}
