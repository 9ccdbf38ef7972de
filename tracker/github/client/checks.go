package client

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shurcooL/graphql"
)

// Checks is the state of the checks of a commit: check runs, of which GitHub Actions makes one
// for each job, and commit statuses.
type Checks struct {
	Failed  []FailedCheck // checks in the order of their names
	Running int           // checks that have not ended
	Lacks   []Lack        // checks that the token may not see are in neither of them
}

// FailedCheck is a check that has ended without success.
type FailedCheck struct {
	Node     string // id in GraphQL
	Name     string // name of the check; the name in the workflow for a job
	Workflow string // workflow of a job of GitHub Actions; empty for other checks, or if it is not known
	App      string // slug of the App, such as github-actions; empty for a commit status
	Bot      string // login of the App or bot that reports it; empty for a job of GitHub Actions, and for a person's commit status
	URL      string
	Verdict  string    // failure, timed_out, action_required, startup_failure, or error of a commit status
	At       time.Time // end of the check
	Summary  string    // text of the App; description of a commit status

	// Steps, Annotations, Log, Cut and NoLog are read by CheckRuns.ReadOutputs.
	Steps       []string // names of the steps of a job that failed
	Annotations []Annotation
	Log         string // the end of a job's log
	Cut         bool   // the log is so long that only its end was read
	NoLog       string // reason why a job has no Log; empty if it has one
	Read        bool   // all of it was read: only a log that may come yet is asked for again

	job int64 // id of the job of GitHub Actions; 0 for another check
}

// Annotation is a remark of a check on a file.
type Annotation struct {
	Level   string // FAILURE, WARNING or NOTICE
	Path    string
	Line    int // first line that it is about
	Title   string
	Message string
}

// failures are the verdicts of check runs and commit statuses that count as failed. A stale
// check does not: GitHub gave up waiting for it, so it has no verdict. Nor does a cancelled
// one: a person stopped it, or another run took its place in the queue.
var failures = []string{"FAILURE", "TIMED_OUT", "ACTION_REQUIRED", "STARTUP_FAILURE", "ERROR"}

// maxCheckPages bounds the pages of 100 checks that are read of a commit.
const maxCheckPages = 10

// actionsApp is the slug of the App whose checks are the jobs of GitHub Actions.
const actionsApp = "github-actions"

// checkNode is a check run or a commit status in GraphQL.
type checkNode struct {
	Typename string     `graphql:"__typename"`
	Run      runNode    `graphql:"... on CheckRun"`
	Status   statusNode `graphql:"... on StatusContext"`
}

type runNode struct {
	ID          string
	Name        string
	Status      string
	Conclusion  string
	StartedAt   *time.Time
	CompletedAt *time.Time
	URL         string
	DetailsURL  string
	CheckSuite  struct {
		App         *struct{ Slug string }
		WorkflowRun *struct {
			Event    string
			Workflow struct{ Name, ResourcePath string }
		}
	}
}

type statusNode struct {
	ID          string
	Context     string
	State       string
	Description string
	TargetURL   string `graphql:"targetUrl"`
	CreatedAt   time.Time
	Creator     *Account
}

// CheckRuns makes requests about the checks of commits.
type CheckRuns struct{ c *Client }

// Failed reads the checks of a commit. If a workflow, or an App, has several check runs
// of one name, the latest that was not cancelled counts. The runs of the workflow in the file
// own, such as symphony.yml, are left out; an empty one leaves none out. That workflow may be
// started by an event of the pull request, which makes its jobs checks of the head.
func (r CheckRuns) Failed(ctx context.Context, commit, own string) (Checks, error) {
	all, lacks, err := r.all(ctx, commit)
	all = slices.DeleteFunc(all, func(n *checkNode) bool {
		return n.Run.Conclusion == "CANCELLED" || own != "" && n.Run.workflowFile() == own
	})
	checks := Checks{Lacks: lacks}
	for _, n := range latestChecks(all) {
		switch check := n.check(); {
		case n.running():
			checks.Running++
		case slices.Contains(failures, strings.ToUpper(check.Verdict)):
			checks.Failed = append(checks.Failed, check)
		}
	}
	slices.SortStableFunc(checks.Failed, func(a, b FailedCheck) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Node, b.Node))
	})
	return checks, err
}

