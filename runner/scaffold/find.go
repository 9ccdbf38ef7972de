package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// NotRootError reports that a folder is below the root of its repository, where Actions does
// not look.
type NotRootError struct{ Root string }

func (e *NotRootError) Error() string {
	return "this is not the root of the repository, which is " + e.Root
}

// Find returns the repository of the checkout in a folder. The error is a
// [NotRootError] if the folder is a part of a checkout.
func Find(folder string) (Setup, error) {
	origin, err := git.Origin(folder)
	if errors.Is(err, os.ErrNotExist) {
		for parent := filepath.Dir(folder); parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
			if _, err := git.Origin(parent); err == nil {
				return Setup{}, &NotRootError{parent}
			}
		}
		return Setup{}, errors.New("this folder is no git repository: cd to the root of one, or make one with git init")
	}
	if err != nil {
		return Setup{}, err
	}
	s := Setup{Folder: filepath.Base(folder), Server: client.DefaultServer, Workflows: checkWorkflows(folder), originHost: hostOf(origin)}
	s.Preparation, _ = setup.Look(os.DirFS(folder))
	if server, name, ok := client.ParseRepository(origin); ok && strings.Contains(server, "github") {
		s.Server, s.Repository = server, name
	}
	return s, nil
}

// The parts of a workflow of Actions that say its name and that it checks pull requests.
const (
	workflowName = `(?m)^name:\s*["']?([A-Za-z0-9][A-Za-z0-9 ._-]*?)["']?\s*(#.*)?$`
	checksPulls  = `(?m)^(on:.*\bpull_request\b|\s+-?\s*pull_request\b)`
)

// checkWorkflows returns the names of the workflows of Actions in a checkout that check pull
// requests. A workflow without a plain name is left out.
func checkWorkflows(folder string) []string {
	paths, _ := fs.Glob(os.DirFS(folder), ".github/workflows/*.y*ml") // fails only for a wrong pattern
	var names []string
	for _, p := range paths {
		text, err := git.ReadSmallFile(filepath.Join(folder, p))
		if err != nil || !regexp.MustCompile(checksPulls).MatchString(text) {
			continue
		}
		if name := regexp.MustCompile(workflowName).FindStringSubmatch(text); name != nil {
			names = append(names, name[1])
		}
	}
	return names
}
