package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var (
	raceIssues = flag.Int("race.issues", 500, "issues that the racing runs share")
	raceTime   = flag.Duration("race.time", 20*time.Second, "how long the race may take")
)

const (
	racers     = 32
	raceBatch  = 16 // issues that a run claims in one save
	raceBranch = "race"
)

// Runs that race over one branch claim issues, hold each for a moment, mark it
// as done and release it; each is killed at a random instant again and again,
// answers are lost, and history begins anew every 20 commits. A lock of the
// operating system that the branch knows nothing of is the witness.
func TestNoIssueIsHeldTwiceOrLostWhenRunsRaceAndAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	h := newHub(t)
	dir := t.TempDir()
	for _, folder := range []string{"done", "dead", "held"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < 10_000; i += 20 {
		h.fail("move", append(make([]fault, 18), fault{lose: true}, fault{status: 502})...)
	}
	// The race is over for a racer when it ends by itself. One that is killed
	// has its death made known once nothing of it is left, and comes again.
	var killed, runs atomic.Int64
	over := time.Now().Add(*raceTime * 3 / 4) // then no more is killed or claimed
	race := func() error {
		for {
			run := strconv.FormatInt(runs.Add(1), 10)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_ROLE=racer", "STORE_TEST_PATH="+dir, "STORE_TEST_API="+h.URL+"/api/v3", "STORE_TEST_RUN="+run,
				"STORE_TEST_ISSUES="+strconv.Itoa(*raceIssues), "STORE_TEST_OVER="+over.Format(time.RFC3339Nano))
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				return err
			}
			kill := time.AfterFunc(rand.N(12*time.Second), func() {
				if time.Now().Before(over) && cmd.Process.Kill() == nil {
					killed.Add(1)
				}
			})
			err := cmd.Wait()
			kill.Stop()
			if err == nil {
				return nil
			}
			if made := os.WriteFile(filepath.Join(dir, "dead", run), nil, 0o600); made != nil {
				return made
			}
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
				return fmt.Errorf("%w: %s", err, &said)
			}
		}
	}
	began := time.Now()
	var all sync.WaitGroup
	for range racers {
		all.Go(func() {
			if err := race(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	_, _, content := h.read("refs/heads/" + raceBranch + ":" + stateFile)
	s, generation, err := Decode([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Claims) > 0 {
		t.Errorf("%d claims are left", len(s.Claims))
	}
	done, claims := len(names(t, filepath.Join(dir, "done"))), bytes.Count(mustRead(t, filepath.Join(dir, "claims")), []byte("\n"))
	t.Logf("%d of %d issues done by %d claims, %d kills, %d saves in %v; requests %v",
		done, *raceIssues, claims, killed.Load(), generation, time.Since(began).Round(time.Millisecond), h.asked())
	if done != *raceIssues && time.Now().Before(over) {
		t.Errorf("%d of %d issues are done", done, *raceIssues)
	}
}

// racer is one run of the race, in a process of its own.
type racer struct {
	dir    string
	self   schedule.Owner
	issues int
	over   time.Time
}

// race runs until every issue is done, or the race is over, and no claim is left.
func race(dir string) error {
	issues, err := strconv.Atoi(os.Getenv("STORE_TEST_ISSUES"))
	if err != nil {
		return err
	}
	over, err := time.Parse(time.RFC3339Nano, os.Getenv("STORE_TEST_OVER"))
	if err != nil {
		return err
	}
	b, err := OpenBranch(BranchConfig{Repo: hubRepo, Branch: raceBranch, APIURL: os.Getenv("STORE_TEST_API"), Token: hubToken}, http.DefaultClient)
	if err != nil {
		return err
	}
	b.history, b.api.pause = 20, 5*time.Millisecond
	r := racer{dir, schedule.Owner{Run: os.Getenv("STORE_TEST_RUN"), PID: os.Getpid()}, issues, over}
	ctx := context.Background()
	for {
		if late := time.Since(over); late > time.Minute {
			return fmt.Errorf("claims are left that nobody works on, %v after the race", late)
		}
		s, rev, err := b.Load(ctx)
		if err != nil {
			return err
		}
		mine, open := r.plan(s)
		if !open && len(s.Claims) == 0 && rev != noBranch {
			if saved, err := b.Save(ctx, s, rev); err == nil && saved == rev {
				return nil
			}
		}
		again, err := b.Save(ctx, s, rev)
		switch {
		case errors.Is(err, ErrConflict) || err == nil && again == rev:
			<-time.After(rand.N(2 * time.Second)) // let the others
			continue
		case err != nil:
			return err
		}
		for _, id := range mine {
			if err := r.work(id); err != nil {
				return err
			}
		}
	}
}

// plan adopts, releases what is done, and claims some of what is open.
func (r racer) plan(s *schedule.State) (mine []tracker.ID, open bool) {
	now := time.Now()
	s.Self = r.self
	s.Adopt(func(o schedule.Owner) schedule.Life {
		if r.exists("dead", o.Run) {
			return schedule.Dead
		}
		return schedule.Alive
	}, schedule.Policy{}, now)
	ended := now.After(r.over)
	from := rand.IntN(r.issues)
	for i := range r.issues {
		id := tracker.ID(strconv.Itoa((from + i) % r.issues))
		done := r.exists("done", string(id))
		c, claimed := s.Claims[id]
		free := !claimed || c.Phase == schedule.Waiting || c.Owner == r.self // ours, of a save whose end we never learned
		switch {
		case done && claimed && free, ended && claimed && free:
			s.Apply(schedule.Decision{Verb: schedule.Release, ID: id}, now)
		case done || ended:
		case free && len(mine) < raceBatch:
			s.Apply(schedule.Decision{Verb: schedule.Dispatch, ID: id, Issue: tracker.Issue{ID: id, Identifier: "R-" + string(id)}}, now)
			mine = append(mine, id)
		default:
			open = true
		}
	}
	return mine, open || len(mine) > 0
}

// work holds the issue, as the witness sees it, and marks it as done.
func (r racer) work(id tracker.ID) error {
	held, err := os.OpenFile(filepath.Join(r.dir, "held", string(id)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := flock(held, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("issue %s is held twice: %w", id, err)
	}
	if err := appendLine(filepath.Join(r.dir, "claims"), string(id)); err != nil {
		return err
	}
	<-time.After(rand.N(200 * time.Millisecond))
	done, err := os.OpenFile(filepath.Join(r.dir, "done", string(id)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("issue %s was claimed when it was done: %w", id, err)
	}
	return done.Close()
}

func (r racer) exists(folder, name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, folder, name))
	return !errors.Is(err, fs.ErrNotExist)
}

func appendLine(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	return errors.Join(err, f.Close())
}

// mustRead reads a file, and must not fail.
func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
