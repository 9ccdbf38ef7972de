package schedule

import (
	"cmp"
	"slices"
)

// maxTariffs bounds how many tariffs are told apart. The tokens of further ones are counted
// under the zero Tariff, whose price nobody knows.
const maxTariffs = 16

// Tariff holds the things that the price of a response depends on.
type Tariff struct {
	Model string `json:"model" bound:"shown=128"`         // empty if the agent does not name it
	Tier  string `json:"tier,omitempty" bound:"shown=64"` // service tier; empty for the default one
	Long  bool   `json:"long,omitempty"`                  // the input was longer than the tariff for short contexts allows
}

// TariffUsage holds the tokens of the responses that have the same tariff. Cached and
// CacheWrite are parts of Input, and Reasoning is a part of Output.
type TariffUsage struct {
	Tariff
	Input      int64 `json:"input,omitempty"`
	Cached     int64 `json:"cached,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// each returns the results of f for each pair of parts, between 0 and MaxTokens.
func (u TariffUsage) each(v TariffUsage, f func(a, b int64) int64) TariffUsage {
	part := func(a, b int64) int64 { return min(max(f(a, b), 0), MaxTokens) }
	return TariffUsage{
		u.Tariff, part(u.Input, v.Input), part(u.Cached, v.Cached), part(u.CacheWrite, v.CacheWrite),
		part(u.Output, v.Output), part(u.Reasoning, v.Reasoning),
	}
}

// Tariffs holds tokens by tariff: at most one entry for each, sorted. Tokens that were counted
// before tariffs were recorded are in none. A list is never changed, since a clone of the state
// may hold it too.
type Tariffs []TariffUsage

// TariffsOf returns entries of different tariffs, which may have any order.
func TariffsOf(entries []TariffUsage) Tariffs {
	return slices.SortedFunc(slices.Values(entries), func(a, b TariffUsage) int { return compareToTariff(a, b.Tariff) })
}

func (t Tariffs) total() (n int64) {
	for _, u := range t {
		n += u.Input + u.Output
	}
	return n
}

// combined returns t with the results of f for each entry of other and the entry of the same
// tariff in t.
func (t Tariffs) combined(other Tariffs, f func(a, b int64) int64) Tariffs {
	if len(other) == 0 {
		return t
	}
	sum := slices.Clone(t)
	for _, u := range other {
		at, known := slices.BinarySearchFunc(sum, u.Tariff, compareToTariff)
		if !known && len(sum) >= maxTariffs {
			u.Tariff = Tariff{}
			at, known = slices.BinarySearchFunc(sum, u.Tariff, compareToTariff)
		}
		if !known {
			sum = slices.Insert(sum, at, TariffUsage{Tariff: u.Tariff})
		}
		sum[at] = sum[at].each(u, f)
	}
	return sum
}

func (t Tariffs) plus(other Tariffs) Tariffs {
	return t.combined(other, func(a, b int64) int64 { return a + b })
}

// atLeast returns the higher number of each part.
func (t Tariffs) atLeast(other Tariffs) Tariffs {
	return t.combined(other, func(a, b int64) int64 { return max(a, b) })
}

// since returns the increases since an earlier time.
func (t Tariffs) since(earlier Tariffs) (more Tariffs) {
	for _, u := range t {
		at, known := slices.BinarySearchFunc(earlier, u.Tariff, compareToTariff)
		if known {
			u = u.each(earlier[at], func(a, b int64) int64 { return a - b })
		}
		if u != (TariffUsage{Tariff: u.Tariff}) {
			more = append(more, u)
		}
	}
	return more
}

// atMost returns the first tokens of t, at most n in all.
func (t Tariffs) atMost(n int64) (first Tariffs) {
	if t.total() <= n {
		return t
	}
	for _, u := range t {
		u.Input = min(u.Input, n)
		u.Output = min(u.Output, n-u.Input)
		u.Cached = min(u.Cached, u.Input)
		u.CacheWrite, u.Reasoning = min(u.CacheWrite, u.Input-u.Cached), min(u.Reasoning, u.Output)
		if n -= u.Input + u.Output; u.Input+u.Output > 0 {
			first = append(first, u)
		}
	}
	return first
}

func compareToTariff(u TariffUsage, t Tariff) int {
	return cmp.Or(cmp.Compare(u.Model, t.Model), cmp.Compare(u.Tier, t.Tier), compareBools(u.Long, t.Long))
}

// compareBools compares two values, of which false is the lower.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
