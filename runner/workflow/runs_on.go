package workflow

import (
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/tracker"
)

// The bounds of agent.runs_on: the labels of every shard travel in one output of a job.
const (
	maxRunnerLabels = 10  // labels of one entry
	maxRunnerLabel  = 100 // bytes
)

// runsOn decodes the labels of runners by the normal form of an issue's label. An entry
// that cannot be used is a problem: its issues would work on a runner that nobody meant.
func (f forms) runsOn(to *map[string][]string) form {
	one := object{"type": "string", "minLength": 1}
	list := nonemptyListSchema(1)
	list["maxItems"] = maxRunnerLabels
	return form{func(v value) {
		*to = make(map[string][]string)
		f.byLabel(v, "must be a map from labels of issues to labels of runners, such as {gpu: [self-hosted, gpu]}", func(label string, entry value) {
			(*to)[label] = f.runnerLabels(entry)
		})
	}, mapSchema(object{"anyOf": []any{one, list}})}
}

// byLabel calls take for each entry of a map from labels of issues, with the label in its normal
// form. Each label comes once. want says what else v must be.
func (f forms) byLabel(v value, want string, take func(label string, entry value)) {
	node := v.resolved()
	if node.Kind != yaml.MappingNode {
		f.reject(v, "%s", want)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, of := node.Content[i], node.Content[i+1]
		label := tracker.NormalLabel(name.Value)
		entry := value{key: v.key + "." + truncate(strings.TrimSpace(name.Value)), line: name.Line, column: name.Column, node: of}
		switch err := of.Decode(&entry.raw); {
		case err != nil || name.Kind != yaml.ScalarNode || name.Tag == "!!merge" || label == "":
			f.reject(v, "must have labels of issues as its keys; write them out")
		case seen[label]:
			f.reject(entry, "names its label a second time; remove one of the two")
		default:
			seen[label] = true
			take(label, entry)
		}
	}
}

// runnerLabels returns the labels that one entry of agent.runs_on names: one, or a list.
// It is never nil.
func (f forms) runnerLabels(entry value) []string {
	labels := []string{}
	take := func(item value, text string) {
		switch {
		case text == "" || len(text) > maxRunnerLabel || strings.ContainsFunc(text, notInLabel):
			f.reject(item, "must be a label of a runner: 1 to %d letters, digits and signs", maxRunnerLabel)
		default:
			labels = append(labels, text)
		}
	}
	if text, ok := entry.raw.(string); ok {
		take(entry, strings.TrimSpace(text))
		return labels
	}
	items, ok := entry.raw.([]any)
	if !ok || len(items) == 0 || len(items) > maxRunnerLabels {
		f.reject(entry, "must be the label of a runner, or a list of 1 to %d that one runner has, such as [self-hosted, gpu]", maxRunnerLabels)
		return labels
	}
	f.list(entry, take)
	return labels
}

func notInLabel(r rune) bool { return !unicode.IsPrint(r) }
