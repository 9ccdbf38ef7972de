package workflow

import (
	"errors"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/worker/ssh"
)

// Worker describes the hosts on which sessions run in place of this machine.
type Worker struct {
	Hosts   []string // as ssh takes them; empty if sessions run on this machine
	PerHost int      // sessions at once on each of them; 0: no limit
	// Root is workspace.root as it is written, which each host expands; empty for the default of the
	// host. It is set with Hosts alone, and then Settings.Workspace.Root is empty.
	Root string
}

const maxHosts = 200

func (f forms) workerHosts(to *[]string) form {
	list := f.items(to, func(text string) (string, error) {
		host, err := ssh.Parse(text)
		if err == nil && slices.Contains(*to, host.String()) {
			err = errors.New("names its host a second time; remove one of the two")
		}
		return host.String(), err
	})
	list.schema["maxItems"], list.schema["uniqueItems"] = maxHosts, true
	return form{func(v value) {
		if list.decode(v); len(*to) > maxHosts {
			f.reject(v, "must have at most %d hosts", maxHosts)
		}
	}, list.schema}
}

// hasHosts reports whether the file names worker hosts, before they are decoded.
func (d *decoder) hasHosts() bool {
	list, isList := d.written["worker.ssh_hosts"].raw.([]any)
	return isList && len(list) > 0
}

// pathOnHosts returns a path as it is written, which each worker host expands.
func pathOnHosts(text string) (string, error) {
	path := strings.TrimSpace(text)
	switch {
	case path == "":
		return "", nil
	case strings.Contains(path, "\x00"):
		return "", errors.New("must not contain a NUL character")
	case strings.HasPrefix(path, "~") && path != "~" && !strings.HasPrefix(path, "~/"):
		return "", errors.New("begins with ~ and a name; only ~ and ~/ are expanded, write the folder itself")
	case !strings.ContainsRune("/~$", rune(path[0])):
		return "", errors.New("is relative, and the hosts of worker.ssh_hosts do not have the folder of this file; write a path that begins with /, ~/ or $NAME")
	}
	return path, nil
}

func (d *decoder) rootOnHosts(v value, text string) {
	root, err := pathOnHosts(text)
	switch {
	case err != nil:
		d.reject(v, "%s", err)
	case root == "":
		d.warn(v, "%s is %s, which is empty: the default is used instead", v.key, display(text))
	}
	d.settings.Worker.Root = root
}

// withoutHosts are the keys that cannot be used with worker.ssh_hosts, and why.
var withoutHosts = []struct{ key, why string }{
	{"codex.endpoint", "each session starts an app-server on its host"},
	{"repository.lfs", "the objects of Git LFS do not go to other machines"},
	{"repository.submodules", "submodules do not go to other machines"},
}

// checkHosts records the problems of worker.ssh_hosts that depend on other keys.
func (d *decoder) checkHosts() {
	w := d.settings.Worker
	limit, limited := d.written["worker.max_concurrent_agents_per_host"]
	if len(w.Hosts) == 0 {
		if limited && !d.hasHosts() {
			d.warn(limit, "%s has no effect without worker.ssh_hosts; remove it", limit.key)
		}
		return
	}
	for _, other := range withoutHosts {
		if v, written := d.written[other.key]; written && v.raw != false {
			d.reject(v, "cannot be used with worker.ssh_hosts: %s; remove one of the two", other.why)
		}
	}
}
