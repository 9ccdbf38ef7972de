package client

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/transport"
)

// Bounds of the outputs of the checks of a commit that are read.
const (
	maxOutputs     = 20       // checks with their steps and annotations
	maxLogs        = 10       // logs
	maxLog         = 64 << 10 // bytes of the end of a log
	maxLogLines    = 200
	maxAnnotations = 20      // annotations of a check, failures first
	maxRemark      = 2 << 10 // bytes of an annotation, and of a summary
)

type outputNode struct {
	ID          string
	Title       string
	Summary     string
	Annotations *struct {
		Nodes []*struct {
			AnnotationLevel string
			Path            string
			Location        struct{ Start struct{ Line int } }
			Title           string
			Message         string
		}
	} `graphql:"annotations(first: 100)"`
	Steps *struct {
		Nodes []*struct{ Name, Conclusion string }
	} `graphql:"steps(first: 100)"`
}

// ReadOutputs reads the outputs of failed checks: the summaries and annotations of all, and of
// jobs the steps that failed and the ends of the logs. A log that cannot be read is not an
// error: NoLog has the reason, and a Lack is returned if the token may not read it. Of more
// than 20 checks the first are read; of more than 10 jobs the first have logs. A check that was
// read before is left as it is.
func (r CheckRuns) ReadOutputs(ctx context.Context, failed []FailedCheck) ([]Lack, error) {
	var lacks lackList
	if err := r.readSummaries(ctx, failed[:min(len(failed), maxOutputs)]); err != nil {
		return nil, err
	}
	logs := 0
	limit := r.c.Transport.Timeout
	tooLate, end := fmt.Errorf("the logs did not come within %v", limit), time.Now().Add(limit)
	inTime, cancel := context.WithDeadlineCause(ctx, end, tooLate)
	defer cancel()
	// The clock decides, and not inTime: the time of a single log may be noticed to be over first.
	isLate := func() bool { return !time.Now().Before(end) }
	for i := range failed {
		check := &failed[i]
		if check.Read {
			if check.Log != "" {
				logs++
			} else if check.NoLog == lackLogs.Error() {
				lacks.add(lackLogs)
			}
			continue
		}
		check.Read = true
		switch {
		case check.job == 0:
			continue
		case logs == maxLogs:
			check.NoLog = "too many jobs failed: see the page of the check"
			continue
		}
		logs++
		var log string
		var whole bool
		err := tooLate
		if !isLate() {
			log, whole, err = r.jobLog(inTime, check.job)
		}
		switch {
		case ctx.Err() != nil:
			return nil, r.c.explain(transport.Interrupted(ctx), "")
		case HasStatus(err, http.StatusForbidden):
			lacks.add(lackLogs)
			check.NoLog = lackLogs.Error()
		case HasStatus(err, http.StatusNotFound, http.StatusGone):
			check.NoLog, check.Read = "GitHub does not have it any more, or not yet", false
		case err != nil && isLate():
			check.NoLog, check.Read = tooLate.Error(), false
		case err != nil:
			check.NoLog, check.Read = err.Error(), false
		default:
			check.Log, check.Cut, check.NoLog = log, !whole, ""
		}
	}
	return lacks, nil
}

// readSummaries reads the outputs of check runs into checks, by GraphQL.
func (r CheckRuns) readSummaries(ctx context.Context, failed []FailedCheck) error {
	ids := []graphql.ID{}
	for _, check := range failed {
		if check.App != "" && !check.Read {
			ids = append(ids, check.Node)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var data struct {
		Nodes []*struct {
			Run outputNode `graphql:"... on CheckRun"`
		} `graphql:"nodes(ids: $ids)"`
	}
	if err := r.c.Query(ctx, ReadChecks, &data, map[string]any{"ids": ids}); err != nil {
		return err
	}
	for _, n := range data.Nodes {
		for i := range failed {
			if n != nil && n.Run.ID == failed[i].Node {
				n.Run.into(&failed[i])
			}
		}
	}
	return nil
}

func (n *outputNode) into(check *FailedCheck) {
	check.Summary = text.TruncateBytes(strings.TrimSpace(n.Title+"\n"+n.Summary), maxRemark)
	check.Steps, check.Annotations = nil, nil
	if n.Steps != nil {
		for _, step := range n.Steps.Nodes {
			if step != nil && slices.Contains(failures, step.Conclusion) {
				check.Steps = append(check.Steps, step.Name)
			}
		}
	}
	if n.Annotations == nil {
		return
	}
	for _, a := range n.Annotations.Nodes {
		if a != nil {
			check.Annotations = append(check.Annotations, Annotation{
				Level: a.AnnotationLevel, Path: a.Path, Line: a.Location.Start.Line, Title: a.Title, Message: text.TruncateBytes(a.Message, maxRemark),
			})
		}
	}
	levels := []string{"FAILURE", "WARNING", "NOTICE"}
	slices.SortStableFunc(check.Annotations, func(a, b Annotation) int {
		return cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level))
	})
	check.Annotations = check.Annotations[:min(len(check.Annotations), maxAnnotations)]
}

// jobPage matches the page of a job, which is the page of its check run on older servers.
var jobPage = lazy.Regexp(`/(?:actions/runs/[0-9]+/job|runs)/([0-9]{1,18})(?:\?.*)?$`)

// jobOf returns the id of the job that has this page, or 0 if it is not the page of a
// job.
func jobOf(page string) int64 {
	match := jobPage().FindStringSubmatch(page)
	if match == nil {
		return 0
	}
	id, _ := strconv.ParseInt(match[1], 10, 64) // the pattern allows numbers alone
	return id
}

// jobLog returns the last lines of the log of a job, and reports whether all of it was read.
func (r CheckRuns) jobLog(ctx context.Context, job int64) (log string, whole bool, err error) {
	text, whole, err := r.c.download(ctx, r.c.Path("/actions/jobs/%d/logs", job), maxLog)
	return logEnd(text, whole), whole, err
}

// logEnd returns the last lines of a log up to the last error in it, without the time before
// each line. After the error only the runner cleans up.
func logEnd(text []byte, whole bool) string {
	if _, rest, ok := bytes.Cut(text, []byte("\n")); ok && !whole {
		text = rest
	}
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(text), "\uFFFD"), "\r\n"), "\n")
	last := len(lines)
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimPrefix(line, "\uFEFF"), "\r")
		if before, rest, ok := strings.Cut(lines[i], " "); ok && logTime().MatchString(before) {
			lines[i] = rest
		}
		if strings.HasPrefix(lines[i], "##[error]") {
			last = i + 1
		}
	}
	return strings.Join(lines[max(last-maxLogLines, 0):last], "\n")
}

// logTime matches the time that GitHub puts before each line of a log.
var logTime = lazy.Regexp(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$`)
