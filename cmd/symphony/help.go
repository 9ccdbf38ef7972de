package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/report"
)

// helpWidth is the width of help, except on a narrower terminal.
const helpWidth = 80

// readsWorkflow is the annotation of the commands that read a WORKFLOW.md, and so the
// environment.
const readsWorkflow = "reads-workflow"

func ofWorkflow() map[string]string { return map[string]string{readsWorkflow: "yes"} }

// row is a line of a table in help: a term and its meaning.
type row struct{ term, meaning string }

// exitMeanings describes the exit statuses.
var exitMeanings = []row{
	{fmt.Sprint(exitDone), "done; a failed agent run is a completed tick, and shows in the report (see --fail-on)"},
	{fmt.Sprint(exitFailed), "failed: the tracker or the state could not be read, or a report, an output or standard output not written"},
	{fmt.Sprint(exitUsage), "bad usage or an invalid WORKFLOW.md; nothing was touched"},
	{fmt.Sprint(exitTaken), "another run holds the state, or works in the workspace"},
	{fmt.Sprint(exitInterrupted), "interrupted: sessions were ended gracefully, and continue next time"},
}

// environmentMeanings describes the environment variables that a user may set. Variables that
// belong to a job of Actions are not among them.
var environmentMeanings = []row{
	{"GITHUB_TOKEN", "token for the tracker, the repository and the state on GitHub"},
	{"GITHUB_REPOSITORY", "OWNER/NAME, for a WORKFLOW.md that names none; by default that of origin, if it is on this GitHub"},
	{"GITHUB_SERVER_URL, GITHUB_API_URL", "a GitHub that is not github.com; one of the two is enough"},
	{"LINEAR_API_KEY", "key for the tracker linear"},
	{"OPENAI_API_KEY, CODEX_API_KEY", "key for Codex; without one, its own login is used"},
	{"OPENAI_BASE_URL", "where that key goes, or a token of identity.command, if not to OpenAI"},
	{"CODEX_HOME", "Codex's own folder, with its login, if not ~/.codex"},
	{wiring.AppIDVariable + ", " + wiring.AppKeyVariable, "a GitHub App that fetches, pushes and opens pull requests"},
	{"GH_TOKEN", "token for log --run on github.com and hosts of ghe.com, before GITHUB_TOKEN and that of gh"},
	{"GH_HOST, GH_ENTERPRISE_TOKEN", "server for log --run where nothing else names it, and its token"},
	{"GH_CONFIG_DIR, XDG_CONFIG_HOME", "where gh keeps its token, if not in ~/.config/gh"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT …", "the collector of telemetry.otlp; OTEL_SDK_DISABLED=true switches it off"},
	{"TMPDIR", "where temporary folders are made, if not in /tmp"},
	{"TERM=dumb", "no colors, and plain logs in place of the live display"},
	{"NO_COLOR", "no colors"},
	{"CI", "plain logs in place of the live display"},
}

// printHelp prints the help of a command. It uses no template: a template can read any type, so
// the linker would keep too much.
func printHelp(cmd *cobra.Command, _ []string) {
	usages := ""
	if cmd.Runnable() {
		usages = wrap(cmd, "  ", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		usages += wrap(cmd, "  ", cmd.CommandPath()+" COMMAND")
	}
	var commands, examples, environment []row
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			commands = append(commands, row{sub.Name(), sub.Short})
		}
	}
	for line := range strings.Lines(cmd.Example) {
		command, meaning, _ := strings.Cut(strings.TrimSpace(line), " # ")
		examples = append(examples, row{strings.TrimSpace(command), strings.TrimSpace(meaning)})
	}
	if cmd.Annotations[readsWorkflow] != "" {
		environment = environmentMeanings
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	fmt.Fprint(cmd.OutOrStdout(), wrap(cmd, "", cmp.Or(cmd.Long, cmd.Short+".")), "\nUsage:\n", usages, rows(cmd, "Commands", commands),
		flagUsages(cmd, "Flags", cmd.LocalFlags()), flagUsages(cmd, "Global flags", cmd.InheritedFlags()),
		rows(cmd, "Examples", examples), rows(cmd, "Exit status", exitRows(cmd)), rows(cmd, "Environment", environment))
}

func columnsOf(cmd *cobra.Command) int { return min(width(cmd.OutOrStdout()), helpWidth) }

// wrap returns the paragraphs of a text, wrapped. Lines in a paragraph are joined.
func wrap(cmd *cobra.Command, lead, text string) string {
	var all []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		all = append(all, report.Wrapped(lead, oneLine(paragraph), columnsOf(cmd)))
	}
	return strings.Join(all, "\n")
}

// flagUsages returns the section of help with the flags that are not hidden; empty for none.
func flagUsages(cmd *cobra.Command, heading string, flags *pflag.FlagSet) string {
	if !flags.HasAvailableFlags() {
		return ""
	}
	return "\n" + heading + ":\n" + flags.FlagUsagesWrapped(columnsOf(cmd))
}

// exitRows returns the rows of the exit statuses: in full for a tick, in short for other
// commands.
func exitRows(cmd *cobra.Command) []row {
	if !cmd.HasParent() {
		return exitMeanings
	}
	var rows []row
	for _, r := range exitMeanings {
		short, _, _ := strings.Cut(r.meaning, ";")
		short, _, _ = strings.Cut(short, ":")
		rows = append(rows, row{r.term, short})
	}
	return rows
}

// rows returns a section of help; empty without rows. Meanings begin in one column and are wrapped;
// a term that does not leave room for its meaning has a line of its own, which is not wrapped.
func rows(cmd *cobra.Command, heading string, rows []row) string {
	if len(rows) == 0 {
		return ""
	}
	columns, widest := columnsOf(cmd), 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r.term); n <= columns*2/5 {
			widest = max(widest, n)
		}
	}
	widest = cmp.Or(widest, 4)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:\n", heading)
	for _, r := range rows {
		lead := fmt.Sprintf("  %-*s  ", widest, r.term)
		if r.meaning == "" || utf8.RuneCountInString(r.term) > widest {
			b.WriteString("  " + r.term + "\n")
			lead = strings.Repeat(" ", widest+4)
		}
		if r.meaning != "" {
			b.WriteString(report.Wrapped(lead, r.meaning, columns))
		}
	}
	return b.String()
}

// helpCommand prints the help of a command.
type helpCommand struct{ *app }

func (h *helpCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print the help of a command",
		Example: "symphony help state retry",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case len(rest) > 0:
				return unknownCommand(found, rest[0])
			case err != nil:
				return unknownCommand(found, args[0])
			}
			return found.Help()
		},
	}
}
