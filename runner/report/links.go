package report

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Links holds what the addresses that a page links to are made of. The zero value is for
// a page without links to runs.
type Links struct {
	Server     string // such as https://github.com
	Repository string // owner/name
	Branch     string // that keeps the state; empty when none does
	Workflow   string // file that runs the ticks, such as symphony.yml; empty when unknown
	Run        string // id of this run; empty outside Actions
	Artifact   string // name of what this run uploads; empty for nothing
}

// The pattern of a repository is wider than that of package client, which checks names
// and which a pure package does not import: here a wrong name only gives no link.
var (
	repository = lazy.Regexp(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)
	runID      = lazy.Regexp(`^[0-9]{1,20}$`)
	// plainPath matches names of files that need no escapes in an address.
	plainPath = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
)

// page returns the address of a page of the repository; empty if that is not known.
func (l Links) page(path string) string {
	if !repository().MatchString(l.Repository) {
		return ""
	}
	return strings.TrimSuffix(l.Server, "/") + "/" + l.Repository + "/" + path
}

// places returns links to what belongs to a run: the page of the state, the page on which
// people start a run, and the artifact.
func (l Links) places() phrase {
	var p phrase
	add := func(text, path string) {
		address := l.page(path)
		if href(address) == "" {
			return
		}
		if len(p) > 0 {
			p = append(p, own(" · "))
		}
		p = append(p, span{text: text, url: address, name: true})
	}
	if branch := pathOf(l.Branch); branch != "" {
		add("All issues", "blob/"+branch+"/README.md")
	}
	if plainPath().MatchString(l.Workflow) {
		add("Run workflow", "actions/workflows/"+l.Workflow)
	}
	if runID().MatchString(l.Run) && l.Artifact != "" {
		add("Logs of the sessions", "actions/runs/"+l.Run+"#artifacts")
	}
	return p
}

// pathOf returns the name of a branch for an address; empty for what an address does not
// lead to, such as a name with a part "..".
func pathOf(branch string) string {
	parts := strings.Split(branch, "/")
	for i, part := range parts {
		if part == "" || part == "." || part == ".." {
			return ""
		}
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// Job returns the address of the page of a job of a run; empty if it is not known. The ids
// may come from the result of a shard, which its agents may have forged.
func (l Links) Job(run, id string) string {
	if !runID().MatchString(run) || !runID().MatchString(id) {
		return ""
	}
	return l.page("actions/runs/" + run + "/job/" + id)
}

// run returns the name of a run of a workflow with a link to it.
func (l Links) run(id string, attempt int) phrase {
	if id == "" {
		return nil
	}
	return l.attempt(id, id, attempt)
}

// attempt returns a text that links to an attempt of a run, whose number it has behind it
// if it is not the first. The id of the run comes from the state, which anybody who may
// write to the branch can write.
func (l Links) attempt(text, id string, attempt int) phrase {
	if attempt > 1 {
		text += " (attempt " + strconv.Itoa(attempt) + ")"
	}
	return phrase{{text: text, url: l.RunPage(id, attempt), name: true}}
}

// RunPage returns the address of the page of a run of a workflow, or of an attempt of it;
// empty if it is not known.
func (l Links) RunPage(id string, attempt int) string {
	if !runID().MatchString(id) {
		return ""
	}
	path := "actions/runs/" + id
	if attempt > 0 {
		path += "/attempts/" + strconv.Itoa(attempt)
	}
	return l.page(path)
}

// owner returns the name of the process that works on a claim.
func (l Links) owner(o schedule.Owner) phrase {
	if o.Shard > 0 {
		return l.attempt(o.Name(), o.Run, o.Attempt)
	}
	if o.Run == "" && o.Host != "" {
		return phrase{foreign(o.Host), own(" (pid " + strconv.Itoa(o.PID) + ")")}
	}
	return l.run(o.Run, o.Attempt)
}

// startsWithShard matches the reason why a claim waits whose shard ended before its session.
var startsWithShard = lazy.Regexp(`^(shard [0-9]{1,3} of run ([0-9]{1,20})) ended `)

// lostShard returns a text, in which the name of a shard that ended too early links to the
// page of its run: the state does not keep the id of its job.
func (l Links) lostShard(why string) phrase {
	parts := startsWithShard().FindStringSubmatch(why)
	if parts == nil {
		return cell(why)
	}
	return phrase{{text: parts[1], url: l.RunPage(parts[2], 0), name: true}, own(" "), foreign(strings.TrimSpace(strings.TrimPrefix(why, parts[1])))}
}

// state returns the place of the state, as --state takes it.
func (l Links) state() string {
	if l.Branch == "" {
		return ""
	}
	return "branch:" + l.Branch
}
