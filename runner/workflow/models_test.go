package workflow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
)

func TestTheFirstLabelOfTheListChoosesTheModel(t *testing.T) {
	t.Parallel()
	s := parse(t, "tracker: {kind: file}\ncodex: {model: m, by_label: {zebra: {model: z, service_tier: fast}, \" Ape \": {effort: low}}}", with(nil)).Settings
	for labels, want := range map[string]codex.Choice{
		"":          {Model: "m"},
		"other":     {Model: "m"},
		"ape":       {Label: "ape", Model: "m", Effort: "low"},
		"ape zebra": {Label: "zebra", Model: "z", ServiceTier: "priority"},
	} {
		if diff := cmp.Diff(want, s.Codex.For(strings.Fields(labels)).Choice); diff != "" {
			t.Errorf("%s: %s", labels, diff)
		}
	}
	off := parse(t, "tracker: {kind: file}\ncodex: {model: m, by_label: {}}", with(nil)).Settings.Codex
	if off.ByLabel != nil || off.For([]string{"ape"}).Choice != (codex.Choice{Model: "m"}) {
		t.Errorf("%+v", off)
	}
}

func TestAnEntryByLabelThatCannotBeUsedIsAProblem(t *testing.T) {
	t.Parallel()
	const priced = "\nbudget: {max_usd_per_day: 5, prices: {m: {input: 1, output: 2, tiers: {flex: 0.5}}}}"
	for section, want := range map[string]string{
		"{by_label: [docs]}":                                                  "codex.by_label is a list: must be a map from labels of issues",
		"{by_label: {docs: low}}":                                             `codex.by_label.docs is "low": must be a map with at least one of model, effort and service_tier`,
		"{by_label: {docs: }}":                                                "codex.by_label.docs is null: must be a map with",
		"{by_label: {docs: {}}}":                                              "codex.by_label.docs is a map: must be a map with at least one",
		"{by_label: {docs: {effort: 3}}}":                                     "codex.by_label.docs.effort is 3: must be text of 1 to 128 bytes",
		"{by_label: {docs: {model: ' '}}}":                                    `codex.by_label.docs.model is " ": must be text of 1 to 128 bytes`,
		"{by_label: {docs: {tier: flex}}}":                                    `codex.by_label.docs.tier is "flex": is not a setting of a model; they are model, effort and service_tier`,
		"{by_label: {docs: {effort: low}, Docs: {effort: low}}}":              "codex.by_label.Docs is a map: names its label a second time",
		"{model: m, by_label: {hard: {model: h}, more: {model: h}}}" + priced: "max_usd_per_day is 5: needs the price of codex.by_label.more.model h: write it in budget.prices",
		"{model: m, service_tier: fast}" + priced:                             "needs the factor of codex.service_tier priority with the model m: write it in budget.prices",
		"{model: m, by_label: {hard: {service_tier: x}}}" + priced:            "needs the factor of codex.by_label.hard.service_tier x with the model m",
	} {
		if got := problems(t, "tracker: {kind: file}\ncodex: "+section, with(nil)); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s\n%q\nwant %s", section, got, want)
		}
	}
	parse(t, "tracker: {kind: file}\ncodex: {model: m, by_label: {hard: {service_tier: flex}}}"+priced, with(nil))
	parse(t, "tracker: {kind: file}\ncodex: {model: m, service_tier: priority}"+strings.Replace(priced, "flex", "fast", 1), with(nil))
	wf := parse(t, "tracker: {kind: file}\ncodex: {model: m, by_label: {hard: {model: h}}}\nbudget: {prices: {m: {input: 1, output: 2}}}", with(nil))
	if want := "budget.prices has no price for codex.by_label.hard.model h, so what sessions cost stays unknown"; !slices.Contains(wf.Warnings, want) {
		t.Errorf("%q", wf.Warnings)
	}
}
