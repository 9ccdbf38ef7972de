package github

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// checkSettings reports, as an error, that the board or the labels that the settings
// name do not exist on GitHub. A missing trust label is only logged as a warning:
// without it no issue by an outsider is worked on, which is safe.
func (r *repository) checkSettings(ctx context.Context) error {
	if _, err := r.projectStatuses(ctx, nil); err != nil {
		return err
	}
	if r.states.prefix == "" && r.cfg.TrustLabel == "" {
		return nil
	}
	labels, err := r.listLabels(ctx)
	if err != nil {
		return err
	}
	normal := func(label string) bool { return tracker.NormalLabel(label) == r.cfg.TrustLabel }
	if r.cfg.TrustLabel != "" && !slices.ContainsFunc(labels, normal) {
		r.log.Warn("no label vouches for an issue: tracker.provider.trust_label names none of the repository",
			"trust_label", r.cfg.TrustLabel, "repository", r.cfg.Repo, "labels", quotedList(labels))
	}
	if err := r.checkStateLabelPrefix(labels); err != nil {
		return err
	}
	return r.checkStateLabels(labels)
}

// checkStateLabelsOnce distinguishes a repository without work from a misspelt
// prefix of state labels. Once an issue with a state label was read, the prefix is
// known to be right and no request is needed; until then the labels are listed. A
// state without a label is only logged as a warning, because GitHub creates a label
// when somebody first adds it to an issue.
func (r *repository) checkStateLabelsOnce(ctx context.Context) error {
	r.mu.Lock()
	seen := r.stateLabelSeen
	r.mu.Unlock()
	if seen || r.states.prefix == "" {
		return nil
	}
	labels, err := r.listLabels(ctx)
	if err != nil {
		return err
	}
	if err := r.checkStateLabelPrefix(labels); err != nil {
		return err
	}
	if err := r.checkStateLabels(labels); err != nil {
		r.log.Warn("a state has no label", "repository", r.cfg.Repo, "error", err)
	}
	r.markStateLabelSeen()
	return nil
}

// markStateLabelSeen records that the prefix of state labels is known to be right.
func (r *repository) markStateLabelSeen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stateLabelSeen = true
}

// listLabels returns the names of all labels of the repository.
func (r *repository) listLabels(ctx context.Context) ([]string, error) {
	labels, err := r.client.Labels(ctx)
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
	return invalid("state_label_prefix", "is %q, and no label of %s begins with it: its labels are %s", r.states.prefix, r.cfg.Repo, quotedList(labels))
}

// checkStateLabels returns an error that names the first state of the workflow
// without a label.
func (r *repository) checkStateLabels(labels []string) error {
	if r.states.prefix == "" {
		return nil
	}
	exist := r.states.fromLabels(labels)
	key, name := r.cfg.missingState(exist)
	if key == "" {
		return nil
	}
	return fmt.Errorf("github tracker: %w: %s: there is no label %q: make it, or write another state: the labels give %s, "+
		"besides them there are %q (no such label) and %q",
		tracker.ErrInvalidConfig, key, r.states.prefix+name, quotedList(exist), stateOpen, stateClosed)
}

// missingState returns the first state of the workflow that is not in exist, with
// the key that names it. Both are "" when every state exists.
func (c Config) missingState(exist []string) (key, state string) {
	exist = append(normalStates(exist), stateOpen, stateClosed)
	unknown := func(name string) bool { return !slices.Contains(exist, tracker.NormalState(name)) }
	if i := slices.IndexFunc(c.ActiveStates, unknown); i >= 0 {
		return "tracker.active_states", c.ActiveStates[i]
	}
	if i := slices.IndexFunc(c.TerminalStates, unknown); i >= 0 {
		return "tracker.terminal_states", c.TerminalStates[i]
	}
	return "", ""
}

// quotedList returns the names, quoted and separated by commas. It leaves out all
// after the first 20 and says how many.
func quotedList(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	quoted := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%q", clip(name)))
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		list = fmt.Sprintf("%s and %d more", list, more)
	}
	return list
}
