package client

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/shurcooL/graphql"
)

// UpdateDiscussion reads the comments since a time on a pull request, like
// [Pulls.Discussion]. last is an earlier result for the same pull request, or zero. Where
// last reaches back as far, only the new ones are read, unless the numbers of comments, reviews
// and threads, or an edit that the status names, show that more has changed. A review that is
// older than the newest 100 keeps the text and the verdict that it had.
func (p Pulls) UpdateDiscussion(ctx context.Context, last PullDiscussion, s PullStatus, since time.Time) (PullDiscussion, error) {
	if last.node == s.Node && !last.since.After(since) {
		d, complete, err := p.extendDiscussion(ctx, last, s)
		if err != nil || complete {
			return d, err
		}
	}
	d, err := p.Discussion(ctx, s.Node, since)
	d.edited = s.Edited
	return d, err
}

// extendDiscussion returns a discussion with its new comments. The result is complete if it
// accounts for all that is there now, or if too many pages were read in the last minutes.
func (p Pulls) extendDiscussion(ctx context.Context, last PullDiscussion, s PullStatus) (d PullDiscussion, complete bool, err error) {
	pull, err := p.endOfDiscussion(ctx, s.Node)
	if err != nil {
		return d, false, err
	}
	var (
		r        = &backReader{Client: p.c, node: s.Node, since: last.newest()}
		comments []PullComment
		reviews  []PullReview
		extents  [3]Extent
		added    [3]int
	)
	d = last
	d.totals, d.edited = pull.totals(), s.Edited
	if comments, extents[0], err = r.comments(ctx, pull.Comments); err == nil {
		reviews, extents[1], err = r.reviews(ctx, pull.Reviews)
	}
	if err == nil {
		d.Threads, added[2], extents[2], err = r.extendThreads(ctx, pull.Threads, last)
	}
	switch extent := slices.Max(extents[:]); {
	case err != nil || extent == Omits:
		return PullDiscussion{}, false, err
	case extent == Postponed:
		return PullDiscussion{Extent: Postponed}, true, nil
	}
	d.Comments, added[0] = Merge(last.Comments, comments, r.since)
	d.Reviews, added[1] = Merge(last.Reviews, reviews, r.since)
	for i, n := range added {
		added[i] = last.totals[i] + n
	}
	return d, added == d.totals && d.has(s.Lines, last.edited), nil
}

