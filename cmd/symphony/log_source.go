package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	name     string            // of the folder or the artifact, for people
	folder   string            // empty for an artifact
	files    fs.FS             // nil for a folder that does not exist
	root     *os.Root          // behind files; nil for an artifact
	read     int               // bytes of the logs, for their summaries
}

// open opens the logs that the flags name. args may name a WORKFLOW.md, which need not be
// valid.
func (l *logCommand) open(ctx context.Context, args []string) (*logSource, error) {
	path, err := workflowPath(args)
	if err != nil {
		return nil, err
	}
	s := &logSource{app: l.app}
	if wf, err := l.workflows(path).Current(); err == nil {
		s.workflow = wf
		l.opener().addWorkflowSecrets(wf)
	}
	if l.run != "" {
		wf := s.workflow
		if in, err := l.workflows(path).Inspect(); err == nil {
			if !l.namesAPI() && !in.Sound("tracker.kind", "tracker.api_url", "tracker.provider.api_url") {
				return nil, fmt.Errorf("%w: --run: %s does not say which server has the run: correct what symphony validate finds, or set GITHUB_API_URL", errUsage, shownPath(path))
			}
			wf = in.Workflow // without the key of the tracker it names the server too
		}
		s.name, s.files, err = l.fetchRun(ctx, path, wf)
		return s, err
	}
	if s.folder = transcriptFolder(path); l.logs == "" {
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
			n := s.summary(ctx, f).names
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

// path returns the path of a log as people read it.
func (s *logSource) path(f transcript.File) string {
	if here, err := os.Getwd(); err == nil && s.folder != "" {
		if rel, err := filepath.Rel(here, s.folder); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(rel, f.Path)
		}
	}
	return filepath.Join(s.name, f.Path)
}

// openLog opens a log.
func (s *logSource) openLog(f transcript.File) (io.ReadCloser, error) {
	if s.folder != "" {
		return transcript.Open(s.folder, f.Path)
	}
	return s.files.Open(f.Path)
}

// logSummary holds what the two ends of a log say.
type logSummary struct {
	names       lookup.Issue
	identifier  string
	took, ended string
}

// maxSummarized bounds what is read of all logs for their summaries, in bytes: an artifact
// that is small can unpack to more than anybody waits for.
const maxSummarized = 1 << 30

// maxEnd bounds how much of an end of a log is read for its summary, in bytes.
const maxEnd = 64 << 10

// summary returns the summary of the session of a log. If the log cannot be read, the summary
// has only what its name says.
func (s *logSource) summary(ctx context.Context, f transcript.File) logSummary {
	sum := logSummary{identifier: f.Key, names: lookup.Issue{ID: tracker.ID(f.Key), Identifier: f.Key}}
	if s.read >= maxSummarized || ctx.Err() != nil {
		sum.ended = "its log was not read: there is too much of all"
		return sum
	}
	log, err := s.openLog(f)
	if err != nil {
		sum.ended = "its log cannot be read"
		return sum
	}
	defer log.Close()
	reader := &transcript.Reader{Redact: s.app.redactor.String}
	head, tail := s.ends(ctx, log)
	entries := append(reader.Feed(head), reader.Feed(tail)...)
	if of := reader.Session(); of.Identifier != "" {
		sum.identifier = of.Identifier
		sum.names = lookup.Issue{ID: tracker.ID(of.IssueID), Identifier: of.Identifier, Addresses: []string{of.URL}}
	}
	file, isFile := log.(*os.File)
	switch {
	case reader.Outcome() != nil && len(entries) > 0:
		last := entries[len(entries)-1]
		sum.took, sum.ended = last.Details(), last.Title
	case isFile && transcript.IsBeingWritten(file):
		sum.ended = "it is running"
	default:
		sum.ended = "it was killed"
	}
	return sum
}

// ends returns the first line of a log and its last lines, and skips the rest.
func (s *logSource) ends(ctx context.Context, log io.Reader) (head, tail []byte) {
	head, err := io.ReadAll(io.LimitReader(log, maxEnd))
	if s.read += len(head); err != nil {
		return nil, nil
	}
	if seeker, ok := log.(io.Seeker); ok && len(head) == maxEnd {
		if end, err := seeker.Seek(0, io.SeekEnd); err == nil {
			_, _ = seeker.Seek(max(end-maxEnd, maxEnd), io.SeekStart)
		}
	}
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	tail = bytes.Clone(rest)
	part := make([]byte, maxEnd)
	for total := 0; total < maxShown && s.read < maxSummarized && ctx.Err() == nil; {
		n, err := log.Read(part)
		total, s.read = total+n, s.read+n
		tail = append(tail, part[:n]...)
		tail = tail[max(0, len(tail)-maxEnd):]
		if err != nil {
			break
		}
	}
	if at := bytes.LastIndexByte(bytes.TrimRight(tail, "\n"), '\n'); at >= 0 {
		tail = tail[at+1:] // the last line alone
	}
	return append(first, '\n'), tail
}
