package scaffold

import "strings"

// Step is a command that a person runs next, and why.
type Step struct{ Command, Why string }

// Steps returns the steps until the first dry run. program is the words of a shell
// that start this program.
func (s Setup) Steps(program string) []Step {
	if s.Local() {
		var steps []Step
		if s.Tracker != "file" || s.PullRequests() {
			steps = append(steps, Step{`export GITHUB_TOKEN="` + s.ghToken() + `"`, "with which issues are read and work is published"})
		}
		if s.Linear() {
			steps = append(steps, Step{"read -rs LINEAR_API_KEY && export LINEAR_API_KEY", "paste a key of Linear: Settings, Security & access"})
		}
		steps = append(steps, Step{program + " validate", "checks everything, Codex too"})
		if s.Preparation.Script != "" {
			steps = append(steps, Step{program + " setup", "prepares the project as agents get it, and shows the output"})
		}
		return append(steps, Step{program + " --once --dry-run", "what would happen, and why not more"})
	}
	repo := ""
	if s.Repository != "" {
		repo = " --repo " + s.ghName()
	}
	dryRun := `GITHUB_TOKEN="` + s.ghToken() + `" ` + program + " --once --dry-run"
	if s.Linear() {
		dryRun = "read -rs LINEAR_API_KEY && LINEAR_API_KEY=$LINEAR_API_KEY " + dryRun
	}
	steps := []Step{{dryRun, "a dry run, here and now: what would happen, and why not more; it changes nothing"}}
	if s.GitHub() {
		steps = append(steps, Step{"gh label create symphony" + repo + " && gh label create needs-human" + repo,
			"the labels of the issues to work on, and of those that wait for a person"})
	}
	secrets := []string{"OPENAI_API_KEY"}
	if s.Identity() {
		secrets = nil
		steps = append(steps,
			Step{"gh variable set OPENAI_IDENTITY_PROVIDER_ID" + repo, "the ID of an identity provider that an owner of the OpenAI organization adds: issuer https://token.actions.githubusercontent.com, audience https://api.openai.com/v1"},
			Step{"gh variable set OPENAI_SERVICE_ACCOUNT_ID" + repo, "the ID of the service account that a mapping of it gives to this repository, for its default branch alone"})
	}
	if s.Linear() {
		secrets = append(secrets, "LINEAR_API_KEY")
	}
	// Of all workflows only ours: any other one may deploy.
	act := "act workflow_dispatch -W .github/workflows/symphony.yml"
	if s.API() != "" {
		act += " --github-instance " + s.host()
	}
	act += ` --input dry-run=true -s GITHUB_TOKEN="` + s.ghToken() + `"`
	for _, name := range secrets {
		steps = append(steps, Step{"gh secret set " + name + repo, secretWhy(name)})
		act += " -s " + name
	}
	if s.PullRequests() {
		name := "{owner}/{repo}"
		if s.Repository != "" {
			name = s.Repository
		}
		steps = append(steps, Step{"gh api -X PUT" + s.ghHost() + " repos/" + name + "/actions/permissions/workflow -F can_approve_pull_request_reviews=true", "lets Actions open pull requests"})
	}
	if s.Identity() { // which a job has on GitHub alone
		return steps
	}
	return append(steps, Step{act, "optional, with Docker: a dry run of the whole workflow on this machine"})
}

// Ending returns the text after the steps of [Setup.Steps].
func (s Setup) Ending(program string) string {
	switch {
	case s.Local():
		return "Then work on them with " + program + " --once, or with " + program + " until you stop it. Read WORKFLOW.md first: it is yours to change."
	case s.GitHub():
		return "Then read both files, commit them, push them to the default branch, and put the label on an issue: a run starts at once."
	}
	return "Then read both files, commit them, and push them to the default branch. The first run is the next one on the schedule, or at once the one of Run workflow."
}

func secretWhy(name string) string {
	if name == "LINEAR_API_KEY" {
		return "the key for Linear: gh asks for it"
	}
	return "the key for the agent: gh asks for it"
}

func (s Setup) ghName() string {
	if s.API() == "" {
		return s.Repository
	}
	return s.host() + "/" + s.Repository
}

func (s Setup) host() string { return strings.TrimPrefix(s.Server, "https://") }

// ghHost returns the option with which gh uses the login of the server; empty for its default.
func (s Setup) ghHost() string {
	if s.API() == "" {
		return ""
	}
	return " --hostname " + s.host()
}

// ghToken returns the command that prints the user's token of the server. The checkout says
// which server it is, so the token of another one must not go there.
func (s Setup) ghToken() string { return "$(gh auth token" + s.ghHost() + ")" }
