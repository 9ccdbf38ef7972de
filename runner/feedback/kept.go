package feedback

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// maxKept bounds the bytes of texts and logs that are kept of all pull requests. The rest is
// read again.
const maxKept = 16 << 20

// reading holds the answers of GitHub about an open pull request. It is kept unchanged: the
// people who may write, and the secrets, may be different when it is used again.
type reading struct {
	status string    // digest of the status that it was read for
	since  time.Time // time from which comments are in it
	head   string    // commit that the program had published
	said   client.PullDiscussion
	checks client.Checks
}

// reading returns the comments on a pull request, and the results of the checks of the commit
// that the program published, if one failed. After a change of the status of the pull request
// it reads only the new comments. As long as the status is the same, it reads only the parts
// that may change without it: checks while some run, and logs that could not be read.
func (c *Channel) reading(ctx context.Context, s client.PullStatus, t Topic) (reading, error) {
	c.mu.Lock()
	last := c.kept[t.PullRequest]
	c.mu.Unlock()
	r := reading{status: digest(s), since: t.Since, head: t.Head}
	same := last.status == r.status && last.since.Equal(r.since) && last.head == r.head
	var err error
	if r.said = last.said; !same {
		if r.said, err = c.GitHub.Pulls.UpdateDiscussion(ctx, last.said, s, t.Since); err != nil {
			return reading{}, err
		}
	}
	if r.checks = last.checks; !same || !last.isFinal() {
		if r.checks, err = c.readChecks(ctx, s, t, last.checks.Failed); err != nil {
			return reading{}, err
		}
	}
	kept := r
	if r.said.Extent == client.Postponed {
		kept.said, kept.status = last.said, "" // it is read again in any case
	}
	c.keep(t.PullRequest, kept)
	return r, nil
}

// readChecks reads the checks of the commit that the program published, if one failed. Outputs
// of known checks are not read again.
func (c *Channel) readChecks(ctx context.Context, s client.PullStatus, t Topic, known []client.FailedCheck) (client.Checks, error) {
	if s.Checks != "FAILURE" && s.Checks != "ERROR" || s.Head != t.Head {
		return client.Checks{}, nil
	}
	checks, err := c.GitHub.Checks.Failed(ctx, s.Head, c.OwnWorkflow)
	if err != nil {
		return client.Checks{}, err
	}
	for i, c := range checks.Failed {
		if j := slices.IndexFunc(known, func(k client.FailedCheck) bool {
			return k.Read && k.Node == c.Node && k.Verdict == c.Verdict && k.At.Equal(c.At)
		}); j >= 0 {
			checks.Failed[i] = known[j]
		}
	}
	lacks, err := c.GitHub.Checks.ReadOutputs(ctx, checks.Failed)
	checks.Lacks = slices.Concat(checks.Lacks, lacks)
	return checks, err
}

// isFinal reports whether the checks stay as they are while the status does.
func (r reading) isFinal() bool {
	return r.checks.Running == 0 && !slices.ContainsFunc(r.checks.Failed, func(c client.FailedCheck) bool { return !c.Read })
}

// keep keeps a reading of a pull request in place of the last, if there is room.
func (c *Channel) keep(p PullRequest, r reading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, p)
	size := r.size()
	for _, other := range c.kept {
		size += other.size()
	}
	if size > maxKept {
		return
	}
	if c.kept == nil {
		c.kept = map[PullRequest]reading{}
	}
	c.kept[p] = r
}

// forget drops the readings of pull requests that are of no topic. Readings without anything
// unanswered stay for later comments, while they leave half of the room.
func (c *Channel) forget(topics []Topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := maxKept / 2
	for _, r := range c.kept {
		room -= r.size()
	}
	maps.DeleteFunc(c.kept, func(p PullRequest, r reading) bool {
		return !slices.ContainsFunc(topics, func(t Topic) bool { return t.PullRequest == p && (room >= 0 || t.Pull != r.status) })
	})
}

// size returns about how many bytes a reading has.
func (r reading) size() (n int) {
	const rest = 500 // names, addresses and times
	add := func(list ...client.PullComment) {
		for _, c := range list {
			n += rest + len(c.Text)
		}
	}
	add(r.said.Comments...)
	for _, review := range r.said.Reviews {
		add(review.PullComment)
	}
	for _, t := range r.said.Threads {
		n += rest + len(t.Code)
		add(t.Comments...)
	}
	for _, c := range r.checks.Failed {
		n += rest + len(c.Summary) + len(c.Log)
		for _, a := range c.Annotations {
			n += rest + len(a.Message)
		}
	}
	return n
}
