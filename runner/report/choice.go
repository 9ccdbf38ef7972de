package report

import (
	"cmp"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// Choice holds what WORKFLOW.md says of the model of a session. The zero value is for a session
// with Codex's own settings.
type Choice struct {
	Label       string `json:"label" bound:"shown=256"`        // label of the issue that chose it in codex.by_label; empty for none
	Model       string `json:"model" bound:"shown=128"`        // empty for Codex's own
	Effort      string `json:"effort" bound:"shown=128"`       // the same
	ServiceTier string `json:"service_tier" bound:"shown=128"` // the same
}

// Words returns the choice with its reason; empty for the zero value.
func (c Choice) Words() string {
	if c == (Choice{}) {
		return ""
	}
	words := "model " + cmp.Or(c.Model, "of Codex's own settings") + c.manner()
	if c.Label == "" {
		return words + ", as for all issues (codex)"
	}
	return words + ", because of the label " + text.Fit(c.Label, itemWidth) + " (codex.by_label)"
}

// Settings returns the choice without its reason; empty for the zero value.
func (c Choice) Settings() string { return strings.TrimPrefix(c.Model+c.manner(), ", ") }

// manner returns the effort and the service tier, each after a comma; empty for neither.
func (c Choice) manner() (words string) {
	if c.Effort != "" {
		words += ", effort " + c.Effort
	}
	if c.ServiceTier != "" {
		words += ", service tier " + c.ServiceTier
	}
	return words
}

func (c Choice) orNil() *Choice {
	if c == (Choice{}) {
		return nil
	}
	return &c
}
