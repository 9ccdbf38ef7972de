package workflow

import (
	"errors"
	"path"
	"strings"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/workspace/git"
)

// parseGlob checks a pattern of paths.
func parseGlob(pattern string) (string, error) { return pattern, delivery.ValidatePattern(pattern) }

// parseKept returns a path of a checkout that setup keeps, in its shortest form.
func parseKept(text string) (string, error) {
	name := path.Clean(text)
	first, _, _ := strings.Cut(name, "/")
	switch {
	case text == "", strings.ContainsAny(name, "*?[\x00\n"):
		return "", errors.New("must be the path of a file or folder, without wildcards; remove setup.keep for all that git ignores")
	case path.IsAbs(name), name == ".", first == "..", strings.HasPrefix(name, "~"):
		return "", errors.New("leads out of the checkout; write a path below its top, such as node_modules")
	case strings.EqualFold(first, ".git"):
		return "", errors.New("is git's own folder; remove it")
	}
	return name, nil
}

func (f forms) folders(to *[]string) form {
	list := f.items(to, func(folder string) (string, error) { return folder, git.CheckPaths([]string{folder}) })
	return form{func(v value) {
		list.decode(v)
		if err := git.CheckPaths(*to); err != nil { // there are too many
			f.reject(v, "%s", err)
		}
	}, list.schema}
}

func (f forms) branch(to *git.Branch) form {
	return form{func(v value) {
		name, ok := v.raw.(string)
		if !ok {
			f.reject(v, mustBeText)
			return
		}
		b, err := git.ParseBranch(strings.TrimSpace(name))
		if err != nil {
			f.reject(v, "%s", err)
			return
		}
		*to = b
	}, nonemptySchema()}
}

// hosts decodes a list of hosts that commands in the sandbox reach, by names of sets and of
// hosts. The result is sorted, and has each host once.
func (f forms) hosts(to *[]string) form {
	return form{func(v value) {
		var words []string
		sound := true
		f.list(v, func(item value, word string) {
			if _, err := hosts.Expand([]string{word}); err != nil {
				f.reject(item, "%s", hosts.Reason(word))
				sound = false
				return
			}
			words = append(words, word)
		})
		if !sound {
			return
		}
		found, err := hosts.Expand(words)
		if err != nil {
			f.reject(v, "%s", err)
			return
		}
		*to = found
	}, listSchema(nonemptySchema())}
}

// deniedPath returns a path that the agent may not read. With worker hosts, each host expands it.
func (d *decoder) deniedPath(text string) (string, error) {
	expand := d.expandPath
	if d.hasHosts() {
		expand = pathOnHosts
	}
	path, err := expand(text)
	switch {
	case err != nil:
		return "", err
	case path == "":
		return "", errors.New("is empty; name a file or a folder, or remove it")
	case path == "/":
		return "", errors.New("is the whole disk, without which no program runs; name the folders")
	case strings.ContainsAny(path, "*?[]"):
		return "", errors.New("looks like a pattern; name the files and folders themselves")
	}
	return path, nil
}
