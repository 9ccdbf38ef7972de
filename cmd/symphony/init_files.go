package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// writeNew writes files into a folder and returns them, or writes none: if one of them is
// there already, or cannot be written, those before it are removed again. It writes
// nothing outside of the folder, whatever links there are in it. A first issue is left
// out where there are issues.
func writeNew(folder string, files []newFile) (written []newFile, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var made []string // in the order in which they were made
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				_ = root.Remove(name) // a folder that somebody else uses by now stays
			}
		}
	}()
	if _, err := root.Lstat("issues"); err == nil {
		files = slices.DeleteFunc(files, func(f newFile) bool { return path.Dir(f.path) == "issues" })
	}
	for _, f := range files {
		if _, err := root.Lstat(f.path); err == nil {
			return nil, fmt.Errorf("%s is there already, and nothing is overwritten: remove or rename it, and run init again; nothing was written", f.path)
		}
	}
	for _, f := range files {
		if err := makeFolders(root, path.Dir(f.path), &made); err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was written", f.path, err)
		}
		file, err := root.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			made = append(made, f.path)
			_, err = file.WriteString(f.text)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was written", f.path, err)
		}
	}
	return files, nil
}

// makeFolders makes a folder below root, and those above it. One that is there must be a
// folder and no link: what is behind a link is not a part of the repository.
func makeFolders(root *os.Root, folder string, made *[]string) error {
	if folder == "." {
		return nil
	}
	if err := makeFolders(root, path.Dir(folder), made); err != nil {
		return err
	}
	info, err := root.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err = root.Mkdir(folder, 0o755); err == nil {
			*made = append(*made, folder)
		}
		return err
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", folder)
	}
	return nil
}

// maxConfig bounds a file of git or of Actions that is read to find defaults.
const maxConfig = 1 << 20

// checkoutConfig returns the text of the configuration of the git repository that is checked
// out in a folder. The error is [os.ErrNotExist] if it is none.
func checkoutConfig(folder string) (string, error) {
	own := filepath.Join(folder, ".git")
	info, err := os.Stat(own)
	if err != nil {
		return "", err
	}
	if !info.IsDir() { // a worktree or a submodule: the file says where the repository is
		text, err := readBounded(own)
		if err != nil {
			return "", err
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
		if !ok {
			return "", fmt.Errorf("%s is no file of git: run git status here", own)
		}
		own = absoluteFrom(folder, target)
		if common, err := readBounded(filepath.Join(own, "commondir")); err == nil {
			own = absoluteFrom(own, strings.TrimSpace(common))
		}
	}
	text, err := readBounded(filepath.Join(own, "config"))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s has no config, so it is no repository of git: run git status here", own)
	}
	return text, err
}

// readBounded returns the text of a small file.
func readBounded(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return "", fmt.Errorf("%s is no small file", name)
	}
	text, err := os.ReadFile(name)
	return string(text), err
}

// absoluteFrom returns a path that starts from a folder if it is relative.
func absoluteFrom(folder, target string) string {
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(folder, target)
}

// originOf returns the address of the remote origin in a configuration of git, else that
// of the only remote. It reads the plain form that git itself writes.
func originOf(config string) string {
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

// The parts of a workflow of Actions that say its name and that it checks pull requests.
const (
	workflowName = `(?m)^name:\s*["']?([A-Za-z0-9][A-Za-z0-9 ._-]*?)["']?\s*(#.*)?$`
	checksPulls  = `(?m)^(on:.*\bpull_request\b|\s+-?\s*pull_request\b)`
)

// checkWorkflows returns the names of the workflows of Actions in a checkout that check
// pull requests. One without a plain name is left out.
func checkWorkflows(folder string) []string {
	paths, _ := filepath.Glob(filepath.Join(folder, ".github", "workflows", "*.y*ml")) // fails only for a wrong pattern
	var names []string
	for _, p := range paths {
		text, err := readBounded(p)
		if err != nil || !regexp.MustCompile(checksPulls).MatchString(text) {
			continue
		}
		if name := regexp.MustCompile(workflowName).FindStringSubmatch(text); name != nil {
			names = append(names, name[1])
		}
	}
	return names
}
