package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CheckoutAround returns the top of the user's checkout around a file; empty if there is
// none. Like git it passes over a folder .git that is not a repository.
func CheckoutAround(file string) (folder string) {
	for folder := filepath.Dir(file); ; folder = filepath.Dir(folder) {
		own := filepath.Join(folder, ".git")
		info, err := os.Lstat(own)
		if err == nil && info.IsDir() {
			_, err = os.Lstat(filepath.Join(own, "config"))
		}
		if err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}

// TrustedOrigin returns the same as [Origin]; empty if there is none. Like git it does not
// believe the checkout of another user, who would choose whose issues are worked on.
func TrustedOrigin(folder string) (address string) {
	info, err := os.Lstat(filepath.Join(folder, ".git"))
	if err != nil {
		return ""
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
		return ""
	}
	address, _ = Origin(folder)
	return address
}

// Origin returns the address of the remote origin of the repository that is checked out in a
// folder, else the address of its only remote; empty if it has none. The error is
// [os.ErrNotExist] if no repository is checked out there. It starts no git: it reads the plain
// form that git itself writes.
func Origin(folder string) (address string, err error) {
	config, err := checkoutConfig(folder)
	if err != nil {
		return "", err
	}
	return originIn(config), nil
}

// maxSmallFile bounds a file of a checkout that is read whole, in bytes.
const maxSmallFile = 1 << 20

// checkoutConfig returns the text of the configuration of the repository that is checked
// out in a folder. The error is [os.ErrNotExist] if the folder is not in a checkout.
func checkoutConfig(folder string) (string, error) {
	own := filepath.Join(folder, ".git")
	info, err := os.Stat(own)
	if err != nil {
		return "", err
	}
	if !info.IsDir() { // a worktree or a submodule: the file names the repository
		text, err := ReadSmallFile(own)
		if err != nil {
			return "", err
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
		if !ok {
			return "", fmt.Errorf("%s is not a file of git: run git status here", own)
		}
		own = absoluteFrom(folder, target)
		if common, err := ReadSmallFile(filepath.Join(own, "commondir")); err == nil {
			own = absoluteFrom(own, strings.TrimSpace(common))
		}
	}
	text, err := ReadSmallFile(filepath.Join(own, "config"))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s has no config, so it is not a git repository: run git status here", own)
	}
	return text, err
}

// ReadSmallFile returns the text of a regular file of at most 1 MiB in a checkout. A stranger
// may have made it: a pipe would never end.
func ReadSmallFile(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSmallFile {
		return "", fmt.Errorf("%s is not a small regular file", name)
	}
	text, err := os.ReadFile(name)
	return string(text), err
}

func absoluteFrom(folder, target string) string {
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(folder, target)
}

// originIn returns the address of the remote origin in a configuration of git, else the address
// of the only remote.
func originIn(config string) string {
	section, addresses := "", map[string]string{}
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section, _ = strings.CutPrefix(line, `[remote "`)
			section = strings.TrimSuffix(section, `"]`)
			if !strings.HasPrefix(line, `[remote "`) {
				section = ""
			}
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if found && section != "" && strings.TrimSpace(key) == "url" && addresses[section] == "" {
			addresses[section] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	if address, ok := addresses["origin"]; ok || len(addresses) != 1 {
		return address
	}
	for _, address := range addresses {
		return address
	}
	return ""
}
