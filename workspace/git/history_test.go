package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const mega = 1 << 20 // bytes

// longHistory makes an origin with megabytes of history that cannot be compressed: each
// commit replaces one of 20 files. It is behind a server.
func longHistory(t testing.TB, m *machine, megabytes int) (origin string, srv *server) {
	t.Helper()
	origin = m.path("origin.git")
	git(t, m.dir, "init", "-q", "--bare", "-b", "main", "--template=", origin)
	git(t, origin, "config", "http.receivepack", "true")
	git(t, origin, "config", "pack.compression", "0")
	cmd := exec.CommandContext(t.Context(), "git", "-c", "core.compression=0", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
	cmd.Dir = origin
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	noise, block := rand.NewChaCha8([32]byte{1}), make([]byte, mega/4)
	for i := range 4 * megabytes {
		_, _ = noise.Read(block)
		fmt.Fprintf(in, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 4\nmore\nM 100644 inline f%02d\ndata %d\n", 1_700_000_000+i, i%20, len(block))
		_, err = in.Write(block)
		fmt.Fprintln(in)
	}
	if err := errors.Join(err, in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	return origin, serve(t, m.dir)
}

// packFolderOf returns the names of the files in the folder of the packs of a store.
func packFolderOf(t testing.TB, s *Store) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.packFolder())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestALongHistoryComesOnceAndASmallChangeIsSmall counts what crosses the network from the
// first fetch to a push, and what this process allocates for it.
func TestALongHistoryComesOnceAndASmallChangeIsSmall(t *testing.T) {
	t.Run("of 20 MB", func(t *testing.T) { testLongHistory(t, 20) })
	t.Run("of 2 GB", func(t *testing.T) {
		if os.Getenv("SYMPHONY_TEST_LONG_HISTORY") == "" {
			t.Skip("set SYMPHONY_TEST_LONG_HISTORY for it: it needs 6 GB of disk and some minutes")
		}
		testLongHistory(t, 2048)
	})
}

func testLongHistory(t *testing.T, megabytes int) {
	m := newMachine(t)
	origin, srv := longHistory(t, m, megabytes)
	var sent atomic.Int64
	srv.watch(func(_ *http.Request, n int) { sent.Add(int64(n)) })
	d := &delivery{machine: m, origin: origin, store: m.store(t, srv.remote(t, "origin.git", testToken))}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	// step reports what the server has sent and received since the step before.
	step := func(name string, maxSent, maxReceived int64, do func()) {
		t.Helper()
		start := time.Now()
		do()
		out, in := sent.Swap(0), srv.received.Swap(0)
		if out > maxSent || in > maxReceived {
			t.Errorf("%s: the remote sends %d bytes and receives %d, want at most %d and %d", name, out, in, maxSent, maxReceived)
		}
		t.Logf("%s: %v", name, time.Since(start))
	}
	const small = 64 << 10
	all := int64(megabytes) * (mega + mega/64)
	step("the first fetch", all, small, func() {
		f := fetch(t, d.store, ours)
		d.from = From{f.Head, f.Base}
	})
	step("a fetch without news", small, small, func() { fetch(t, d.store, ours) })
	var folder string
	step("a workspace", 0, 0, func() { folder = d.workspace(t, "GH-1") })
	write(t, filepath.Join(folder, "f00"), "changed\n")
	var harvest []byte
	step("the harvest", 0, 0, func() { harvest = d.harvest(t, folder) })
	if len(harvest) > small {
		t.Errorf("the harvest has %d bytes", len(harvest))
	}
	step("the push", small, small, func() {
		in := d.receive(t, harvest)
		commit := squash(t, in, changes(t, in), ObjectID{})
		if err := in.Push(t.Context(), target, commit, ObjectID{}); err != nil {
			t.Fatal(err)
		}
	})
	step("the fetch of what was pushed", small, small, func() { fetch(t, d.store, ours) })
	commit(t, origin, "main", "new", "new")
	step("the fetch of a small change", small, small, func() { fetch(t, d.store, ours) })
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8*mega {
		t.Errorf("this process allocates %d bytes", allocated)
	}
}

// TestAFetchThatEndsEarlyLeavesNothing has the connection break, or the run end, when half
// of the history is written.
func TestAFetchThatEndsEarlyLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(stop context.CancelFunc, s *Store)
		want error
	}{
		"cut": {func(context.CancelFunc, *Store) { panic(http.ErrAbortHandler) }, ErrUnavailable},
		"stopped": {func(stop context.CancelFunc, s *Store) {
			for unfinished(s) == 0 {
				runtime.Gosched()
			}
			stop()
		}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			_, srv := longHistory(t, m, 8)
			s := m.store(t, srv.remote(t, "origin.git", testToken))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var sent atomic.Int64
			srv.watch(func(_ *http.Request, n int) {
				if now := sent.Add(int64(n)); now > 4*mega && now-int64(n) <= 4*mega {
					test.end(stop, s)
				}
			})
			if _, err := s.Fetch(ctx, ours); !errors.Is(err, test.want) {
				t.Fatalf("the error is %v, want %v", err, test.want)
			}
			if left := packFolderOf(t, s); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			srv.watch(nil)
			fetch(t, s, ours)
		})
	}
}

