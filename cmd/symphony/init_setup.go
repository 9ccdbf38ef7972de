package main

import (
	"embed"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

//go:embed init
var initFiles embed.FS

// setup holds the answers to the questions of `symphony init`. The templates in the folder
// init use it.
type setup struct {
	Tracker  string // github, linear or file
	Delivery string // pull_request, branch or patch
	Cron     string // when runs of Actions start; empty for no workflow of Actions
	Project  string // of Linear: its slugId

	Server     string   // https://github.com, or another server that speaks its API
	Repository string   // OWNER/NAME on it; empty if nobody said
	Workflows  []string // names of the repository's own workflows that check pull requests
}

// The conditions and values of the templates.
func (s setup) GitHub() bool       { return s.Tracker == "github" }
func (s setup) Linear() bool       { return s.Tracker == "linear" }
func (s setup) PullRequests() bool { return s.Delivery == string(workflow.KindPullRequest) }
func (s setup) Branch() bool       { return s.Delivery == string(workflow.KindBranch) }
func (s setup) Local() bool        { return s.Cron == "" }
func (s setup) Schema() string     { return workflow.SchemaURL }

// Comments reports whether comments on GitHub may start a run.
func (s setup) Comments() bool { return s.GitHub() || s.PullRequests() }

// Talks reports whether the program tells the agent what people say about its work.
func (s setup) Talks() bool { return s.Comments() || s.Linear() }

// Example returns the name of an issue.
func (s setup) Example() string {
	return map[string]string{"github": "GH-7", "linear": "ENG-7", "file": "FIRST-1"}[s.Tracker]
}

// API returns the address of the API of a server that is not github.com; empty for
// github.com, and if the repository is not known.
func (s setup) API() string {
	if s.Server == gitHub || s.Repository == "" {
		return ""
	}
	return s.Server + "/api/v3"
}

// URL returns the value of repository.url; it is empty if the default is right.
func (s setup) URL() string {
	switch {
	case s.Tracker == "file" && !s.PullRequests():
		return "."
	case s.Repository == "" || s.GitHub() && !s.Local():
		return ""
	}
	return s.Server + "/" + s.Repository
}

// Checks returns the names of the workflows as a list in YAML.
func (s setup) Checks() string {
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
var plainYAML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z_-]*[a-z_-]$`) })

// gitHub is the server of most repositories.
const gitHub = "https://github.com"

// newFile is a file to be made, by its path from the root of the repository.
type newFile struct{ path, text, purpose string }

// files returns the files of a setup.
func (s setup) files() ([]newFile, error) {
	files := []newFile{{path: "WORKFLOW.md", purpose: "what is worked on and how, and the prompt"}}
	if s.Tracker == "file" {
		files = append(files, newFile{path: "issues/FIRST-1.md", purpose: "a first issue"})
	}
	if !s.Local() {
		files = append(files, newFile{path: ".github/workflows/symphony.yml", purpose: "when Actions runs it, and with which rights"})
	}
	templates, err := template.New("").Delims("[[", "]]").ParseFS(initFiles, "init/*.tmpl")
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, path.Base(f.path)+".tmpl", s); err != nil {
			return nil, err
		}
		files[i].text = b.String()
	}
	return files, nil
}

// nextStep is a command that a person runs next, and why.
type nextStep struct{ command, why string }

// steps returns what is left to do until the first dry run.
func (s setup) steps() []nextStep {
	if s.Local() {
		var steps []nextStep
		if s.Tracker != "file" || s.PullRequests() {
			steps = append(steps, nextStep{`export GITHUB_TOKEN="$(gh auth token)"`, "with which issues are read and work is published"})
		}
		if s.Linear() {
			steps = append(steps, nextStep{"read -rs LINEAR_API_KEY && export LINEAR_API_KEY", "paste a key of Linear: Settings, Security & access"})
		}
		return append(steps, nextStep{"symphony validate", "checks everything, Codex too"}, nextStep{"symphony --once --dry-run", "what would happen, and why not more"})
	}
	repo := ""
	if s.Repository != "" {
		repo = " --repo " + s.ghName()
	}
	var steps []nextStep
	if s.GitHub() {
		steps = append(steps, nextStep{"gh label create symphony" + repo + " && gh label create needs-human" + repo,
			"the labels of the issues to work on, and of those that wait for a person"})
	}
	secrets := []string{"OPENAI_API_KEY"}
	if s.Linear() {
		secrets = append(secrets, "LINEAR_API_KEY")
	}
	// Of all workflows only ours: any other one may deploy.
	act := `act workflow_dispatch -W .github/workflows/symphony.yml --input dry-run=true -s GITHUB_TOKEN="$(gh auth token)"`
	for _, name := range secrets {
		steps = append(steps, nextStep{"gh secret set " + name + repo, secretWhy(name)})
		act += " -s " + name
	}
	if s.PullRequests() {
		name := "{owner}/{repo}"
		if s.Repository != "" {
			name = s.Repository
		}
		host := ""
		if s.API() != "" {
			host = " --hostname " + strings.TrimPrefix(s.Server, "https://")
		}
		steps = append(steps, nextStep{"gh api -X PUT" + host + " repos/" + name + "/actions/permissions/workflow -F can_approve_pull_request_reviews=true", "lets Actions open pull requests"})
	}
	return append(steps, nextStep{act, "a dry run on this machine"})
}

// secretWhy returns why a person runs the command that sets a secret.
func secretWhy(name string) string {
	if name == "LINEAR_API_KEY" {
		return "the key for Linear: gh asks for it"
	}
	return "the key for the agent: gh asks for it"
}

// ghName returns the repository as gh takes it.
func (s setup) ghName() string {
	if s.API() == "" {
		return s.Repository
	}
	return strings.TrimPrefix(s.Server, "https://") + "/" + s.Repository
}

// parseRepository returns the server and the name in OWNER/NAME or in the address of a
// repository, as git takes it.
func parseRepository(text string) (server, repository string, ok bool) {
	text = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(text), "/"), ".git")
	if client.IsRepo(text) {
		return gitHub, text, true
	}
	host, name := "", ""
	if u, err := url.Parse(text); err == nil && slices.Contains([]string{"https", "ssh", "git", "http"}, u.Scheme) {
		host, name = u.Hostname(), strings.TrimPrefix(u.Path, "/")
		if u.Scheme == "https" {
			host = u.Host
		}
	} else if host, name, ok = strings.Cut(text, ":"); ok { // git@HOST:OWNER/NAME
		_, host, _ = strings.Cut(host, "@")
	}
	if !hostName().MatchString(host) || !client.IsRepo(name) {
		return "", "", false
	}
	return "https://" + strings.ToLower(host), name, true
}

var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?$`) })

