package linear

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

// checkSettings checks that the project exists and that its teams have the states
// that the workflow names: every active one, the state of the hand-over, and at least one
// terminal one, because the usual list of terminal states has more names than a board. It
// warns of labels that do not exist.
func (r *reader) checkSettings(ctx context.Context) error {
	const op = "check the Linear project"
	var scope scopeQuery
	if err := r.query(ctx, op, &scope, map[string]any{"projectSlug": graphql.String(r.cfg.ProjectSlug)}); err != nil {
		return err
	}
	problems := []error{r.checkProject(ctx, op, scope.Projects)}
	if len(scope.Projects.Nodes) > 0 {
		if names, complete, err := scope.Projects.Nodes[0].stateNames(); err == nil && complete {
			for _, state := range r.cfg.unusedTerminalStates(names) {
				r.wire.Log.Warn("the project does not have one of tracker.terminal_states", "state", state, "states", quotedList(names))
			}
		}
	}
	return errors.Join(append(problems, r.checkRequiredLabels(ctx))...)
}

// checkRequiredLabels logs a warning for each required label that Linear does not have:
// no issue can carry it, so none is worked on.
func (r *reader) checkRequiredLabels(ctx context.Context) error {
	const op = "look for the required labels in Linear"
	for _, label := range r.cfg.RequiredLabels {
		var found labelQuery
		if err := r.query(ctx, op, &found, map[string]any{"label": graphql.String(label)}); err != nil {
			return err
		}
		if _, err := found.IssueLabels.nextCursor(); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		if !slices.ContainsFunc(found.IssueLabels.Nodes, func(l teamLabel) bool { return !l.IsGroup }) {
			r.wire.Log.Warn("no issue can be worked on: tracker.required_labels names a label that Linear does not have", "label", label)
		}
	}
	return nil
}

// checkProject compares the project that Linear returned with the settings.
func (r *reader) checkProject(ctx context.Context, op string, projects page[projectNode]) error {
	if _, err := projects.nextCursor(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if len(projects.Nodes) == 0 {
		return r.unknownProjectError(ctx)
	}
	names, complete, err := projects.Nodes[0].stateNames()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if complete {
		if err := r.cfg.checkStates(names); err != nil {
			return err
		}
	}
	r.settingsChecked.Store(true)
	return nil
}

// stateNames returns the names of the states of the project's teams, and whether
// they are all of them. A project with more than one page of them is not worth more
// requests.
func (p projectNode) stateNames() (names []string, complete bool, err error) {
	more, err := p.Teams.nextCursor()
	complete = more == nil
	for _, team := range p.Teams.Nodes {
		more, teamErr := team.States.nextCursor()
		if teamErr != nil {
			err = teamErr
		}
		complete = complete && more == nil
		for _, state := range team.States.Nodes {
			if !slices.Contains(names, state.Name) {
				names = append(names, state.Name)
			}
		}
	}
	return names, complete, err
}

// checkStates compares the states of the workflow with the existing ones, and returns an error
// for each that is missing. One of the terminal states is enough.
func (c Config) checkStates(exist []string) error {
	var problems []error
	missing := func(state string) bool {
		return !slices.ContainsFunc(exist, func(name string) bool { return tracker.NormalState(name) == tracker.NormalState(state) })
	}
	for _, state := range c.ActiveStates {
		if missing(state) {
			problems = append(problems, invalid("tracker.active_states: the project has no state %q: it has %s", state, quotedList(exist)))
		}
	}
	if len(c.TerminalStates) > 0 && !slices.ContainsFunc(c.TerminalStates, func(state string) bool { return !missing(state) }) {
		problems = append(problems, invalid("tracker.terminal_states: the project has none of %s: it has %s", quotedList(c.TerminalStates), quotedList(exist)))
	}
	if c.HandOver != "" && missing(c.HandOver) {
		problems = append(problems, invalid("delivery.hand_over.state: the project has no state %q: it has %s", c.HandOver, quotedList(exist)))
	}
	return errors.Join(problems...)
}

// unusedTerminalStates returns the terminal states that somebody listed and the project does
// not have. It leaves out the usual terminal states.
func (c Config) unusedTerminalStates(exist []string) []string {
	known := slices.Concat(exist, tracker.DefaultStates().Terminal)
	return slices.DeleteFunc(slices.Clone(c.TerminalStates), func(state string) bool {
		return slices.ContainsFunc(known, func(name string) bool { return tracker.NormalState(name) == tracker.NormalState(state) })
	})
}

// unknownProjectError returns an error that names the projects that the key can see.
func (r *reader) unknownProjectError(ctx context.Context) error {
	var answer projectsQuery
	if err := r.query(ctx, "list Linear projects", &answer, nil); err != nil {
		return err
	}
	var known []string
	for _, project := range answer.Projects.Nodes {
		known = append(known, fmt.Sprintf("%s (%s)", project.SlugID, r.wire.Quote(project.Name)))
	}
	if len(known) == 0 {
		return invalid("tracker.project_slug %q: this key sees no project at all: %s", r.cfg.ProjectSlug, otherKey)
	}
	return invalid("tracker.project_slug %q: there is no such project: write one of %s", r.cfg.ProjectSlug, strings.Join(known, ", "))
}

func quotedList(names []string) string {
	if len(names) == 0 {
		return "none at all"
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(list, ", ")
}