// all reads the checks of a commit that the token may see.
func (r CheckRuns) all(ctx context.Context, commit string) ([]*checkNode, []Lack, error) {
	type GitObjectID string
	var all []*checkNode
	var lacks lackList
	after := (*graphql.String)(nil)
	for range maxCheckPages {
		var data struct {
			Repository *struct {
				Object *struct {
					Commit struct {
						StatusCheckRollup *struct {
							Contexts struct {
								Nodes    []*checkNode
								PageInfo struct {
									HasNextPage bool
									EndCursor   string
								}
							} `graphql:"contexts(first: 100, after: $after)"`
						}
					} `graphql:"... on Commit"`
				} `graphql:"object(oid: $commit)"`
			} `graphql:"repository(owner: $owner, name: $name)"`
		}
		variables := r.c.repositoryVariables()
		variables["commit"], variables["after"] = GitObjectID(commit), after
		forbidden, err := r.c.queryVisible(ctx, ReadChecks, &data, variables)
		if err == nil {
			err = r.c.lacksOfPaths(&lacks, ReadChecks, forbidden)
		}
		switch {
		case err != nil:
			return nil, nil, err
		case data.Repository == nil:
			return nil, nil, r.c.unseen()
		case data.Repository.Object == nil || data.Repository.Object.Commit.StatusCheckRollup == nil:
			return all, lacks, nil
		}
		contexts := data.Repository.Object.Commit.StatusCheckRollup.Contexts
		for _, n := range contexts.Nodes {
			if n != nil {
				all = append(all, n)
			}
		}
		if !contexts.PageInfo.HasNextPage {
			break
		}
		next := graphql.String(contexts.PageInfo.EndCursor)
		after = &next
	}
	return all, narrow(lacks, all), nil
}

// narrow returns the lacks of an answer with these checks: of the two kinds the one that
// is there can be seen.
func narrow(lacks []Lack, all []*checkNode) []Lack {
	i := slices.Index(lacks, lackRollup)
	kind := func(name string) bool {
		return slices.ContainsFunc(all, func(n *checkNode) bool { return n.Typename == name })
	}
	switch runs, statuses := kind("CheckRun"), kind("StatusContext"); {
	case i >= 0 && runs && !statuses:
		lacks[i] = lackStatuses
	case i >= 0 && statuses && !runs:
		lacks[i] = lackChecks
	}
	return lacks
}

// latestChecks returns the check runs that no newer one replaces, and all statuses.
func latestChecks(all []*checkNode) []*checkNode {
	type key struct{ app, workflow, event, name string }
	at := map[key]int{}
	var latest []*checkNode
	for _, n := range all {
		run := &n.Run
		if n.Typename != "CheckRun" {
			latest = append(latest, n)
			continue
		}
		k := key{app: run.app(), name: run.Name}
		if w := run.CheckSuite.WorkflowRun; w != nil {
			k.workflow, k.event = w.Workflow.Name, w.Event
		}
		i, known := at[k]
		switch {
		case !known:
			at[k] = len(latest)
			latest = append(latest, n)
		case run.after(&latest[i].Run):
			latest[i] = n
		}
	}
	return latest
}

// after reports whether a check run is newer than another one of its name. A run that has not
// begun is newer than a run that has.
func (n *runNode) after(other *runNode) bool {
	if n.StartedAt == nil || other.StartedAt == nil {
		return n.StartedAt == nil
	}
	return n.StartedAt.After(*other.StartedAt)
}

// workflowFile returns the name of the file of the workflow that a job belongs to; "" for
// other checks, and if the token may not see it.
func (n *runNode) workflowFile() string {
	run := n.CheckSuite.WorkflowRun
	if run == nil || run.Workflow.ResourcePath == "" {
		return ""
	}
	return path.Base(run.Workflow.ResourcePath)
}

func (n *runNode) app() string {
	if n.CheckSuite.App == nil {
		return ""
	}
	return n.CheckSuite.App.Slug
}

func (n *checkNode) running() bool {
	if n.Typename == "CheckRun" {
		return n.Run.Status != "COMPLETED"
	}
	return n.Status.State == "PENDING" || n.Status.State == "EXPECTED"
}

func (n *checkNode) check() FailedCheck {
	if n.Typename != "CheckRun" {
		s := &n.Status
		check := FailedCheck{Node: s.ID, Name: s.Context, URL: s.TargetURL, Verdict: strings.ToLower(s.State), At: s.CreatedAt, Summary: s.Description}
		if s.Creator != nil && s.Creator.Type != "User" && s.Creator.Login != actionsApp {
			check.Bot = s.Creator.Login
		}
		return check
	}
	run := &n.Run
	check := FailedCheck{Node: run.ID, Name: run.Name, App: run.app(), URL: cmp.Or(run.DetailsURL, run.URL), Verdict: strings.ToLower(run.Conclusion)}
	if run.CompletedAt != nil {
		check.At = *run.CompletedAt
	}
	if w := run.CheckSuite.WorkflowRun; w != nil {
		check.Workflow = w.Workflow.Name
	}
	if check.App == actionsApp {
		check.job = jobOf(check.URL)
	} else {
		check.Bot = cmp.Or(check.App, "an App that is gone")
	}
	return check
}
