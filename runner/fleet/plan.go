package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// Plan represents the plan of a fleet: which shard works on which issues.
type Plan struct {
	Owner  schedule.Owner // that of every shard, but with Shard 0
	Shards []Slice        // in the order of their numbers
}

// Slice represents the part of the state that one shard works on, and the runner it needs.
type Slice struct {
	Number int             // from 1
	RunsOn []string        // labels of the runner; nil for the default runner
	State  *schedule.State // see [schedule.State.Slice]; Self is the owner of its claims
}

// Slice returns the slice of a shard.
func (p Plan) Slice(shard int) (s Slice, ok bool) {
	for _, s := range p.Shards {
		if s.Number == shard {
			return s, true
		}
	}
	return Slice{}, false
}

// ShardOwner returns the owner of the claims of a shard.
func (p Plan) ShardOwner(shard int) schedule.Owner {
	return p.Owner.OfShard(shard)
}

// The limits of the labels of a runner.
const (
	maxLabels = 20
	maxLabel  = 256
)

// planFile represents the content of plan.json.
type planFile struct {
	Schema int            `json:"schema"`
	Owner  schedule.Owner `json:"owner"`
	Shards []sliceFile    `json:"shards"`
}

type sliceFile struct {
	Shard  int      `json:"shard"`
	RunsOn []string `json:"runs_on,omitempty"`
	State  string   `json:"state"` // as package store encodes it, with a checksum over every byte
}

// Prepare makes the exchange folder of a plan, before any claim is saved for it. It fails if
// the folder cannot be written, or has the plan of another tick, whose shards need it.
func Prepare(exchange string) error {
	const probe = ".probe"
	err := writeInto(exchange, probe, nil)
	if err == nil {
		err = os.Remove(filepath.Join(exchange, probe))
	}
	if err != nil {
		return fmt.Errorf("prepare the exchange folder: %w: make room on the disk, correct its permissions, or name another folder", err)
	}
	before, err := ReadPlan(exchange)
	if err == nil && len(before.Shards) == 0 || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s has the plan of another tick: collect its results, and use a new folder for each tick", exchange)
}

// writeInto writes a file into the exchange folder, and creates the folder if it is missing.
func writeInto(exchange, name string, data []byte) error {
	if err := os.MkdirAll(exchange, 0o700); err != nil {
		return err
	}
	root, err := openRoot(exchange)
	if err != nil {
		return err
	}
	return errors.Join(writeFile(root, name, data), root.Close())
}

// WritePlan writes the plan into the exchange folder, and creates the folder if it is
// missing. It fails with [ErrInvalid] for a plan that breaks a rule of [Plan] or is too large.
func WritePlan(exchange string, p Plan) error {
	data, err := encodePlan(p)
	if err != nil {
		return fmt.Errorf("write the plan: %w: %w: report this as a defect", ErrInvalid, err)
	}
	if err := writeInto(exchange, planName, data); err != nil {
		return fmt.Errorf("write the plan: %w: make room on the disk, or correct the permissions of the exchange folder", err)
	}
	return nil
}

// ReadPlan reads the plan of the exchange folder. Self of each slice is set. It fails with
// [ErrUnreadable].
func ReadPlan(exchange string) (Plan, error) {
	p, _, err := readPlan(exchange)
	return p, err
}

// readPlan also returns the content of the file.
func readPlan(exchange string) (p Plan, data []byte, err error) {
	root, err := openRoot(exchange)
	if err == nil {
		defer root.Close()
		if data, err = readFile(root, planName, maxPlan); err == nil {
			p, err = decodePlan(data)
		}
	}
	if err != nil {
		return Plan{}, nil, fmt.Errorf("read the plan %s: %w: %w: use the folder that `symphony plan` wrote in this run",
			inExchange(exchange, planName), ErrUnreadable, err)
	}
	return p, data, nil
}

func encodePlan(p Plan) ([]byte, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	file := planFile{Schema: schema, Owner: p.Owner, Shards: make([]sliceFile, 0, len(p.Shards))}
	for _, s := range p.Shards {
		state, err := store.Encode(s.State, 0)
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", s.Number, err)
		}
		file.Shards = append(file.Shards, sliceFile{s.Number, s.RunsOn, string(state)})
	}
	return encode(file, maxPlan)
}

func decodePlan(data []byte) (Plan, error) {
	var file planFile
	if err := decode(data, &file); err != nil {
		return Plan{}, err
	}
	if len(file.Shards) > schedule.MaxShards {
		return Plan{}, fmt.Errorf("it has %d shards, and %d are allowed", len(file.Shards), schedule.MaxShards)
	}
	p := Plan{Owner: file.Owner}
	for _, s := range file.Shards {
		state, _, err := store.Decode([]byte(s.State))
		if err != nil {
			return Plan{}, fmt.Errorf("shard %d: %w", s.Shard, err)
		}
		state.Self = p.ShardOwner(s.Shard)
		p.Shards = append(p.Shards, Slice{s.Shard, s.RunsOn, state})
	}
	return p, p.validate()
}

// validate returns an error if the plan breaks a rule: each issue belongs to at most one
// shard, shards are in order, and their claims belong to this fleet.
func (p Plan) validate() error {
	if err := store.CheckOwner(p.Owner); err != nil || p.Owner.Shard != 0 {
		return errors.Join(errors.New("its owner is not that of a fleet"), err)
	}
	if len(p.Shards) > schedule.MaxShards {
		return fmt.Errorf("it has %d shards, and %d are allowed", len(p.Shards), schedule.MaxShards)
	}
	shardOf := map[tracker.ID]int{}
	for i, s := range p.Shards {
		switch {
		case s.Number < 1 || s.Number > schedule.MaxShards:
			return fmt.Errorf("the number %d is not that of a shard: 1 to %d are allowed", s.Number, schedule.MaxShards)
		case i > 0 && s.Number <= p.Shards[i-1].Number:
			return fmt.Errorf("shard %d comes twice or out of order", s.Number)
		case s.State.Self != p.ShardOwner(s.Number):
			return fmt.Errorf("the claims of shard %d belong to another owner", s.Number)
		case len(s.RunsOn) > maxLabels || slices.ContainsFunc(s.RunsOn, func(l string) bool { return bounds.Plain(l, maxLabel) == "" }):
			return fmt.Errorf("a label of the runner of shard %d is empty, too long or not plain, or there are more than %d", s.Number, maxLabels)
		}
		for _, id := range slices.Sorted(maps.Keys(s.State.Claims)) {
			if other, twice := shardOf[id]; twice {
				return fmt.Errorf("the issue %q is given to the shards %d and %d", id, other, s.Number)
			}
			shardOf[id] = s.Number
		}
	}
	return nil
}