// parseProject returns the slugId in the address of a project of Linear, or the slugId
// itself.
func parseProject(text string) (slug string, ok bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "?")
	if _, path, isURL := strings.Cut(text, "/project/"); isURL {
		text, _, _ = strings.Cut(path, "/")
	}
	slug = text[strings.LastIndex(text, "-")+1:]
	return slug, slugID().MatchString(slug)
}

var slugID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]+$`) })

// minuteOffset is the minute at which schedules begin: GitHub starts runs late or not at
// all on the full hour.
const minuteOffset = 13

// parseSchedule returns the cron expression of a time between two runs, such as 15m or
// 6h, or of a cron expression; it is empty for none.
func parseSchedule(text string) (cron string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "none" {
		return "", true
	}
	every, err := time.ParseDuration(text)
	switch minutes := int(every / time.Minute); {
	case err != nil:
		fields := strings.Fields(text)
		return strings.Join(fields, " "), isCron(fields)
	case every%time.Minute != 0 || minutes < 5 || minutes > 24*60:
		return "", false
	case minutes < 60 && 60%minutes == 0:
		var at []string
		for m := minuteOffset % minutes; m < 60; m += minutes {
			at = append(at, strconv.Itoa(m))
		}
		return strings.Join(at, ",") + " * * * *", true
	case minutes == 60:
		return fmt.Sprintf("%d * * * *", minuteOffset), true
	case minutes == 24*60:
		return fmt.Sprintf("%d 5 * * *", minuteOffset), true
	case minutes%60 == 0 && 24*60%minutes == 0:
		return fmt.Sprintf("%d */%d * * *", minuteOffset, minutes/60), true
	}
	return "", false
}

// cronLimits holds the least and the greatest number of each field of a cron expression.
var cronLimits = [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}

// isCron reports whether these are the five fields of a cron expression as GitHub takes
// it, without names of months and days.
func isCron(fields []string) bool {
	if len(fields) != len(cronLimits) {
		return false
	}
	for i, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			of, every, stepped := strings.Cut(part, "/")
			if n, err := strconv.Atoi(every); stepped && (err != nil || n < 1) {
				return false
			}
			if of == "*" {
				continue
			}
			from, to, isRange := strings.Cut(of, "-")
			low, err := strconv.Atoi(from)
			high := low
			if isRange && err == nil {
				high, err = strconv.Atoi(to)
			}
			if err != nil || low < cronLimits[i][0] || high > cronLimits[i][1] || low > high {
				return false
			}
		}
	}
	return true
}
