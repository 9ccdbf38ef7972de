package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// order is a command on one issue that a person gives by starting a run. It needs no
// check of the person: only people with write access can start a workflow. The zero value
// stands for no command.
type order struct{ command, issue string }

func (o *order) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.command, "command", "", "obey this `word` on --issue first, like a comment /symphony WORD: retry, stop, park, resume, status")
	flags.StringVar(&o.issue, "issue", "", "the issue of --command, by its `name`, such as GH-7")
}

// check returns an error for flags that do not make a valid order.
func (o *order) check(p wiring.Process, once bool) error {
	o.command, o.issue = strings.TrimSpace(o.command), strings.TrimSpace(o.issue)
	switch known := feedback.Commands(); {
	case o.command == "" && o.issue == "":
		return nil
	case o.command == "":
		return fmt.Errorf("%w: %s is %q without %s: write one of %s", wiring.ErrUsage, p.Option("issue"), o.issue, p.Option("command"), strings.Join(known, ", "))
	case !slices.Contains(known, o.command):
		return fmt.Errorf("%w: %s is %q: write one of %s", wiring.ErrUsage, p.Option("command"), o.command, strings.Join(known, ", "))
	case o.issue == "":
		return fmt.Errorf("%w: %s %s without %s: write the name of an issue, such as GH-7", wiring.ErrUsage, p.Option("command"), o.command, p.Option("issue"))
	case !once && !p.Actions.InActions():
		return fmt.Errorf("%w: %s needs --once", wiring.ErrUsage, p.Option("command"))
	}
	return nil
}

// stops reports whether the run only carries out the command. Such a command ends work,
// so the run starts no session and needs no agent.
func (o order) stops() bool {
	return o.command == string(schedule.CommandStop) || o.command == string(schedule.CommandPark)
}

// in returns the command and its issue, which a state knows; by names the person. A status is no
// command to the runner: it changes nothing.
func (o order) in(s *schedule.State, wf workflow.Workflow, by string) (tracker.ID, schedule.Order, error) {
	known := lookup.InState(s.Issues)
	n, ok := matchIssue(wf, o.issue, known)
	if !ok {
		return "", schedule.Order{}, unknownIssueError("no issue that was worked on is", o.issue, "those that were", known)
	}
	if o.command == string(schedule.CommandStatus) {
		return "", schedule.Order{}, nil
	}
	return n.ID, schedule.Order{Command: schedule.Command(o.command), By: by}, nil
}

// answer adds to the report of a tick how the issue stands after the command.
func (o order) answer(tick *report.Tick, a *app, wf workflow.Workflow) {
	if o == (order{}) {
		return
	}
	text, inShard := o.issue+": no session works on it, and nothing is due.", false
	if n, ok := matchIssue(wf, o.issue, lookup.InTick(*tick)); ok {
		for _, v := range tick.Verdicts {
			if v.Issue.ID == n.ID {
				text = oneLine(report.Verdict(v, tick.Comments, a.ownCommand(), a.statePlace().FlagFor(wf.Path)).Text(wide))
				claim := tick.Claims[n.ID]
				inShard = claim.Phase == schedule.Running && claim.Owner.Shard > 0
			}
		}
	}
	tick.Notices = append(tick.Notices, fmt.Sprintf("%s %s: %s", o.command, o.issue, text))
	if o.stops() {
		if inShard {
			notice := "A shard does not read the state: the command is obeyed after its result is collected."
			if sooner := tick.Comments.Command(schedule.Command(o.command)); sooner != "" {
				notice += " To end its session sooner, " + sooner + "."
			}
			tick.Notices = append(tick.Notices, notice)
		}
		tick.Notices = append(tick.Notices, "This run only carries out the command: the next one goes on with everything else.")
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
