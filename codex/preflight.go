package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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
	if needsLogin { // Codex does not know the models of other providers
		if err := s.checkModel(ctx); err != nil {
			return err
		}
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
		err = fmt.Errorf("%w: set OPENAI_API_KEY or CODEX_API_KEY, or run `codex login` as the user of this program", ErrNotLoggedIn)
	}
	return needed, err
}

// listedModel is a model as model/list has it.
type listedModel struct {
	ID, Model string
	IsDefault bool
	Efforts   []struct {
		Effort string `json:"reasoningEffort"`
	} `json:"supportedReasoningEfforts"`
	Modalities []string `json:"inputModalities"` // none if an older server does not say
}

// checkModel fails if the login does not have the model codex.model, or if the model does not
// have codex.effort.
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
