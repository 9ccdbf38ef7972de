package workflow

import (
	"path"
	"slices"
	"strings"
)

// paths decodes paths of a checkout that setup keeps.
func (d *decoder) paths(to *[]string) form {
	return form{func(v value) {
		d.list(v, func(item value, text string) {
			name := path.Clean(text)
			first, _, _ := strings.Cut(name, "/")
			switch {
			case text == "", strings.ContainsAny(name, "*?[\x00\n"):
				d.reject(item, "must be the path of a file or folder, without wildcards; remove setup.keep for all that git ignores")
			case path.IsAbs(name), name == ".", first == "..", strings.HasPrefix(name, "~"):
				d.reject(item, "leads out of the checkout; write a path below its top, such as node_modules")
			case strings.EqualFold(first, ".git"):
				d.reject(item, "is git's own folder; remove it")
			default:
				*to = append(*to, name)
			}
		})
	}, listSchema(nonemptySchema())}
}

// checkSetup records the problems of the section setup that depend on other keys.
func (d *decoder) checkSetup() {
	s := &d.settings
	at, written := d.places["setup"]
	if !written {
		return
	}
	for _, name := range s.Setup.Env {
		if slices.Contains(s.Codex.Env, name) {
			d.reject(d.written["setup.env"], "it names %s, which codex.env gives to the agent as well; remove it from one of them", name)
		}
	}
	switch {
	case s.Setup.Run == "":
		d.warn(at, "setup.run is missing, so nothing is prepared; write the script, such as npm ci")
	case s.Setup.Run != "" && !d.repositoryOn:
		d.reject(d.written["setup.run"], "prepares a checkout, and there is none: write the section repository, or remove setup")
	}
}
