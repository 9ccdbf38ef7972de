package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// referencesFolder begins the names of the references of all fleets, which carry plans and
// results where there are no artifacts:
//
//	refs/symphony/fleet/<run>-<attempt>/<started>/plan
//	refs/symphony/fleet/<run>-<attempt>/<started>/shard-<number>
const referencesFolder = "refs/symphony/fleet"

// Reference represents the name of a reference with the plan or a result.
type Reference struct {
	Run     string // that of the owner if it is a number, else its digest
	Attempt int
	Started int64 // when the plan was made, in milliseconds
	Shard   int   // number of the shard whose result it is; 0 for the plan
}

// referenceOf returns the reference of the result of the shard that is the owner, or of the
// plan if the owner is not a shard.
func referenceOf(o schedule.Owner) Reference {
	return Reference{runInName(o.Run), o.Attempt, o.Started, o.Shard}
}

func attemptReferences(run string, attempt int) string {
	return fmt.Sprintf("%s/%s-%d", referencesFolder, runInName(run), attempt)
}

// runInName returns a run as names of references spell it. An engine may give its runs names
// that git does not allow in references.
func runInName(run string) string {
	if len(run) <= 20 && run != "" && strings.Trim(run, "0123456789") == "" {
		return run
	}
	sum := sha256.Sum256([]byte(run))
	return "x" + hex.EncodeToString(sum[:16])
}

// String returns the full name.
func (r Reference) String() string {
	name := "plan"
	if r.Shard > 0 {
		name = "shard-" + strconv.Itoa(r.Shard)
	}
	return fmt.Sprintf("%s/%s-%d/%d/%s", referencesFolder, r.Run, r.Attempt, r.Started, name)
}

var referenceName = lazy.Regexp(`^` + referencesFolder + `/([0-9]{1,20}|x[0-9a-f]{32})-([0-9]{1,9})/([0-9]{1,15})/(?:plan|shard-([0-9]{1,3}))$`)

// parseReference returns the reference of a name. It reports false for a name that String
// does not return.
func parseReference(name string) (Reference, bool) {
	m := referenceName().FindStringSubmatch(name)
	if m == nil {
		return Reference{}, false
	}
	r := Reference{Run: m[1]}
	r.Attempt, _ = strconv.Atoi(m[2]) // the pattern bounds the digits
	r.Started, _ = strconv.ParseInt(m[3], 10, 64)
	r.Shard, _ = strconv.Atoi(m[4]) // 0 for the plan
	return r, r.Shard <= schedule.MaxShards && r.String() == name
}

// fileLimit returns the largest size in bytes of a file of the reference, and 0 for a path
// that it does not have.
func (r Reference) fileLimit(path string) int64 {
	file, isThread := strings.CutPrefix(path, threadsFolder+"/")
	thread, _, isSealed := parseFileName(file)
	switch {
	case r.Shard == 0 && path == planName:
		return maxPlan
	case r.Shard > 0 && path == resultName:
		return maxResult
	case r.Shard > 0 && isThread && isSealed && attempt.IsThread(thread):
		return maxThread
	}
	return 0
}

// maxReferenceThreads bounds the packed threads of one reference, in bytes.
const maxReferenceThreads = 64 << 20

func planFiles(exchange string) (Reference, map[string][]byte, error) {
	p, data, err := readPlan(exchange)
	if err != nil {
		return Reference{}, nil, err
	}
	return referenceOf(p.Owner), map[string][]byte{planName: data}, nil
}

// resultFiles returns the files of the reference of a shard's result in the exchange folder:
// the result, and as many threads as fit into the reference. It fails with [ErrUnreadable]
// or [ErrRefused] for a result that collect would not settle.
func resultFiles(exchange string, slice Slice) (Reference, map[string][]byte, error) {
	self := slice.State.Self
	fail := func(err error) (Reference, map[string][]byte, error) {
		return Reference{}, nil, fmt.Errorf("hand over the result of shard %d: %w", self.Shard, err)
	}
	names := []string{resultsFolder, resultFolder(self.Shard)}
	r, err := readResult(exchange, names, slice)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(fmt.Errorf("%w: %s is missing: run symphony work --shard %d first", ErrUnreadable, inExchange(exchange, append(names, resultName)...), self.Shard))
	case err != nil:
		return fail(err)
	}
	files := map[string][]byte{resultName: r.data}
	root, err := openRoot(exchange, append(names, threadsFolder)...)
	if errors.Is(err, fs.ErrNotExist) {
		return referenceOf(self), files, nil
	}
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	left := int64(maxReferenceThreads)
	for _, t := range threadsOf(r.State) {
		data, err := readFile(root, t.fileName(), min(maxThread, left))
		if err != nil {
			continue // the next session on the issue begins a new thread
		}
		files[path.Join(threadsFolder, t.fileName())] = data
		left -= int64(len(data))
	}
	return referenceOf(self), files, nil
}

// storePlan writes the files of a reference of a plan into the exchange folder, and returns
// the plan. It fails with [ErrRefused] for a plan of another reference or another name, and
// with another error if the folder has another plan.
func storePlan(exchange string, r Reference, name PlanName, files map[string][]byte) (Plan, error) {
	if got := digestOf(files[planName]); name.Digest != "" && got != name.Digest {
		return Plan{}, fmt.Errorf("take the plan of %s: %w: its SHA-256 is %s, so it is not the plan that was pushed: plan again", r, ErrRefused, got)
	}
	p, err := decodePlan(files[planName])
	if err != nil {
		return Plan{}, fmt.Errorf("take the plan of %s: %w: %w", r, ErrUnreadable, err)
	}
	if referenceOf(p.Owner) != r {
		return Plan{}, fmt.Errorf("take the plan of %s: %w: it is that of another run", r, ErrRefused)
	}
	before, err := ReadPlan(exchange)
	if err == nil && before.Owner != p.Owner || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Plan{}, fmt.Errorf("take the plan of %s: %s has something else already: name an empty folder", r, inExchange(exchange, planName))
	}
	return p, writeInto(exchange, planName, files[planName])
}

// storeResult writes the files of a reference of a result into the exchange folder, and
// replaces what the folder has of the shard. [ReadResults] checks them.
func storeResult(exchange string, r Reference, files map[string][]byte) error {
	folder := filepath.Join(exchange, resultsFolder, resultFolder(r.Shard))
	err := os.RemoveAll(folder)
	if err == nil {
		err = os.MkdirAll(filepath.Join(folder, threadsFolder), 0o700)
	}
	if err != nil {
		return fmt.Errorf("take the result of %s: %w", r, err)
	}
	root, err := openRoot(folder)
	if err != nil {
		return fmt.Errorf("take the result of %s: %w", r, err)
	}
	defer root.Close()
	for name, data := range files {
		if r.fileLimit(name) >= int64(len(data)) {
			err = errors.Join(err, writeFile(root, filepath.FromSlash(name), data))
		}
	}
	return err
}
