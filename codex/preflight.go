package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// Preflight checks, over a connection of its own, whether sessions can work at all:
// whether the server speaks the protocol, and everything that [Session.Check]
// checks. Besides, it lets Codex judge the settings: it opens an ephemeral thread as a
// session would, and asks for a turn that cannot start. It closes the connection at the end.
//
// It fails with the errors of [Session.Check] and of [Open], and [ErrSettings]. The version is the
// server's, or "" if the server does not report one.
func Preflight(ctx context.Context, rwc io.ReadWriteCloser, o Options) (version string, err error) {
	s, err := connect(ctx, rwc, o, func(s *Session, ctx context.Context) error {
		if err := s.checks.check(ctx); err != nil {
			return err
		}
		return s.trySettings(ctx)
	})
	if err != nil {
		return "", fmt.Errorf("checking Codex: %w", err)
	}
	return s.server.version, s.Close()
}

// checks finds out whether sessions can work, before the model is used.
type checks struct {
	*core
	spending *spending
	sandbox  *sandbox
	threads  *threads
}

// Check checks whether any session can work: whether the server is logged in, has
// the model, and can start the sandbox of the turns. It does not use the model.
// Checks that an older server does not support are skipped. A login or a model that
// cannot be checked in time, and a skill that is missing, are reported as events of
// kind [Warning].
//
// The errors are [ErrNotLoggedIn], [ErrNoModel], [ErrSettings], [ErrNoSandbox], errors of
// [Session.CanExec] if Options.NeedsExec is set, and errors of a call. After an error the
// session has failed to start.
func (s *checks) Check(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		s.emit(Event{Kind: StartupFailed, Summary: err.Error()})
		return fmt.Errorf("checking Codex: %w", err)
	}
	return nil
}

func (s *checks) check(ctx context.Context) error {
	needsLogin, err := s.checkLogin(ctx)
	if err != nil {
		return err
	}
	if err := s.checkModels(ctx, needsLogin); err != nil {
		return err
	}
	if err := s.checkSkills(ctx); err != nil {
		return err
	}
	if err := s.sandbox.check(ctx); err != nil || !s.o.NeedsExec {
		return err
	}
	return s.sandbox.CanExec(ctx)
}

// checkLogin fails if a login is missing. It reports whether the model's provider
// needs one.
func (s *checks) checkLogin(ctx context.Context) (needed bool, err error) {
	missing := false
	err = s.callOptional(ctx, "account/read", struct{}{}, func(result json.RawMessage) error {
		needed = string(member(result, "requiresopenaiauth")) == "true"
		account := member(result, "account")
		missing = needed && account == nil
		s.spending.hasUnread = needed && account != nil && textMember(account, "type") != "apiKey"
		return nil
	})
	if errors.Is(err, ErrResponseTimeout) {
		// With a ChatGPT login Codex first asks the account's service, which can take
		// longer than ReadTimeout. If the login is missing the turn fails with it.
		s.warn(fmt.Sprintf("the login of Codex is not checked: %v", err))
		return false, nil
	}
	if err == nil && missing {
		advice := "Codex has no login: set OPENAI_API_KEY or CODEX_API_KEY, or run `codex login` as the user of this program"
		if s.o.Shared != "" {
			advice = "the app-server of codex.endpoint has no login: run `codex login` with CODEX_HOME=" + s.server.home
		}
		err = fmt.Errorf("%w: %s", ErrNotLoggedIn, advice)
	}
	return needed, err
}

// checkModels fails if a choice of the workflow names a model that the login does not have, or an
// effort or a service tier that the model does not have. Codex does not know the models of a
// provider that needs no login, but it decides which service tiers it passes on.
func (s *checks) checkModels(ctx context.Context, needsLogin bool) error {
	choices := s.o.Config.Choices()
	if !s.o.Config.namesTier() && !(needsLogin && slices.ContainsFunc(choices, func(c NamedChoice) bool { return c.Model != "" || c.Effort != "" })) {
		return nil
	}
	models, err := s.listModels(ctx)
	if errors.Is(err, ErrResponseTimeout) { // the server may have to ask the account's service
		s.warn(fmt.Sprintf("the model, the effort and the service tier are not checked: %v", err))
		return nil
	}
	if err != nil || len(models) == 0 {
		return err
	}
	return modelList{models: models, own: s.server.model, complete: needsLogin, checked: map[Choice]bool{}}.check(choices)
}

