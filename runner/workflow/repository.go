package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/symphony-runner/symphony/workspace/git"
)

// Repository describes the repository whose files the host brings into workspaces, and that
// gets the work.
type Repository struct {
	Remote       string     // https URL, or absolute path of a repository on this machine
	Base         git.Branch // zero is the default branch of the remote
	Token        string     // credential for Remote alone; empty for none
	SecretEnv    []string   // environment variables that hold the token, or would if nothing were written
	BranchPrefix string     // beginning of the issues' branches
	LFS          bool       // files in Git LFS have their contents in the workspaces
	Paths        []string   // folders whose files are in a workspace, with the files beside and above them; empty for all
	Submodules   bool       // the submodules of the base branch are in a workspace
}

// tokenVariable is the environment variable with the token for GitHub: of the job, or
// of the user's own tools.
const tokenVariable = "GITHUB_TOKEN"

// repositorySection decodes the sections repository and delivery, which depend on each other.
type repositorySection struct {
	forms
	*front
	tracker    *trackerSection
	settings   *Settings
	repository Repository
	on         bool // one of the two sections is written, even with nothing in it
}

// decode decodes the settings that depend on more than one key. It needs the settings of the
// tracker.
func (d *repositorySection) decode() {
	s := d.settings
	if !d.on {
		if s.SandboxHooks {
			d.reject(d.written["hooks.sandboxed"], "hooks run in the sandbox only if the program brings the files: write the section repository, or remove the key")
		}
		s.Delivery = Delivery{}
		return
	}
	s.Repository = &d.repository
	s.Delivery.Policy.LFS = s.Repository.LFS
	d.checkPrefix()
	d.checkHooks()
	d.checkSubmodules()
	if address, ok := d.address(); ok {
		s.Repository.Remote = address.text
		d.decodeDelivery(address)
		d.decodeToken(address)
	}
}

// address is the address of a repository.
type address struct {
	text   string // a URL, or an absolute path
	scheme string // scheme of the URL; empty for a path
	host   string // host of the URL in lower case; empty for a path
}

// address returns the address that repository.url means. No problem shows it, because it may hold
// a password.
func (d *repositorySection) address() (address, bool) {
	v := d.written["repository.url"]
	fail := func(category error, reason string) (address, bool) {
		d.add(Problem{Key: "repository.url", Line: v.line, Column: v.column, Category: category, Reason: reason})
		return address{}, false
	}
	text, err := d.addressText(v)
	if err != nil {
		return fail(nil, err.Error())
	}
	remote, err := git.ParseRemote(text, "")
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), git.ErrRemote.Error()+": ") // the address is left out
		return fail(git.ErrRemote, reason)
	}
	u, err := url.Parse(remote.URL())
	if err != nil {
		return fail(git.ErrRemote, "it cannot be read; write https://HOST/OWNER/NAME")
	}
	if u.Scheme == "file" {
		return address{text: u.Path}, true
	}
	return address{text: remote.URL(), scheme: u.Scheme, host: strings.ToLower(u.Host)}, true
}

// addressText returns the URL or the absolute path that is written, or the default.
func (d *repositorySection) addressText(v value) (string, error) {
	if v.raw == nil {
		return d.jobRepository()
	}
	text, ok := v.raw.(string)
	if !ok {
		return "", errors.New(mustBeText)
	}
	text = strings.TrimSpace(text)
	if name, isReference := variableName(text); isReference {
		if text = d.lookupVariable(name); text == "" {
			return "", fmt.Errorf("is missing; set the environment variable %s", name)
		}
	}
	switch {
	case strings.Contains(text, "://"):
		return text, nil
	case text != "" && strings.ContainsRune("/.~$", rune(text[0])):
		return d.expandPath(text)
	default: // such as OWNER/NAME or git@HOST:OWNER/NAME
		return "", errors.New("is neither a URL nor a path; write https://HOST/OWNER/NAME, or a path that begins with /, ./, ../ or ~/")
	}
}

// jobRepository returns the URL of the repository of the Actions job; elsewhere the URL of the
// repository that GITHUB_REPOSITORY names, so that the same file can be checked there.
func (d *repositorySection) jobRepository() (string, error) {
	repository := d.lookupVariable("GITHUB_REPOSITORY")
	if repository == "" {
		return "", errors.New("is missing; write the address of the repository, such as https://github.com/OWNER/NAME, or a path, such as . for the folder of this file, or set $GITHUB_REPOSITORY to OWNER/NAME")
	}
	return strings.TrimRight(d.jobServer(), "/") + "/" + repository, nil
}

// jobServer returns the address of the GitHub that has that repository, and that the token in
// tokenVariable is for: from the environment, else from the tracker.
func (d *repositorySection) jobServer() string {
	server := d.lookupVariable("GITHUB_SERVER_URL")
	if on, ok := d.settings.Tracker.Config.(interface{ Server() string }); ok && server == "" {
		server = on.Server()
	}
	return cmp.Or(server, "https://github.com")
}

