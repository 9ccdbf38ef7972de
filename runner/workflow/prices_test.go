package workflow_test

import (
	"slices"
	"strings"
	"testing"
)

func TestABudgetInDollarsNeedsThePriceOfItsModel(t *testing.T) {
	t.Parallel()
	const price = "prices: {m: {input: 1, output: 2}}"
	for budget, want := range map[string]string{
		`budget: {max_usd_per_day: -1}`:                                                     `max_usd_per_day is -1: must be a number of US dollars from 0 to 1000000000`,
		`budget: {max_usd_per_day: 0.0000001}`:                                              `the smallest is 0.000001`,
		`budget: {max_usd_per_day: .nan}`:                                                   `max_usd_per_day is NaN: must be a number`,
		`budget: {max_usd_per_day: much}`:                                                   `max_usd_per_day is "much": must be a number`,
		`budget: {max_usd_per_day: 5}`:                                                      `max_usd_per_day is 5: needs codex.model: without it nobody knows the price of a session`,
		"codex: {model: m}\nbudget: {max_usd_per_tick: 5}":                                  `max_usd_per_tick is 5: needs the price of codex.model m: write it in budget.prices`,
		"codex: {model: M}\nbudget: {max_usd_per_issue: 5, " + price + "}":                  `max_usd_per_issue is 5: needs the price of codex.model M`,
		`budget: {prices: 3}`:                                                               `budget.prices is 3: must be a map from models to their prices`,
		`budget: {prices: {m: 3}}`:                                                          `budget.prices.m is 3: must be a map with the prices of a million tokens in US dollars`,
		`budget: {prices: {m: {input: 1}}}`:                                                 `has no price for output`,
		`budget: {prices: {m: {input: -1, output: 1}}}`:                                     `budget.prices.m.input is -1: must be the US dollars for a million tokens: a number from 0 to 100000`,
		`budget: {prices: {m: {input: 1, output: 1e9}}}`:                                    `budget.prices.m.output is 1e+09: must be`,
		`budget: {prices: {m: {input: 1, output: 1, out: 1}}}`:                              `budget.prices.m.out is 1: is not a price`,
		`budget: {prices: {m: {input: 1, output: 1, long_context: {input: 1, output: 2}}}}`: `budget.prices.m.long_context.above is null: must be an integer from 1`,
		`budget: {prices: {m: {input: 1, output: 1, long_context: {above: 9}}}}`:            `budget.prices.m.long_context is a map: has no price for input`,
		`budget: {prices: {m: {input: 1, output: 1, tiers: {flex: half}}}}`:                 `budget.prices.m.tiers.flex is "half": must be a factor: a number from 0 to 100`,
		`budget: {prices: {m: {input: 1, output: 1, tiers: flex}}}`:                         `budget.prices.m.tiers is "flex": must be a map`,
		`budget: {prices: {" m": {input: 1, output: 1}}}`:                                   `must have the name of a model as its key`,
	} {
		got := problems(t, "tracker: {kind: file}\n"+budget, with(nil))
		if !slices.ContainsFunc(got, func(problem string) bool { return strings.Contains(problem, want) }) {
			t.Errorf("%s\n%q\nwant %s", budget, got, want)
		}
	}
	wf := parse(t, "tracker: {kind: file}\ncodex: {model: n}\nbudget: {"+price+"}", with(nil))
	if want := "budget.prices has no price for codex.model n, so what sessions cost stays unknown"; !slices.Contains(wf.Warnings, want) {
		t.Errorf("%q", wf.Warnings)
	}
	b := parse(t, "tracker: {kind: file}\ncodex: {model: m}\nbudget: {max_usd_per_day: \"2.5\", "+price+"}", with(nil)).Settings.Policy.Budget
	if b.USDPerDay != 2_500_000 || b.Prices["m"].Cached != 1 || b.Prices["m"].CacheWrite != 1 {
		t.Errorf("%+v", b)
	}
}
