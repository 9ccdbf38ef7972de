package codex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Choice says which model works on an issue, and how. A field that is "" means Codex's own
// default.
type Choice struct {
	Label       string // label of the issues, in normal form; "" for all issues
	Model       string // model of the thread
	Effort      string // reasoning effort of the turns
	ServiceTier string // service tier of the thread, by the id that Codex has for it
}

// For returns the configuration of a session on an issue with these labels: the first entry of
// ByLabel for one of them has the choice.
func (c Config) For(labels []string) Config {
	for _, choice := range c.ByLabel {
		if choice.Label == "" || slices.Contains(labels, choice.Label) {
			c.Choice = choice
			break
		}
	}
	return c
}

// NamedChoice is a choice that knows the keys of WORKFLOW.md which make it.
type NamedChoice struct {
	Choice
	ofReview bool
}

// Choices returns all choices of the workflow. The last one is for all other issues.
func (c Config) Choices() []NamedChoice {
	var choices []NamedChoice
	if c.Review != (Choice{}) {
		choices = append(choices, NamedChoice{c.ForReview(), true})
	}
	for _, choice := range c.ByLabel {
		choices = append(choices, NamedChoice{Choice: choice})
	}
	if len(c.ByLabel) == 0 {
		choices = append(choices, NamedChoice{Choice: c.Choice})
	}
	return choices
}

// ForReview returns the choice of a review of a session's work. A model of its own has the effort that
// goes with it, or Codex's default.
func (c Config) ForReview() Choice {
	choice := c.Choice
	if c.Review.Model != "" {
		choice.Model, choice.Effort = c.Review.Model, ""
	}
	if c.Review.Effort != "" {
		choice.Effort = c.Review.Effort
	}
	return choice
}

func (c Config) namesTier() bool {
	return slices.ContainsFunc(c.Choices(), func(choice NamedChoice) bool { return choice.ServiceTier != "" })
}

// Key returns the key of WORKFLOW.md for a field of the choice, such as codex.model.
func (c NamedChoice) Key(field string) string {
	switch {
	case c.ofReview && field != "service_tier":
		return "delivery.review_" + field
	case c.Label == "":
		return "codex." + field
	}
	return "codex.by_label." + c.Label + "." + field
}

type listedModel struct {
	ID, Model string
	IsDefault bool
	Efforts   []struct {
		Effort string `json:"reasoningEffort"`
	} `json:"supportedReasoningEfforts"`
	ServiceTiers []struct{ ID string } // nil from an older server
	Modalities   []string              `json:"inputModalities"` // none if an older server does not say
}

type modelList struct {
	models   []listedModel
	own      string          // model of Codex's own configuration; "" for the default of the list
	complete bool            // no model works that is not in the list
	checked  map[Choice]bool // fields that have been checked together
}

// check returns the error of each choice that the list refutes. A field that several choices
// share is checked once.
func (l modelList) check(choices []NamedChoice) error {
	var wrong []error
	for _, c := range slices.Backward(choices) { // the last one has the values that the others take over
		wrong = append(wrong, l.checkChoice(c))
	}
	return errors.Join(wrong...)
}

func (l modelList) checkChoice(c NamedChoice) error {
	want := c.Model
	if want == "" {
		want = l.own
	}
	at := slices.IndexFunc(l.models, func(m listedModel) bool {
		return want == "" && m.IsDefault || want != "" && (m.ID == want || m.Model == want)
	})
	if at < 0 && c.Model == "" {
		return nil
	}
	if at < 0 && l.complete {
		var names []string
		for _, m := range l.models {
			names = append(names, m.ID)
		}
		if !l.first(Choice{Model: c.Model}) {
			return nil
		}
		return fmt.Errorf("%s %q: %w: use one of %s, or install a newer Codex", c.Key("model"), want, ErrNoModel, strings.Join(names, ", "))
	}
	model, tiers := listedModel{ID: want}, []string{"default", "flex"} // which Codex passes on for every model
	tiersKnown := true                                                 // Codex passes on no further one for a model that it does not know
	if at >= 0 {
		model = l.models[at]
		tiersKnown = model.ServiceTiers != nil
	}
	for _, t := range model.ServiceTiers {
		tiers = append(tiers, t.ID)
	}
	var efforts []string
	for _, e := range model.Efforts {
		efforts = append(efforts, e.Effort)
	}
	var wrong []error
	if l.complete && len(efforts) > 0 && l.first(Choice{Model: c.Model, Effort: c.Effort}) {
		wrong = append(wrong, refuted(c.Key("effort"), c.Effort, model.ID, efforts))
	}
	if tiersKnown && l.first(Choice{Model: c.Model, ServiceTier: c.ServiceTier}) {
		wrong = append(wrong, refuted(c.Key("service_tier"), c.ServiceTier, model.ID, tiers))
	}
	return errors.Join(wrong...)
}

// first reports whether fields are checked for the first time.
func (l modelList) first(fields Choice) bool {
	before := l.checked[fields]
	l.checked[fields] = true
	return !before
}

// refuted returns an [ErrSettings] for a value that a model does not have, nil for one that it has.
func refuted(key, value, model string, has []string) error {
	if value == "" || slices.Contains(has, value) {
		return nil
	}
	return fmt.Errorf("%s %q: %w: the model %s has %s", key, value, ErrSettings, model, strings.Join(has, ", "))
}

// TakesImages returns the model of the thread, and whether it takes images, as the server lists
// it. A model of which the server does not say so takes them.
func (s *checks) TakesImages(ctx context.Context) (model string, takes bool) {
	s.mu.Lock()
	model = s.spending.tariffs.model[s.spending.tariffs.main]
	s.mu.Unlock()
	models, err := s.listModels(ctx)
	if err != nil {
		return model, true // the turn shows what is wrong
	}
	for _, m := range models {
		if (m.Model == model || m.ID == model) && len(m.Modalities) > 0 {
			return model, slices.Contains(m.Modalities, "image")
		}
	}
	return model, true
}
