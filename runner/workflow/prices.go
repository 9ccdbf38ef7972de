package workflow

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// The bounds of budgets in dollars and of prices.
const (
	maxDollars = 1e9 // of a budget
	maxPrice   = 1e5 // dollars for a million tokens
	maxFactor  = 100 // of a service tier
	maxModels  = 100 // models with a price
)

// numberSchema returns the schema of a number from 0 to high, or of a string of one.
func numberSchema(high float64) object {
	return object{"anyOf": []any{object{"type": "number", "minimum": 0, "maximum": high}, textSchema()}}
}

// toNumber returns v as a finite number: a YAML number, or a string of one (SPEC §5.3).
func toNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

func (f forms) dollars(to *schedule.Money) form {
	return form{func(v value) {
		n, ok := toNumber(v.raw)
		if !ok || n < 0 || n > maxDollars || n > 0 && schedule.MoneyOf(n) == 0 {
			f.reject(v, "must be a number of US dollars from 0 to %.0f, such as 2.50; the smallest is 0.000001", maxDollars)
			return
		}
		*to = schedule.MoneyOf(n)
	}, numberSchema(maxDollars)}
}

// prices decodes the prices of models. It rejects an entry that cannot be used: a guess would be
// wrong by any factor.
func (f forms) prices(to *schedule.Prices) form {
	amount := numberSchema(maxPrice)
	rates := object{"input": amount, "cached_input": amount, "cache_write": amount, "output": amount}
	long := maps.Clone(rates)
	long["above"] = integerSchema(1, schedule.MaxTokens)
	model := maps.Clone(rates)
	closed := func(properties object, required ...any) object {
		return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	}
	model["long_context"] = closed(long, "above", "input", "output")
	model["tiers"] = mapSchema(numberSchema(maxFactor))
	return form{func(v value) {
		entries, ok := v.raw.(map[string]any)
		if !ok {
			f.reject(v, "must be a map from models to their prices, such as {gpt-6: {input: 1.25, cached_input: 0.125, output: 10}}")
			return
		}
		if len(entries) > maxModels {
			f.reject(v, "has more than %d models", maxModels)
			return
		}
		prices := schedule.Prices{}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			item := v.child(name, entries[name])
			p := priceReader{forms: f}
			price := p.model(item)
			if strings.TrimSpace(name) != name || name == "" {
				f.reject(item, "must have the name of a model as its key, as codex.model has it")
				continue
			}
			prices[name] = price
		}
		if len(prices) > 0 {
			*to = prices
		}
	}, mapSchema(closed(model, "input", "output"))}
}

func (v value) child(name string, raw any) value {
	child := value{key: v.key + "." + truncate(name), line: v.line, column: v.column, raw: raw}
	node := v.resolved()
	for i := 0; node != nil && node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if key := node.Content[i]; key.Value == name {
			child.line, child.column, child.node = key.Line, key.Column, node.Content[i+1]
		}
	}
	return child
}

// priceReader reads the price of one model.
type priceReader struct{ forms }

func (p priceReader) model(v value) schedule.Price {
	price := schedule.Price{Rates: p.rates(v, "long_context", "tiers")}
	fields, _ := v.raw.(map[string]any)
	if raw, written := fields["long_context"]; written {
		item := v.child("long_context", raw)
		long := &schedule.LongPrice{Rates: p.rates(item, "above")}
		fields, _ := raw.(map[string]any)
		if n, ok := p.integerBetween(item.child("above", fields["above"]), 1, schedule.MaxTokens); ok {
			long.Above = n
		}
		price.Long = long
	}
	if raw, written := fields["tiers"]; written {
		item := v.child("tiers", raw)
		tiers, ok := raw.(map[string]any)
		if !ok {
			p.reject(item, "must be a map from service tiers to factors, such as {flex: 0.5}")
		}
		price.Tiers = map[string]float64{}
		for _, tier := range slices.Sorted(maps.Keys(tiers)) {
			price.Tiers[tierID(tier)] = p.number(item.child(tier, tiers[tier]), maxFactor, "a factor")
		}
	}
	return price
}

// rates reads the four prices of a million tokens. Input that is read from the cache, or written
// to it, has the price of other input if it has none of its own. others are the names of further
// keys of the map.
func (p priceReader) rates(v value, others ...string) (r schedule.Rates) {
	fields, ok := v.raw.(map[string]any)
	if !ok {
		p.reject(v, "must be a map with the prices of a million tokens in US dollars, such as {input: 1.25, cached_input: 0.125, output: 10}")
		return r
	}
	named := map[string]*float64{"input": &r.Input, "output": &r.Output, "cached_input": &r.Cached, "cache_write": &r.CacheWrite}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		to, known := named[name]
		switch item := v.child(name, fields[name]); {
		case known:
			*to = p.number(item, maxPrice, "the US dollars for a million tokens")
		case !slices.Contains(others, name):
			p.reject(item, "is not a price; the prices are input, cached_input, cache_write and output")
		}
	}
	for _, name := range []string{"input", "output"} {
		if _, written := fields[name]; !written {
			p.reject(v, "has no price for %s", name)
		}
	}
	if _, written := fields["cached_input"]; !written {
		r.Cached = r.Input
	}
	if _, written := fields["cache_write"]; !written {
		r.CacheWrite = r.Input
	}
	return r
}

func (p priceReader) number(v value, high float64, what string) float64 {
	n, ok := toNumber(v.raw)
	if !ok || n < 0 || n > high {
		p.reject(v, "must be %s: a number from 0 to %.0f", what, high)
		return 0
	}
	return n
}

// checkPrices records a problem for a budget in dollars whose price nobody knows, and warns of
// prices that nothing needs.
func (d *decoder) checkPrices() {
	b := d.settings.Policy.Budget
	var limit value
	for _, key := range []string{"budget.max_usd_per_issue", "budget.max_usd_per_tick", "budget.max_usd_per_day"} {
		if v := d.written[key]; limit.key == "" && v.key != "" {
			limit = v
		}
	}
	prices := d.written["budget.prices"]
	told := map[codex.Choice]bool{}
	for _, c := range slices.Backward(d.settings.Codex.Choices()) { // the last one has what the others take over
		hasPrice, hasFactor := b.Prices.Has(c.Model, c.ServiceTier)
		lack, noun, of := codex.Choice{Model: c.Model}, "price", c.Key("model")+" "+truncate(c.Model)
		if hasPrice {
			lack.ServiceTier, noun = c.ServiceTier, "factor"
			of = c.Key("service_tier") + " " + truncate(c.ServiceTier) + " with the model " + truncate(c.Model)
		}
		if hasPrice && hasFactor || told[lack] {
			continue
		}
		told[lack] = true
		switch {
		case b.LimitsMoney() && c.Model == "":
			d.reject(limit, "needs codex.model: without it nobody knows the price of a session; name the model there, and its price in budget.prices")
		case b.LimitsMoney():
			d.reject(limit, "needs the %s of %s: write it in budget.prices", noun, of)
		case prices.key != "" && c.Model != "" && len(b.Prices) > 0:
			d.warn(prices, "budget.prices has no %s for %s, so what sessions cost stays unknown", noun, of)
		}
	}
}
