package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
// The errors are [ErrNotLoggedIn], [ErrNoModel], [ErrSettings], [ErrNoSandbox], errors of
// [Session.CanExec] if Options.NeedsExec is set, and errors of a call. After an error the
// session has failed to start.
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
	if err := s.checkModels(ctx, needsLogin); err != nil {
		return err
	}
	if err := s.checkSkills(ctx); err != nil {
		return err
	}
	if err := s.sandbox.check(ctx); err != nil || !s.o.NeedsExec {
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
		advice := "set OPENAI_API_KEY or CODEX_API_KEY, or run `codex login` as the user of this program"
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
func (s *Session) checkModels(ctx context.Context, needsLogin bool) error {
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