// unfinished returns the number of packs that git is writing.
func unfinished(s *Store) int {
	names, _ := filepath.Glob(filepath.Join(s.packFolder(), "tmp_pack_*"))
	return len(names)
}

func TestAFetchThatTakesTooLongSaysWhatToDo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	_, srv := longHistory(t, m, 1)
	s := m.store(t, srv.remote(t, "origin.git", testToken))
	m.host.limits.history = 100 * time.Millisecond
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	srv.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("command=fetch")) {
			<-hung
			return true
		} else {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return false
	})
	_, err := s.Fetch(t.Context(), ours)
	if !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	want := ": remote_unavailable: git fetch: git_timeout: not done within 100ms; nothing of it is kept: use a faster connection, or a job whose checkout has the whole history (fetch-depth: 0)"
	if !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error is %q, want the end %q", err, want)
	}
}

// TestWhatTheCheckoutHasDoesNotComeOverTheNetwork is about the checkout of a job: with one
// commit, which is the default, and with all.
func TestWhatTheCheckoutHasDoesNotComeOverTheNetwork(t *testing.T) {
	t.Parallel()
	const files = 5 * mega // the 20 files of one commit
	for name, test := range map[string]struct {
		clone    []string
		min, max int64 // bytes that come from the remote
	}{
		"one commit":        {[]string{"--depth=1"}, 3*mega - files/5, 4 * mega},
		"the whole history": {nil, 0, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			origin, srv := longHistory(t, m, 8)
			seed := m.path("checkout")
			git(t, m.dir, append(append([]string{"clone", "-q"}, test.clone...), "file://"+origin, seed)...)
			head := commit(t, origin, "main", "new", "new")
			s := m.store(t, srv.remote(t, "origin.git", testToken))
			from := ours
			from.Seed = seed

			// The first try fails, and what the checkout gave is not lost.
			srv.answer(func(w http.ResponseWriter, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte("command=fetch")) {
					w.WriteHeader(http.StatusBadGateway)
					return true
				}
				return false
			})
			if _, err := s.Fetch(t.Context(), from); !errors.Is(err, ErrUnavailable) {
				t.Fatal(err)
			}
			srv.answer(nil)
			var sent atomic.Int64
			srv.watch(func(_ *http.Request, n int) { sent.Add(int64(n)) })
			if f := fetch(t, s, from); f.Head != head {
				t.Errorf("fetched %+v", f)
			}
			if n := sent.Load(); n < test.min || n > test.max {
				t.Errorf("%d bytes came from the remote, want %d to %d", n, test.min, test.max)
			}
			if got := git(t, s.repository(), "rev-list", "--count", head.String()); got != "33" {
				t.Errorf("the store has %s commits, want 33", got)
			}
			if refs, _ := s.refs(t.Context()); len(refs) != 1 {
				t.Errorf("references %v", refs)
			}
		})
	}
}

// endsAfter is a context that ends when it was asked n times.
type endsAfter struct {
	context.Context
	n   int
	end context.CancelFunc
}

func (c *endsAfter) Err() error {
	if c.n--; c.n == 0 {
		c.end()
	}
	return c.Context.Err()
}

// TestAWorkspaceIsNotFilledAfterItsRunHasEnded stops between two parts of a large pack.
func TestAWorkspaceIsNotFilledAfterItsRunHasEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	_, srv := longHistory(t, m, 3*copyPart/mega)
	s := m.store(t, srv.remote(t, "origin.git", testToken))
	f := fetch(t, s, ours)
	into, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	err = s.Populate(&endsAfter{ctx, 2, end}, into, Checkout{Base: f.Base, BaseHead: f.Head, Branch: target, Head: f.Head, User: person})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	packs, _ := filepath.Glob(filepath.Join(into.Name(), "objects", "pack", "*.pack"))
	if len(packs) != 1 {
		t.Fatalf("packs %v", packs)
	}
	if info, err := os.Stat(packs[0]); err != nil || info.Size() > copyPart {
		t.Errorf("%d bytes were copied, %v", info.Size(), err)
	}
}
