package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// sandboxTime is the longest that a sandbox may take to run a command that does
// nothing.
const sandboxTime = 20 * time.Second

// Preflight checks, over a connection of its own, whether sessions can work at all:
// whether the server speaks the protocol, and everything that [Session.Check]
// checks. Besides, it lets Codex judge the settings: it opens an ephemeral thread as a
// session would, and asks for a turn that cannot start. It closes the connection at the end.
//
// It fails with the errors of [Session.Check] and of [Open], and [ErrSettings]. The version is the
// server's, or "" if the server does not report one.
func Preflight(ctx context.Context, rwc io.ReadWriteCloser, o Options) (version string, err error) {
	s, err := connect(ctx, rwc, o, func(s *Session, ctx context.Context) error {
		if err := s.check(ctx); err != nil {
			return err
		}
		return s.trySettings(ctx)
	})
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
// The errors are [ErrNotLoggedIn], [ErrNoModel], [ErrSettings], [ErrNoSandbox], those of
// [Session.CanExec] if Options.NeedsExec is set, and those of a call.
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
	if err := s.checkSandbox(ctx); err != nil || !s.o.NeedsExec {
		return err
	}
	return s.CanExec(ctx)
}

// checkLogin fails if a login is missing. It reports whether the model's provider
// needs one.
func (s *Session) checkLogin(ctx context.Context) (needed bool, err error) {
	missing := false
	err = s.callOptional(ctx, "account/read", struct{}{}, func(result json.RawMessage) error {
		needed = string(member(result, "requiresopenaiauth")) == "true"
		account := member(result, "account")
		missing = needed && account == nil
		s.hasUnreadLimits = needed && account != nil && textMember(account, "type") != "apiKey"
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

// listedModel is a model as model/list has it.
type listedModel struct {
	ID, Model string
	IsDefault bool
	Efforts   []struct {
		Effort string `json:"reasoningEffort"`
	} `json:"supportedReasoningEfforts"`
}

// checkModel fails if codex.model is not one of the models of the login, or if the model
// does not have codex.effort.
func (s *Session) checkModel(ctx context.Context) error {
	want, effort := s.o.Config.Model, s.o.Config.Effort
	if want == "" && effort == "" {
		return nil
	}
	models, err := s.listModels(ctx)
	if errors.Is(err, ErrResponseTimeout) { // the server may have to ask the account's service
		s.warn(fmt.Sprintf("codex.model and codex.effort are not checked: %v", err))
		return nil
	}
	if err != nil || len(models) == 0 {
		return err
	}
	at := slices.IndexFunc(models, func(m listedModel) bool {
		return want == "" && m.IsDefault || want != "" && (m.ID == want || m.Model == want)
	})
	switch {
	case at < 0 && want == "":
		return nil
	case at < 0:
		var names []string
		for _, m := range models {
			names = append(names, m.ID)
		}
		return fmt.Errorf("codex.model %q: %w: use one of %s, or install a newer Codex", want, ErrNoModel, strings.Join(names, ", "))
	}
	var efforts []string
	for _, e := range models[at].Efforts {
		efforts = append(efforts, e.Effort)
	}
	if effort == "" || len(efforts) == 0 || slices.Contains(efforts, effort) {
		return nil
	}
	return fmt.Errorf("codex.effort %q: %w: the model %s has %s", effort, ErrSettings, models[at].ID, strings.Join(efforts, ", "))
}

// listModels returns the models of the login; none if an older server has no list.
func (s *Session) listModels(ctx context.Context) (models []listedModel, err error) {
	for cursor := ""; ; {
		params := map[string]any{"includeHidden": true}
		if cursor != "" {
			params["cursor"] = cursor
		}
		last := cursor
		cursor = ""
		err := s.callOptional(ctx, "model/list", params, func(result json.RawMessage) error {
			var page struct {
				Data       []listedModel
				NextCursor string
			}
			decodeLenient(result, &page)
			models = append(models, page.Data...)
			cursor = page.NextCursor
			return nil
		})
		if err != nil || cursor == "" || cursor == last {
			return models, err
		}
	}
}

// checkSandbox runs `true` in the sandbox of the turns. The permission profile exists only
// with a thread unless the server's configuration has it too; without that, or with an
// older server, guardedSandbox takes its place.
func (s *Session) checkSandbox(ctx context.Context) error {
	policy := s.posture.sandbox
	if policy != nil {
		return s.trySandbox(ctx, policy)
	}
	switch err := s.CanExec(ctx); {
	case err == nil:
		return s.tryProfile(ctx)
	case errors.Is(err, ErrNoExec), errors.Is(err, ErrPosture) && !s.o.NeedsExec: // the thread brings its own rules
		return s.trySandbox(ctx, guardedSandbox(s.o))
	default:
		return err
	}
}

// tryProfile runs a program with each permission profile: the probe of its network, or
// `true` without a loopback. CanExec has succeeded.
func (s *Session) tryProfile(ctx context.Context) error {
	if !s.o.Loopback {
		return systemic(s.tryProgram(ctx, Exec{Argv: []string{"true"}}, noSandbox))
	}
	for _, name := range append(slices.Sorted(maps.Keys(s.o.Networks)), "") {
		if err := s.tryNetwork(ctx, name); err != nil {
			return systemic(err)
		}
	}
	return nil
}

// tryProgram runs a program to see whether it can. refused returns the error for one that
// fails.
func (s *Session) tryProgram(ctx context.Context, x Exec, refused func(said string) error) error {
	x.Timeout, x.Doing = sandboxTime, "trying the sandbox"
	result, err := s.Exec(ctx, x)
	if err == nil && result.ExitCode != 0 {
		err = refused(fmt.Sprintf("exit status %d: %s", result.ExitCode, result.Stderr))
	}
	return err
}

// systemic returns the error for a program that tries the sandbox, in a workspace that no
// agent has changed: if it did not start, no sandbox does.
func systemic(err error) error {
	failed, isExec := errors.AsType[*ExecError](err)
	if isExec && !errors.Is(failed, ErrExecTimeout) {
		return noSandbox(cmp.Or(failed.Stderr, failed.Reason))
	}
	return err
}

// trySandbox runs `true` with a sandbox policy.
func (s *Session) trySandbox(ctx context.Context, policy json.RawMessage) error {
	params := map[string]any{
		"command": []string{"true"}, "cwd": s.o.Cwd, "sandboxPolicy": policy, "timeoutMs": sandboxTime.Milliseconds(),
	}
	var r struct {
		ExitCode int
		Stderr   string
	}
	err := s.conn.call(ctx, sandboxTime+s.o.Config.ReadTimeout, execMethod, params, func(result json.RawMessage) error {
		decodeLenient(result, &r) // an answer of an unknown shape still means that it ran
		return nil
	})
	refused, isRefusal := errors.AsType[*ResponseError](err)
	switch {
	case isRefusal && refused.unknown():
		return nil
	case isRefusal && s.posture.sandbox != nil && strings.HasPrefix(refused.Message, "Invalid request"):
		return fmt.Errorf("%s: %w: %s: Codex refuses it: %s", s.sandboxKey(), ErrSettings,
			text.OneLine(string(s.posture.sandbox), summaryRunes), text.OneLine(refused.Message, messageRunes))
	case isRefusal:
		return noSandbox(refused.Error())
	case err == nil && r.ExitCode != 0:
		return noSandbox(fmt.Sprintf("exit status %d: %s", r.ExitCode, r.Stderr))
	}
	return err
}

// sandboxKey returns the key of WORKFLOW.md that sets the sandbox of the turns.
func (s *Session) sandboxKey() string {
	if present(s.o.Config.TurnSandboxPolicy) {
		return "codex.turn_sandbox_policy"
	}
	return "codex.thread_sandbox"
}

// noSandbox returns the error for a sandbox that does not start, with the advice for its
// cause first so that it is never truncated.
func noSandbox(said string) error {
	said = text.OneLine(said, messageRunes)
	if advice := sandboxAdvice(runtime.GOOS, said); advice != "" {
		return fmt.Errorf("%w: %s: %s", ErrNoSandbox, advice, said)
	}
	return fmt.Errorf("%w: Codex says: %s", ErrNoSandbox, said)
}

// sandboxAdvice returns the advice for a system whose sandbox does not start and says why;
// "" if nothing is known about this cause.
func sandboxAdvice(system, said string) string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said, word) })
	}
	switch {
	case system != "linux" && says("sandbox_apply", "Operation not permitted"):
		return "do not run this program inside another sandbox: Codex uses the system's Seatbelt, which cannot be nested"
	case system != "linux":
		return ""
	case says("execvp") && says("codex-linux-sandbox"), says("bwrap: Unknown option"):
		return "the bubblewrap on the PATH is too old: remove it, because Codex has its own, or install 0.9 or later"
	case says("namespace", "uid map", "RTM_NEWADDR", "RTM_NEWLINK", "Operation not permitted", "needs to be setuid"):
		return "allow user namespaces: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; " +
			"in Docker `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
	}
	return ""
}
