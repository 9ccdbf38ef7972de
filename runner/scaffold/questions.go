package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Question is something that has to be known for a setup. It is asked at a terminal, or
// answered by a flag.
type Question struct {
	Name    string   // name of the flag
	Text    string   // the question as asked
	Usage   string   // usage of the flag
	Choices []string // answers that completion suggests; nil for none

	unneeded func(Setup) string // see Unneeded; nil: it is always needed
	standard func(Setup) string
	take     func(s *Setup, answer string) error
}

// Unneeded returns the earlier answer for which the question need not be answered, as flags; empty
// if it has to be answered.
func (q Question) Unneeded(s Setup) string {
	if q.unneeded == nil {
		return ""
	}
	return q.unneeded(s)
}

// Default returns the default answer; empty if there is none.
func (q Question) Default(s Setup) string { return q.standard(s) }

// Take puts an answer into the setup, or returns the error in it. A choice may be
// written in capitals, and with other signs between its words: GitHub, pull request.
func (q Question) Take(s *Setup, answer string) error {
	plain := strings.NewReplacer(" ", "_", "-", "_").Replace(answer)
	for _, choice := range q.Choices {
		if strings.EqualFold(plain, choice) {
			return q.take(s, choice)
		}
	}
	return q.take(s, answer)
}

// Questions returns the questions to ask, in the order in which it is asked: a default
// depends on the answers before it.
func Questions() []Question {
	return []Question{
		{
			Name: "tracker", Text: "Where are the issues: github, linear or file (a folder)?", Choices: []string{"github", "linear", "file"},
			Usage: "where the `issues` are: github, linear or file",
			standard: func(s Setup) string {
				if isForeign(s.originHost) {
					return "file"
				}
				return "github"
			},
			take: func(s *Setup, answer string) error {
				s.Tracker = answer
				return oneOf(answer, "github", "linear", "file")
			},
		},
		{
			Name: "project", Text: "Which project of Linear: its address, or the end of it?",
			Usage:    "the `project` of Linear: its address, or the end of it after the last dash",
			unneeded: func(s Setup) string { return flagIf(!s.Linear(), "tracker", s.Tracker) },
			standard: func(Setup) string { return "" },
			take: func(s *Setup, answer string) (err error) {
				slug, ok := parseProject(answer)
				if !ok {
					return errors.New("want the address of a project, such as https://linear.app/acme/project/shop-0c79b11b75ea")
				}
				s.Project = slug
				return nil
			},
		},
		{
			Name: "schedule", Text: "How often does Actions look for work: 15m, 1h, 6h, a cron expression, or none to run on this machine?", Choices: []string{"15m", "1h", "6h", "24h", "none"},
			Usage:    "`when` Actions runs it: a time between two runs such as 15m or 6h, a cron expression, or none",
			unneeded: func(s Setup) string { return flagIf(s.Tracker == "file", "tracker", s.Tracker) },
			standard: func(s Setup) string {
				if s.Linear() {
					return "15m"
				}
				return "1h"
			},
			take: func(s *Setup, answer string) (err error) {
				cron, ok := parseSchedule(answer)
				if !ok {
					return errors.New("want a time from 5m to 24h that divides the hour or the day, a cron expression of five fields in numbers, or none")
				}
				s.Cron = cron
				return nil
			},
		},
		{
			Name: "delivery", Text: "How is finished work delivered: pull_request, branch or patch?", Choices: []string{"pull_request", "branch", "patch"},
			Usage: "`how` finished work is delivered: pull_request, branch, or patch (files, on this machine)",
			standard: func(s Setup) string {
				if s.Tracker == "file" {
					return "branch"
				}
				return "pull_request"
			},
			take: func(s *Setup, answer string) error {
				if answer == "patch" && !s.Local() {
					return errors.New("patches are files on the machine that runs it, and one of Actions is thrown away: want pull_request or branch, or --schedule none")
				}
				s.Delivery = answer
				return oneOf(answer, "pull_request", "branch", "patch")
			},
		},
		{
			Name: "repository", Text: "Which repository: OWNER/NAME, or its address?",
			Usage:    "the `repository` on GitHub: OWNER/NAME, or its address (default the origin of this checkout)",
			unneeded: func(s Setup) string { return flagIf(s.Tracker == "file" && !s.PullRequests(), "delivery", s.Delivery) },
			standard: func(s Setup) string {
				if s.Repository == "" || s.Server == client.DefaultServer {
					return s.Repository
				}
				return s.Server + "/" + s.Repository
			},
			take: func(s *Setup, answer string) error {
				server, name, ok := client.ParseRepository(answer)
				host := hostOf(answer)
				if answer == "" {
					host = s.originHost
				}
				if isForeign(host) {
					return fmt.Errorf("%s does not speak GitHub's API: want a repository on a server that does, or --tracker file --delivery patch in a checkout of this one", host)
				}
				if answer == "" && s.GitHub() && !s.Local() {
					return nil // it is the one in which Actions runs
				}
				if !ok {
					return errors.New("want OWNER/NAME, or https://HOST/OWNER/NAME")
				}
				s.Server, s.Repository = server, name
				return nil
			},
		},
		{
			Name: "login", Text: "How do agents log in to the model: identity (OpenAI trusts the jobs of this repository, and no key is stored) or key?", Choices: []string{"identity", "key"},
			Usage: "`how` agents log in to the model: identity (OpenAI trusts the jobs of this repository, and no key is stored) or key",
			unneeded: func(s Setup) string {
				if s.Tracker != "file" && s.Local() {
					return "--schedule none"
				}
				// OpenAI has to know the server's identities.
				return cmp.Or(flagIf(s.Local(), "tracker", s.Tracker), flagIf(s.API() != "", "repository", s.Server+"/"+s.Repository))
			},
			standard: func(Setup) string { return "key" }, // the other one takes an owner of the organization
			take: func(s *Setup, answer string) error {
				s.Login = answer
				return oneOf(answer, "identity", "key")
			},
		},
	}
}

// flagIf returns a flag with its value if the condition holds, and else an empty text.
func flagIf(holds bool, name, value string) string {
	if !holds {
		return ""
	}
	return "--" + name + " " + value
}

// hostOf returns the host in the address of a repository, whatever its path; empty if there
// is none, as in OWNER/NAME.
func hostOf(address string) string {
	if host := client.HostOf(address); host != "" {
		return host
	}
	host, _, _ := strings.Cut(address, ":") // git@HOST:PATH
	if host = host[strings.LastIndex(host, "@")+1:]; host == address || !client.IsHost(host) {
		return ""
	}
	return strings.ToLower(host)
}

// isForeign reports whether a host is known for repositories, but not for all of GitHub's API
// that is needed. A server of a company's own is known by its name, if it has the usual one.
func isForeign(host string) bool {
	host, _, _ = strings.Cut(host, ":")
	name, _, _ := strings.Cut(host, ".")
	return slices.Contains([]string{"gitlab", "bitbucket", "gitea", "forgejo"}, name) ||
		slices.Contains([]string{"codeberg.org", "code.forgejo.org", "dev.azure.com", "ssh.dev.azure.com"}, host) || strings.HasSuffix(host, ".visualstudio.com")
}

func oneOf(answer string, words ...string) error {
	for _, word := range words {
		if answer == word {
			return nil
		}
	}
	last := len(words) - 1
	return fmt.Errorf("want %s or %s", strings.Join(words[:last], ", "), words[last])
}
