package schedule_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestTheCostOfTokens(t *testing.T) {
	t.Parallel()
	prices := schedule.Prices{
		"m": {
			Rates: schedule.Rates{Input: 1, Cached: 0.1, CacheWrite: 2, Output: 10},
			Long:  &schedule.LongPrice{Above: 100, Rates: schedule.Rates{Input: 3, Cached: 0.3, CacheWrite: 6, Output: 30}},
			Tiers: map[string]float64{"flex": 0.5},
		},
		"flat": {Rates: schedule.Rates{Input: 1}},
	}
	of := func(tariff schedule.Tariff) schedule.Usage {
		u := schedule.TariffUsage{Tariff: tariff, Input: 1000, Cached: 300, CacheWrite: 200, Output: 50, Reasoning: 40}
		return schedule.Usage{Input: u.Input, Output: u.Output, Tariffs: schedule.Tariffs{u}}
	}
	for name, test := range map[string]struct {
		usage schedule.Usage
		want  string
		usd   schedule.Money
	}{
		"each part has its price":        {of(schedule.Tariff{Model: "m"}), "$0.0014", 500 + 30 + 400 + 500},
		"a long context":                 {of(schedule.Tariff{Model: "m", Long: true}), "$0.0043", 3 * 1430},
		"a long context at the same":     {of(schedule.Tariff{Model: "flat", Long: true}), "$0.0005", 500},
		"a service tier":                 {of(schedule.Tariff{Model: "m", Tier: "flex"}), "$0.0007", 715},
		"the default tier by its name":   {of(schedule.Tariff{Model: "m", Tier: "default"}), "$0.0014", 1430},
		"a tier without a factor":        {of(schedule.Tariff{Model: "m", Tier: "fast"}), "unknown", 0},
		"a model without a price":        {of(schedule.Tariff{Model: "n"}), "unknown", 0},
		"no model":                       {of(schedule.Tariff{}), "unknown", 0},
		"a part is unknown":              {of(schedule.Tariff{Model: "m"}).Plus(of(schedule.Tariff{Model: "n"})), "at least $0.0014", 1430},
		"counted before there were any":  {schedule.Usage{Input: 5, Output: 1}, "unknown", 0},
		"a part was counted before that": {of(schedule.Tariff{Model: "m"}).Plus(schedule.Usage{Input: 1}), "at least $0.0014", 1430},
		"nothing":                        {schedule.Usage{}, "$0", 0},
		"more than can be counted": {schedule.Usage{Input: math.MaxInt64, Tariffs: schedule.Tariffs{
			{Tariff: schedule.Tariff{Model: "m"}, Input: math.MaxInt64, Output: math.MaxInt64}}}, "$1000000000.00", 1e15},
	} {
		if got := prices.Of(test.usage); got.String() != test.want || got.USD != test.usd {
			t.Errorf("%s: %s, %d millionths, want %s and %d", name, got, got.USD, test.want, test.usd)
		}
	}
}

// An amount is the same after it was written as JSON and read.
func TestAnAmountSurvivesJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		was := schedule.Money(rapid.Int64Range(0, 1e15).Draw(t, "millionths"))
		text, err := json.Marshal(was)
		var is schedule.Money
		if err == nil {
			err = json.Unmarshal(text, &is)
		}
		if is != was || err != nil {
			t.Fatalf("%d is %s is %d: %v", was, text, is, err)
		}
	})
}

// The tokens by tariff are the tokens of the usage, and a part of a usage costs no more than all
// of it.
func TestTariffsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := genUsage(t)
		for range rapid.IntRange(0, 30).Draw(t, "models") {
			more := genUsage(t)
			for i := range more.Tariffs {
				more.Tariffs[i].Tier = rapid.StringMatching("[a-c]{1,3}").Draw(t, "tier")
			}
			u = u.Plus(more.Plus(schedule.Usage{}))
		}
		if sumOf(u.Tariffs) != u.Total() || len(u.Tariffs) > 17 {
			t.Fatalf("%d tokens in %d tariffs are %d by tariff", u.Total(), len(u.Tariffs), sumOf(u.Tariffs))
		}
		n := rapid.Int64Range(0, 2*u.Total()).Draw(t, "most")
		bound := schedule.Reserve{Tokens: n}.Bound(u) // no issue, so no session exceeds it
		if n == 0 {
			return // no limit
		}
		if bound.Total() > n || bound.Total() != min(n, u.Total()) || sumOf(bound.Tariffs) != bound.Total() || prices.Of(bound).USD > prices.Of(u).USD {
			t.Fatalf("at most %d of %+v is %+v", n, u, bound)
		}
	})
}

// TestTariffsMayComeInAnyOrder adds a list that an agent reports in two orders.
func TestTariffsMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	of := func(model, tier string, long bool) schedule.TariffUsage {
		return schedule.TariffUsage{Tariff: schedule.Tariff{Model: model, Tier: tier, Long: long}, Input: 10}
	}
	sorted := []schedule.TariffUsage{of("", "", false), of("a", "", false), of("a", "", true), of("a", "flex", false), of("b", "", false)}
	reported := slices.Clone(sorted)
	slices.Reverse(reported)
	used := schedule.Usage{Input: 50, Tariffs: schedule.TariffsOf(reported)}
	if diff := cmp.Diff(schedule.Tariffs(sorted), used.Tariffs); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	if again := used.AtLeast(schedule.Usage{Input: 50, Tariffs: sorted}); !cmp.Equal(again, used) {
		t.Errorf("the same again counts as %+v", again)
	}
	if schedule.TariffsOf(nil) != nil {
		t.Error("no tariff is not nothing")
	}
}
