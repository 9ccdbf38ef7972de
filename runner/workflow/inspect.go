package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Inspection is everything that can be said about a workflow file without a network: for
// people who want to see all problems at once. A workflow that is to be used comes from
// [Parse].
type Inspection struct {
	// Workflow is the part of the file that could be understood. Keys with a problem have their
	// defaults, or no value; so have all keys of a front matter that cannot be read.
	Workflow Workflow
	Problems Problems // problems that keep the file from being used, by line
	Warnings Problems // warnings for people, by line; each unknown key by itself

	HasPrompt bool // it is known where the prompt begins
	readable  bool // the front matter could be read
	written   map[string]value
}

// Inspect reads the file and returns its inspection. It fails with [ErrMissingFile] alone, and
// does not change what [Source.Current] returns.
func (s *Source) Inspect() (Inspection, error) {
	path, content, err := read(s.path)
	if err != nil {
		return Inspection{}, err
	}
	return Inspect(path, content, s.env), nil
}

// Inspect returns the settings in the content of a file; see [Parse].
func Inspect(path string, content []byte, env Env) Inspection {
	in := Inspection{Workflow: Workflow{Path: path}}
	if !filepath.IsAbs(path) {
		in.Problems = Problems{{Key: path, Reason: "the path of the file is relative; give an absolute one"}}
		return in
	}
	if env.Lookup == nil {
		env.Lookup = func(string) (string, bool) { return "", false }
	}
	d := newDecoder(env, filepath.Dir(path))
	in.Workflow.Settings = defaults(env, d.dir)
	parts, broken := split(content)
	if broken != nil {
		in.Problems = Problems{*broken}
		return in
	}
	in.HasPrompt, d.front.missing = true, parts.front == nil
	in.Workflow.Prompt, in.Workflow.PromptLine = string(parts.prompt), parts.line
	top, syntax := decodeFront(parts.front)
	d.problems = syntax
	in.readable = top != nil
	if in.readable {
		d.decodeAll(top, content)
		in.Workflow.Settings, in.written = d.settings, d.written
	}
	if len(d.unknown) > 0 {
		in.Workflow.Warnings = append(in.Workflow.Warnings, "unknown keys are ignored: "+describeUnknown(d.unknown))
	}
	for _, w := range d.warnings {
		in.Workflow.Warnings = append(in.Workflow.Warnings, w.Reason)
	}
	byLine := func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) }
	in.Problems, in.Warnings = d.problems, slices.Concat(d.unknown, d.warnings)
	slices.SortStableFunc(in.Problems, byLine)
	slices.SortStableFunc(in.Warnings, byLine)
	return in
}

// defaults returns the settings of a workflow in which nothing is written, without a
// tracker.
func defaults(env Env, dir string) Settings {
	d := newDecoder(env, dir)
	d.decode(&yaml.Node{Kind: yaml.MappingNode})
	d.applyDerivedDefaults()
	return d.settings
}

func (d *decoder) decodeAll(top *yaml.Node, content []byte) {
	sections := keyNodes(top)
	d.repository.on = sections["repository"] != nil || sections["delivery"] != nil
	d.decode(top)
	d.applyDerivedDefaults()
	d.tracker.decode()
	d.repository.decode()
	d.repository.checkReview()
	d.checkSetup()
	d.checkNetworks()
	d.checkStatusPage()
	d.checkEndpoint()
	d.checkHosts()
	d.checkPrices()
	d.warnAboutFetches()
	d.warnAboutOwnFolders()
	d.placeMissing()
	d.warnAboutCredentials(content)
}

// placeMissing gives the problems of keys that are not written a place: the place of the nearest
// section which is. repository.url is missing, too, where only the section delivery is written.
func (d *decoder) placeMissing() {
	for i, p := range d.problems {
		for key := p.Key; p.Line == 0 && key != ""; key = key[:max(0, strings.LastIndexByte(key, '.'))] {
			p.Line, p.Column = d.places[key].line, d.places[key].column
		}
		if p.Line == 0 && p.Key == "repository.url" {
			p.Line, p.Column = d.places["delivery"].line, d.places["delivery"].column
		}
		d.problems[i] = p
	}
}

// Readable reports whether the front matter could be found and read.
func (in Inspection) Readable() bool { return in.readable }

// Sound reports whether the settings could be read, and none of these keys, or of the
// keys in these sections, has a problem. A key that nothing reads is not a problem of the
// others.
func (in Inspection) Sound(keys ...string) bool {
	return in.readable && !slices.ContainsFunc(in.Problems, func(p Problem) bool {
		return !p.Unknown && slices.ContainsFunc(keys, func(key string) bool {
			return p.Key == key || strings.HasPrefix(p.Key, key+".") || strings.HasPrefix(p.Key, key+"[")
		})
	})
}

// Keys returns the number of keys that are written.
func (in Inspection) Keys() int { return len(in.written) }

// Place returns the place where a key is written, zeros if it is not.
func (in Inspection) Place(key string) (line, column int) {
	v := in.written[key]
	return v.line, v.column
}

// err returns the error of [Parse]. Wrong YAML hides wrong values, which it may cause.
func (in Inspection) err() error {
	if len(in.Problems) == 0 {
		return nil
	}
	var syntax []string
	var category error
	for _, p := range in.Problems {
		if errors.Is(p.Category, ErrParse) || errors.Is(p.Category, ErrNotAMap) {
			category = cmp.Or(category, p.Category)
			p.Category = nil
			syntax = append(syntax, p.String())
		}
	}
	if category != nil {
		return fmt.Errorf("%w: %s", category, strings.Join(syntax, "\n  "))
	}
	err := error(in.Problems)
	for _, warning := range in.Workflow.Warnings {
		err = fmt.Errorf("%w\n  warning: %s", err, warning)
	}
	return err
}
