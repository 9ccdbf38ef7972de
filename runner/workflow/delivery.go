package workflow

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/secondlook"
	"github.com/symphony-runner/symphony/tracker"
)

// DeliveryKind is the target of the work on an issue.
type DeliveryKind string

const (
	KindPullRequest DeliveryKind = "pull_request" // a branch and a pull request on GitHub
	KindBranch      DeliveryKind = "branch"       // a branch of the repository
	KindPatch       DeliveryKind = "patch"        // files in a folder of this machine
	KindNone        DeliveryKind = "none"         // the work stays in the workspace
)

func (k DeliveryKind) pushes() bool { return k == KindPullRequest || k == KindBranch }

// Delivery holds how the work on an issue is checked and published. It is zero when
// there is no [Repository].
type Delivery struct {
	Kind          DeliveryKind
	Policy        delivery.Settings
	KeepHistory   bool          // publish the agent's own commits; else one commit of them all
	Verified      bool          // publish commits that GitHub signs
	Verify        []string      // shell commands that check the work, in their order; none checks nothing
	VerifyRounds  int           // turns in which the agent may fix work that fails the check
	VerifyTimeout time.Duration // time for the check; positive
	Review        Review        // who reads the work before it is published
	ReviewRounds  int           // how often severe findings go back to the agent
	ReviewTimeout time.Duration // time for one review; positive
	ReviewPrompt  string        // absolute path of a file with the rules of the review; empty for the default
	Folder        string        // absolute path of the folder for patches; empty for none
	Draft         bool          // open pull requests as drafts
	Labels        []string      // labels of pull requests
	Assignees     []string      // logins
	Reviewers     []string      // logins, and teams as owner/team
	HandOver      HandOver
	MergedState   string // state of an issue whose pull request was merged; empty leaves it as it is
}

// Review says who reads the work before it is published.
type Review string

// The values of Review.
const (
	ReviewNone  Review = "none"
	ReviewFresh Review = "fresh" // a model that knows the issue and the work
	ReviewFork  Review = "fork"  // a model that knows the agent's conversation too
)

// Feedback names the bots whose word counts besides the word of people with write access, and
// the label that shows people that an issue waits for them.
type Feedback struct {
	Bots  []string // logins
	Label string   // label of a parked issue; empty for none
}

// HandOver is the change of an issue that hands it over to people when its work is
// published. At most one field is set; the zero value changes nothing.
type HandOver struct {
	State       string // moves the issue to this state
	RemoveLabel string // removes this label from the issue
}

// decodeDelivery decodes the settings that depend on the address of the repository and on the
// kind of delivery.
func (d *repositorySection) decodeDelivery(a address) {
	del := &d.settings.Delivery
	v := d.written["delivery.kind"]
	if v.raw == nil {
		del.Kind = KindBranch
		if a.host == "github.com" || d.tokenIsFor(a.host) {
			del.Kind = KindPullRequest
		}
	}
	if del.Kind == KindPullRequest && a.host == "" {
		d.reject(v, "a pull request needs a repository on GitHub, and repository.url is a path; write branch or patch, or another url")
	}
	if del.Verified && del.Kind != KindPullRequest {
		d.reject(d.written["delivery.commits"], "only GitHub signs commits, so it needs delivery.kind pull_request, and that is %s; remove the key", del.Kind)
	}
	if del.Verified && del.KeepHistory {
		d.reject(d.written["delivery.commits"], "GitHub signs the commit that it makes, not the agent's own, which delivery.history keep publishes; remove one of the keys")
	}
	d.checkFolder()
	if !del.Kind.uses("max_open") {
		d.settings.Policy.MaxOpen, d.settings.Policy.MaxOpenByLabel = 0, nil
	}
	d.warnAboutUnused()
	if v := d.written["delivery.max_lfs_bytes"]; v.key != "" && !d.repository.LFS {
		d.warn(v, "delivery.max_lfs_bytes is not used, because repository.lfs is not true: write that too, or remove the key")
	}
	d.checkHandOver()
	d.checkMergedState()
	over := del.HandOver
	d.settings.Policy.HandsOver, d.settings.Policy.HandedOver = over != HandOver{}, over.State
}