// listModels returns the models of the login; none if an older server has no list.
func (s *checks) listModels(ctx context.Context) (models []listedModel, err error) {
	for cursor := ""; ; {
		params := map[string]any{"includeHidden": true}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var page struct {
			Data       []listedModel
			NextCursor string
		}
		err := s.callOptional(ctx, "model/list", params, into(&page))
		models = append(models, page.Data...)
		if err != nil || page.NextCursor == "" || page.NextCursor == cursor {
			return models, err
		}
		cursor = page.NextCursor
	}
}

// nobody is the id of a thread that does not exist.
const nobody = "00000000-0000-7000-8000-000000000000"

// trySettings lets Codex judge everything that a session sets with its thread and its turns. It
// opens an ephemeral thread, of which Codex keeps nothing. Then it asks for a turn on a thread
// that does not exist, which is refused in every case: if the refusal differs from the refusal
// of a turn without settings, the settings are the cause. The error is [ErrSettings], or the
// error of a connection that ends.
func (s *checks) trySettings(ctx context.Context) error {
	params := s.posture.start(s.o)
	params.Ephemeral = true
	if err := s.call(ctx, "thread/start", params, s.threads.opened); err != nil {
		return s.settingsError(err)
	}
	if err := s.sandbox.verifyLoopback(ctx); err != nil {
		return err
	}
	refused, err := s.refusalOf(ctx, s.posture.turn(s.o, nobody, Input{Text: "."}))
	if refused == nil {
		return err // nil: a server that judges nothing before the turn
	}
	plain, err := s.refusalOf(ctx, turnParams{ThreadID: nobody, Input: []any{textInput(".")}, Cwd: s.o.Cwd})
	if plain == nil || plain.Code == refused.Code && plain.Message == refused.Message {
		return err
	}
	return s.settingsError(refused)
}

// refusalOf returns the refusal of a turn; nil if the server does not refuse it. The error is
// the end of the connection before the answer.
func (s *checks) refusalOf(ctx context.Context, params turnParams) (*ResponseError, error) {
	err := s.call(ctx, "turn/start", params, nil)
	if refused, isRefusal := errors.AsType[*ResponseError](err); isRefusal {
		return refused, nil
	}
	if err != nil && s.conn.failure() == nil {
		err = nil // it did not answer in time, so it judges nothing
	}
	return nil, err
}

// settingsError returns the error for settings that Codex refuses, with the keys of the
// workflow that may be the cause. It returns other errors as they are.
func (s *checks) settingsError(err error) error {
	if old := s.checkAge(err); errors.Is(old, ErrTooOld) {
		return old
	}
	refused, isRefusal := errors.AsType[*ResponseError](err)
	if !isRefusal {
		return err
	}
	var keys []string
	c := s.o.Config
	for _, key := range []struct {
		name string
		set  bool
	}{
		{"codex.approval_policy", present(c.ApprovalPolicy)},
		{"codex.thread_sandbox", present(c.ThreadSandbox)},
		{"codex.turn_sandbox_policy", present(c.TurnSandboxPolicy)},
		{"codex.model", c.Model != ""},
		{"codex.effort", c.Effort != ""},
		{"codex.service_tier", c.ServiceTier != ""},
	} {
		if key.set {
			keys = append(keys, key.name)
		}
	}
	keys = append(keys, "what codex.command and Codex's own config.toml set")
	return fmt.Errorf("%w: %s: %s: correct %s", ErrSettings, refused.Method, text.OneLine(refused.Message, messageRunes), strings.Join(keys, ", "))
}
