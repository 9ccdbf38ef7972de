package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// PlanName identifies one plan among those of an attempt of a run. Everybody who can push
// to the repository can add a plan, but none with the name of another plan.
type PlanName struct {
	Started int64  // when the plan was made, in milliseconds; 0: not known
	Digest  string // SHA-256 of its file, in hexadecimal; empty: not known
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// String returns the name as [ParsePlanName] takes it, and nothing for the zero value.
func (n PlanName) String() string {
	if n == (PlanName{}) {
		return ""
	}
	return strconv.FormatInt(n.Started, 10) + "-" + n.Digest
}

var planNamePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([1-9][0-9]{0,14})-([0-9a-f]{64})$`)
})

// ParsePlanName returns the plan name that a text spells. An empty text is the zero value.
func ParsePlanName(text string) (PlanName, error) {
	if text == "" {
		return PlanName{}, nil
	}
	m := planNamePattern().FindStringSubmatch(text)
	if m == nil {
		return PlanName{}, fmt.Errorf("%.100q is not the name of a plan, such as 1763845200000-HEX with 64 digits", text)
	}
	started, _ := strconv.ParseInt(m[1], 10, 64) // the pattern bounds the digits
	return PlanName{started, m[2]}, nil
}

// selectPlan returns the references of one fleet among those of an attempt: those of the plan
// with the name, or of the only plan if the name is the zero value. They are empty if that
// plan is not there. It fails with [ErrUnreadable] if there are several to choose from.
func selectPlan(all []Reference, name PlanName) (plan, results []Reference, err error) {
	for _, r := range all {
		if r.Shard == 0 && (name.Started == 0 || r.Started == name.Started) {
			plan = append(plan, r)
		}
	}
	switch {
	case len(plan) == 0:
		return nil, nil, nil
	case len(plan) > 1:
		return nil, nil, fmt.Errorf("%w: %d plans are there, and some may be forged: name yours with --plan, as symphony exchange push printed it", ErrUnreadable, len(plan))
	}
	results = slices.DeleteFunc(slices.Clone(all), func(r Reference) bool { return r.Shard == 0 || r.Started != plan[0].Started })
	return plan, results, nil
}