// checkFolder sets the folder of a kind that uses it, and records a problem if an agent
// could write there.
func (d *repositorySection) checkFolder() {
	del, root := &d.settings.Delivery, d.settings.Workspace.Root
	switch {
	case !del.Kind.uses("folder"):
		del.Folder = ""
	case del.Kind == KindPatch && del.Folder == "":
		del.Folder = d.absolute(filepath.Join(".symphony", "patches"))
	}
	if del.Folder != "" && root != "" && isBelow(del.Folder, root) {
		v := d.written["delivery.folder"]
		d.add(Problem{Key: "delivery.folder", Line: v.line, Column: v.column, Reason: "is below workspace.root, where agents can write; name another folder"})
	}
}

// isBelow reports whether path is folder or below it. Both are absolute and clean.
func isBelow(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func (d *repositorySection) warnAboutUnused() {
	var unused []string
	for key := range d.written {
		name, isDelivery := strings.CutPrefix(key, "delivery.")
		if isDelivery && name != "kind" && !strings.Contains(name, ".") && !d.settings.Delivery.Kind.uses(name) {
			unused = append(unused, key)
		}
	}
	if slices.Sort(unused); len(unused) > 0 {
		d.warn(d.written[unused[0]], "delivery.kind is %s, which does not use %s; remove what is not used, or write another kind", d.settings.Delivery.Kind, strings.Join(unused, ", "))
	}
}

func (k DeliveryKind) uses(name string) bool {
	switch name {
	case "draft", "labels", "assignees", "reviewers", "commits", "merged_state", "max_open", "max_open_by_label":
		return k == KindPullRequest
	case "folder":
		return k == KindPatch || k == KindBranch
	}
	return k != KindNone
}

// checkHandOver warns if there is no hand-over, and records a problem for one after
// which the issue would be worked on again.
func (d *repositorySection) checkHandOver() {
	s := d.settings
	over, v := s.Delivery.HandOver, d.written["delivery.hand_over"]
	cfg := s.Tracker.Config
	switch {
	case v.key == "" && s.Delivery.Kind != KindNone:
		d.warn(v, "delivery.hand_over is missing: an issue whose work is published gets further sessions until its agent or a person moves it on; write {state: …} or {remove_label: …}")
	case cfg == nil: // the kind of tracker is a problem already
	case over.State != "" && containsState(s.Policy.ActiveStates, over.State):
		v := d.written["delivery.hand_over.state"]
		d.add(Problem{Key: v.key, Value: display(over.State), Line: v.line, Column: v.column,
			Reason: "is one of tracker.active_states, so the issue would be worked on again; name a state in which people look at it"})
	case over.State != "":
		d.tracker.checkState(d.written["delivery.hand_over.state"], over.State, cfg.States())
	case over.RemoveLabel != "" && !slices.Contains(s.Policy.RequiredLabels, tracker.NormalLabel(over.RemoveLabel)):
		v := d.written["delivery.hand_over.remove_label"]
		d.add(Problem{Key: v.key, Value: display(over.RemoveLabel), Line: v.line, Column: v.column,
			Reason: "is not one of tracker.required_labels, so the issue would be worked on again without it; add it there, or name one of them"})
	}
}

// checkMergedState chooses the state of an issue whose pull request was merged, and
// records a problem for one that would not finish it.
func (d *repositorySection) checkMergedState() {
	s := d.settings
	state, v := strings.TrimSpace(s.Delivery.MergedState), d.written["delivery.merged_state"]
	terminal := s.Policy.TerminalStates
	switch {
	case state != "" && !containsState(terminal, state):
		d.add(Problem{Key: "delivery.merged_state", Value: display(state), Line: v.line, Column: v.column,
			Reason: "is not one of tracker.terminal_states, so the issue would not be finished; name one of them"})
	case s.Delivery.Kind != KindPullRequest: // the program does not see a merge
		state = ""
	case state == "" && containsState(terminal, "Done"):
		state = "Done"
	case state == "" && len(terminal) > 0:
		state = terminal[0]
	}
	s.Delivery.MergedState = state
}

func (d *repositorySection) handOver(v value) {
	to := &d.settings.Delivery.HandOver
	problems := len(d.problems)
	for _, entry := range d.children(v) {
		d.written[entry.key] = entry
		switch entry.key {
		case "delivery.hand_over.state":
			d.text(&to.State).decode(entry)
		case "delivery.hand_over.remove_label":
			d.text(&to.RemoveLabel).decode(entry)
		default:
			d.reject(entry, "is unknown; write state or remove_label")
		}
	}
	to.State, to.RemoveLabel = strings.TrimSpace(to.State), strings.TrimSpace(to.RemoveLabel)
	if (to.State == "") == (to.RemoveLabel == "") && len(d.problems) == problems {
		d.reject(v, "must name one change of the issue, such as {state: In Review} or {remove_label: symphony}")
		*to = HandOver{}
	}
}

// openByLabel decodes limits of open pull requests by the normal form of a label. An entry that
// cannot be used is a problem: issues would start that somebody meant to hold back.
func (f forms) openByLabel(to *map[string]int) form {
	return form{func(v value) {
		limits := make(map[string]int)
		f.byLabel(v, "must be a map from labels of issues to limits, such as {risky: 1}", func(label string, entry value) {
			if n, ok := f.integerBetween(entry, 1, schedule.MaxOpenLimit); ok {
				limits[label] = int(n)
			}
		})
		*to = limits
	}, mapSchema(integerSchema(1, schedule.MaxOpenLimit))}
}

// protected decodes a map from patterns to policies. The order in which they are
// written counts, so it reads the YAML itself.
func (d *repositorySection) protected(v value) {
	node := v.node
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		d.reject(v, "must be a map from patterns to policies, such as {docs/**: review}")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		pattern, policy := node.Content[i], node.Content[i+1]
		rule := delivery.Rule{Pattern: strings.TrimSpace(pattern.Value), Protection: delivery.Protection(policy.Value)}
		entry := Problem{Key: v.key + "." + truncate(rule.Pattern), Line: pattern.Line, Column: pattern.Column}
		if pattern.Kind != yaml.ScalarNode || pattern.Tag == "!!merge" {
			entry.Key, entry.Reason = v.key, "must have patterns as its keys; write them out"
			d.add(entry)
			continue
		}
		if err := delivery.ValidatePattern(rule.Pattern); err != nil {
			entry.Reason = err.Error()
			d.add(entry)
			continue
		}
		if policy.Kind == yaml.AliasNode {
			policy = policy.Alias
			rule.Protection = delivery.Protection(policy.Value)
		}
		if err := rule.Protection.Validate(); err != nil {
			entry.Reason = err.Error()
			d.add(entry)
			continue
		}
		d.settings.Delivery.Policy.Protected = append(d.settings.Delivery.Policy.Protected, rule)
	}
}

