package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/symphony-runner/symphony/internal/text"
)

// verifyThread checks that a thread which the server opened has the posture that it was asked
// for. It skips the fields that an older server leaves out. The errors are [ErrPosture] and
// [ErrTooOld].
func (p posture) verifyThread(o Options, answer object) error {
	if p.sandbox == nil && activeProfile(answer) == "" {
		return tooOld("permission profiles", errors.New("it opened a thread without one"))
	}
	if err := p.verifyApproval(answer.member("approvalpolicy")); err != nil {
		return err
	}
	if cwd := answer.text("cwd"); cwd != "" && o.Cwd != "" && filepath.Clean(cwd) != filepath.Clean(o.Cwd) {
		return mismatch("the working directory", o.Cwd, cwd)
	}
	if model := answer.text("model"); model != "" && o.Config.Model != "" && model != o.Config.Model {
		return mismatch("the model", o.Config.Model, model)
	}
	asked, _ := p.settings["default_permissions"].(string)
	if got := activeProfile(answer); asked != "" && got != "" && got != asked {
		return mismatch("the permissions of the thread", asked, got)
	}
	return nil
}

// verifySettings checks the settings of a turn, which newer servers report before they
// ask the model. The error is [ErrPosture].
func (p posture) verifySettings(o Options, settings object) error {
	if err := p.verifyApproval(settings.member("approvalpolicy")); err != nil {
		return err
	}
	if cwd := settings.text("cwd"); cwd != "" && filepath.Clean(cwd) != filepath.Clean(o.Cwd) {
		return mismatch("the working directory", o.Cwd, cwd)
	}
	sandbox := settings.member("sandboxpolicy")
	if p.sandbox != nil {
		if sandbox != nil && !satisfies(sandbox, p.sandbox) {
			return mismatch("the sandbox", string(p.sandbox), string(sandbox))
		}
		return nil
	}
	if got := activeProfile(settings); got != p.turns {
		return mismatch("the permission profile", p.turns, got)
	}
	want := `{"type":"workspaceWrite","networkAccess":false}`
	if o.Loopback { // the server reports the own loopback and the whole network in the same way: see loopback.go
		want = `{"type":"workspaceWrite"}`
	}
	if sandbox != nil && !satisfies(sandbox, json.RawMessage(want)) {
		return mismatch("the sandbox", want, string(sandbox))
	}
	return nil
}

func (p posture) verifyApproval(got json.RawMessage) error {
	if got != nil && !satisfies(got, p.approval) {
		return mismatch("the approval policy", string(p.approval), string(got))
	}
	return nil
}

// activeProfile returns the id of the permission profile in force, or "" if there is
// none.
func activeProfile(of object) string {
	return textMember(of["activepermissionprofile"], "id")
}

// satisfies reports whether the JSON value got contains everything that want does.
// Servers add fields that were left to them, and leave out fields that are false.
func satisfies(got, want json.RawMessage) bool {
	var g, w any
	if json.Unmarshal(got, &g) != nil || json.Unmarshal(want, &w) != nil {
		return false
	}
	return includes(g, w)
}

func includes(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for key, value := range w {
			has, there := g[key]
			ok = ok && (includes(has, value) || !there && value == false)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := range w {
			ok = ok && includes(g[i], w[i])
		}
		return ok
	}
	return got == want
}

func mismatch(what, asked, got string) error {
	return fmt.Errorf("%w: %s: asked for %s, Codex says %s: check the configuration that Codex was installed with, and its version",
		ErrPosture, what, text.OneLine(asked, summaryRunes), text.OneLine(got, summaryRunes))
}
