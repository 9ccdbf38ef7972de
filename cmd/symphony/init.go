package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// initCommand writes a WORKFLOW.md and the workflow of Actions that runs it. It asks a
// person at a terminal for what no flag says, and overwrites nothing.
type initCommand struct {
	*app
	answers map[string]*string // by the name of the question and of its flag
}

// question is something that init has to know.
type question struct {
	name    string // of the flag
	text    string // as it is asked
	usage   string // of the flag
	choices []string
	needed  func(setup) bool // nil: always
	// standard returns the default answer; empty if there is none.
	standard func(setup) string
	// take puts an answer into the setup, or returns what is wrong with it.
	take func(s *setup, answer string) error
}

// questions returns what init has to know, in the order in which it is asked: a default
// depends on the answers before it.
func questions() []question {
	return []question{
		{
			name: "tracker", text: "Where are the issues: github, linear or file (a folder)?", choices: []string{"github", "linear", "file"},
			usage:    "where the `issues` are: github, linear or file",
			standard: func(setup) string { return "github" },
			take: func(s *setup, answer string) error {
				s.Tracker = answer
				return oneOf(answer, "github", "linear", "file")
			},
		},
		{
			name: "project", text: "Which project of Linear: its address, or the end of it?",
			usage:    "the `project` of Linear: its address, or the end of it after the last dash",
			needed:   setup.Linear,
			standard: func(setup) string { return "" },
			take: func(s *setup, answer string) (err error) {
				slug, ok := parseProject(answer)
				if !ok {
					return errors.New("want the address of a project, such as https://linear.app/acme/project/shop-0c79b11b75ea")
				}
				s.Project = slug
				return nil
			},
		},
		{
			name: "schedule", text: "How often does Actions look for work: 15m, 1h, 6h, a cron expression, or none to run on this machine?", choices: []string{"15m", "1h", "6h", "24h", "none"},
			usage:  "`when` Actions runs it: a time between two runs such as 15m or 6h, a cron expression, or none",
			needed: func(s setup) bool { return s.Tracker != "file" },
			standard: func(s setup) string {
				if s.Linear() {
					return "15m"
				}
				return "1h"
			},
			take: func(s *setup, answer string) (err error) {
				cron, ok := parseSchedule(answer)
				if !ok {
					return errors.New("want a time from 5m to 24h that divides the hour or the day, a cron expression of five fields in numbers, or none")
				}
				s.Cron = cron
				return nil
			},
		},
		{
			name: "delivery", text: "How is finished work delivered: pull_request, branch or patch?", choices: []string{"pull_request", "branch", "patch"},
			usage: "`how` finished work is delivered: pull_request, branch, or patch (files, on this machine)",
			standard: func(s setup) string {
				if s.Tracker == "file" {
					return "branch"
				}
				return "pull_request"
			},
			take: func(s *setup, answer string) error {
				if answer == "patch" && !s.Local() {
					return errors.New("patches are files on the machine that runs it, and one of Actions is thrown away: want pull_request or branch, or --schedule none")
				}
				s.Delivery = answer
				return oneOf(answer, "pull_request", "branch", "patch")
			},
		},
		{
			name: "repository", text: "Which repository: OWNER/NAME, or its address?",
			usage:  "the `repository` on GitHub: OWNER/NAME, or its address (default the origin of this checkout)",
			needed: func(s setup) bool { return s.Tracker != "file" || s.PullRequests() },
			standard: func(s setup) string {
				if s.Repository == "" || s.Server == gitHub {
					return s.Repository
				}
				return s.Server + "/" + s.Repository
			},
			take: func(s *setup, answer string) error {
				server, name, ok := parseRepository(answer)
				if answer == "" && s.GitHub() && !s.Local() {
					return nil // it is the one in which Actions runs
				}
				if !ok {
					return errors.New("want OWNER/NAME, or https://HOST/OWNER/NAME")
				}
				s.Server, s.Repository = server, name
				return nil
			},
		},
	}
}

// oneOf returns an error unless an answer is one of some words.
func oneOf(answer string, words ...string) error {
	for _, word := range words {
		if answer == word {
			return nil
		}
	}
	last := len(words) - 1
	return fmt.Errorf("want %s or %s", strings.Join(words[:last], ", "), words[last])
}

func (i *initCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a WORKFLOW.md, and the workflow of GitHub Actions that runs it",
		Long: `Write a WORKFLOW.md, and the workflow of GitHub Actions that runs it, into the root of this repository. On a terminal it asks for what no flag says; elsewhere the defaults count, and --tracker must be given.

It overwrites nothing: if a file is there, it writes none.`,
		Example: `symphony init # asks
symphony init --tracker github --schedule 6h
symphony init --tracker linear --project shop-0c79b11b75ea
symphony init --tracker file # a folder of issues, worked on here`,
		Args:              usage(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return i.Run(cmd.Context(), cmd.Flags().Changed)
		},
	}
	i.answers = make(map[string]*string)
	for _, q := range questions() {
		i.answers[q.name] = cmd.Flags().String(q.name, "", q.usage)
		complete := cobra.FixedCompletions(q.choices, cobra.ShellCompDirectiveNoFileComp)
		if err := cmd.RegisterFlagCompletionFunc(q.name, complete); err != nil {
			panic(err) // there is no such flag
		}
	}
	return cmd
}

