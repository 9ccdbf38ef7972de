package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The file belongs to whoever may also write shell commands into it, so these limits
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
