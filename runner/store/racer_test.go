package store

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// raceBatch is how many issues a run claims in one save.
const raceBatch = 8

// maxFaults bounds how often GitHub may be unavailable to a run: on a busy machine a
// timeout of the store can pass.
const maxFaults = 100

// racer is one run of the race, in a process of its own.
type racer struct {
	self   schedule.Owner
	issues int
	arena  string // the URL
}

// race runs until every issue is done and no claim is left.
func race() error {
	issues, err := strconv.Atoi(os.Getenv("STORE_TEST_ISSUES"))
	if err != nil {
		return err
	}
	run, root := os.Getenv("STORE_TEST_RUN"), os.Getenv("STORE_TEST_API")
	b, err := OpenBranch(BranchConfig{Repo: os.Getenv("STORE_TEST_REPO"), Branch: raceBranch, APIURL: root, Token: run}, http.DefaultClient)
	if err != nil {
		return err
	}
	b.client.Transport.Pause = 5 * time.Millisecond
	r := racer{schedule.Owner{Run: run, PID: os.Getpid()}, issues, strings.TrimSuffix(root, "/api/v3") + "/arena"}
	ctx := context.Background()
	for faults := 0; faults < maxFaults; {
		if err := r.ask(ctx, http.MethodPost, "/turn", nil); err != nil {
			return err
		}
		s, rev, err := b.Load(ctx)
		if errors.Is(err, ErrUnavailable) {
			faults++
			continue
		}
		if err != nil {
			return err
		}
		var others arenaView
		if err := r.ask(ctx, http.MethodGet, "", &others); err != nil {
			return err
		}
		mine, changed := r.plan(s, others)
		if !changed && len(others.Done) == r.issues {
			return nil // the runs that still live release the other claims
		}
		again, err := b.Save(ctx, s, rev)
		switch {
		case errors.Is(err, ErrConflict) || err == nil && again == rev:
			continue
		case errors.Is(err, ErrUnavailable): // the save may have taken place; plan handles that
			faults++
			continue
		case err != nil:
			return err
		}
		if err := r.work(ctx, mine); err != nil {
			return err
		}
	}
	return errors.New("GitHub cannot be reached")
}

// plan adopts orphans, releases the issues that are done, and claims some of the open
// ones. changed reports whether it released or claimed anything.
func (r racer) plan(s *schedule.State, others arenaView) (mine []tracker.ID, changed bool) {
	now := time.Now()
	s.Self = r.self
	lives := map[schedule.Owner]schedule.OwnerStatus{}
	for _, o := range s.Orphans() {
		lives[o] = schedule.Alive
		if slices.Contains(others.Dead, o.Run) {
			lives[o] = schedule.Dead
		}
	}
	s.Adopt(lives, schedule.Policy{}, now)
	done := map[string]bool{}
	for _, id := range others.Done {
		done[id] = true
	}
	for _, i := range rand.Perm(r.issues) {
		id := tracker.ID(strconv.Itoa(i))
		c, claimed := s.Claims[id]
		free := !claimed || c.Phase == schedule.Waiting || c.Owner == r.self // ours, from a save whose answer was lost
		switch {
		case !free:
		case done[string(id)] && claimed:
			s.Apply(schedule.Decision{Action: schedule.Release, ID: id}, now)
			changed = true
		case !done[string(id)] && len(mine) < raceBatch:
			s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: id, Issue: tracker.Issue{ID: id, Identifier: "R-" + string(id)}}, now)
			mine = append(mine, id)
		}
	}
	return mine, changed || len(mine) > 0
}

// work holds the issues, all at once, and marks them as done.
func (r racer) work(ctx context.Context, ids []tracker.ID) error {
	for _, verb := range []string{"/hold/", "/done/"} {
		for _, id := range ids {
			if err := r.ask(ctx, http.MethodPost, verb+string(id), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask sends a request to the arena and decodes the answer into v, unless v is nil.
func (r racer) ask(ctx context.Context, method, path string, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.arena+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.self.Run)
	data, err := readAll(http.DefaultClient.Do(req))
	if err != nil || v == nil {
		return err
	}
	return json.Unmarshal(data, v)
}
