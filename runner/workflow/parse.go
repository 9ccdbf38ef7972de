package workflow

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/workspace"
)

// Parse returns the workflow in the content of a file. The path must be absolute:
// relative paths in the file start from its folder.
//
// An error is an [ErrParse], an [ErrNotAMap] or, wrapped, [Problems] with everything
// that is wrong in the values. The last one has the warnings in its text: a misspelled
// key is often why another one is missing.
func Parse(path string, content []byte, env Env) (Workflow, error) {
	in := Inspect(path, content, env)
	if err := in.err(); err != nil {
		return Workflow{}, fmt.Errorf("workflow %s: %w", path, err)
	}
	return in.Workflow, nil
}

// decoder holds a workflow while it is read: the settings decoded up to now, and
// their problems.
type decoder struct {
	env      Env
	dir      string           // of the workflow file
	written  map[string]value // the keys of the front matter, by full name
	provider map[string]value // the keys of tracker.provider
	places   map[string]value // the keys and sections that are in the file, also those without a value
	settings Settings
	problems Problems
	warnings []Problem
	unknown  []Problem // keys that are in no row of the table

	credentials []string // the names of the tracker's settings that are credentials

	// repositoryOn says that a section repository or delivery is written, even with
	// nothing in it.
	repositoryOn bool
	noFront      bool // the file has no front matter
	repository   Repository
}

// value holds what is written for a key, or its default.
type value struct {
	key    string
	line   int        // of the key, or of the item of a list; 0 for a default
	column int        // on that line
	raw    any        // never nil; a string for a default
	node   *yaml.Node // nil for a default
}

// item returns the node of an item of a list, nil for one of a default.
func (v value) item(i int) *yaml.Node {
	list := v.node
	if list != nil && list.Kind == yaml.AliasNode {
		list = list.Alias
	}
	if list == nil || i >= len(list.Content) {
		return nil
	}
	return list.Content[i]
}

// decode decodes every key that is written, and the defaults of the others and of those
// with a problem.
func (d *decoder) decode(top *yaml.Node) {
	table := d.table()
	d.flatten(top, table)
	for _, e := range table {
		before := len(d.problems)
		v, written := d.written[e.Name]
		if written {
			e.decode(v)
		}
		if e.decodeDefault && (!written || len(d.problems) > before) {
			e.decode(value{key: e.Name, raw: e.Default})
		}
	}
}

// flatten fills written and unknown from the front matter.
func (d *decoder) flatten(top *yaml.Node, table []entry) {
	names, sections := make(map[string]bool), make(map[string]bool)
	for _, e := range table {
		section, _, _ := strings.Cut(e.Name, ".")
		names[e.Name], sections[section] = true, true
	}
	d.written, d.places = make(map[string]value), make(map[string]value)
	note := func(v value) {
		d.unknown = append(d.unknown, Problem{Key: v.key, Line: v.line, Column: v.column, Reason: "is unknown and ignored" + d.suggestion(v.key, table)})
	}
	for _, section := range d.entries(value{node: top}) {
		if section.key == schemaKey {
			continue
		}
		if !sections[section.key] {
			note(section)
			continue
		}
		for _, v := range d.children(section) {
			if names[v.key] {
				d.written[v.key] = v
			} else {
				note(v)
			}
		}
	}
}

// applyDerivedDefaults sets the settings that depend on more than one key.
func (d *decoder) applyDerivedDefaults() {
	s := &d.settings
	s.Policy.Stall = s.Codex.StallTimeout
	if s.Workspace.Root == "" {
		s.Workspace.Root = d.defaultRoot()
	}
	if v, written := d.written["sandbox.loopback"]; !written {
		s.Loopback = runtime.GOOS == "linux" // the one system that gives each command a network of its own
	} else if !s.Loopback {
		d.warn(v, "%s is false, so no command of the agent, of a hook in the sandbox or of delivery.verify can open a socket: tests that start a server, a database or a browser fail; remove the key", v.key)
	}
	if v := d.written["sandbox.unix_sockets"]; s.UnixSockets && !s.Loopback {
		d.reject(v, "needs sandbox.loopback, which is false or not for this system; remove one of the two keys")
	}
	if _, written := d.written["codex.max_memory_mb"]; !written {
		s.Workspace.Limits.Memory = workspace.DefaultMemory
	}
}

