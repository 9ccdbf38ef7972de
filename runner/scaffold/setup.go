package scaffold

import (
	"cmp"
	"embed"
	"path"
	"strconv"
	"strings"
	"text/template"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

//go:embed templates
var templates embed.FS

// Setup holds the answers to the questions, and the findings in the repository. The templates
// use it.
type Setup struct {
	Tracker  string // github, linear or file
	Delivery string // pull_request, branch or patch
	Cron     string // schedule of runs of Actions; empty for no workflow of Actions
	Project  string // slugId of a project of Linear
	Login    string // identity or key; empty where only the second fits

	Folder     string   // name of the folder of the checkout
	Server     string   // https://github.com, or another server that speaks its API
	Repository string   // OWNER/NAME on it; empty if nobody said
	Workflows  []string // names of the repository's own workflows that check pull requests
	originHost string   // host of the origin of the checkout; empty if it is not known

	Preparation setup.Suggestion // preparation of the project; it has no script if nothing fits
}

// The conditions and values of the templates.
func (s Setup) GitHub() bool       { return s.Tracker == "github" }
func (s Setup) Linear() bool       { return s.Tracker == "linear" }
func (s Setup) PullRequests() bool { return s.Delivery == string(workflow.KindPullRequest) }
func (s Setup) Branch() bool       { return s.Delivery == string(workflow.KindBranch) }
func (s Setup) Local() bool        { return s.Cron == "" }
func (s Setup) Identity() bool     { return s.Login == "identity" }
func (s Setup) Schema() string     { return workflow.SchemaURL }

// Comments reports whether comments on GitHub may start a run.
func (s Setup) Comments() bool { return s.GitHub() || s.PullRequests() }

// Talks reports whether the program gives people's comments on its work to the agent.
func (s Setup) Talks() bool { return s.Comments() || s.Linear() }

// Example returns the name of an issue.
func (s Setup) Example() string {
	return map[string]string{"github": "GH-7", "linear": "ENG-7", "file": "FIRST-1"}[s.Tracker]
}

// API returns the address of the API of a server that is not github.com; empty for
// github.com, and if the repository is not known.
func (s Setup) API() string {
	if s.Server == client.DefaultServer || s.Repository == "" {
		return ""
	}
	return client.APIOf(s.Server)
}

// URL returns the value of repository.url; it is empty if the default is right.
func (s Setup) URL() string {
	switch {
	case s.Tracker == "file" && !s.PullRequests():
		return "."
	case s.Repository == "" || s.GitHub() && !s.Local():
		return ""
	}
	return s.Server + "/" + s.Repository
}

// Root returns the folder of the workspaces: a folder of this project alone, outside of the
// checkout, whose settings the tools of the agent would find above a workspace.
func (s Setup) Root() string {
	name := strings.ReplaceAll(s.Repository, "/", "-")
	if s.Linear() {
		name = s.Project
	}
	name = otherThanName().ReplaceAllString(cmp.Or(name, s.Folder), "-")
	return "~/symphony_workspaces/" + cmp.Or(strings.Trim(name, "-."), "project")
}

// otherThanName matches the characters that a name without quotes cannot have anywhere.
var otherThanName = lazy.Regexp(`[^A-Za-z0-9._-]+`)

// Checks returns the names of the workflows as a list in YAML.
func (s Setup) Checks() string {
	names := s.Workflows
	if len(names) == 0 {
		names = []string{"ci"}
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		if quoted[i] = name; !plainYAML().MatchString(name) {
			quoted[i] = strconv.Quote(name)
		}
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// plainYAML matches words that YAML takes for text.
var plainYAML = lazy.Regexp(`^[a-z][a-z_-]*[a-z_-]$`)

// File is a file to be made, by its path from the root of the repository.
type File struct{ Path, Text, Purpose string }

// Files returns the files of a setup.
func (s Setup) Files() ([]File, error) {
	files := []File{{Path: settingsFile, Purpose: "what is worked on and how, and the prompt"}}
	if s.Tracker == "file" {
		files = append(files, File{Path: "issues/FIRST-1.md", Purpose: "a first issue"})
	}
	if !s.Local() {
		files = append(files, File{Path: ".github/workflows/symphony.yml", Purpose: "when Actions runs it, and with which rights"})
	}
	all, err := template.New("").Delims("[[", "]]").ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		var b strings.Builder
		if err := all.ExecuteTemplate(&b, path.Base(f.Path)+".tmpl", s); err != nil {
			return nil, err
		}
		files[i].Text = b.String()
	}
	return files, nil
}

// Trial returns the workflow that plays the path of an issue in a repository.
func Trial() (File, error) {
	text, err := templates.ReadFile("templates/trial.yml")
	return File{Path: ".github/workflows/trial.yml", Text: string(text), Purpose: "a trial of what GitHub does in this repository, without a key of a model"}, err
}
