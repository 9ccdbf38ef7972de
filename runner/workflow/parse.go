package workflow

import (
	"bytes"
	"fmt"
	"runtime"
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

// decoder holds a workflow while it is read: the settings decoded up to now. Its parts are
// the findings, the surroundings of the file, the forms of values, the keys of the front
// matter, and the sections whose keys depend on each other.
type decoder struct {
	forms
	*front
	tracker    *trackerSection
	repository *repositorySection
	settings   Settings
}

func newDecoder(env Env, dir string) *decoder {
	found := new(findings)
	f := forms{found, surroundings{env, dir}}
	d := &decoder{forms: f, front: &front{found: found}}
	d.tracker = &trackerSection{forms: f, front: d.front, tracker: &d.settings.Tracker, policy: &d.settings.Policy}
	d.repository = &repositorySection{forms: f, front: d.front, tracker: d.tracker, settings: &d.settings}
	return d
}

// decode decodes every key that is written, and the defaults of the others and of those
// with a problem.
func (d *decoder) decode(top *yaml.Node) {
	table := d.table()
	d.flatten(top, table, d.env.Trackers)
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

// applyDerivedDefaults sets the settings that depend on more than one key.
func (d *decoder) applyDerivedDefaults() {
	s := &d.settings
	s.Policy.Stall = s.Codex.StallTimeout
	s.Policy.Hosts, s.Policy.PerHost = s.Worker.Hosts, s.Worker.PerHost
	d.completeModels()
	if s.Workspace.Root == "" && !d.hasHosts() {
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
	if _, written := d.written["codex.images"]; !written {
		s.Images = true
	}
	if _, written := d.written["codex.max_memory_mb"]; !written {
		s.Workspace.Limits.Memory = workspace.DefaultMemory
	}
}

// People who write the file may also write shell commands into it, so these limits only catch a
// file that is not a workflow. The front matter has its own, because yaml.v3 compares the keys
// of a map in pairs.
const (
	maxFile  = 1 << 20  // bytes of the file
	maxFront = 64 << 10 // bytes of the front matter
)

// file is a workflow file in its two parts.
type file struct {
	front  []byte // the front matter; the delimiters are empty lines, so that its line numbers are the file's
	prompt []byte // trimmed
	line   int    // line of the file on which the prompt begins
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
