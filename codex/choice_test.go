package codex

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// models is a list of two pages, as model/list has them.
func (p *fakeServer) models() {
	p.reply(p.expect("model/list"), `{"data":[{"id":"big","model":"big","supportedReasoningEfforts":[{"reasoningEffort":"high"}],"serviceTiers":[{"id":"priority"}]}],"nextCursor":"2"}`)
	p.reply(p.expect("model/list"), `{"data":[{"id":"small","model":"small","isDefault":true,"supportedReasoningEfforts":[{"reasoningEffort":"low"}],"serviceTiers":[]},{"id":"old","model":"old"}]}`)
}

func TestEachChoiceOfTheWorkflowIsChecked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		choices []Choice // the last one is that of all other issues
		own     bool     // the provider needs no login
		want    []string
	}{
		"all are right":              {choices: []Choice{{Label: "hard", Model: "big", Effort: "high", ServiceTier: "priority"}, {ServiceTier: "flex"}}},
		"an unknown model":           {choices: []Choice{{Label: "hard", Model: "huge"}, {Model: "big"}}, want: []string{`codex.by_label.hard.model "huge": model_not_found: use one of big, small, old`}},
		"each is named":              {choices: []Choice{{Label: "a", Model: "huge"}, {Label: "b", Effort: "high"}, {}}, want: []string{"codex.by_label.a.model", `codex.by_label.b.effort "high": codex_settings_refused: the model small has low`}},
		"what is taken over is once": {choices: []Choice{{Label: "a", Model: "huge", Effort: "low"}, {Model: "huge"}}, want: []string{`codex.model "huge"`}},
		"a tier of another model":    {choices: []Choice{{Label: "a", ServiceTier: "priority"}, {}}, want: []string{`codex.by_label.a.service_tier "priority": codex_settings_refused: the model small has default, flex`}},
		"a model without tiers":      {choices: []Choice{{Label: "a", Model: "old", ServiceTier: "priority"}, {}}},
		"another provider's model":   {own: true, choices: []Choice{{Label: "a", Model: "huge", Effort: "max", ServiceTier: "flex"}, {}}},
		"its tier is left out":       {own: true, choices: []Choice{{Label: "a", Model: "huge", ServiceTier: "priority"}, {}}, want: []string{`codex.by_label.a.service_tier "priority": codex_settings_refused: the model huge has default, flex`}},
	} {
		_, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			account := `{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}`
			if test.own {
				account = `{"account":null,"requiresOpenaiAuth":false}`
			}
			p.reply(p.expect("account/read"), account)
			p.models()
			if test.want == nil {
				p.unknown("command/exec")
				p.judge("", "")
			}
			p.drain()
		}), Options{Config: Config{ByLabel: test.choices}.For(nil)})
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		if err != nil && (strings.Count(err.Error(), "codex.") != len(test.want) || !errors.Is(err, ErrNoModel) && !errors.Is(err, ErrSettings)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAThreadThatGoesOnForgetsTheModelOfOtherLabels compares what a session asks of the server. The
// real Codex keeps what thread/resume leaves out; TestALabelChoosesTheModel shows the effect.
func TestAThreadThatGoesOnForgetsTheModelOfOtherLabels(t *testing.T) {
	t.Parallel()
	hard := Choice{Label: "hard", Model: "big", ServiceTier: "priority"}
	for name, test := range map[string]struct {
		config Config
		labels []string
		want   string // model, provider and service tier of thread/resume
	}{
		"without codex.by_label":    {Config{}, nil, `||`},
		"no choice":                 {Config{ByLabel: []Choice{hard, {}}}, nil, `|theirs|"flex"`},
		"the built-in provider":     {Config{ByLabel: []Choice{{Label: "hard", Model: "big"}, {}}, Command: "default"}, nil, `|openai|`},
		"no choice names a tier":    {Config{ByLabel: []Choice{{Label: "hard", Model: "big"}, {}}}, nil, `|theirs|`},
		"the choice names no tier":  {Config{ByLabel: []Choice{hard, {Model: "small"}}}, nil, `small||"flex"`},
		"the choice names all":      {Config{ByLabel: []Choice{hard, {}}}, []string{"a", "hard"}, `big||"priority"`},
		"without a tier of its own": {Config{ByLabel: []Choice{hard, {Model: "plain"}}}, nil, `plain||null`},
	} {
		own := `{"config":{"model_provider":"theirs","service_tier":"flex"}}`
		if strings.Contains(test.want, "plain") {
			own = `{"config":{"model_provider":"theirs"}}`
		}
		if test.config.Command != "" {
			own = `{"config":{"model_provider":null}}`
		}
		s, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.reply(p.expect("initialize"), `{"userAgent":"symphony/0.169.0"}`)
			p.expect("initialized")
			p.reply(p.expect("config/read"), own)
			m := p.expect("thread/resume")
			var got struct {
				Model, ModelProvider string
				ServiceTier          json.RawMessage
			}
			if err := json.Unmarshal(m.Params, &got); err != nil {
				t.Error(err)
			}
			if all := got.Model + "|" + got.ModelProvider + "|" + string(got.ServiceTier); all != test.want {
				t.Errorf("%s: %s, want %s", name, all, test.want)
			}
			p.reply(m, `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
			p.drain()
		}), Options{Resume: "thread-1", Config: test.config.For(test.labels)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.Close()
	}
}

func TestAReviewHasAModelOfItsOwn(t *testing.T) {
	t.Parallel()
	session := Choice{Model: "big", Effort: "high", ServiceTier: "flex"}
	for name, test := range map[string]struct{ review, want Choice }{
		"nothing":         {Choice{}, Choice{Model: "big", Effort: "high", ServiceTier: "flex"}},
		"a model":         {Choice{Model: "small"}, Choice{Model: "small", ServiceTier: "flex"}},
		"an effort":       {Choice{Effort: "low"}, Choice{Model: "big", Effort: "low", ServiceTier: "flex"}},
		"both of its own": {Choice{Model: "small", Effort: "low"}, Choice{Model: "small", Effort: "low", ServiceTier: "flex"}},
	} {
		if got := (Config{Choice: session, Review: test.review}).ForReview(); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	choices := Config{Choice: session, Review: Choice{Model: "small"}}.Choices()
	if len(choices) != 2 || choices[0].Key("model") != "delivery.review_model" || choices[0].Key("service_tier") != "codex.service_tier" || choices[1].Choice != session {
		t.Errorf("%+v", choices)
	}
}
