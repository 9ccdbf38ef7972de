package workflow

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
)

// variablePattern is a reference to an environment variablePattern, $NAME or ${NAME}.
var variablePattern = regexp.MustCompile(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})`)

// variableName is the variable that v, as a whole, refers to.
func variableName(v any) (name string, ok bool) {
	text, ok := v.(string)
	if !ok || text == "" || variablePattern.FindString(text) != text {
		return "", false
	}
	return strings.Trim(text, "${}"), true
}

// lookupVariable is the value of an environment variable without outer space, such as the
// line end of a secret read from a file; empty when it is not set.
func (d *decoder) lookupVariable(name string) string {
	text, _ := d.env.Lookup(name)
	return strings.TrimSpace(text)
}

// expandPath is the absolute form of a expandPath: variables and a leading ~ expanded,
// relative to the folder of the workflow file. It is empty when text is blank or
// is as a whole a variable without a value.
func (d *decoder) expandPath(text string) (string, error) {
	if name, ok := variableName(text); ok {
		text = d.lookupVariable(name)
	} else {
		var unset error
		text = variablePattern.ReplaceAllStringFunc(text, func(ref string) string {
			name, _ := variableName(ref)
			value := d.lookupVariable(name)
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

func (d *decoder) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(d.dir, path)
}
