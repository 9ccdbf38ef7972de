package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/tracker"
)

// flagError turns an error of the command-line library into an error of usage, in our words.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	hint := "see " + cmd.CommandPath() + " --help"
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return a.valueError(invalid.GetFlag(), invalid.GetValue())
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		name := "--" + bare.GetFlag().Name
		value, _ := pflag.UnquoteUsage(bare.GetFlag())
		return fmt.Errorf("%w: %s has no value: write %s %s; %s", wiring.ErrUsage, name, name, strings.ToUpper(value), hint)
	}
	if wrong, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return fmt.Errorf("%w: %q is not how a flag is written; %s", wiring.ErrUsage, wrong.GetSpecifiedFlag(), hint)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return fmt.Errorf("%w: %w; %s", wiring.ErrUsage, err, hint)
	}
	flag, name := "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		first, _ := utf8.DecodeRuneInString(letters)
		flag, name = "-"+string(first), letters
	}
	if len(name) > 1 {
		if near := nearestFlag(cmd, name); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	return fmt.Errorf("%w: unknown flag: %s; %s", wiring.ErrUsage, flag, hint)
}

// valueError returns the error for a value that a flag does not take.
func (a *app) valueError(flag *pflag.Flag, value string) error {
	if flag.Name == "port" {
		return fmt.Errorf("%w: --port %q: want 0 (any free port) to %d", wiring.ErrUsage, value, maxPort)
	}
	want := "a whole number"
	switch flag.Value.Type() {
	case "duration":
		want = "a time such as 50m"
	case "bool":
		want = "true or false"
	}
	return fmt.Errorf("%w: %s is %q: write %s", wiring.ErrUsage, a.Option(flag.Name), value, want)
}

// unknownCommand returns the error for a name that no command below parent has.
func unknownCommand(parent *cobra.Command, name string) error {
	hint := "see " + parent.CommandPath() + " --help"
	switch near := nearestCommand(parent, name); {
	case !parent.HasParent() && name == "version":
		hint = fmt.Sprintf("did you mean %s --version?", parent.CommandPath())
	case near != "":
		hint = fmt.Sprintf("did you mean %s %s?", parent.CommandPath(), near)
	}
	if !parent.HasParent() {
		return fmt.Errorf("%w: %q is neither a command nor a file; %s", wiring.ErrUsage, name, hint)
	}
	return fmt.Errorf("%w: %s has no command %q; %s", wiring.ErrUsage, parent.CommandPath(), name, hint)
}

// nearestCommand returns the name of the command below parent that is most similar to a
// misspelled one; it is empty if none is.
func nearestCommand(parent *cobra.Command, name string) string {
	var names []string
	for _, sub := range parent.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return tracker.Nearest(strings.ToLower(name), names)
}

// nearestFlag returns the flag of a command that is most similar to a misspelled one, with
// its dashes; it is empty if none is.
func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := tracker.Nearest(strings.ToLower(name), names); near != "" {
		return "--" + near
	}
	return ""
}

// argumentsFrom returns an argument check for a command. missing explains what to write where
// an argument is missing.
func argumentsFrom(least, most int, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return fmt.Errorf("%w: %s", wiring.ErrUsage, missing)
		}
		return argumentsUpTo(most)(cmd, args)
	}
}

// argumentsUpTo returns an argument check that names the arguments which are too many, and
// how the command is called.
func argumentsUpTo(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= most {
			return nil
		}
		return fmt.Errorf("%w: too many arguments, from %q on: write %s", wiring.ErrUsage, args[most], cmd.UseLine())
	}
}

// issueOf returns the advice for a command that needs an issue and has none.
func issueOf(path string) string { return "write the issue, as in: symphony " + path + " GH-7" }

// mayBeFile reports whether an argument is, or looks like, the path of a file and not a
// misspelled command.
func mayBeFile(arg string) bool {
	_, err := os.Lstat(arg)
	return err == nil || strings.ContainsAny(arg, "/.")
}
