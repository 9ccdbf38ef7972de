package workflow

import (
	"time"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Repository describes the repository whose files the host brings into workspaces, and
// to which it takes the work.
type Repository struct {
	Remote       string     // https URL, or absolute path of a repository on this machine
	Base         git.Branch // zero is the default branch of the remote
	Token        string     // credential for Remote alone; empty for none
	SecretEnv    []string   // environment variables that hold the token, or would if nothing were written
	BranchPrefix string     // of the issues' branches
	Paths        []string   // of a sparse checkout; empty is everything
}

// DeliveryKind is where the work on an issue is published.
type DeliveryKind string

const (
	KindPullRequest DeliveryKind = "pull_request" // a branch and a pull request on GitHub
	KindBranch      DeliveryKind = "branch"       // a branch of the repository
	KindPatch       DeliveryKind = "patch"        // files in a folder of this machine
	KindNone        DeliveryKind = "none"         // the work stays in the workspace
)

// Delivery holds how the work on an issue is checked and published. It is zero when
// there is no [Repository].
type Delivery struct {
	Kind          DeliveryKind
	Policy        delivery.Settings
	KeepHistory   bool          // publish the agent's own commits; else one commit of them all
	Verified      bool          // publish commits that GitHub signs
	Verify        string        // shell command that checks the work; empty checks nothing
	VerifyRounds  int           // turns in which the agent may fix work that fails the check
	VerifyTimeout time.Duration // of the check; positive
	Folder        string        // absolute path of the folder for KindPatch; empty for the other kinds
	Draft         bool          // open pull requests as drafts
	Labels        []string      // of pull requests
	Assignees     []string      // logins
	Reviewers     []string      // logins, and teams as owner/team
	HandOver      HandOver
}

// HandOver is the change of an issue that hands it over to people when its work is
// published. At most one field is set; the zero value changes nothing.
type HandOver struct {
	State       string // moves the issue to this state
	RemoveLabel string // removes this label from the issue
}
