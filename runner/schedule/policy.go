package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Policy holds the scheduling settings of WORKFLOW.md (SPEC §5.3.1, §5.3.5). It
// is read again before every round, so a plan never uses old settings.
type Policy struct {
	ActiveStates   []string // compared without regard to case and surrounding space
	TerminalStates []string
	RequiredLabels []string // normalized; an issue must carry all; a blank one matches nothing

	MaxConcurrent int            // sessions at once, of those that count: see OfFleet
	MaxPerState   map[string]int // sessions at once per state; keys normalized
	MaxPerTick    int            // sessions started in one tick; 0: as many as MaxConcurrent, see PerTick

	// Hosts are the worker hosts on which sessions run; empty if they run on this machine.
	// PerHost is the maximum of sessions at once on each; 0: no limit.
	Hosts   []string
	PerHost int

	MaxBackoff time.Duration // longest wait between two failures
	Stall      time.Duration // silence in a turn after which a session is stopped; 0 or less: never

	Budget Budget

	MaxOpen        int            // open pull requests and issues in progress from which on no new issue starts; 0: no limit
	MaxOpenByLabel map[string]int // the same among issues with a label; labels normalized, limits positive

	Delivers bool // the program publishes the agent's work: an issue is completed when its work is delivered

	MaxRounds      int    // sessions in a row on people's comments; 0 for no session on feedback
	MaxCheckRounds int    // sessions in a row on checks and conflicts alone; 0 for none
	HandsOver      bool   // an issue whose work is delivered is handed over
	HandedOver     string // state for handed-over issues; empty for another way, such as a label

	// AnyState says that an issue is worked on in any state that is not terminal, and
	// with any labels; see Answering.
	AnyState bool

	// OfFleet says that the plan is of the fleet with the name Fleet. Then the sessions in the
	// shards of this fleet, of all its plans, count against MaxConcurrent; otherwise those
	// that are not in a shard. All sessions count against MaxPerState and the budgets.
	OfFleet bool
	Fleet   string

	// Setup and Salt are set by the runner: the digests of the settings and tools of sessions,
	// and their salt.
	Setup Setup
	Salt  string
}

// Budget bounds the cost of an issue, a tick and a day. Tokens are input plus
// output, and USD are dollars by Prices; 0 means unlimited.
type Budget struct {
	Attempts       int   `json:"max_attempts_per_issue"` // failures in a row before an issue is parked
	IdleSessions   int   `json:"max_idle_sessions"`      // sessions in a row that changed nothing before it is parked
	TokensPerIssue int64 `json:"max_tokens_per_issue"`   // tokens of one issue in all runs, while it is claimed
	TokensPerTick  int64 `json:"max_tokens_per_tick"`
	TokensPerDay   int64 `json:"max_tokens_per_day"` // a day of UTC

	USDPerIssue Money  `json:"max_usd_per_issue"` // as TokensPerIssue
	USDPerTick  Money  `json:"max_usd_per_tick"`
	USDPerDay   Money  `json:"max_usd_per_day"`
	Prices      Prices `json:"prices,omitempty"`
}

// LimitsMoney reports whether a budget is set in dollars.
func (b Budget) LimitsMoney() bool { return b.USDPerIssue > 0 || b.USDPerTick > 0 || b.USDPerDay > 0 }

// LimitsSpending reports whether a budget is set in tokens or dollars.
func (b Budget) LimitsSpending() bool {
	return b.LimitsMoney() || b.TokensPerIssue > 0 || b.TokensPerTick > 0 || b.TokensPerDay > 0
}

// issueSpent returns the spent budget that forbids another session on the issue of a claim; zero
// for none.
func (b Budget) issueSpent(c Claim) Why {
	if b.TokensPerIssue > 0 && c.Tokens >= b.TokensPerIssue {
		return Why{IssueBudget, fmt.Sprintf("spent %d tokens of budget.max_tokens_per_issue %d", c.Tokens, b.TokensPerIssue)}
	}
	if cost := b.Prices.Of(c.Spent()); b.USDPerIssue > 0 && cost.USD >= b.USDPerIssue {
		return Why{IssueBudget, fmt.Sprintf("spent %s of budget.max_usd_per_issue %s", cost, b.USDPerIssue)}
	}
	return Why{}
}

// Share is the part of the budgets that a session of a fleet gets.
type Share struct {
	Tokens int64 // 0: no limit
	USD    Money // 0: no limit
}

// PerTick returns the maximum of sessions that one tick starts.
func (p Policy) PerTick() int { return cmp.Or(p.MaxPerTick, p.MaxConcurrent) }

// The delays before the session that follows a normal exit, and after the first failure (SPEC §8.4).
const (
	continuationDelay = time.Second
	firstBackoff      = 10 * time.Second
)

// Backoff returns the delay before an attempt, which is 1 for the first retry: 10
// s, doubled for each further attempt, at most limit (SPEC §8.4).
func Backoff(attempt int, limit time.Duration) time.Duration {
	wait := firstBackoff
	for ; attempt > 1 && wait < limit; attempt-- {
		wait += min(wait, limit-wait) // doubled, without overflow
	}
	return min(wait, limit)
}

func (p Policy) longestWait() time.Duration { return max(p.MaxBackoff, maxImposedWait) }

// IneligibleToStart returns the reason for not working on the issue even when there
// is room (SPEC §8.2). The zero Why means that it may be started.
func (p Policy) IneligibleToStart(issue tracker.Issue) Why {
	return p.rules().ineligibleToStart(&issue)
}

