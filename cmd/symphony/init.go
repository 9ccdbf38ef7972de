package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/scaffold"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/terminal"
)

// initCommand writes the files of a new project, which package scaffold makes. It asks a person
// at a terminal for answers that no flag gives.
type initCommand struct {
	*app
	answers map[string]*string // answers by the name of the question and of its flag
	trial   bool               // write the workflow of the trial, and nothing else
}

func (i *initCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a WORKFLOW.md, and the workflow of GitHub Actions that runs it",
		Long: `Write a WORKFLOW.md, and the workflow of GitHub Actions that runs it, into the root of this repository. It looks for lock files, and writes the section setup that installs what they name. On a terminal it asks for what no flag says; elsewhere the defaults count, and --tracker must be given.

It overwrites nothing: if a file is there, it writes none.`,
		Example: `symphony init # asks
symphony init --tracker github --schedule 6h
symphony init --tracker linear --project shop-0c79b11b75ea
symphony init --tracker file # a folder of issues, worked on here
symphony init --trial # a workflow that tries out what GitHub does in this repository`,
		Args:              argumentsUpTo(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return i.Run(cmd.Context(), cmd.Flags().Changed)
		},
	}
	cmd.Flags().BoolVar(&i.trial, "trial", false, "write only a workflow that plays the path of an issue in this repository, without a key of a model")
	i.answers = make(map[string]*string)
	for _, q := range scaffold.Questions() {
		i.answers[q.Name] = cmd.Flags().String(q.Name, "", q.Usage)
		complete := cobra.FixedCompletions(q.Choices, cobra.ShellCompDirectiveNoFileComp)
		if err := cmd.RegisterFlagCompletionFunc(q.Name, complete); err != nil {
			panic(err) // there is no such flag
		}
	}
	return cmd
}

// Run asks, writes the files, and prints the next steps. Until all answers are there it touches
// nothing.
func (i *initCommand) Run(ctx context.Context, given func(flag string) bool) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	found, err := scaffold.Find(folder)
	if below, ok := errors.AsType[*scaffold.NotRootError](err); ok {
		err = fmt.Errorf("this is not the root of the repository, where Actions looks: cd %s, and run it there", shell.Word(below.Root))
	}
	if err != nil {
		return fmt.Errorf("%w: init: %w", wiring.ErrUsage, err)
	}
	if i.trial {
		return i.writeTrial(folder, given)
	}
	s, err := i.ask(ctx, found, given)
	if err != nil {
		return err
	}
	files, err := s.Files()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("init: %w; nothing was written", schedule.ErrInterrupted)
	}
	if files, err = scaffold.Write(folder, files); err != nil {
		return fmt.Errorf("%w: init: %w", wiring.ErrUsage, err)
	}
	for _, f := range files {
		i.printItem("wrote ", f.Path+": "+f.Purpose)
	}
	if p := s.Preparation; p.Script != "" {
		i.printItem("found ", strings.Join(p.Files, ", ")+": the section setup installs what it names before any agent works; agents have no network")
	}
	fmt.Fprint(i.Stdout, "\nNext, in this folder:\n\n")
	for n, step := range s.Steps(i.ownCommand()) {
		i.printItem(fmt.Sprintf("%d. ", n+1), step.Why)
		fmt.Fprintf(i.Stdout, "       %s\n", step.Command) // one line, so that it can be copied
	}
	fmt.Fprintln(i.Stdout)
	i.printItem("", s.Ending(i.ownCommand()))
	return nil
}

// writeTrial writes the workflow of the trial, which no answer changes.
func (i *initCommand) writeTrial(folder string, given func(flag string) bool) error {
	for name := range i.answers {
		if given(name) {
			return fmt.Errorf("%w: init: --%s changes nothing about --trial: leave one of them out", wiring.ErrUsage, name)
		}
	}
	file, err := scaffold.Trial()
	if err != nil {
		return err
	}
	if _, err := scaffold.Write(folder, []scaffold.File{file}); err != nil {
		return fmt.Errorf("%w: init: %w", wiring.ErrUsage, err)
	}
	i.printItem("wrote ", file.Path+": "+file.Purpose)
	fmt.Fprint(i.Stdout, "\nCommit it, push it to the default branch, and start it:\n\n       gh workflow run trial.yml\n")
	return nil
}

// ask returns the setup, from flags, from a person at a terminal, or from defaults.
func (i *initCommand) ask(ctx context.Context, found scaffold.Setup, given func(flag string) bool) (scaffold.Setup, error) {
	s := found
	var lines <-chan string
	if f, ok := i.Stdin.(*os.File); ok && terminal.Is(f) {
		lines = readLines(f)
	} else if !given("tracker") {
		return s, fmt.Errorf("%w: init: standard input is no terminal to ask on: write --tracker github, linear or file", wiring.ErrUsage)
	}
	for _, q := range scaffold.Questions() {
		unneeded, flag := q.Unneeded(s), *i.answers[q.Name]
		standard := q.Default(s)
		switch {
		case unneeded != "" && given(q.Name) && flag != "none":
			return s, fmt.Errorf("%w: init: --%s is not for %s: leave it out", wiring.ErrUsage, q.Name, unneeded)
		case unneeded != "":
		case given(q.Name):
			if err := q.Take(&s, strings.TrimSpace(flag)); err != nil {
				return s, fmt.Errorf("%w: init: --%s %q: %w", wiring.ErrUsage, q.Name, flag, err)
			}
		case lines != nil:
			if err := i.askOne(ctx, lines, q, standard, &s); err != nil {
				return s, err
			}
		default:
			if err := q.Take(&s, standard); err != nil {
				return s, fmt.Errorf("%w: init: write --%s, %s: %w", wiring.ErrUsage, q.Name, strings.ReplaceAll(q.Usage, "`", ""), err)
			}
		}
	}
	return s, nil
}

// askOne asks a person until an answer is valid.
func (i *initCommand) askOne(ctx context.Context, lines <-chan string, q scaffold.Question, standard string, s *scaffold.Setup) error {
	for {
		text := q.Text
		if standard != "" {
			text += " [" + standard + "]"
		}
		printItem(i.Stderr, "", text)
		fmt.Fprint(i.Stderr, "> ")
		select {
		case <-ctx.Done():
			fmt.Fprintln(i.Stderr)
			return fmt.Errorf("init: %w; nothing was written", schedule.ErrInterrupted)
		case line, ok := <-lines:
			if !ok {
				fmt.Fprintln(i.Stderr)
				return fmt.Errorf("%w: init: the answers ended; nothing was written", wiring.ErrUsage)
			}
			err := q.Take(s, cmp.Or(strings.TrimSpace(line), standard))
			if err == nil {
				return nil
			}
			printItem(i.Stderr, "", err.Error())
		}
	}
}

// readLines returns the lines of a terminal, as they are typed. The goroutine behind it
// waits for the next one until the process ends.
func readLines(r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}
