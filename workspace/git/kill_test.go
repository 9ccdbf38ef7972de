package git

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain is the program of a run that is killed, if the environment says so.
func TestMain(m *testing.M) {
	for name, run := range map[string]func(dir string) error{"SYMPHONY_TEST_KILLED_RUN": killedRun, "SYMPHONY_TEST_STUCK_RUN": stuckRun} {
		dir := os.Getenv(name)
		if dir == "" {
			continue
		}
		if err := run(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killedRun fetches and receives work again and again.
func killedRun(dir string) error {
	ctx := context.Background()
	host, err := Open(ctx, Config{
		Dir: filepath.Join(dir, "stores"), Workspaces: filepath.Join(dir, "workspaces"),
		Env: os.Environ(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	remote, err := ParseRemote(filepath.Join(dir, "origin.git"), "")
	if err != nil {
		return err
	}
	harvest, err := os.ReadFile(filepath.Join(dir, "harvest"))
	if err != nil {
		return err
	}
	for {
		s, err := host.Store(ctx, remote)
		if err != nil {
			return err
		}
		f, err := s.Fetch(ctx, ours)
		if err != nil {
			return err
		}
		fmt.Println("fetched")
		in, err := s.Receive(ctx, bytes.NewReader(harvest), From{f.Head, f.Base})
		if err != nil {
			return err
		}
		if err := in.Close(); err != nil {
			return err
		}
		if err := os.RemoveAll(s.repository()); err != nil { // so that there is always something to fetch
			return err
		}
		s.Close()
	}
}

func TestAStoreSurvivesARunThatIsKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p := &packWriter{}
	tip := p.commit(p.tree(entry("100644", "a", p.blob("x"))), d.from.Start)
	writeFile(t, d.path("harvest"), p.harvested(tip))
	d.store.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "SYMPHONY_TEST_KILLED_RUN="+d.dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it is at work
			t.Fatal(err, stderr.String())
		}
		timer := time.AfterFunc(rand.N(100*time.Millisecond), func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
		if stderr.Len() > 0 {
			t.Fatal(stderr.String())
		}
		s, err := d.host.Store(t.Context(), d.store.remote)
		if err != nil {
			t.Fatal(err)
		}
		d.store = s
		if f := fetch(t, s, ours); f.Head != d.from.Start {
			t.Errorf("fetched %+v", f)
		}
		in, made := d.work(t, "x")
		in.Close()
		if made.IsZero() || strings.Contains(git(t, s.repository(), "fsck", "--strict"), "error") {
			t.Error("the store is damaged")
		}
		d.nothingLeft(t)
		s.Close()
	}
}

// Several sessions end at the same moment, while the next ones begin and the store is
// fetched.
func TestSessionsUseAStoreAtTheSameTime(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	d.host.limits.packFiles = 1
	var harvests [][]byte
	for i := range 4 {
		folder := d.workspace(t, fmt.Sprint("GH-", i))
		write(t, filepath.Join(folder, "a"), fmt.Sprint(i))
		harvests = append(harvests, d.harvest(t, folder))
	}
	var all sync.WaitGroup
	for i, harvest := range harvests {
		all.Go(func() {
			in, err := d.store.Receive(t.Context(), bytes.NewReader(harvest), d.from)
			if err != nil {
				t.Error(err)
				return
			}
			defer in.Close()
			list, err := in.Changes(t.Context(), in.MergeBase, in.Tip)
			if err != nil {
				t.Error(err)
				return
			}
			made, err := in.Squash(t.Context(), list, ObjectID{}, said)
			if err == nil {
				err = in.Push(t.Context(), Branch{fmt.Sprint("symphony/", i)}, made, ObjectID{})
			}
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			folder := filepath.Join(d.workspaces, fmt.Sprint("next-", i))
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Error(err)
				return
			}
			into, err := os.OpenRoot(folder)
			if err != nil {
				t.Error(err)
				return
			}
			defer into.Close()
			if err := d.store.Populate(t.Context(), into, Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person}); err != nil {
				t.Error(err)
			}
			if out, err := plain(t, folder, "", "--git-dir=.", "fsck", "--strict"); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for range 3 {
		fetch(t, d.store, ours)
	}
	all.Wait()
	if f := fetch(t, d.store, ours); len(f.Branches) != len(harvests) {
		t.Errorf("fetched %+v", f)
	}
	if packs, err := d.store.packFiles(); err != nil || len(packs) > 3 {
		t.Errorf("packs %v, %v", packs, err)
	}
}
