package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// Result holds what a shard leaves. Its texts and numbers are those of a job in which an
// agent ran.
type Result struct {
	Owner schedule.Owner  // the shard
	Job   string          // id of its job at the provider; empty if it is not known
	State *schedule.State // of its issues, with Tick and Faults; Self is Owner
	// Tick holds what the report needs: Rows, Parked, Notices, Warnings, Errors, Stopped
	// and Spent. Only Spent is set if the shard did not come to its end.
	Tick report.Tick

	folder string // that holds it
	saved  int64  // how often the shard has written it
	data   []byte // as it was read
}

// Refused tells of a result that does not count.
type Refused struct {
	Path string // of the file, or of the folder that cannot be read
	Err  error
}

// resultFile is result.json.
type resultFile struct {
	Schema int            `json:"schema"`
	Owner  schedule.Owner `json:"owner"`
	Job    string         `json:"job,omitempty"`
	State  string         `json:"state"` // of package store; its generation counts how often it was written
	Tick   tickFile       `json:"tick,omitzero"`
}

// encodeResult returns the content of result.json. The state is given with its tick and its faults.
func encodeResult(r Result) ([]byte, error) {
	state, err := store.Encode(r.State, r.saved)
	if err != nil {
		return nil, err
	}
	tick, err := newTick(r.Tick, r.State)
	if err != nil {
		return nil, err
	}
	return encode(resultFile{Schema: schema, Owner: r.Owner, Job: wholeOrEmpty(r.Job, maxName), State: string(state), Tick: tick}, maxResult)
}

// errOther reports a result of another plan than the one that is collected.
var errOther = errors.New("it is of another run")

// decodeResult returns the result of the shard that works on the slice. It fails with
// errOther for one of another plan, and with [ErrRefused] if the result speaks of what the
// shard does not own.
func decodeResult(data []byte, slice Slice) (Result, error) {
	var file resultFile
	if err := decode(data, &file); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	self := slice.State.Self
	if file.Owner != self {
		if file.Owner.Shard = self.Shard; file.Owner != self {
			return Result{}, errOther
		}
		return Result{}, fmt.Errorf("%w: it is not that of shard %d", ErrRefused, self.Shard)
	}
	if wholeOrEmpty(file.Job, maxName) != file.Job {
		return Result{}, fmt.Errorf("%w: the id of its job is too long or not plain", ErrUnreadable)
	}
	state, saved, err := store.Decode([]byte(file.State))
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if id, is := stranger(state, slice.State); is {
		return Result{}, fmt.Errorf("%w: it speaks of issue %q, which is not the shard's", ErrRefused, id)
	}
	r := Result{Owner: self, Job: file.Job, State: state, saved: saved, data: data}
	r.State.Self = self
	if r.Tick, err = file.Tick.restore(slice.State, r.State); err != nil && !errors.Is(err, ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r, err
}

// stranger returns an issue of a result that the plan did not give to the shard.
func stranger(result, slice *schedule.State) (id tracker.ID, is bool) {
	for _, ids := range []iter.Seq[tracker.ID]{maps.Keys(result.Claims), maps.Keys(result.Deliveries), maps.Keys(result.Conversations)} {
		for id := range ids {
			if _, its := slice.Claims[id]; !its {
				return id, true
			}
		}
	}
	return "", false
}

// ReadResults reads the results that the shards of the plan have left in the exchange
// folder, in the order of the shards. A shard without a result is left out: the caller
// compares with the plan. Results of other runs and attempts are skipped. Of one shard's
// results the one that was written last counts.
//
// A result is looked for where its shard belongs, and is refused if it is of another one:
//
//	results/result-<shard>/result.json
//	results/symphony-result-<attempt>-<shard>/result-<shard>/result.json
func ReadResults(exchange string, p Plan) ([]Result, []Refused) {
	var results []Result
	var refused []Refused
	for _, slice := range p.Shards {
		var all []Result
		inner := resultFolder(slice.Number)
		for _, names := range [][]string{{resultsFolder, inner}, {resultsFolder, ArtifactName(slice.State.Self), inner}} {
			r, err := readResult(exchange, names, slice)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, errOther):
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

// latest returns the result that was written last, nil if there is none. Copies are one.
func latest(all []Result) (*Result, error) {
	var last *Result
	for i := range all {
		r := &all[i]
		switch {
		case last == nil || r.saved > last.saved:
			last = r
		case r.saved == last.saved && !bytes.Equal(r.data, last.data):
			return nil, fmt.Errorf("%w: there is another one of the same shard that was written as often", ErrRefused)
		}
	}
	return last, nil
}

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
