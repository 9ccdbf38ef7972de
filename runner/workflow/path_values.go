package workflow

import (
	"path"
	"strings"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/workspace/git"
)

// globs decodes the patterns of paths.
func (f forms) globs(to *[]string) form {
	return form{func(v value) {
		f.list(v, func(item value, pattern string) {
			if err := delivery.ValidatePattern(pattern); err != nil {
				f.reject(item, "%s", err)
				return
			}
			*to = append(*to, pattern)
		})
	}, listSchema(nonemptySchema())}
}

// paths decodes paths of a checkout that setup keeps.
func (f forms) paths(to *[]string) form {
	return form{func(v value) {
		f.list(v, func(item value, text string) {
			name := path.Clean(text)
			first, _, _ := strings.Cut(name, "/")
			switch {
			case text == "", strings.ContainsAny(name, "*?[\x00\n"):
				f.reject(item, "must be the path of a file or folder, without wildcards; remove setup.keep for all that git ignores")
			case path.IsAbs(name), name == ".", first == "..", strings.HasPrefix(name, "~"):
				f.reject(item, "leads out of the checkout; write a path below its top, such as node_modules")
			case strings.EqualFold(first, ".git"):
				f.reject(item, "is git's own folder; remove it")
			default:
				*to = append(*to, name)
			}
		})
	}, listSchema(nonemptySchema())}
}

// folders decodes the folders of a sparse checkout.
func (f forms) folders(to *[]string) form {
	return form{func(v value) {
		f.list(v, func(item value, folder string) {
			if err := git.CheckPaths([]string{folder}); err != nil {
				f.reject(item, "%s", err)
				return
			}
			*to = append(*to, folder)
		})
		if err := git.CheckPaths(*to); err != nil { // there are too many
			f.reject(v, "%s", err)
		}
	}, listSchema(nonemptySchema())}
}

// branch decodes the name of a branch.
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

// denyPaths decodes paths that the agent may not read. With worker hosts, each host expands them.
func (d *decoder) denyPaths(to *[]string) form {
	return form{func(v value) {
		expand := d.expandPath
		if d.hasHosts() {
			expand = pathOnHosts
		}
		d.list(v, func(item value, text string) {
			path, err := expand(text)
			switch {
			case err != nil:
				d.reject(item, "%s", err)
			case path == "":
				d.reject(item, "is empty; name a file or a folder, or remove it")
			case path == "/":
				d.reject(item, "is the whole disk, without which no program runs; name the folders")
			case strings.ContainsAny(path, "*?[]"):
				d.reject(item, "looks like a pattern; name the files and folders themselves")
			default:
				*to = append(*to, path)
			}
		})
	}, listSchema(nonemptySchema())}
}