// Run asks, writes the files, and prints what to do next. Until all answers are there it
// touches nothing.
func (i *initCommand) Run(ctx context.Context, given func(flag string) bool) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	found, err := findCheckout(folder)
	if err != nil {
		return fmt.Errorf("%w: init: %w", errUsage, err)
	}
	s, err := i.ask(ctx, found, given)
	if err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("init: %w; nothing was written", schedule.ErrInterrupted)
	}
	if files, err = writeNew(folder, files); err != nil {
		return fmt.Errorf("%w: init: %w", errUsage, err)
	}
	for _, f := range files {
		i.printItem("wrote ", f.path+": "+f.purpose)
	}
	fmt.Fprint(i.stdout, "\nNext, in this folder:\n\n")
	for n, step := range s.steps() {
		i.printItem(fmt.Sprintf("%d. ", n+1), step.why)
		fmt.Fprintf(i.stdout, "       %s\n", step.command) // not wrapped: it is copied
	}
	fmt.Fprintln(i.stdout)
	i.printItem("", s.ending())
	return nil
}

// ask returns the setup, from flags, from a person at a terminal, or from defaults.
func (i *initCommand) ask(ctx context.Context, found setup, given func(flag string) bool) (setup, error) {
	s := found
	var lines <-chan string
	if f, ok := i.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		lines = readLines(f)
	} else if !given("tracker") {
		return s, fmt.Errorf("%w: init: standard input is no terminal to ask on: write --tracker github, linear or file", errUsage)
	}
	for _, q := range questions() {
		needed, flag := q.needed == nil || q.needed(s), *i.answers[q.name]
		standard := q.standard(s)
		switch {
		case !needed && given(q.name) && flag != "none":
			return s, fmt.Errorf("%w: init: --%s is not for --tracker %s: leave it out", errUsage, q.name, s.Tracker)
		case !needed:
		case given(q.name):
			if err := q.take(&s, strings.TrimSpace(flag)); err != nil {
				return s, fmt.Errorf("%w: init: --%s %q: %w", errUsage, q.name, flag, err)
			}
		case lines != nil:
			if err := i.askOne(ctx, lines, q, standard, &s); err != nil {
				return s, err
			}
		default:
			if err := q.take(&s, standard); err != nil {
				return s, fmt.Errorf("%w: init: write --%s, %s: %w", errUsage, q.name, strings.ReplaceAll(q.usage, "`", ""), err)
			}
		}
	}
	return s, nil
}

// askOne asks a person until an answer is valid.
func (i *initCommand) askOne(ctx context.Context, lines <-chan string, q question, standard string, s *setup) error {
	for {
		text := q.text
		if standard != "" {
			text += " [" + standard + "]"
		}
		printItem(i.stderr, "", text)
		fmt.Fprint(i.stderr, "> ")
		select {
		case <-ctx.Done():
			fmt.Fprintln(i.stderr)
			return fmt.Errorf("init: %w; nothing was written", schedule.ErrInterrupted)
		case line, ok := <-lines:
			if !ok {
				fmt.Fprintln(i.stderr)
				return fmt.Errorf("%w: init: the answers ended; nothing was written", errUsage)
			}
			err := q.take(s, cmp.Or(strings.TrimSpace(line), standard))
			if err == nil {
				return nil
			}
			printItem(i.stderr, "", err.Error())
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

// ending returns what comes after the steps.
func (s setup) ending() string {
	switch {
	case s.Local():
		return "Then work on them with symphony --once, or with symphony until you stop it. Read WORKFLOW.md first: it is yours to change."
	case s.GitHub():
		return "Then read both files, commit them, push them to the default branch, and put the label on an issue: a run starts at once."
	}
	return "Then read both files, commit them, and push them to the default branch. The first run is the next one on the schedule, or at once the one of Run workflow."
}

// findCheckout returns what the checkout in a folder says of its repository. The error
// says where to run init instead.
func findCheckout(folder string) (setup, error) {
	config, err := checkoutConfig(folder)
	if errors.Is(err, os.ErrNotExist) {
		for parent := filepath.Dir(folder); parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
			if _, err := checkoutConfig(parent); err == nil {
				return setup{}, fmt.Errorf("this is not the root of the repository, where Actions looks: cd %s, and run it there", quoteIfNeeded(parent))
			}
		}
		return setup{}, errors.New("this folder is no git repository: cd to the root of one, or make one with git init")
	}
	if err != nil {
		return setup{}, err
	}
	s := setup{Server: gitHub, Workflows: checkWorkflows(folder)}
	if server, name, ok := parseRepository(originOf(config)); ok && strings.Contains(server, "github") {
		s.Server, s.Repository = server, name
	}
	return s, nil
}
