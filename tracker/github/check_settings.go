package github

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/tracker"
)

// checkSettings reports, as an error, that the board or the labels that the settings
// name do not exist on GitHub. A missing trust label is only logged as a warning:
// without it no issue by an outsider is worked on, which is safe.
func (r *repository) checkSettings(ctx context.Context) error {
	_, boardErr := r.projectStatuses(ctx, nil)
	if r.states.prefix == "" && r.cfg.TrustLabel == "" {
		return boardErr
	}
	labels, err := r.listLabels(ctx)
	if err != nil {
		return errors.Join(boardErr, err)
	}
	normal := func(label string) bool { return tracker.NormalLabel(label) == r.cfg.TrustLabel }
	if r.cfg.TrustLabel != "" && !slices.ContainsFunc(labels, normal) {
		r.log.Warn("no label vouches for an issue: tracker.provider.trust_label names none of the repository",
			"trust_label", r.cfg.TrustLabel, "repository", r.cfg.Repo, "labels", tracker.QuotedList(labels))
	}
	if err := r.checkStateLabelPrefix(labels); err != nil {
		return errors.Join(boardErr, err)
	}
	_, err = r.missingStateLabels(labels)
	return errors.Join(boardErr, err)
}

// checkStateLabelsOnce distinguishes a repository without work from a misspelled prefix of
// state labels, and finds a state of the hand-over that has no label before a session starts on
// one of the issues. Once an issue with a state label was read, the prefix is known to be
// right, and once a handed-over issue was read, its label too: then no request is needed; until
// then the labels are listed. Another state without a label is only logged as a warning,
// because GitHub creates a label when somebody first adds it to an issue.
func (r *repository) checkStateLabelsOnce(ctx context.Context, issues []tracker.Issue) error {
	starts := slices.ContainsFunc(issues, func(i tracker.Issue) bool { return i.Dispatchable })
	if r.states.prefix == "" || r.stateLabelSeen.Load() && (r.handOverSeen.Load() || !starts) {
		return nil
	}
	labels, err := r.listLabels(ctx)
	if err != nil {
		return err
	}
	if err := r.checkStateLabelPrefix(labels); err != nil {
		return err
	}
	handOver, err := r.missingStateLabels(labels)
	if handOver {
		return err
	}
	if err != nil {
		r.log.Warn("a state has no label", "repository", r.cfg.Repo, "error", err)
	}
	r.stateLabelSeen.Store(true)
	r.handOverSeen.Store(true)
	return nil
}

// markStateLabelsSeen records which state labels are known to exist.
func (r *repository) markStateLabelsSeen(states []string) {
	if len(states) == 0 {
		return
	}
	r.stateLabelSeen.Store(true)
	if slices.Contains(normalStates(states), tracker.NormalState(r.cfg.HandOver)) {
		r.handOverSeen.Store(true)
	}
}

// listLabels returns the names of all labels of the repository.
func (r *repository) listLabels(ctx context.Context) ([]string, error) {
	labels, err := r.client.Issues.Labels(ctx)
	if err != nil {
		return nil, failed("list the labels of "+r.cfg.Repo, err)
	}
	names := make([]string, len(labels))
	for i, label := range labels {
		names[i] = label.GetName()
	}
	return names, nil
}

// checkStateLabelPrefix returns an error when no label has the prefix, because then
// no issue could have a state.
func (r *repository) checkStateLabelPrefix(labels []string) error {
	if r.states.prefix == "" || len(r.states.fromLabels(labels)) > 0 {
		return nil
	}
	return invalid("state_label_prefix", "is %q, and no label of %s begins with it: its labels are %s", r.states.prefix, r.cfg.Repo, tracker.QuotedList(labels))
}

// missingStateLabels returns an error that names each state of the workflow without a label,
// and reports whether the state of the hand-over has none.
func (r *repository) missingStateLabels(labels []string) (handOver bool, err error) {
	if r.states.prefix == "" {
		return false, nil
	}
	exist := r.states.fromLabels(labels)
	var problems []error
	for _, missing := range r.cfg.missingStates(exist) {
		handOver = handOver || missing.key == handOverKey
		problems = append(problems, fmt.Errorf("github tracker: %w: %s: there is no label %q: make it, or write another state: the labels give %s, "+
			"besides them there are %q (no such label) and %q",
			tracker.ErrInvalidConfig, missing.key, r.states.prefix+missing.state, tracker.QuotedList(exist), stateOpen, stateClosed))
	}
	return handOver, errors.Join(problems...)
}

// handOverKey is the key of the state of the hand-over.
const handOverKey = "delivery.hand_over.state"

// missingState is a state of the workflow that does not exist, with the key that names it.
type missingState struct{ key, state string }

// missingStates returns the states of the workflow that are not in exist.
func (c Config) missingStates(exist []string) []missingState {
	exist = append(normalStates(exist), stateOpen, stateClosed)
	var missing []missingState
	check := func(key string, states ...string) {
		for _, state := range states {
			if normal := tracker.NormalState(state); normal != "" && !slices.Contains(exist, normal) {
				missing = append(missing, missingState{key, state})
			}
		}
	}
	check(handOverKey, c.HandOver)
	check("tracker.active_states", c.ActiveStates...)
	check("tracker.terminal_states", c.TerminalStates...)
	return missing
}
