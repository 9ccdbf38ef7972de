package report

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Links holds the addresses that a page links to. The zero value is for a page
// without links to runs.
type Links struct {
	Server     string // such as https://github.com
	Repository string // owner/name
	Branch     string // that keeps the state, for commands to copy; empty when none does
}

// The pattern of a repository is wider than that of package client, which checks names
// and which a pure package does not import: here a wrong name only gives no link.
var (
	repository = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`) })
	runID      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,20}$`) })
)

// run returns the name of a run of a workflow with a link to it. Its id comes
// from the state, which anybody who may write to the branch can write.
func (l Links) run(id string, attempt int) phrase {
	if id == "" {
		return nil
	}
	address := ""
	if runID().MatchString(id) && repository().MatchString(l.Repository) {
		address = strings.TrimSuffix(l.Server, "/") + "/" + l.Repository + "/actions/runs/" + id
		if attempt > 0 {
			address += "/attempts/" + strconv.Itoa(attempt)
		}
	}
	text := id
	if attempt > 1 {
		text += " (attempt " + strconv.Itoa(attempt) + ")"
	}
	return phrase{{text: text, url: address, name: true}}
}

// owner returns the name of the process that works on a claim.
func (l Links) owner(o schedule.Owner) phrase {
	if o.Run == "" && o.Host != "" {
		return phrase{foreign(o.Host), own(" (pid " + strconv.Itoa(o.PID) + ")")}
	}
	return l.run(o.Run, o.Attempt)
}

// retry returns the command that releases a parked issue.
func (l Links) retry(id string) string {
	command := "symphony state retry " + id
	if l.Branch != "" {
		branch := "NAME"
		if plain := strings.ReplaceAll(l.Branch, "/", "-"); argument(plain) == plain {
			branch = l.Branch
		}
		command += " --state branch:" + branch
	}
	return command
}
