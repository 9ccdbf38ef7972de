package workflow

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
)

// variable is a reference to an environment variable, $NAME or ${NAME}.
var variable = regexp.MustCompile(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})`)

// reference is the variable that v, as a whole, refers to.
func reference(v any) (name string, ok bool) {
	text, ok := v.(string)
	if !ok || text == "" || variable.FindString(text) != text {
		return "", false
	}
	return strings.Trim(text, "${}"), true
}

// lookup is the value of an environment variable without outer space, such as the
// line end of a secret read from a file; empty when it is not set.
func (d *draft) lookup(name string) string {
	text, _ := d.env.Lookup(name)
	return strings.TrimSpace(text)
}

// path is the absolute form of a path: variables and a leading ~ expanded,
// relative to the folder of the workflow file. It is empty when text is blank or
// is as a whole a variable without a value.
func (d *draft) path(text string) (string, error) {
	if name, ok := reference(text); ok {
		text = d.lookup(name)
	} else {
		var unset error
		text = variable.ReplaceAllStringFunc(text, func(ref string) string {
			name, _ := reference(ref)
			value := d.lookup(name)
			if value == "" {
				unset = errors.New("needs the environment variable " + name + ", which is not set or empty; set it")
			}
			return value
		})
		if unset != nil {
			return "", unset
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	if strings.Contains(text, "\x00") {
		return "", errors.New("must not contain a NUL character")
	}
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", errors.New("begins with ~ and a name; only ~ and ~/ are expanded, write the folder itself")
		}
		if d.env.Home == "" {
			return "", errors.New("needs a home folder, and none is known; write the folder itself")
		}
		text = d.env.Home + rest
	}
	return d.absolute(text), nil
}

func (d *draft) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(d.dir, path)
}