// children returns the values of a map, ordered by name. A null is left out: it means the
// same as an absent key.
func (d *decoder) children(of value) []value {
	var values []value
	for _, v := range d.entries(of) {
		if err := v.node.Decode(&v.raw); err != nil {
			d.add(Problem{Key: v.key, Reason: "has too many aliases; write them out", Line: v.line, Column: v.column})
		} else if v.raw != nil {
			values = append(values, v)
		}
	}
	return values
}

// entries returns the entries of a map, ordered by name, without their raw values.
func (d *decoder) entries(of value) []value {
	var nodes map[string]yaml.Node
	if err := of.node.Decode(&nodes); err != nil {
		d.add(Problem{Key: of.key, Reason: "must be a map of settings", Line: of.line, Column: of.column})
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
		d.places[v.key] = v
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

// add records a problem.
func (d *decoder) add(p Problem) { d.problems = append(d.problems, p) }

// reject records a problem of a value that may be shown.
func (d *decoder) reject(v value, reason string, args ...any) {
	d.add(Problem{Key: v.key, Value: display(v.raw), Reason: fmt.Sprintf(reason, args...), Line: v.line, Column: v.column})
}

// warn records a warning about a value, which is zero for one about none.
func (d *decoder) warn(v value, format string, args ...any) {
	d.warnings = append(d.warnings, Problem{Reason: fmt.Sprintf(format, args...), Line: v.line, Column: v.column})
}

// Those who write the file may also write shell commands into it, so these limits
// only catch a file that is not a workflow. The front matter has its own, because
// yaml.v3 compares the keys of a map in pairs.
const (
	maxFile  = 1 << 20  // bytes of the file
	maxFront = 64 << 10 // bytes of the front matter
)

// file is a workflow file in its two parts.
type file struct {
	front  []byte // the front matter; the delimiters are empty lines, so that its line numbers are the file's
	prompt []byte // trimmed
	line   int    // of the file, on which the prompt begins
}

// split returns the parts of a file (SPEC §5.2). A problem means that it is not known
// where one ends and the other begins.
func split(content []byte) (file, *Problem) {
	broken := func(line int, format string, args ...any) (file, *Problem) {
		return file{}, &Problem{Line: line, Reason: fmt.Sprintf(format, args...), Category: ErrParse}
	}
	if len(content) > maxFile {
		return broken(0, "larger than %d bytes; shorten it", maxFile)
	}
	if !utf8.Valid(content) {
		return broken(1+bytes.Count(content[:invalidByte(content)], []byte("\n")), "not valid UTF-8; save it as UTF-8")
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	if !bytes.HasPrefix(content, []byte("---")) {
		return newFile(nil, content, 1), nil
	}
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	if !isDelimiter(first) {
		return broken(1, `the front matter must begin with a line of exactly "---"`)
	}
	front := []byte("\n")
	for number := 2; len(rest) > 0; number++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if isDelimiter(line) {
			return newFile(front, rest, number+1), nil
		}
		if len(front)+len(line) > maxFront {
			return broken(0, "the front matter is larger than %d bytes; shorten it, or close it with a line of exactly \"---\"", maxFront)
		}
		front = append(append(front, line...), '\n')
	}
	return broken(1, `the front matter never ends; close it with a line of exactly "---"`)
}

// newFile returns the file with a body that begins on a line.
func newFile(front, body []byte, line int) file {
	prompt := bytes.TrimSpace(body)
	if len(prompt) > 0 {
		line += bytes.Count(body[:bytes.Index(body, prompt)], []byte("\n"))
	}
	return file{front, prompt, line}
}

// invalidByte returns the index of the first byte that is not UTF-8.
func invalidByte(content []byte) int {
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(content)
}

// isDelimiter reports whether a line opens or closes the front matter.
func isDelimiter(line []byte) bool {
	return string(bytes.TrimRight(line, " \t")) == "---"
}
