package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// modulesFile lists the submodules of a repository, in git's configuration format.
const modulesFile = ".gitmodules"

// Bounds of a list of submodules, in bytes.
const (
	maxModulesFile = 64 << 10
	maxModuleName  = 200
)

// moduleEntry is a submodule as .gitmodules names it. Nothing in it has been compared
// with a tree.
type moduleEntry struct{ name, path, address string }

// readModules returns the submodules that a .gitmodules names. git only reads the blob:
// it starts nothing that stands in it, and includes no other file.
func (m *moduleStores) readModules(ctx context.Context, blob ObjectID) ([]moduleEntry, error) {
	out, err := m.host.run(ctx, m.confined("config", "--blob", blob.String(), "--no-includes", "-z", "--list"))
	if err != nil {
		return nil, fmt.Errorf("%w: git cannot read it: %w", ErrUnsupported, err)
	}
	return parseModules(out)
}

// parseModules parses git's list of a .gitmodules. It leaves out a submodule that is set not to
// be fetched, and an entry without a path.
func parseModules(list []byte) ([]moduleEntry, error) {
	settings := map[string]map[string]string{} // keys are the name of a submodule and of a variable
	var names []string                         // names in the order of the file
	for item := range bytes.SplitSeq(list, []byte{0}) {
		key, value, _ := strings.Cut(string(item), "\n")
		rest, isModule := strings.CutPrefix(key, "submodule.")
		dot := strings.LastIndexByte(rest, '.')
		if !isModule || dot < 0 {
			continue
		}
		name, variable := rest[:dot], rest[dot+1:]
		if settings[name] == nil {
			settings[name] = map[string]string{}
			names = append(names, name)
		}
		if _, twice := settings[name][variable]; twice && (variable == "path" || variable == "url") {
			return nil, fmt.Errorf("%w: the submodule %s has two values of %s", ErrUnsupported, quoteName(name), variable)
		}
		settings[name][variable] = value
	}
	var entries []moduleEntry
	for _, name := range names {
		e := moduleEntry{name, settings[name]["path"], settings[name]["url"]}
		if e.path == "" || settings[name]["update"] == "none" {
			continue
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("%w: the submodule %s: %w", ErrUnsupported, quoteName(name), err)
		}
		entries = append(entries, e)
	}
	if err := checkTogether(entries); err != nil {
		return nil, err
	}
	return entries, nil
}

func quoteName(name string) string { return fmt.Sprintf("%.100q", name) }

// check returns an error for a name or a path that leads to another place than a folder
// of its own, or that a program could take for something else.
func (e moduleEntry) check() error {
	if err := checkModuleName(e.name); err != nil {
		return fmt.Errorf("its name %w", err)
	}
	if err := checkPath(e.path); err != nil {
		return fmt.Errorf("its path %.100q: %w", e.path, err)
	}
	if strings.HasPrefix(e.path, "-") || strings.ContainsRune(e.path, ':') {
		return fmt.Errorf("its path %.100q begins with a dash or has a colon", e.path)
	}
	return nil
}

// checkModuleName returns an error unless a name can be a folder below .git/modules on
// every file system, and a section of a configuration.
func checkModuleName(name string) error {
	switch {
	case len(name) > maxModuleName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return errors.New("has characters that do not print, or too many")
	case strings.HasPrefix(name, "-") || strings.ContainsAny(name, `\":*?<>|`):
		return errors.New("begins with a dash, or has one of the characters \\ \" : * ? < > |")
	}
	for part := range strings.SplitSeq(name, "/") {
		folded := strings.ToLower(strings.TrimRight(part, ". "))
		if folded == "" || strings.TrimSpace(part) != part || strings.HasSuffix(part, ".") || folded == ".git" || strings.HasPrefix(folded, "git~") {
			return errors.New(`has a part that is empty, ".", ".." or a name of .git, or that ends in a dot or a space`)
		}
	}
	return nil
}

