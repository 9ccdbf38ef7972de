package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/codex"
)

// The bounds of codex.by_label.
const (
	maxModelLabels = 100 // labels
	maxModelText   = 128 // bytes of a name
)

// tierID returns the id of a service tier: Codex calls fast priority, also where it reports tokens.
func tierID(name string) string {
	if name = strings.TrimSpace(name); name == "fast" {
		return "priority"
	}
	return name
}

func (f forms) serviceTier(to *string) form {
	return parsedText(f, to, func(name string) (string, error) { return tierID(name), nil })
}

// modelsByLabel decodes the models of issues by their labels, in the order of the file. An entry
// that cannot be used is a problem: its issues would be worked on by a model that nobody meant.
func (f forms) modelsByLabel(to *[]codex.Choice) form {
	entry := object{
		"type": "object", "additionalProperties": false, "minProperties": 1,
		"properties": object{"model": nonemptySchema(), "effort": nonemptySchema(), "service_tier": nonemptySchema()},
	}
	return form{func(v value) {
		f.byLabel(v, "must be a map from labels of issues to a model, an effort or a service tier, such as {docs: {effort: low}}", func(label string, entry value) {
			*to = append(*to, f.modelChoice(label, entry))
		})
		if len(*to) > maxModelLabels {
			f.reject(v, "has more than %d labels", maxModelLabels)
		}
	}, mapSchema(entry)}
}

func (f forms) modelChoice(label string, entry value) codex.Choice {
	choice := codex.Choice{Label: label}
	fields, ok := entry.raw.(map[string]any)
	if !ok || len(fields) == 0 {
		f.reject(entry, "must be a map with at least one of model, effort and service_tier, such as {effort: low}")
		return choice
	}
	for _, field := range []struct {
		name string
		form
	}{{"model", f.text(&choice.Model)}, {"effort", f.text(&choice.Effort)}, {"service_tier", f.serviceTier(&choice.ServiceTier)}} {
		raw, written := fields[field.name]
		delete(fields, field.name)
		text, ok := raw.(string)
		switch v := entry.child(field.name, raw); {
		case !written:
		case !ok || strings.TrimSpace(text) == "" || len(text) > maxModelText:
			f.reject(v, "must be text of 1 to %d bytes, as codex.%s has it; leave it out for the value of codex.%[2]s", maxModelText, field.name)
		default:
			field.decode(v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f.reject(entry.child(name, fields[name]), "is not a setting of a model; they are model, effort and service_tier")
	}
	return choice
}

// completeModels gives the entries of codex.by_label what they leave out, and adds the choice of
// all other issues.
func (d *decoder) completeModels() {
	c := &d.settings.Codex
	if len(c.ByLabel) == 0 {
		return
	}
	c.ByLabel = append(slices.Clone(c.ByLabel), codex.Choice{})
	for i := range c.ByLabel {
		choice := &c.ByLabel[i]
		for _, field := range []struct{ to, other *string }{
			{&choice.Model, &c.Model}, {&choice.Effort, &c.Effort}, {&choice.ServiceTier, &c.ServiceTier},
		} {
			if *field.to == "" {
				*field.to = *field.other
			}
		}
	}
}
