package workflow

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/tracker"
)

// front holds the keys of the front matter.
type front struct {
	written map[string]value // the keys of the table, by full name
	places  map[string]value // all keys and sections, also those without a value
	missing bool             // the file has no front matter
	found   *findings
}

// value holds the written value of a key, or its default.
type value struct {
	key    string
	line   int        // line of the key, or of the item of a list; 0 for a default
	column int        // column of that line
	raw    any        // never nil; a string for a default
	node   *yaml.Node // nil for a default
}

// resolved returns the node of the value, or the one that its alias stands for; nil for none.
func (v value) resolved() *yaml.Node {
	if v.node != nil && v.node.Kind == yaml.AliasNode {
		return v.node.Alias
	}
	return v.node
}

// item returns the node of an item of a list, nil for an item of a default.
func (v value) item(i int) *yaml.Node {
	list := v.resolved()
	if list == nil || i >= len(list.Content) {
		return nil
	}
	return list.Content[i]
}

// flatten fills written and unknown from the front matter.
func (f *front) flatten(top *yaml.Node, table []entry, trackers []tracker.Kind) {
	names, sections := make(map[string]bool), make(map[string]bool)
	for _, e := range table {
		section, _, isSection := strings.Cut(e.Name, ".")
		names[e.Name], sections[section] = true, isSection
	}
	f.written, f.places = make(map[string]value), make(map[string]value)
	note := func(v value) {
		f.found.unknown = append(f.found.unknown, Problem{Key: v.key, Line: v.line, Column: v.column, Reason: "is unknown and ignored" + suggestion(v.key, table, trackers)})
	}
	for _, section := range f.entries(value{node: top}) {
		if section.key == schemaKey {
			continue
		}
		isSection, known := sections[section.key]
		if !known {
			note(section)
			continue
		}
		if !isSection { // it is a key itself
			if f.read(&section) {
				f.written[section.key] = section
			}
			continue
		}
		for _, v := range f.children(section) {
			if names[v.key] {
				f.written[v.key] = v
			} else {
				note(v)
			}
		}
	}
}

// children returns the values of a map, ordered by name. A null is left out: it means the
// same as an absent key.
func (f *front) children(of value) []value {
	var values []value
	for _, v := range f.entries(of) {
		if f.read(&v) {
			values = append(values, v)
		}
	}
	return values
}

// read reads a value that is written, and reports whether there is one.
func (f *front) read(v *value) bool {
	if err := v.node.Decode(&v.raw); err != nil {
		f.found.refuse(*v, "has too many aliases; write them out")
		return false
	}
	return v.raw != nil
}

// entries returns the entries of a map, ordered by name, without their raw values.
func (f *front) entries(of value) []value {
	var nodes map[string]yaml.Node
	if err := of.node.Decode(&nodes); err != nil {
		f.found.refuse(of, "must be a map of settings")
		return nil
	}
	keys := keyNodes(of.node)
	var values []value
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[name]
		v := value{key: strings.TrimPrefix(of.key+"."+name, "."), line: node.Line, column: node.Column, node: &node}
		if key := keys[name]; key != nil {
			v.line, v.column = key.Line, key.Column
		}
		f.places[v.key] = v
		values = append(values, v)
	}
	return values
}

// keyNodes returns the keys of a map, without those that are merged into it.
func keyNodes(n *yaml.Node) map[string]*yaml.Node {
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	keys := make(map[string]*yaml.Node)
	if n.Kind != yaml.MappingNode { // an alias shows its map elsewhere
		return keys
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys[n.Content[i].Value] = n.Content[i]
	}
	return keys
}