// checkTogether returns an error if two submodules have one folder, or one is in the
// folder of the other, also where case does not count.
func checkTogether(entries []moduleEntry) error {
	for _, of := range []func(moduleEntry) string{
		func(e moduleEntry) string { return e.name },
		func(e moduleEntry) string { return e.path },
	} {
		var folders []string
		for _, e := range entries {
			folders = append(folders, strings.ToLower(of(e))+"/")
		}
		slices.Sort(folders)
		for i := 1; i < len(folders); i++ {
			if strings.HasPrefix(folders[i], folders[i-1]) {
				return fmt.Errorf("%w: two submodules have the folder %.100q, or one is inside the other", ErrUnsupported, strings.TrimSuffix(folders[i-1], "/"))
			}
		}
	}
	return nil
}

// submodule returns the remote of a submodule, of which the .gitmodules of a repository
// at parent gives the address. Own is the remote of the store: its token goes to the same
// host and no other, its host alone may be reached by http, and an address for SSH on it
// is taken as the one for https. The error never shows the address, which may hold a
// password.
func (own Remote) submodule(parent Remote, address string) (Remote, error) {
	fail := func(reason string) (Remote, error) {
		return Remote{}, fmt.Errorf("%w: its address in %s %s", ErrRemote, modulesFile, reason)
	}
	home, err := url.Parse(own.url)
	if err != nil {
		return Remote{}, err // ParseRemote has checked it
	}
	isRelative := address == "." || address == ".." || strings.HasPrefix(address, "./") || strings.HasPrefix(address, "../")
	switch {
	case address == "":
		return fail("is missing")
	case strings.ContainsFunc(address, func(c rune) bool { return !unicode.IsPrint(c) || c == ' ' }) || strings.HasPrefix(address, "-") || strings.ContainsRune(address, '\\'):
		return fail("begins with a dash, or has a space or another character that no address has")
	case isRelative:
		if address, err = resolveAddress(parent, address); err != nil {
			return fail(err.Error())
		}
		if parent.scheme == "file" {
			r := fileRemote(address)
			r.isSubmodule = true
			return r, nil
		}
	default:
		address = sshAsHTTPS(address, home)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fail("cannot be read")
	case u.Scheme != "https" && (u.Scheme != "http" || own.scheme != "http" || !strings.EqualFold(u.Host, home.Host)):
		return fail("is neither relative nor one of https")
	case u.User != nil:
		return fail("contains a user or a password")
	case slices.Contains(strings.Split(u.Path, "/"), ".."):
		return fail(`has ".." in it`)
	}
	r, err := ParseRemote(address, "")
	if err != nil {
		return fail("is not that of a repository")
	}
	r.isSubmodule = true
	if u.Scheme == home.Scheme && strings.EqualFold(u.Host, home.Host) {
		r.token, r.tokens = own.token, own.tokens
	}
	return r, nil
}

// resolveAddress returns the address that is relative to a repository: as a URL, or as a
// path if the repository is on this machine.
func resolveAddress(parent Remote, address string) (string, error) {
	root, place := "", parent.Folder()
	if parent.scheme != "file" {
		u, err := url.Parse(parent.url)
		if err != nil {
			return "", err // ParseRemote has checked it
		}
		place = u.EscapedPath()
		root = strings.TrimSuffix(parent.url, place)
	}
	parts := strings.Split(strings.Trim(place, "/"), "/")
	for part := range strings.SplitSeq(strings.TrimRight(address, "/"), "/") {
		switch {
		case part == ".." && len(parts) == 0:
			return "", errors.New("leads above the host of the repository that it is in")
		case part == "..":
			parts = parts[:len(parts)-1]
		case part != "." && part != "":
			parts = append(parts, part)
		}
	}
	return root + "/" + path.Join(parts...), nil
}

// sshAsHTTPS returns the address for https of a repository that is on a host and has an
// address for SSH, such as git@HOST:OWNER/NAME; any other address as it is.
func sshAsHTTPS(address string, host *url.URL) string {
	rest, isURL := strings.CutPrefix(address, "ssh://git@")
	separator := "/"
	if !isURL {
		var isShort bool
		if rest, isShort = strings.CutPrefix(address, "git@"); !isShort {
			return address
		}
		separator = ":"
	}
	name, repository, ok := strings.Cut(rest, separator)
	if name, _, _ := strings.Cut(name, ":"); !ok || host.Scheme == "file" || !strings.EqualFold(name, host.Hostname()) {
		return address
	}
	return host.Scheme + "://" + host.Host + "/" + strings.TrimLeft(repository, "/")
}
