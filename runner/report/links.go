package report

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Links says where to find what a page names. The zero value is for a page
// without links to runs.
type Links struct {
	Server     string // such as https://github.com
	Repository string // owner/name
	Branch     string // that keeps the state, for commands to copy; empty when none does
}

var (
	repository = regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)
	runID      = regexp.MustCompile(`^[0-9]{1,20}$`)
)

// run names a run of a workflow, and leads to it: its id comes from the state,
// which anybody who may write to the branch can write.
func (l Links) run(id string, attempt int) markdown {
	address := ""
	if runID.MatchString(id) && repository.MatchString(l.Repository) {
		address = strings.TrimSuffix(l.Server, "/") + "/" + l.Repository + "/actions/runs/" + id
		if attempt > 0 {
			address += "/attempts/" + strconv.Itoa(attempt)
		}
	}
	text := id
	if attempt > 1 {
		text += " (attempt " + strconv.Itoa(attempt) + ")"
	}
	return link(text, address, nameWidth)
}

// owner names who works on a claim.
func (l Links) owner(o schedule.Owner) markdown {
	switch {
	case o.Run != "":
		return l.run(o.Run, o.Attempt)
	case o.Host != "":
		return literal(o.Host, nameWidth) + markdown(" (pid "+strconv.Itoa(o.PID)+")")
	}
	return ""
}

// retry is the command that releases a parked issue, to copy.
func (l Links) retry(id string) markdown {
	command := "symphony state retry " + id
	if l.Branch != "" {
		branch := "NAME"
		if plain := strings.ReplaceAll(l.Branch, "/", "-"); argument(plain) == plain {
			branch = l.Branch
		}
		command += " --state branch:" + branch
	}
	return code(command)
}
