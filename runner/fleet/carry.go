package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Name names a fleet: by the attempt of the run that planned it, and by its plan among those
// of the attempt. With a zero Plan it is the fleet of the only one.
type Name struct {
	Run     string
	Attempt int
	Plan    PlanName
}

// PushPlan creates the reference of the plan in the exchange folder. To repeat it changes
// nothing.
func PushPlan(ctx context.Context, refs *git.FileRefs, exchange string) (Reference, PlanName, error) {
	ref, files, err := planFiles(exchange)
	if err == nil {
		err = pushReference(ctx, refs, ref, files)
	}
	if err != nil {
		return Reference{}, PlanName{}, err
	}
	return ref, PlanName{ref.Started, digestOf(files[planName])}, nil
}

// PushResult creates the reference of the result of a shard in the exchange folder. To repeat
// it changes nothing.
func PushResult(ctx context.Context, refs *git.FileRefs, exchange string, slice Slice) (Reference, error) {
	ref, files, err := resultFiles(exchange, slice)
	if err == nil {
		err = pushReference(ctx, refs, ref, files)
	}
	return ref, err
}

// Pull fetches the plan of a fleet into an exchange folder, and the results of its shards if
// results is true. It returns the number of references that it took, which is 0 if there is no
// plan of that name, and the errors of results that cannot be used.
func Pull(ctx context.Context, refs *git.FileRefs, exchange string, name Name, results bool) (pulled int, refused []error, err error) {
	planRefs, resultRefs, err := findFleet(ctx, refs, name)
	if err != nil || len(planRefs) == 0 {
		return 0, nil, err
	}
	var plan Plan
	if err := readReferences(ctx, refs, planRefs, func(r Reference, files map[string][]byte, err error) error {
		if err == nil {
			plan, err = storePlan(exchange, r, name.Plan, files)
		}
		return err
	}); err != nil || !results {
		return 1, nil, err
	}
	resultRefs = slices.DeleteFunc(resultRefs, func(r Reference) bool { _, ok := plan.Slice(r.Shard); return !ok })
	pulled = 1
	err = readReferences(ctx, refs, resultRefs, func(r Reference, files map[string][]byte, err error) error {
		if err != nil {
			refused = append(refused, err)
			return nil
		}
		pulled++
		return storeResult(exchange, r, files)
	})
	return pulled, refused, err
}

// Drop deletes the references of a fleet, and returns how many there were.
func Drop(ctx context.Context, refs *git.FileRefs, name Name) (dropped int, err error) {
	plan, results, err := findFleet(ctx, refs, name)
	if err != nil {
		return 0, err
	}
	all := append(results, plan...) // the plan last: without it the others are not found again
	return len(all), deleteReferences(ctx, refs, all)
}

// oldFleet is the age of a plan at which nobody needs the references of its fleet any more.
const oldFleet = schedule.MaxShardTime + 24*time.Hour

// farAhead is how far a plan's time may lie in the future, because clocks differ. No fleet has
// a reference with a later time, and so none would ever be old.
const farAhead = 24 * time.Hour

// DropOld deletes the references of old fleets, and those with a time that no plan has.
func DropOld(ctx context.Context, refs *git.FileRefs, now time.Time) error {
	all, err := listReferences(ctx, refs, referencesFolder)
	if err != nil {
		return err
	}
	return deleteReferences(ctx, refs, slices.DeleteFunc(all, func(r Reference) bool {
		age := now.Sub(time.UnixMilli(r.Started))
		return -farAhead < age && age < oldFleet
	}))
}

// findFleet returns the references of a fleet, as [selectPlan] does.
func findFleet(ctx context.Context, refs *git.FileRefs, name Name) (plan, results []Reference, err error) {
	all, err := listReferences(ctx, refs, attemptReferences(name.Run, name.Attempt))
	if err == nil {
		plan, results, err = selectPlan(all, name.Plan)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find the plan of attempt %d of run %s: %w", name.Attempt, name.Run, err)
	}
	return plan, results, nil
}

// listReferences returns the references of fleets in a folder of the remote. It skips other references.
func listReferences(ctx context.Context, refs *git.FileRefs, folder string) ([]Reference, error) {
	name, err := git.ParseFileRef(folder)
	if err != nil {
		return nil, err
	}
	names, err := refs.List(ctx, name)
	var found []Reference
	for _, name := range names {
		if r, ok := parseReference(name.String()); ok {
			found = append(found, r)
		}
	}
	return found, err
}

func pushReference(ctx context.Context, refs *git.FileRefs, ref Reference, files map[string][]byte) error {
	name, err := git.ParseFileRef(ref.String())
	if err != nil {
		return err
	}
	return refs.Push(ctx, name, files)
}

// deleteReferences deletes references from the remote. A missing one is not an error.
func deleteReferences(ctx context.Context, refs *git.FileRefs, all []Reference) error {
	names, err := gitNames(all)
	if err != nil {
		return err
	}
	return refs.Delete(ctx, names...)
}

// readReferences calls take with the files of each reference, or with the error why they cannot be
// used.
func readReferences(ctx context.Context, refs *git.FileRefs, all []Reference, take func(Reference, map[string][]byte, error) error) error {
	names, err := gitNames(all)
	if err != nil {
		return err
	}
	limit := func(name git.FileRef, path string) int64 {
		r, _ := parseReference(name.String())
		return r.fileLimit(path)
	}
	return refs.Read(ctx, names, limit, func(files git.RefFiles) error {
		r, _ := parseReference(files.Ref.String())
		return take(r, files.Files, files.Err)
	})
}

// gitNames returns the names of references as package git takes them.
func gitNames(all []Reference) ([]git.FileRef, error) {
	names := make([]git.FileRef, 0, len(all))
	for _, r := range all {
		name, err := git.ParseFileRef(r.String())
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// PlanName identifies one plan of an attempt of a run. Everybody who can push
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

var planNamePattern = lazy.Regexp(`^([1-9][0-9]{0,14})-([0-9a-f]{64})$`)

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

// selectPlan returns the references of one fleet of an attempt: of the plan with the name, or of
// the only plan if the name is the zero value. They are empty if there is no such plan. It fails with [ErrUnreadable] if there are several to choose from.
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