// newest returns the time of the last publication or edit of a comment or review.
func (d PullDiscussion) newest() time.Time {
	newest := d.since
	for _, at := range d.times() {
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}

// times returns the time when each comment and review was published or last edited, by their ids.
func (d PullDiscussion) times() map[string]time.Time {
	times := map[string]time.Time{}
	for _, c := range d.Comments {
		times[c.Node] = c.At
	}
	for _, r := range d.Reviews {
		times[r.Node] = r.At
	}
	for _, t := range d.Threads {
		for _, c := range t.Comments {
			times[c.Node] = c.At
		}
	}
	return times
}

// has reports whether the discussion has all changes of lines from a time on.
func (d PullDiscussion) has(lines []ChangedLine, from time.Time) bool {
	times := d.times()
	return !slices.ContainsFunc(lines, func(l ChangedLine) bool {
		return !l.At.Before(from) && times[l.Node].Before(l.At)
	})
}

// Merge returns comments with later ones: each replaces the comment of its id, or is added
// unless it is from before since. added is the number of the added ones.
func Merge[T interface{ comment() PullComment }](list, later []T, since time.Time) (merged []T, added int) {
	merged = slices.Clone(list)
	at := make(map[string]int, len(list))
	for i, one := range list {
		at[one.comment().Node] = i
	}
	for _, one := range later {
		if i, known := at[one.comment().Node]; known {
			merged[i] = one
		} else if !one.comment().At.Before(since) {
			merged, added = append(merged, one), added+1
		}
	}
	return merged, added
}

func (c PullComment) comment() PullComment { return c }

// extendThreads returns the threads of a discussion as they are now, with the new ones, and
// how many these are. page is the last part of their list.
func (r *backReader) extendThreads(ctx context.Context, page pageBack[threadNode], last PullDiscussion) (threads []ReviewThread, added int, extent Extent, err error) {
	threads = slices.Clone(last.Threads)
	at := make(map[string]int, len(threads))
	for i, t := range threads {
		at[t.Node] = i
	}
	nodes, extent, err := r.threadNodes(ctx, page, func(n *threadNode) bool { _, known := at[n.ID]; return known })
	if err != nil || extent != Whole {
		return nil, 0, extent, err
	}
	var older []graphql.ID
	for _, t := range threads {
		if !slices.ContainsFunc(nodes, func(n *threadNode) bool { return n.ID == t.Node }) {
			older = append(older, t.Node)
		}
	}
	again, err := r.threadsByID(ctx, older)
	if err != nil {
		return nil, 0, Whole, err
	}
	for _, one := range append(again, nodes...) {
		i, known := at[one.ID]
		if !known {
			i = len(threads)
			threads = append(threads, ReviewThread{})
		}
		if threads[i], extent, err = r.extendThread(ctx, one, threads[i], last.since); err != nil || extent != Whole {
			return nil, 0, extent, err
		}
		if !known && len(threads[i].Comments) > 0 {
			added++
		}
	}
	threads = slices.DeleteFunc(threads, func(t ReviewThread) bool { return len(t.Comments) == 0 })
	return threads, added, Whole, nil
}

// extendThread returns a thread as it is now. old is its earlier state, zero for a new one, and
// since the time from which that was read: if more has changed than is new, all of it is read
// again.
func (r *backReader) extendThread(ctx context.Context, one *threadNode, old ReviewThread, since time.Time) (ReviewThread, Extent, error) {
	if old.Node != "" {
		nodes, extent, err := r.thread(ctx, one, r.since)
		if err != nil || extent != Whole {
			return ReviewThread{}, extent, err
		}
		t := one.thread(nodes)
		comments, added := Merge(old.Comments, t.Comments, r.since)
		if old.total+added == t.total {
			t.Comments, t.Code = comments, cmp.Or(t.Code, old.Code)
			return t, Whole, nil
		}
	}
	nodes, extent, err := r.thread(ctx, one, since)
	return one.thread(nodes), extent, err
}

// maxThreads is the number of threads of one query by id, in five lists of what GitHub
// returns of one list of ids.
const maxThreads = 5 * pageSize

// threadsByID reads threads with their latest comments. It leaves out those that are gone.
func (r *backReader) threadsByID(ctx context.Context, ids []graphql.ID) (threads []*threadNode, err error) {
	for part := range slices.Chunk(ids, maxThreads) {
		err = InHalves(part, func(ids []graphql.ID) error {
			some, err := r.someThreads(ctx, ids)
			threads = append(threads, some...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return threads, nil
}

// someThreads reads at most maxThreads threads.
func (r *backReader) someThreads(ctx context.Context, ids []graphql.ID) (threads []*threadNode, err error) {
	type list []*struct {
		Thread threadNode `graphql:"... on PullRequestReviewThread"`
	}
	var data struct {
		A list `graphql:"a: nodes(ids: $a)"`
		B list `graphql:"b: nodes(ids: $b)"`
		C list `graphql:"c: nodes(ids: $c)"`
		D list `graphql:"d: nodes(ids: $d)"`
		E list `graphql:"e: nodes(ids: $e)"`
	}
	variables := map[string]any{"size": graphql.Int(1)}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		from := min(i*pageSize, len(ids))
		variables[name] = append([]graphql.ID{}, ids[from:min(from+pageSize, len(ids))]...)
	}
	if err := r.Query(ctx, ReadPullRequests, &data, variables); err != nil {
		return nil, err
	}
	for _, node := range slices.Concat(data.A, data.B, data.C, data.D, data.E) {
		if node != nil && node.Thread.ID != "" {
			threads = append(threads, &node.Thread)
		}
	}
	return threads, nil
}
