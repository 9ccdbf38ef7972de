package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// logSource holds event logs: it is a folder, or the artifact of a workflow run.
type logSource struct {
	app      *app
	workflow workflow.Workflow // zero if it is invalid
	name     string            // name of the folder or the artifact for people
	folder   string            // empty for an artifact
	files    fs.FS             // nil for a folder that does not exist
	root     *os.Root          // behind files; nil for an artifact

	summaries transcript.Summaries
}

// open opens the logs that the flags name. args may name a WORKFLOW.md, which need not be
// valid.
func (l *logCommand) open(ctx context.Context, args []string) (*logSource, error) {
	path, err := workflowPath(args)
	if err != nil {
		return nil, err
	}
	s := &logSource{app: l.app, summaries: transcript.Summaries{Redact: l.redactor.String}}
	if wf, err := l.workflows(path).Current(); err == nil {
		s.workflow = wf
		l.opener().AddWorkflowSecrets(wf)
	}
	if l.run != "" {
		wf := s.workflow
		if in, err := l.workflows(path).Inspect(); err == nil {
			if !l.NamesAPI() && !in.Sound("tracker.kind", "tracker.api_url", "tracker.provider.api_url") {
				return nil, fmt.Errorf("%w: --run: %s does not say which server has the run: correct what symphony validate finds, or set GITHUB_API_URL", wiring.ErrUsage, shownPath(path))
			}
			wf = in.Workflow // it names the server also if the key of the tracker is missing
		}
		s.name, s.files, err = l.fetchRun(ctx, path, wf)
		return s, err
	}
	if s.folder = wiring.TranscriptFolder(path); l.logs == "" {
		err = transcript.CheckFolder(s.folder)
	} else if s.folder, err = filepath.Abs(l.logs); err != nil {
		return nil, err
	}
	s.name = s.folder
	if err == nil {
		s.root, err = os.OpenRoot(s.folder)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("read the logs of the sessions: %w: give this user the right to read that, or name another folder with --logs", err)
	}
	s.files = s.root.FS()
	return s, nil
}

// Close closes the folder.
func (s *logSource) Close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// find returns the logs of the issue that a person means by a name, or all logs for an
// empty name; the oldest first.
func (s *logSource) find(ctx context.Context, name string) ([]transcript.File, error) {
	var files []transcript.File
	if s.files != nil {
		var err error
		if files, err = transcript.List(s.files); err != nil {
			err = fmt.Errorf("read the logs of the sessions in %s: %w: give this user the right to read that, or remove it", s.name, err)
			if len(files) == 0 {
				return nil, err
			}
			s.app.printWarning(err)
		}
	}
	if name == "" || len(files) == 0 {
		return files, nil
	}
	var known []lookup.Issue
	seen, keys := map[string]bool{}, map[tracker.ID][]string{}
	for _, f := range slices.Backward(files) { // the newest log has the current name of the issue
		if !seen[f.Key] {
			seen[f.Key] = true
			_, n := s.summary(ctx, f)
			known, keys[n.ID] = append(known, n), append(keys[n.ID], f.Key)
		}
	}
	if ctx.Err() != nil {
		return nil, schedule.ErrInterrupted
	}
	n, ok := matchIssue(s.workflow, name, known)
	if !ok {
		return nil, unknownIssueError("no session on", name, "issues with sessions", known)
	}
	return slices.DeleteFunc(files, func(f transcript.File) bool { return !slices.Contains(keys[n.ID], f.Key) }), nil
}

func (s *logSource) path(f transcript.File) string {
	return filepath.Join(shownPath(s.name), f.Path)
}

func (s *logSource) openLog(f transcript.File) (io.ReadCloser, error) {
	if s.folder != "" {
		return transcript.Open(s.folder, f.Path)
	}
	return s.files.Open(f.Path)
}

// summary returns the summary of the session of a log, and the names of its issue. If the log
// cannot be read, they come from its name.
func (s *logSource) summary(ctx context.Context, f transcript.File) (transcript.Summary, lookup.Issue) {
	sum := s.summaries.Of(ctx, func() (io.ReadCloser, error) { return s.openLog(f) })
	if of := sum.Session; of.Identifier != "" {
		return sum, lookup.Issue{ID: tracker.ID(of.IssueID), Identifier: of.Identifier, Addresses: []string{of.URL}}
	}
	return sum, lookup.Issue{ID: tracker.ID(f.Key), Identifier: f.Key}
}
