package workflow

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Parse returns the workflow in the content of a file. The path must be absolute:
// relative paths in the file start from its folder.
//
// An error is an [ErrParse], an [ErrNotAMap] or, wrapped, [Problems] with everything
// that is wrong in the values. The last one has the warnings in its text: a misspelt
// key is often why another one is missing.
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
	_, hasRepository := top["repository"]
	_, hasDelivery := top["delivery"]
	d.repositoryOn = hasRepository || hasDelivery
	d.decode(top)
	d.applyDerivedDefaults()
	d.decodeTracker()
	d.decodeRepository()
	d.warnAboutCredentials(content)
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		err := error(d.problems)
		for _, warning := range d.warnings {
			err = fmt.Errorf("%w\n  warning: %s", err, warning)
		}
		return fail(err)
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

	// repositoryOn says that a section repository or delivery is written, even with
	// nothing in it.
	repositoryOn bool
	repository   Repository
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
		if section == schemaKey {
			continue
		}
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

// Those who write the file may also write shell commands into it, so these limits
// only catch a file that is not a workflow. The front matter has its own, because
// yaml.v3 compares the keys of a map in pairs.
const (
	maxFile  = 1 << 20  // bytes of the file
	maxFront = 64 << 10 // bytes of the front matter
)

// split returns the front matter and the prompt of a file (SPEC §5.2). The delimiters
// become empty lines, so that line numbers of the front matter are the file's.
func split(content []byte) (front, prompt []byte, err error) {
	if len(content) > maxFile {
		return nil, nil, fmt.Errorf("larger than %d bytes; shorten it", maxFile)
	}
	if !utf8.Valid(content) {
		return nil, nil, errors.New("not valid UTF-8; save it as UTF-8")
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	if !bytes.HasPrefix(content, []byte("---")) {
		return nil, bytes.TrimSpace(content), nil
	}
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	if !isDelimiter(first) {
		return nil, nil, errors.New(`line 1: the front matter must begin with a line of exactly "---"`)
	}
	front = []byte("\n")
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if isDelimiter(line) {
			return front, bytes.TrimSpace(rest), nil
		}
		if len(front)+len(line) > maxFront {
			return nil, nil, fmt.Errorf("the front matter is larger than %d bytes; shorten it, or close it with a line of exactly \"---\"", maxFront)
		}
		front = append(append(front, line...), '\n')
	}
	return nil, nil, errors.New(`line 1: the front matter never ends; close it with a line of exactly "---"`)
}

// isDelimiter reports whether a line opens or closes the front matter.
func isDelimiter(line []byte) bool {
	return string(bytes.TrimRight(line, " \t")) == "---"
}

// decodeFront returns the top-level values of the front matter. After it, only the
// values themselves can be wrong.
func decodeFront(front []byte) (map[string]yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(front))
	var doc, next yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing but comments
		return nil, nil
	case err != nil:
		return nil, syntaxError(err)
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		line := "" // unknown when the second document does not parse
		if err == nil {
			line = fmt.Sprintf("line %d: ", next.Line)
		}
		return nil, fmt.Errorf("%w: %sanother YAML document begins after the first; keep only one", ErrParse, line)
	}
	if err := rejectTags(&doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParse, err)
	}
	if root := doc.Content[0]; root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%w: line %d: write settings as `key: value`", ErrNotAMap, root.Line)
	}
	var whole any // finds duplicate keys at any depth, and aliases that multiply
	if err := doc.Decode(&whole); err != nil {
		return nil, fmt.Errorf("%w: %w; correct the front matter", ErrParse, err)
	}
	var top map[string]yaml.Node
	if err := doc.Decode(&top); err != nil {
		return nil, fmt.Errorf("%w: %w; correct the front matter", ErrParse, err)
	}
	return top, nil
}

// syntaxError returns the error for YAML that cannot be parsed. The line of yaml.v3
// may be the one at which the enclosing block begins, or the one before that.
func syntaxError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(text, "line ") {
		text = "near " + text
	}
	return fmt.Errorf("%w: %s; correct the YAML there or below", ErrParse, text)
}

// rejectTags returns an error if a node has an explicit tag. yaml.v3 would drop the
// tag without a word: `!secret name` is not the secret.
func rejectTags(n *yaml.Node) error {
	if n.Style&yaml.TaggedStyle != 0 {
		return fmt.Errorf("line %d: the tag %s is not supported; remove it and quote the value if it is text", n.Line, truncate(n.Tag))
	}
	for _, child := range n.Content {
		if err := rejectTags(child); err != nil {
			return err
		}
	}
	return nil
}
