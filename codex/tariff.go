package codex

import (
	"cmp"
	"encoding/json"
)

// LongInput is the number of input tokens above which OpenAI prices a response by its tariff
// for long contexts. Options.LongInput replaces it for a model.
const LongInput = 272_000

// Tariff holds the things that the price of a response depends on.
type Tariff struct {
	Model string // "" if the server does not name it
	Tier  string // service tier; "" for the server's default
	Long  bool   // the response had more input than the model's tariff for short contexts allows
}

// TariffUsage holds the tokens of the responses that have the same tariff.
type TariffUsage struct {
	Tariff
	Usage
}

// tariffs knows the model and the service tier of each thread. A thread of which nothing is known,
// such as one of a sub-agent, has the model and the tier of the session's own thread.
type tariffs struct {
	main     string // the session's own thread
	model    map[string]string
	tier     map[string]string
	rerouted map[string]string // the model in place of the thread's own
	long     map[string]int64  // Options.LongInput
}

// set records the settings of a thread. It ignores the ones that the server leaves out.
func (t *tariffs) set(thread string, settings object) {
	if model := settings.text("model"); model != "" {
		t.model[thread] = model
	}
	if tier, named := settings["servicetier"]; named {
		var name string
		_ = json.Unmarshal(tier, &name) // null is the default
		t.tier[thread] = name
	}
}

// of returns the tariff of the responses on a thread of which the latest is last.
func (t *tariffs) of(thread string, last tokenCount) Tariff {
	source := thread
	if _, known := t.model[thread]; !known {
		source = t.main
	}
	model := t.model[source]
	for _, of := range []string{source, thread} {
		if to, chosen := t.rerouted[of]; chosen {
			model = to
		}
	}
	tier, known := t.tier[thread]
	if !known {
		tier = t.tier[t.main]
	}
	return Tariff{model, tier, last.Input > cmp.Or(t.long[model], LongInput)}
}

// listed returns the usages in no order.
func listed(of map[Tariff]Usage) []TariffUsage {
	list := make([]TariffUsage, 0, len(of))
	for tariff, usage := range of {
		list = append(list, TariffUsage{tariff, usage})
	}
	return list
}
