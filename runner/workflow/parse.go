package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Parse returns the workflow in the content of a file. The path must be absolute:
// relative paths in the file start from its folder.
//
// An error is an [ErrParse], an [ErrNotAMap] or, wrapped, [Problems] with everything
// that is wrong in the values. In the last case the Workflow holds the warnings and
// nothing else: a misspelt key is often why another one is missing.
func Parse(path string, content []byte, env Env) (Workflow, error) {
	fail := func(err error) (Workflow, error) {
		return Workflow{}, fmt.Errorf("workflow %s: %w", path, err)
	}
	if !filepath.IsAbs(path) {
		return fail(fmt.Errorf("%w: the path of the file is relative; give an absolute one", ErrInvalid))
	}
	front, prompt, err := split(content)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", ErrParse, err))
	}
	top, err := decodeFront(front)
	if err != nil {
		return fail(err)
	}
	d := &decoder{env: env, dir: filepath.Dir(path)}
	if d.env.Lookup == nil {
		d.env.Lookup = func(string) (string, bool) { return "", false }
	}
	d.decode(top)
	d.applyDerivedDefaults()
	d.decodeTracker()
	d.warnAboutCredentials(content)
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		_, err := fail(d.problems)
		return Workflow{Path: path, Warnings: d.warnings}, err
	}
	return Workflow{Path: path, Settings: d.settings, Prompt: string(prompt), Warnings: d.warnings}, nil
}

// decoder holds a workflow while it is read: the settings decoded up to now, and
// their problems.
type decoder struct {
	env      Env
	dir      string           // of the workflow file
	written  map[string]value // the keys of the front matter, by full name
	provider map[string]value // the keys of tracker.provider
	settings Settings
	problems Problems
	warnings []string

	credentials []string // the names of the tracker's settings that are credentials
}

// value holds what is written for a key, or its default.
type value struct {
	key  string
	line int        // 0 for a default
	raw  any        // never nil; a string for a default
	node *yaml.Node // nil for a default
}

// decode decodes every key that is written, and the defaults of the others.
func (d *decoder) decode(top map[string]yaml.Node) {
	table := d.table()
	unknown := d.flatten(top, table)
	for _, e := range table {
		if v, ok := d.written[e.Name]; ok {
			e.decode(v)
		} else if e.decodeDefault {
			e.decode(value{key: e.Name, raw: e.Default})
		}
	}
	if len(unknown) > 0 {
		d.warn("unknown keys are ignored: %s", describeUnknown(unknown, table))
	}
}

// flatten fills written and returns, in order, the names that are in no row of the
// table.
func (d *decoder) flatten(top map[string]yaml.Node, table []entry) (unknown []string) {
	names, sections := make(map[string]bool), make(map[string]bool)
	for _, e := range table {
		section, _, _ := strings.Cut(e.Name, ".")
		names[e.Name], sections[section] = true, true
	}
	d.written = make(map[string]value)
	for _, section := range slices.Sorted(maps.Keys(top)) {
		if !sections[section] {
			unknown = append(unknown, section)
			continue
		}
		for _, v := range d.children(section, top[section]) {
			if names[v.key] {
				d.written[v.key] = v
			} else {
				unknown = append(unknown, v.key)
			}
		}
	}
	return unknown
}

// applyDerivedDefaults sets the settings that depend on more than one key.
func (d *decoder) applyDerivedDefaults() {
	s := &d.settings
	s.Policy.Stall = s.Codex.StallTimeout
	if s.Policy.MaxPerTick == 0 {
		s.Policy.MaxPerTick = s.Policy.MaxConcurrent
	}
	if s.Workspace.Root == "" {
		s.Workspace.Root = d.defaultRoot()
	}
}

// children returns the values of the map at key, ordered by name. A null is left
// out: it means the same as an absent key.
func (d *decoder) children(key string, node yaml.Node) []value {
	var nodes map[string]yaml.Node
	if err := node.Decode(&nodes); err != nil {
		d.add(Problem{Key: key, Reason: "must be a map of settings", Line: node.Line})
		return nil
	}
	var values []value
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		child := nodes[name]
		v := value{key: key + "." + name, line: child.Line, node: &child}
		if err := child.Decode(&v.raw); err != nil {
			d.add(Problem{Key: v.key, Reason: "has too many aliases; write them out", Line: v.line})
		} else if v.raw != nil {
			values = append(values, v)
		}
	}
	return values
}

// add records a problem.
func (d *decoder) add(p Problem) { d.problems = append(d.problems, p) }

// reject records a problem of a value that may be shown.
func (d *decoder) reject(v value, reason string, args ...any) {
	d.add(Problem{Key: v.key, Value: display(v.raw), Reason: fmt.Sprintf(reason, args...), Line: v.line})
}

// warn records a warning.
func (d *decoder) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}