// maxLFSBytes bounds delivery.max_lfs_bytes: each object is scanned in memory.
const maxLFSBytes = 1 << 30

// reviewPrompt decodes delivery.review_prompt. A file that cannot be read is a warning: the review
// holds nothing back.
func (d *repositorySection) reviewPrompt(v value) {
	text, ok := v.raw.(string)
	if !ok || strings.TrimSpace(text) == "" {
		d.reject(v, "must be the path of a file; put it in quotes if it is")
		return
	}
	path, err := d.expandPath(text)
	if err != nil {
		d.reject(v, "%s", err)
		return
	}
	d.settings.Delivery.ReviewPrompt = path
	if _, err := secondlook.ReadRules(path); err != nil {
		d.warn(v, "%s", strings.TrimPrefix(err.Error(), "delivery.review_prompt: "))
	}
}

// TakesPlace reports whether anybody reads the work.
func (r Review) TakesPlace() bool { return r == ReviewFresh || r == ReviewFork }

// checkReview warns of keys of a review that does not take place, and forgets its model.
func (d *repositorySection) checkReview() {
	s := d.settings
	if s.Delivery.Review.TakesPlace() && s.Delivery.Kind != KindNone {
		return
	}
	s.Codex.Review = codex.Choice{}
	if s.Delivery.Review != ReviewNone { // there is no delivery, which other warnings say
		return
	}
	for _, key := range []string{"review_rounds", "review_timeout_ms", "review_prompt", "review_model", "review_effort"} {
		if v := d.written["delivery."+key]; v.key != "" {
			d.warn(v, "delivery.%s is not used, because delivery.review is none: write fresh or fork there, or remove the key", key)
			return
		}
	}
}

func (d *repositorySection) folder(v value) {
	text, ok := v.raw.(string)
	if !ok {
		d.reject(v, "must be a path; put it in quotes if it is")
		return
	}
	path, err := d.expandPath(text)
	switch {
	case err != nil:
		d.reject(v, "%s", err)
	case path == "":
		d.reject(v, "is empty; name a folder, or remove the key for the default")
	}
	d.settings.Delivery.Folder = path
}
