package room

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// With sandbox.unix_sockets the agent reaches each Unix socket of this machine whose path it
// can read. So the known places of sockets are denied: socketPlaces and the folders for
// temporary files as a whole, because sockets come and go there, and the sockets that the
// kernel lists.
//
// The search is made once, when a session starts. It does not find the sockets of containers,
// and a socket that is made later outside of the denied folders can be reached. The rule for a
// single socket ends for a running command when the socket is made anew: therefore its whole
// folder is denied if it holds sockets alone.

// socketPlaces lists where programs have sockets that obey whoever reaches them, in the form of
// credentialPaths, which has /run and the folders of SSH, GnuPG and Docker.
var socketPlaces = []string{
	"/tmp", "/var/tmp", "$TMPDIR", "$XDG_RUNTIME_DIR", "$SSH_AUTH_SOCK", "$TMUX_TMPDIR",
	"/nix/var/nix/daemon-socket", "/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd", "/var/spool/postfix", "/var/lib/kubelet",
	"~/.1password", "~/.bitwarden-ssh-agent.sock", "~/.emacs.d/server", "~/.local/state/watchman",
	"~/.colima", "~/.lima", "~/.rd", "~/.orbstack", "~/.local/share/containers/podman",
}

// hostSockets returns the paths to deny so that the agent reaches no socket of this machine,
// as they are found in the folder /proc.
func hostSockets(proc string, lookup func(name string) (string, bool)) ([]string, error) {
	names, err := os.ReadFile(filepath.Join(proc, "net/unix"))
	if err != nil {
		return nil, fmt.Errorf("look for the Unix sockets of this machine: %w: remove sandbox.unix_sockets", err)
	}
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	var paths []string
	for _, place := range socketPlaces {
		paths = append(paths, expand(place, lookup)...)
	}
	mounts := readMounts(proc)
	for _, name := range boundNames(names) {
		for _, path := range absolute(proc, name) {
			for _, alias := range mounts.aliases(path) {
				if isSocket(alias) { // and not one that other programs see in their own mounts
					paths = append(paths, socketFolder(alias))
				}
			}
		}
	}
	for _, m := range mounts {
		paths = append(paths, socketsIn(m.at)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// boundNames returns the names of sockets in the text of /proc/net/unix that are paths.
func boundNames(list []byte) (names []string) {
	for line := range bytes.Lines(list) {
		const before = 7 // columns, which are separated by blanks
		rest := string(bytes.TrimSuffix(line, []byte("\n")))
		for range before {
			_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		}
		if rest != "" && rest[0] != '@' && rest != "Path" { // @ begins an abstract name
			names = append(names, rest)
		}
	}
	return names
}

// absolute returns the paths of the sockets that a name may stand for. A program may have given
// a name relative to its working directory, so it is looked for in the directories of all
// programs.
func absolute(proc, name string) (paths []string) {
	if filepath.IsAbs(name) {
		return []string{filepath.Clean(name)}
	}
	folders, _ := filepath.Glob(filepath.Join(proc, "[0-9]*/cwd")) // the pattern is well formed
	for _, folder := range folders {
		folder, err := os.Readlink(folder)
		if err == nil {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return paths
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

// socketFolder returns the path to deny for a socket: its folder if that holds sockets alone.
func socketFolder(socket string) string {
	folder := filepath.Dir(socket)
	entries, err := os.ReadDir(folder)
	other := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Type() != fs.ModeSocket })
	if err != nil || other || len(entries) == 0 {
		return socket
	}
	return folder
}

// socketsIn returns the path of a mount if it is a socket, and else the sockets directly in it:
// containers have sockets of the machine there, which the kernel does not list to them.
func socketsIn(path string) (sockets []string) {
	if isSocket(path) {
		return []string{path}
	}
	entries, _ := os.ReadDir(path) // a mount that is no folder, or cannot be read, has none to see
	for _, e := range entries {
		if e.Type() == fs.ModeSocket {
			sockets = append(sockets, filepath.Join(path, e.Name()))
		}
	}
	return sockets
}

// mount is a part of a file system, and where it is mounted.
type mount struct{ device, root, at string }

// mounts holds the mounts of this program, as /proc/self/mountinfo lists them: one that hides
// another comes later.
type mounts []mount

// readMounts returns the mounts of this program, without those that hold no files.
func readMounts(proc string) (all mounts) {
	text, _ := os.ReadFile(filepath.Join(proc, "self/mountinfo")) // an empty one gives paths no aliases
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		at := unescapeMount.Replace(fields[4])
		if !inside(at, "/proc") && !inside(at, "/sys") && !inside(at, "/dev") {
			all = append(all, mount{fields[2], unescapeMount.Replace(fields[3]), at})
		}
	}
	return all
}

// unescapeMount undoes how mountinfo writes a path.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// aliases returns all paths at which the file at a path can be seen.
func (all mounts) aliases(path string) []string {
	paths := []string{path}
	var of mount
	for _, m := range all {
		if inside(path, m.at) && len(m.at) >= len(of.at) {
			of = m
		}
	}
	if of.at == "" {
		return paths
	}
	below := filepath.Join(of.root, strings.TrimPrefix(path, of.at))
	for _, m := range all {
		if alias := filepath.Join(m.at, strings.TrimPrefix(below, m.root)); m.device == of.device && inside(below, m.root) && alias != path {
			paths = append(paths, alias)
		}
	}
	return paths
}

// Sockets holds how the Unix sockets of this machine are kept from the agent; zero if it may
// open none.
type Sockets struct {
	Denied []string // paths
	Own    string   // path of a socket of this program, with which package codex tries the sandbox
	stop   func()   // closes Own; nil for none
}

// Find finds the sockets of this machine, including a socket of this program in a temporary
// folder, which the first call makes.
func (s *Sockets) Find(lookup func(name string) (string, bool)) (err error) {
	if s.stop == nil {
		err = s.listen()
	}
	if err == nil {
		s.Denied, err = hostSockets("/proc", lookup)
	}
	return err
}

func (s *Sockets) listen() error {
	folder, err := os.MkdirTemp("/tmp", "symphony-socket-") // TMPDIR may be too long for a socket
	if err != nil {
		return fmt.Errorf("try the sandbox's Unix sockets: %w: make /tmp writable, or remove sandbox.unix_sockets", err)
	}
	own := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", own)
	if err != nil {
		os.RemoveAll(folder)
		return fmt.Errorf("try the sandbox's Unix sockets: %w: remove sandbox.unix_sockets", err)
	}
	s.Own = own
	s.stop = func() {
		listener.Close()
		os.RemoveAll(folder)
	}
	return nil
}

// Close closes the socket of this program.
func (s *Sockets) Close() {
	if s.stop != nil {
		s.stop()
	}
}