// IneligibleToContinue returns the reason for ending a session on the issue.
// The zero Why means that it may continue.
func (p Policy) IneligibleToContinue(issue tracker.Issue) Why {
	return p.rules().ineligibleToContinue(&issue)
}

// Answering returns the policy for a session that answers feedback: its issue was handed
// over, so it need not be in an active state nor carry the required labels.
func (p Policy) Answering() Policy {
	p.AnyState = true
	return p
}

// rules holds the parts of a policy that decide eligibility, prepared for many
// issues.
type rules struct {
	active, terminal map[string]bool
	labels           []string
	anyState         bool // any state that is not terminal is active, and no label is required
}

func (p Policy) rules() rules {
	set := func(states []string) map[string]bool {
		m := make(map[string]bool, len(states))
		for _, state := range states {
			m[tracker.NormalState(state)] = true
		}
		return m
	}
	r := rules{active: set(p.ActiveStates), terminal: set(p.TerminalStates), labels: p.RequiredLabels}
	if p.AnyState {
		return r.forFeedback(p.HandedOver)
	}
	return r
}

func (r rules) forFeedback(handedOver string) rules {
	r.anyState, r.labels = true, nil
	if state := tracker.NormalState(handedOver); r.terminal[state] {
		r.terminal = maps.Clone(r.terminal)
		delete(r.terminal, state)
	}
	return r
}

// eligibility decides which issues may have sessions.
type eligibility struct {
	strict      rules
	forFeedback rules // for issues that have sessions only because of feedback
}

func (p Policy) eligibility() eligibility {
	strict := p.rules()
	return eligibility{strict, strict.forFeedback(p.HandedOver)}
}

// answers reports whether a claim on the issue is one for feedback: without feedback
// there would be none.
func (e *eligibility) answers(issue *tracker.Issue) bool {
	return !e.strict.ineligibleToContinue(issue).None()
}

// of returns the rules for the issue of a claim, or for one without a claim.
func (e *eligibility) of(c Claim) rules {
	if c.Feedback || c.Phase == "" {
		return e.forFeedback
	}
	return e.strict
}

// toStart returns the rules for starting a session on the issue of a claim, or on one
// without a claim. They are the rules for feedback only if there would be no session
// without the feedback.
func (e *eligibility) toStart(c Claim, known *tracker.Issue) rules {
	if e.answers(known) {
		return e.of(c)
	}
	return e.strict
}

// ineligibleToStart returns the reason for starting no session on the issue; zero for none.
func (r rules) ineligibleToStart(issue *tracker.Issue) Why {
	if missing := issue.MissingFields(); missing != nil {
		return Why{Incomplete, "has no " + strings.Join(missing, ", ")}
	}
	if why := r.ineligibleToContinue(issue); !why.None() {
		return why
	}
	if r.anyState || tracker.NormalState(issue.State) != "todo" { // the only state in which blockers count (SPEC §8.2)
		return Why{}
	}
	for _, blocker := range issue.BlockedBy {
		if !r.terminal[tracker.NormalState(blocker.State)] {
			state := ", whose state is not known"
			if blocker.State != "" {
				state = " (" + blocker.State + ")"
			}
			return Why{Blocked, "blocked by " + blocker.Name() + state}
		}
	}
	return Why{}
}

// ineligibleToContinue returns the reason for ending a session on the issue; zero for none.
func (r rules) ineligibleToContinue(issue *tracker.Issue) Why {
	state := tracker.NormalState(issue.State)
	switch {
	case r.terminal[state]:
		return Why{Terminal, fmt.Sprintf("is %q, a terminal state", issue.State)}
	case !r.active[state] && !r.anyState:
		return Why{NotActive, fmt.Sprintf("is %q, not an active state", issue.State)}
	}
	for _, label := range r.labels {
		if label == "" || !slices.Contains(issue.Labels, label) {
			return Why{NotRoutable, fmt.Sprintf("lacks the required label %q", label)}
		}
	}
	if !issue.Dispatchable {
		return Why{NotDispatchable, cmp.Or(issue.WhyNot, "the tracker does not offer it for work")}
	}
	return Why{}
}

// Compare orders issues for dispatch (SPEC §8.2): by priority, 1 to 4 before all
// others; then by age, oldest first and issues without a date last; then by
// identifier.
func Compare(a, b *tracker.Issue) int {
	return cmp.Or(
		cmp.Compare(rank(a.Priority), rank(b.Priority)),
		compareBools(a.CreatedAt.IsZero(), b.CreatedAt.IsZero()),
		a.CreatedAt.Compare(b.CreatedAt),
		cmp.Compare(a.Identifier, b.Identifier),
		cmp.Compare(a.ID, b.ID),
	)
}

// Sorted returns a sorted copy of values that are large. It sorts pointers, which move faster.
func Sorted[T any](values []T, compare func(a, b *T) int) []T {
	pointers, copies := make([]*T, len(values)), make([]T, len(values))
	for i := range values {
		pointers[i] = &values[i]
	}
	slices.SortFunc(pointers, compare)
	for i, p := range pointers {
		copies[i] = *p
	}
	return copies
}

// inOrder returns the issues in the order of [Compare]. It returns the same slice
// if it is sorted already, and otherwise a sorted copy; checking copies no issue.
func inOrder(issues []tracker.Issue) []tracker.Issue {
	for i := 1; i < len(issues); i++ {
		if Compare(&issues[i-1], &issues[i]) > 0 {
			return Sorted(issues, Compare)
		}
	}
	return issues
}

func rank(priority *int) int {
	const last = 5
	if priority == nil || *priority < 1 || *priority >= last {
		return last
	}
	return *priority
}