// tokenIsFor reports whether the token in tokenVariable is for the GitHub on a host.
func (d *repositorySection) tokenIsFor(host string) bool {
	u, err := url.Parse(d.jobServer())
	return err == nil && host != "" && strings.EqualFold(u.Host, host)
}

// decodeToken decodes repository.token. The token of the job reaches no other host
// unless it is written.
func (d *repositorySection) decodeToken(a address) {
	r, v := d.settings.Repository, d.written["repository.token"]
	p := Problem{Key: "repository.token", Line: v.line, Column: v.column} // never with the value
	r.SecretEnv = []string{tokenVariable}
	variable := ""
	switch raw := v.raw.(type) {
	case nil:
		if !d.tokenIsFor(a.host) {
			break
		}
		variable = tokenVariable
		r.Token = d.lookupVariable(tokenVariable)
	case string:
		var isReference bool
		if variable, isReference = variableName(raw); !isReference {
			r.Token = strings.TrimSpace(raw)
			break
		}
		r.Token = d.lookupVariable(variable)
		if variable != tokenVariable {
			r.SecretEnv = append(r.SecretEnv, variable)
		}
	default:
		p.Reason = "must be text: $NAME with the name of an environment variable"
		d.add(p)
		return
	}
	kind := d.settings.Delivery.Kind
	switch {
	case a.host == "":
		r.Token = ""
		if v.raw != nil {
			d.warn(v, "repository.token is not used, because repository.url is a path; remove it")
		}
	case r.Token != "" || v.raw == nil && d.env.App:
	case variable != "" && (v.raw != nil || a.scheme == "https" && kind.pushes()):
		p.Reason = missingVariable(variable, map[string]string{tokenVariable: "$(gh auth token)"}[variable])
		d.add(p)
	case a.scheme == "https" && kind.pushes():
		p.Reason = fmt.Sprintf("is missing; write $NAME with the name of an environment variable: the token of GitHub in %s is not sent to %s unless it is written", tokenVariable, a.host)
		d.add(p)
	}
}

// maxPrefix is the greatest length of repository.branch_prefix, in bytes.
const maxPrefix = 60

func (d *repositorySection) branchPrefix(v value) {
	prefix, ok := v.raw.(string)
	prefix = strings.TrimSpace(prefix)
	switch {
	case !ok:
		d.reject(v, mustBeText)
	case prefix == "":
		d.reject(v, "must not be empty, because an issue named like a branch would get that branch; write for example symphony/")
	case len(prefix) > maxPrefix:
		d.reject(v, "is longer than %d bytes; shorten it", maxPrefix)
	default:
		if _, err := git.ParseBranch(prefix + "1"); err != nil {
			d.reject(v, "cannot begin the name of a branch: %s", err)
		}
		d.repository.BranchPrefix = prefix
	}
}

// checkPrefix records a problem if the branch of an issue could be the base.
func (d *repositorySection) checkPrefix() {
	r := d.settings.Repository
	if v := d.written["repository.base"]; r.BranchPrefix != "" && strings.HasPrefix(r.Base.String(), r.BranchPrefix) {
		d.reject(v, "begins with repository.branch_prefix, %q, like the branches of issues; change one of them", r.BranchPrefix)
	}
}

// checkSubmodules records a problem for submodules that hooks outside the sandbox could meet:
// git goes into them, and obeys the agent's files there.
func (d *repositorySection) checkSubmodules() {
	s := d.settings
	if d.repository.Submodules && (!s.SandboxHooks || s.Workspace.Hooks.BeforeRemove != "") {
		d.reject(d.written["repository.submodules"], "a hook outside the sandbox whose git goes into a submodule would run what the agent left there; remove this key, or hooks.sandboxed and hooks.before_remove")
	}
}

// checkHooks sets where hooks run, and records a problem for hooks outside the sandbox
// that are not written for it.
func (d *repositorySection) checkHooks() {
	s := d.settings
	hooks := s.Workspace.Hooks
	const outside = "outside the sandbox, in a folder where an agent has worked, and files that it left there could act with their rights; "
	v, written := d.written["hooks.sandboxed"]
	if !written {
		s.SandboxHooks = true
	}
	if _, isBool := v.raw.(bool); isBool && !s.SandboxHooks && !s.TrustHooks {
		d.reject(v, "hooks would run "+outside+"remove the key, or write hooks.trusted: true as well if they are safe there")
	}
	if v, written := d.written["hooks.before_remove"]; written && hooks.BeforeRemove != "" && !s.TrustHooks {
		d.refuse(v, "can only run "+outside+"remove the hook, or write hooks.trusted: true if it is safe there")
	}
}
