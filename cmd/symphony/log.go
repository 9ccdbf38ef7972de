package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/runlog"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// logCommand shows the event log of a session. It needs the event logs alone, and neither a
// valid WORKFLOW.md nor the tracker.
type logCommand struct {
	*app
	follow  bool
	list    bool
	session int // 0: the newest
	html    bool
	json    bool
	pages   bool
	output  string // a file; empty for standard output
	logs    string // the folder of --logs; empty for the default
	run     string // a workflow run; empty for this machine
}

// maxShown bounds the part of a log that is shown, in bytes. The logs of this program are
// shorter.
const maxShown = 128 << 20

func (l *logCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log [ID] [path-to-WORKFLOW.md]",
		Short: "Show what a session did",
		Long: `Show what a session did: the prompt, what the agent thought, said, ran and changed,
the tokens of each turn, and how the session ended.

Without an ID it is the newest session of all issues. Sessions leave their logs in
.symphony/sessions beside WORKFLOW.md; those of a workflow run are in its artifact.`,
		Example: `symphony log GH-7 # its newest session
symphony log -f GH-7 # the same, until it ends
symphony log --list # which sessions there are
symphony log --html -o page.html GH-7 # a page that stands alone
symphony log --run 1234567890 GH-7 # of a workflow run`,
		Annotations:       ofWorkflow(),
		Args:              argumentsUpTo(2),
		ValidArgsFunction: l.completeLog,
		RunE:              func(cmd *cobra.Command, args []string) error { return l.Run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&l.follow, "follow", "f", false, "show what a running session does until it ends")
	flags.BoolVar(&l.list, "list", false, "list the sessions instead, the oldest first")
	flags.IntVar(&l.session, "session", 0, "show the session with this `number`, as --list has it")
	flags.BoolVar(&l.html, "html", false, "write a page that stands alone")
	flags.BoolVar(&l.json, "json", false, "write the event log as it is, one JSON object a line")
	flags.BoolVar(&l.pages, "pages", false, "write the page of each session beside its log, where there is none")
	flags.StringVarP(&l.output, "output", "o", "", "write to this `file`")
	flags.StringVar(&l.logs, "logs", "", "read the logs in this `folder`, which a run had as --logs")
	flags.StringVar(&l.run, "run", "", "read the artifact of this workflow `run`, by its number or its page")
	return cmd
}

// Run shows a session on the issue that args name.
func (l *logCommand) Run(ctx context.Context, args []string) error {
	formats := 0
	for _, set := range []bool{l.list, l.html, l.json, l.pages} {
		if set {
			formats++
		}
	}
	switch {
	case formats > 1:
		return fmt.Errorf("%w: choose one of --list, --html, --json and --pages", wiring.ErrUsage)
	case l.pages && (l.run != "" || l.output != "" || l.session != 0):
		return fmt.Errorf("%w: --pages writes beside the logs on this machine, of all sessions", wiring.ErrUsage)
	case l.list && l.session != 0:
		return fmt.Errorf("%w: --list lists all sessions: leave it out to show the one of --session", wiring.ErrUsage)
	case l.follow && (l.html || l.list || l.pages || l.run != ""):
		return fmt.Errorf("%w: --follow shows text or --json of a session on this machine", wiring.ErrUsage)
	case l.run != "" && l.logs != "":
		return fmt.Errorf("%w: choose one of --run and --logs", wiring.ErrUsage)
	}
	name := ""
	if len(args) > 1 || len(args) == 1 && !isWorkflowPath(args[0]) { // the ID is optional
		name, args = args[0], args[1:]
	}
	source, err := l.open(ctx, args)
	if err != nil {
		return err
	}
	defer source.Close()
	files, err := source.find(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case l.list:
		return l.write(func(w io.Writer) error { return l.writeList(ctx, w, source, files) })
	case l.pages:
		return l.writePages(ctx, source, files)
	}
	if len(files) == 0 {
		return fmt.Errorf("%w: no session has left a log in %s", wiring.ErrUsage, source.name)
	}
	file, err := l.choose(files)
	if err != nil {
		return err
	}
	log, err := source.openLog(file)
	if err != nil {
		return fmt.Errorf("open the log of the session: %w", err)
	}
	defer log.Close()
	return l.write(func(w io.Writer) error { return l.show(ctx, w, log) })
}

// writePages writes the pages that logs do not have: a run writes one when a session ends,
// and not if it is killed.
func (l *logCommand) writePages(ctx context.Context, source *logSource, files []transcript.File) error {
	for _, file := range files {
		if ctx.Err() != nil {
			return schedule.ErrInterrupted
		}
		wrote, err := transcript.WritePageOf(source.folder, file.Path, l.redactor.String)
		if err != nil {
			return fmt.Errorf("write the page of %s: %w", source.path(file), err)
		}
		if wrote {
			fmt.Fprintln(l.Stdout, transcript.PageName(source.path(file)))
		}
	}
	return nil
}

