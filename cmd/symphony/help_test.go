package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
)

// allCommands returns every command of the program, by how it is called.
func allCommands(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	commands := map[string]*cobra.Command{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		commands[cmd.CommandPath()] = cmd
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root := (&app{}).command()
	root.InitDefaultHelpCmd()
	walk(root)
	if len(commands) < 10 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	return commands
}

// helpOf returns the help of a command.
func helpOf(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	args := append(strings.Fields(path)[1:], "--help")
	if status := run(t.Context(), wiring.Process{Args: args, Stdout: &out, Stderr: &out, Stdin: strings.NewReader("")}); status != 0 {
		t.Fatalf("%s --help: exit status %d\n%s", path, status, &out)
	}
	return out.String()
}

func TestHelpFitsInEightyColumnsAndSaysWhatScriptsNeed(t *testing.T) {
	t.Parallel()
	for path, cmd := range allCommands(t) {
		help := helpOf(t, path)
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s --help has a line of %d columns: %s", path, n, line)
			}
		}
		wanted := []string{"Usage:\n", "Examples:\n", "Exit status:\n", "130"}
		if cmd.Annotations[readsWorkflow] != "" {
			wanted = append(wanted, "Environment:\n", "GITHUB_TOKEN")
		}
		for _, want := range wanted {
			if !strings.Contains(help, want) {
				t.Errorf("%s --help does not say %q:\n%s", path, want, help)
			}
		}
	}
}

func TestEveryExampleOfHelpIsACommandLine(t *testing.T) {
	t.Parallel()
	for path, cmd := range allCommands(t) {
		for line := range strings.Lines(cmd.Example) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
			command, _, _ = strings.Cut(command, " >")
			if inner := regexp.MustCompile(`<\((.*)\)`).FindStringSubmatch(command); inner != nil {
				command = inner[1]
			}
			words := strings.Fields(command)
			if words[0] != "symphony" {
				t.Errorf("an example of %s is %q", path, line)
				continue
			}
			root := (&app{}).command()
			root.InitDefaultHelpCmd()
			found, args, err := root.Find(words[1:])
			if err == nil {
				err = found.ParseFlags(args)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil || found.CommandPath() != path && !strings.HasPrefix(found.CommandPath(), path) {
				t.Errorf("the example %q of %s: %v", line, path, err)
			}
		}
	}
}

// jobVariables matches the environment variables that Actions and the Action set for a
// job, besides those that a user may set too.
var jobVariables = regexp.MustCompile(`^(GITHUB|RUNNER|INPUT|ACTIONS)_|^SYMPHONY_(ACTS_AS_JOB|ARTIFACT|LOG_TEXTS)$|^HOME$`)

// TestHelpNamesEveryVariableThatTheProgramReads looks at every call of Getenv and Value.
func TestHelpNamesEveryVariableThatTheProgramReads(t *testing.T) {
	t.Parallel()
	help := helpOf(t, "symphony")
	read := 0
	for _, s := range sources(t) {
		if s.folder != "cmd/symphony" && s.folder != "cmd/symphony/wiring" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			f, isSelector := call.Fun.(*ast.SelectorExpr)
			name, isText := call.Args[0].(*ast.BasicLit)
			if !isSelector || f.Sel.Name != "Getenv" && f.Sel.Name != "Value" || !isText || name.Kind != token.STRING {
				return true
			}
			if of, ok := f.X.(*ast.Ident); ok && of.Name == "os" {
				return true // of the Go runtime
			}
			variable, _ := strconv.Unquote(name.Value)
			read++
			if !strings.Contains(help, variable) && !jobVariables.MatchString(variable) {
				t.Errorf("%s reads %s, of which symphony --help says nothing: add it to environmentMeanings", s.name, variable)
			}
			return true
		})
	}
	if read < 15 {
		t.Errorf("only %d calls of Getenv and Value were found", read)
	}
	named := map[string]bool{}
	for _, r := range environmentMeanings {
		for name := range strings.SplitSeq(r.term, ", ") {
			if named[name] {
				t.Errorf("the help says twice what %s is for", name)
			}
			named[name] = true
		}
	}
}

func TestTheVersionSaysWhatTheProgramWasBuiltFrom(t *testing.T) {
	t.Parallel()
	line := emptyProject(t).ok("--version").stdout
	if !regexp.MustCompile(`^symphony version \S+ \(.*go1\.\d+.*, [a-z]+/[a-z0-9]+\)\n$`).MatchString(line) {
		t.Errorf("--version prints %q", line)
	}
}

// exitTable and environmentTable return the tables of help for the README.
func exitTable() string {
	return markdownRows("| exit status | |\n|---|---|\n", exitMeanings, func(term string) string { return term })
}

func environmentTable() string {
	return markdownRows("| variable | |\n|---|---|\n", environmentMeanings, func(term string) string {
		return "`" + strings.ReplaceAll(term, ", ", "`, `") + "`"
	})
}

func markdownRows(head string, rows []row, term func(string) string) string {
	for _, r := range rows {
		head += fmt.Sprintf("| %s | %s |\n", term(r.term), r.meaning)
	}
	return head
}
