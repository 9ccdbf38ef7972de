package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// Result represents the result of a shard. A job in which an agent ran wrote it, so its
// texts and numbers are not to be trusted, though they are within their limits.
type Result struct {
	Owner schedule.Owner  // of the shard
	Job   string          // id of its job in the workflow run; empty if it is not known
	State *schedule.State // the shard's slice after its sessions, with Tick and Faults; Self is Owner
	// Tick is the shard's part of the report: Rows, Parked, Notices, Warnings, Errors,
	// Stopped and Spent. If the shard was killed, only Spent is set.
	Tick report.Tick

	folder string // in which it was found
	saved  int64  // how often the shard has written it
	data   []byte // content of result.json
}

// Refused represents a result that cannot be used.
type Refused struct {
	Path string // of its folder
	Err  error  // why; it is an [ErrUnreadable] or an [ErrRefused]
}

// resultFile represents the content of result.json.
type resultFile struct {
	Schema int            `json:"schema"`
	Owner  schedule.Owner `json:"owner"`
	Job    string         `json:"job,omitempty"`
	State  string         `json:"state"` // as package store encodes it; its generation counts how often the result was written
	Tick   tickFile       `json:"tick,omitzero"`
}

// maxJob bounds the id of a job, in bytes.
const maxJob = 256

// encodeResult returns the content of result.json. Spending and faults are those of
// r.State.
func encodeResult(r Result) ([]byte, error) {
	state, err := store.Encode(r.State, r.saved)
	if err != nil {
		return nil, err
	}
	tick, err := newTick(r.Tick, r.State)
	if err != nil {
		return nil, err
	}
	return encode(resultFile{Schema: schema, Owner: r.Owner, Job: bounds.Plain(r.Job, maxJob), State: string(state), Tick: tick}, maxResult)
}

// errOtherPlan reports a result of another plan than the one that is collected.
var errOtherPlan = errors.New("it belongs to another plan")

// decodeResult returns the result of the shard that works on the slice. It fails with
// errOtherPlan for a result of another plan, with [ErrRefused] if the result names an issue
// that is not the shard's, and with [ErrUnreadable] if it is damaged.
func decodeResult(data []byte, slice Slice) (Result, error) {
	var file resultFile
	if err := decode(data, &file); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	self := slice.State.Self
	if file.Owner != self {
		if file.Owner.Shard = self.Shard; file.Owner != self {
			return Result{}, errOtherPlan
		}
		return Result{}, fmt.Errorf("%w: it is not that of shard %d", ErrRefused, self.Shard)
	}
	if bounds.Plain(file.Job, maxJob) != file.Job {
		return Result{}, fmt.Errorf("%w: the id of its job is too long or not plain", ErrUnreadable)
	}
	state, saved, err := store.Decode([]byte(file.State))
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	given := func(id tracker.ID) bool { _, owned := slice.State.Claims[id]; return owned }
	if id, found := state.IssueExcept(given); found {
		return Result{}, fmt.Errorf("%w: it names issue %q, which is not the shard's", ErrRefused, id)
	}
	r := Result{Owner: self, Job: file.Job, State: state, saved: saved, data: data}
	r.State.Self = self
	if r.Tick, err = file.Tick.restore(slice.State, r.State); err != nil && !errors.Is(err, ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r, err
}

// ReadResults returns the results that the shards of the plan have left in the exchange
// folder, in the order of the shards, and those that cannot be used. It skips shards without
// a result, and results of other plans. If a shard has several results, it returns the one
// that was written last.
//
// It reads these two paths for each shard, and refuses a result of another shard in them:
//
//	results/result-<shard>/result.json
//	results/symphony-result-<attempt>-<shard>/result-<shard>/result.json
func ReadResults(exchange string, p Plan) ([]Result, []Refused) {
	var results []Result
	var refused []Refused
	for _, slice := range p.Shards {
		var all []Result
		inner := resultFolder(slice.Number)
		for _, names := range [][]string{{resultsFolder, inner}, {resultsFolder, artifactName(slice.State.Self), inner}} {
			r, err := readResult(exchange, names, slice)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, errOtherPlan):
			case err != nil:
				refused = append(refused, Refused{inExchange(exchange, names...), err})
			default:
				all = append(all, r)
			}
		}
		r, err := latest(all)
		switch {
		case err != nil:
			refused = append(refused, Refused{all[0].folder, err})
		case r != nil:
			results = append(results, *r)
		}
	}
	return results, refused
}

// latest returns the result that was written last; nil if there is none. It fails with
// [ErrRefused] if two different ones were written equally often.
func latest(all []Result) (*Result, error) {
	var last *Result
	for i := range all {
		r := &all[i]
		switch {
		case last == nil || r.saved > last.saved:
			last = r
		case r.saved == last.saved && !bytes.Equal(r.data, last.data):
			return nil, fmt.Errorf("%w: the shard has left two different results, each written %d times", ErrRefused, r.saved)
		}
	}
	return last, nil
}

// readResult reads the result of a slice from the folder to which the names lead. It fails
// with [fs.ErrNotExist] if there is no result, and otherwise as decodeResult does.
func readResult(exchange string, names []string, slice Slice) (Result, error) {
	root, err := openRoot(exchange, names...)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, err
	}
	var data []byte
	if err == nil {
		defer root.Close()
		data, err = readFile(root, resultName, maxResult)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	r, err := decodeResult(data, slice)
	r.folder = inExchange(exchange, names...)
	return r, err
}