func (l *logCommand) choose(files []transcript.File) (transcript.File, error) {
	var numbers []string
	for i := len(files) - 1; i >= 0; i-- {
		if l.session == 0 || files[i].Number == l.session {
			return files[i], nil
		}
		numbers = append(numbers, fmt.Sprint(files[i].Number))
	}
	return transcript.File{}, fmt.Errorf("%w: no session %d; there are: %s", wiring.ErrUsage, l.session, strings.Join(numbers[:min(len(numbers), lookup.MaxSuggested)], ", "))
}

// write calls write with standard output or the file of --output, which it makes readable
// for its user alone.
func (l *logCommand) write(write func(io.Writer) error) error {
	if l.output == "" {
		return write(l.Stdout)
	}
	f, err := os.OpenFile(l.output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("%w: --output: %w; name a file that can be written", wiring.ErrUsage, err)
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() { // it may have been there, with another mode
		if err := f.Chmod(0o600); err != nil {
			return fmt.Errorf("%w: --output: %w", wiring.ErrUsage, errors.Join(err, f.Close()))
		}
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", l.output, err)
	}
	return nil
}

func (l *logCommand) show(ctx context.Context, w io.Writer, log io.Reader) error {
	columns, isTerminal := terminalWidth(w)
	f := &runlog.Follower{Log: &io.LimitedReader{R: log, N: maxShown}, Redact: l.redactor.String, Follow: l.follow}
	defer l.warnOfRest(f.Log)
	if isTerminal {
		f.Doing = func(doing string) {
			columns, _ := terminalWidth(w) // the width may have changed
			if doing != "" {
				doing = text.Truncate("… "+doing, max(columns-1, 1))
			}
			_, _ = io.WriteString(w, "\r\x1b[K"+doing) // see output
		}
	}
	switch {
	case l.html:
		return transcript.CopyPage(w, f.Log, f.IsRunning(), l.redactor.String)
	case l.json || l.logFormat == "json":
		f.Show = func(part []byte, _ []transcript.Entry) error {
			if isTerminal { // a log of somebody else can have sequences that steer it, with a secret around them
				part = []byte(l.redactor.String(text.Lines(string(part))))
			}
			_, err := w.Write(part)
			return err
		}
		return f.Run(ctx)
	}
	style := transcript.Style{Color: isTerminal && l.Colors(), Width: columns}
	f.Show = func(_ []byte, entries []transcript.Entry) error {
		for _, e := range entries {
			if _, err := io.WriteString(w, transcript.Text(e, style)); err != nil {
				return err
			}
		}
		return nil
	}
	return f.Run(ctx)
}

// warnOfRest says that a log goes on where the reading of it stopped.
func (l *logCommand) warnOfRest(log *io.LimitedReader) {
	if log.N > 0 {
		return
	}
	if n, _ := log.R.Read(make([]byte, 1)); n > 0 {
		l.printWarning(fmt.Errorf("the log is longer than %d MiB, and the rest is not shown: read its file, which --list names", maxShown>>20))
	}
}

// listedSession is a session in the list as JSON.
type listedSession struct {
	Issue   string      `json:"issue_identifier"`
	Session int         `json:"session"`
	Began   report.Time `json:"started_at"`
	Took    string      `json:"took,omitempty"`
	Ended   string      `json:"ended"`
	Log     string      `json:"log"`
}

// writeList writes which sessions there are, the oldest first: as a table, or as JSON if
// that is the format of reports.
func (l *logCommand) writeList(ctx context.Context, w io.Writer, source *logSource, files []transcript.File) error {
	sessions := make([]listedSession, len(files))
	for i, file := range files {
		s, issue := source.summary(ctx, file)
		if ctx.Err() != nil {
			return schedule.ErrInterrupted
		}
		sessions[i] = listedSession{issue.Identifier, file.Number, report.Time{Time: file.Began}, s.Took, s.Ended, source.path(file)}
	}
	if l.logFormat == "json" {
		text, err := l.jsonText(sessions)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		return err
	}
	if len(sessions) == 0 {
		_, err := fmt.Fprintln(w, "No sessions.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "issue\tsession\tbegan\ttook\tended\tlog")
	for _, s := range sessions {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", s.Issue, s.Session, s.Began.Format("2006-01-02 15:04:05"), s.Took, s.Ended, s.Log)
	}
	return table.Flush()
}

// completeLog completes the name of an issue that has a session log, and after it or in its
// place the path of a WORKFLOW.md.
func (l *logCommand) completeLog(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return completeWorkflow(cmd, args[1:], prefix)
	}
	if l.run != "" { // the logs of a run would need a request
		return nil, cobra.ShellCompDirectiveDefault
	}
	found := completions{l.redactor.String, map[string]string{}}
	if source, err := l.open(cmd.Context(), nil); err == nil {
		defer source.Close()
		files, _ := source.find(cmd.Context(), "") // none that can be read
		seen := map[string]bool{}
		for _, f := range slices.Backward(files) {
			if !seen[f.Key] {
				seen[f.Key] = true
				_, issue := source.summary(cmd.Context(), f)
				found.add(issue.Identifier, "")
			}
		}
	}
	return found.sorted(), cobra.ShellCompDirectiveDefault // a word that begins no issue can be a path
}
