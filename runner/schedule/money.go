package schedule

import (
	"math"
	"slices"
	"strconv"

	"github.com/symphony-runner/symphony/internal/text"
)

// Money is an amount in millionths of a US dollar.
type Money int64

// maxMoney is the largest amount that is counted, a billion dollars; sums stop there. A float64
// tells any two amounts up to it apart.
const maxMoney Money = 1e15

// MoneyOf returns an amount of dollars, rounded to the millionth.
func MoneyOf(dollars float64) Money {
	return Money(math.Round(min(max(dollars*1e6, 0), float64(maxMoney))))
}

// Dollars returns the amount in dollars.
func (m Money) Dollars() float64 { return float64(m) / 1e6 }

// String returns the amount for people, such as $1.50.
func (m Money) String() string { return text.Dollars(int64(m)) }

// MarshalJSON returns the amount in dollars.
func (m Money) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, m.Dollars(), 'f', -1, 64), nil
}

// UnmarshalJSON reads an amount in dollars.
func (m *Money) UnmarshalJSON(b []byte) error {
	dollars, err := strconv.ParseFloat(string(b), 64)
	*m = MoneyOf(dollars)
	return err
}

// Rates holds the prices of a million tokens, in US dollars. Cached and CacheWrite are the
// prices of input that is read from the cache of the model, and written to it.
type Rates struct {
	Input      float64 `json:"input"`
	Cached     float64 `json:"cached_input"`
	CacheWrite float64 `json:"cache_write"`
	Output     float64 `json:"output"`
}

// Price holds the prices of a model.
type Price struct {
	Rates
	Long  *LongPrice         `json:"long_context,omitempty"` // of responses with much input; nil if they cost the same
	Tiers map[string]float64 `json:"tiers,omitempty"`        // factor of each service tier besides the default
}

// LongPrice holds the prices of a response whose input has more tokens than Above.
type LongPrice struct {
	Above int64 `json:"above"`
	Rates
}

// Prices holds the prices of models by their names.
type Prices map[string]Price

// Cost is the price of tokens.
type Cost struct {
	USD        Money    // of the tokens with a price
	Unpriced   []Tariff // the tariffs without a price, sorted
	Unmeasured int64    // tokens that were counted before tariffs were recorded
}

// IsKnown reports whether USD is the price of all tokens.
func (c Cost) IsKnown() bool { return len(c.Unpriced) == 0 && c.Unmeasured == 0 }

// String returns the price for people. It never calls an unknown price 0.
func (c Cost) String() string {
	switch {
	case c.IsKnown():
		return c.USD.String()
	case c.USD == 0:
		return "unknown"
	}
	return "at least " + c.USD.String()
}

// Of returns the price of a usage.
func (p Prices) Of(u Usage) Cost {
	var c Cost
	for _, t := range u.Tariffs {
		if usd, known := p.of(t); known {
			c.USD = min(c.USD+usd, maxMoney)
		} else if t.Input+t.Output > 0 {
			c.Unpriced = append(c.Unpriced, t.Tariff)
		}
	}
	c.Unmeasured = max(u.Total()-u.Tariffs.total(), 0)
	return c
}

// Words returns the price of a usage in words; empty if nothing has a price.
func (p Prices) Words(u Usage) string {
	if len(p) == 0 {
		return ""
	}
	return p.Of(u).String()
}

// of returns the price of the tokens of a tariff. A tier that has no factor has no price.
func (p Prices) of(u TariffUsage) (usd Money, known bool) {
	price, known := p[u.Model]
	if !known {
		return 0, false
	}
	factor, known := price.factor(u.Tier)
	if !known {
		return 0, false
	}
	rates := price.Rates
	if u.Long && price.Long != nil {
		rates = price.Long.Rates
	}
	plain := max(u.Input-u.Cached-u.CacheWrite, 0)
	sum := float64(plain)*rates.Input + float64(u.Cached)*rates.Cached + float64(u.CacheWrite)*rates.CacheWrite + float64(u.Output)*rates.Output
	return MoneyOf(sum * factor / 1e6), true
}

// Has reports whether a model has a price, and with it a factor for a service tier.
func (p Prices) Has(model, tier string) (price, factor bool) {
	of, price := p[model]
	_, factor = of.factor(tier)
	return price, factor
}

func (p Price) factor(tier string) (factor float64, known bool) {
	if slices.Contains([]string{"", "auto", "default", "standard"}, tier) { // names of the tier without a factor
		return 1, true
	}
	factor, known = p.Tiers[tier]
	return factor, known
}

// LongInput returns the input tokens of a response above which the second price of a model
// applies, for the models that have one.
func (p Prices) LongInput() map[string]int64 {
	above := map[string]int64{}
	for model, price := range p {
		if price.Long != nil {
			above[model] = price.Long.Above
		}
	}
	return above
}

// String returns the tariff in words, such as "the model gpt-6 (flex)".
func (t Tariff) String() string {
	name := "a model without a name"
	if t.Model != "" {
		name = "the model " + t.Model
	}
	if t.Tier != "" {
		name += " (" + t.Tier + ")"
	}
	return name
}
