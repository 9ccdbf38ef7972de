package fleet

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// rolloutIn returns the path of the rollout of an issue of a sample plan, as Codex names it.
func rolloutIn(sessionDir string, id tracker.ID) string {
	return filepath.Join(sessionDir, "home", "ABC-"+string(id), "sessions", "2026", "11", "22", "rollout-2026-11-22T16-00-00-"+threadOf(id)+".jsonl")
}

func bundled(exchange string, id tracker.ID) string {
	return filepath.Join(exchange, threadsFolder, fileOf(id))
}

// sampleThread returns the thread of an issue of a sample plan.
func sampleThread(id tracker.ID) thread {
	return thread{issue: id, name: threadOf(id), sessions: 2}
}

func fileOf(id tracker.ID) string { return sampleThread(id).fileName() }

// apiKey seals the threads of these tests.
const apiKey = "sk-this-is-the-key"

// packed returns a thread of an issue of a sample plan as it is in a bundle.
func packed(t testing.TB, id tracker.ID, text string) string {
	t.Helper()
	data, err := sampleThread(id).pack(strings.NewReader(text), apiKey, maxThread)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// unpacked returns the text of a thread of an issue in a bundle.
func unpacked(t testing.TB, exchange string, id tracker.ID) string {
	t.Helper()
	r, err := sampleThread(id).unpack([]byte(readText(t, bundled(exchange, id))), apiKey)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names(t testing.TB, folder string) []string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// rollout returns the rollout that a Codex home in sessionDir has for an issue.
func rollout(t testing.TB, sessionDir string, id tracker.ID) string {
	t.Helper()
	f, err := attempt.OpenRollout(sessionDir, "ABC-"+string(id), threadOf(id))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAThreadTravelsFromOneShardToAnother(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(2)
	first, next := t.TempDir(), t.TempDir()
	writeText(t, rolloutIn(first, "1a"), "the thread of 1a\n")
	writeText(t, filepath.Join(first, "home", "ABC-1a", "auth.json"), "secret")
	s := mustOpenSlice(t, exchange, p, 1)
	if err := s.PackThreads(first, apiKey); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{fileOf("1a")}, names(t, filepath.Join(exchange, resultsFolder, "result-1", threadsFolder))); diff != "" {
		t.Errorf("what is packed of a home: %s", diff)
	}

	if text := readText(t, filepath.Join(exchange, resultsFolder, "result-1", threadsFolder, fileOf("1a"))); strings.Contains(text, "thread") {
		t.Errorf("everybody who sees the artifact reads %q", text)
	}

	results, _ := ReadResults(exchange, p)
	state := p.Shards[0].State.Clone()
	if err := Bundle(exchange, results, state); err != nil {
		t.Fatal(err)
	}
	later := samplePlan(1)
	later.Owner.Run = "1701"
	later.Shards[0].State.Self = later.ShardOwner(1)
	writeText(t, rolloutIn(next, "1a"), "what the machine has of the thread from before\n")
	writeText(t, filepath.Join(next, "home", "ABC-1a", "state_5.sqlite"), "with absolute paths")
	s = mustOpenSlice(t, exchange, later, 1)
	if err := s.UnpackThreads(next, apiKey); err != nil {
		t.Fatal(err)
	}
	if got := rollout(t, next, "1a"); got != "the thread of 1a\n" {
		t.Errorf("the next shard has %q", got)
	}
	if got := names(t, filepath.Join(next, "home", "ABC-1a")); len(got) != 1 {
		t.Errorf("beside the thread its home has %v", got)
	}
	if _, err := os.Stat(filepath.Join(next, "home", "ABC-1b")); err == nil {
		t.Error("an issue without a thread in the bundle has a home")
	}
}

func TestAThreadOfAConversationTravelsWithoutAClaim(t *testing.T) {
	t.Parallel()
	s := schedule.New(schedule.Owner{})
	s.Deliver("7", schedule.Delivery{Identifier: "ABC-7", Number: 1})
	s.Conversations = map[tracker.ID]schedule.Conversation{"7": {Thread: "th-7"}, "8": {Thread: "th-8"}}
	if diff := cmp.Diff([]thread{{issue: "7", identifier: "ABC-7", name: "th-7"}}, threadsOf(s), cmp.AllowUnexported(thread{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheBundleHoldsTheThreadsThatAreStillNeeded(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(2)
	state := schedule.New(schedule.Owner{})
	for _, slice := range p.Shards {
		for id, c := range slice.State.Claims {
			state.Claims[id] = c
		}
	}
	delete(state.Claims, "1b") // released
	for _, id := range []tracker.ID{"1a", "1b", "2a", "2b"} {
		writeText(t, bundled(exchange, id), packed(t, id, "old "+string(id)))
	}
	writeText(t, filepath.Join(exchange, threadsFolder, "strange", "x"), "")
	for shard, id := range map[int]tracker.ID{1: "1a", 2: "2a"} {
		home := t.TempDir()
		writeText(t, rolloutIn(home, id), "new "+string(id))
		if err := mustOpenSlice(t, exchange, p, shard).PackThreads(home, apiKey); err != nil {
			t.Fatal(err)
		}
	}
	results, _ := ReadResults(exchange, p)
	c := state.Claims["2a"]
	c.Sessions++ // its claim was taken over, so what shard 2 did comes too late
	state.Claims["2a"] = c
	if err := Bundle(exchange, results, state); err != nil {
		t.Fatal(err)
	}
	if n := len(names(t, filepath.Join(exchange, threadsFolder))); n != 3 {
		t.Errorf("the bundle has %d files", n)
	}
	for id, want := range map[tracker.ID]string{"1a": "new 1a", "2a": "old 2a", "2b": "old 2b"} {
		if got := unpacked(t, exchange, id); got != want {
			t.Errorf("the thread of %s is %q and not %q", id, got, want)
		}
	}
}

func TestThereIsNoBundleWithoutAnExchange(t *testing.T) {
	t.Parallel()
	state := schedule.New(schedule.Owner{})
	state.Claims["1a"] = samplePlan(1).Shards[0].State.Claims["1a"]
	if err := Bundle(filepath.Join(t.TempDir(), "gone"), nil, state); err != nil {
		t.Error(err)
	}
}

func TestTheOldestThreadsAreRemovedFromABundleThatIsTooLarge(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(10)
	state := schedule.New(schedule.Owner{})
	for i, slice := range p.Shards {
		for id, c := range slice.State.Claims {
			state.Claims[id] = c
			writeText(t, bundled(exchange, id), "")
			at := now.Add(-time.Duration(i) * time.Hour)
			if err := errors.Join(os.Truncate(bundled(exchange, id), maxThread), os.Chtimes(bundled(exchange, id), at, at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := Bundle(exchange, nil, state); err != nil {
		t.Fatal(err)
	}
	left := names(t, filepath.Join(exchange, threadsFolder))
	if len(left) != maxBundle/maxThread {
		t.Errorf("%d threads are left", len(left))
	}
	for _, name := range left {
		if name == fileOf("10a") || name == fileOf("9b") {
			t.Errorf("the old %s is left", name)
		}
	}
}

// A session has the thread of the one before it, and may leave that in place of its own.
func TestAnOldThreadIsNotTakenForANewOne(t *testing.T) {
	t.Parallel()
	exchange, home, p := t.TempDir(), t.TempDir(), samplePlan(1)
	old := sampleThread("1a")
	old.sessions--
	data, err := old.pack(strings.NewReader("the session before"), apiKey, maxThread)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, bundled(exchange, "1a"), string(data))
	err = mustOpenSlice(t, exchange, p, 1).UnpackThreads(home, apiKey)
	if err == nil || !strings.Contains(err.Error(), "not sealed for this session") || rollout(t, home, "1a") != "" {
		t.Errorf("got %v, and the home has %q", err, rollout(t, home, "1a"))
	}
}

// A session that died has left no thread, so the next one resumes the thread of the last
// that did.
func TestAThreadIsResumedAsItWasPackedLast(t *testing.T) {
	t.Parallel()
	exchange, home, p := t.TempDir(), t.TempDir(), samplePlan(1)
	state := p.Shards[0].State.Clone()
	for sessions, text := range []string{"the first", "the second"} {
		packed := sampleThread("1a")
		packed.sessions = sessions
		data, err := packed.pack(strings.NewReader(text), apiKey, maxThread)
		if err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(exchange, threadsFolder, packed.fileName()), string(data))
	}
	if err := Bundle(exchange, nil, state); err != nil {
		t.Fatal(err)
	}
	if left := names(t, filepath.Join(exchange, threadsFolder)); len(left) != 1 {
		t.Errorf("the bundle has %v", left)
	}
	if err := mustOpenSlice(t, exchange, p, 1).UnpackThreads(home, apiKey); err != nil || rollout(t, home, "1a") != "the second" {
		t.Errorf("%v: the home has %q", err, rollout(t, home, "1a"))
	}
}

// A shard names the thread of its issue in its result: maybe one that is not its own.
func TestAThreadThatTwoIssuesNameBelongsToNeither(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(2)
	thief := p.Shards[1].State
	c := thief.Claims["2a"]
	c.Thread = threadOf("1a")
	thief.Claims["2a"] = c
	home := t.TempDir()
	writeText(t, filepath.Join(home, "home", "ABC-2a", "sessions", "rollout-x-"+threadOf("1a")+".jsonl"), "forged")
	if err := mustOpenSlice(t, exchange, p, 2).PackThreads(home, apiKey); err != nil {
		t.Fatal(err)
	}
	results, _ := ReadResults(exchange, p)
	for _, owner := range []tracker.ID{"1a", "2a"} { // whether the theft is known or not
		writeText(t, bundled(exchange, "1a"), packed(t, "1a", "of 1a"))
		state := schedule.New(schedule.Owner{})
		state.Claims["1a"] = p.Shards[0].State.Claims["1a"]
		if owner == "2a" {
			state.Claims["2a"] = c
		}
		if err := Bundle(exchange, results, state); err != nil {
			t.Fatal(err)
		}
		switch left := names(t, filepath.Join(exchange, threadsFolder)); {
		case owner == "2a" && len(left) != 0:
			t.Errorf("%v", left)
		case owner == "1a" && unpacked(t, exchange, "1a") != "of 1a":
			t.Error("the thread was replaced")
		}
	}
}

func TestAThreadThatCannotBeOpenedIsReportedAndSkipped(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	writeText(t, outside, packed(t, "1a", "outside"))
	for name, test := range map[string]struct {
		put  func(path string) error
		want string // in the error; empty for none
	}{
		"no pack":          {func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) }, "it was not sealed for this session of this issue"},
		"of another issue": {func(path string) error { return os.WriteFile(path, []byte(packed(t, "1b", "of 1b")), 0o600) }, "it was not sealed for this session of this issue"},
		"of another secret": {func(path string) error {
			data, err := sampleThread("1a").pack(strings.NewReader("text"), "sk-another", maxThread)
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		}, "it was not sealed for this session of this issue with the same secret"},
		"a part":   {func(path string) error { return os.WriteFile(path, []byte(packed(t, "1a", "text")[:15]), 0o600) }, "it was not sealed"},
		"a link":   {func(path string) error { return os.Symlink(outside, path) }, "escapes"},
		"a pipe":   {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"a folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"a bomb":   {func(path string) error { return bomb(path) }, "it is larger than 67108864 bytes"},
		"too large": {func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, maxThread+1))
		}, "bytes, and 16777216 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exchange, home, p := t.TempDir(), t.TempDir(), samplePlan(1)
			writeText(t, bundled(exchange, "1b"), packed(t, "1b", "of 1b"))
			if err := test.put(bundled(exchange, "1a")); err != nil {
				t.Fatal(err)
			}
			err := mustOpenSlice(t, exchange, p, 1).UnpackThreads(home, apiKey)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "the thread of ABC-1a is not unpacked: ") {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			if a, b := rollout(t, home, "1a"), rollout(t, home, "1b"); a != "" || b != "of 1b" {
				t.Errorf("the homes have %.40q and %.40q", a, b)
			}
		})
	}
}

// bomb writes a small file that unpacks to more than a rollout may have.
func bomb(path string) error {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(make([]byte, 1<<20))
	err = errors.Join(err, w.Close())
	b = *bytes.NewBuffer(bytes.Repeat(b.Bytes(), attempt.MaxRollout>>20+1)) // packs in a row are one
	seal, err2 := threadCipher(apiKey)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	return os.WriteFile(path, seal.Seal(nil, nil, b.Bytes(), sampleThread("1a").binding()), 0o600)
}

func TestAThreadWithAnInvalidNameIsSkipped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../x", "..", ".", "a/b", "-x", "a\x00b", "é", "", strings.Repeat("a", 129)} {
		s := schedule.New(schedule.Owner{})
		s.Claims["1"] = schedule.Claim{ID: "1", Identifier: "ABC-1", Thread: name}
		if got := threadsOf(s); len(got) != 0 {
			t.Errorf("%q is packed", name)
		}
	}
}

func TestAPackedThreadIsBounded(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 5000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for size, fits := range map[int]bool{1000: true, 4900: true, 5000: false} { // what cannot be packed grows a little
		data, err := thread{}.pack(bytes.NewReader(noise[:size]), apiKey, 5000)
		if (err == nil) != fits || len(data) > 5000 {
			t.Errorf("%d bytes: %d, %v", size, len(data), err)
		}
	}
}

func TestAThreadThatCannotBePackedIsReported(t *testing.T) {
	t.Parallel()
	exchange, home, p := t.TempDir(), t.TempDir(), samplePlan(1)
	writeText(t, rolloutIn(home, "1b"), "of 1b")
	s := mustOpenSlice(t, exchange, p, 1)
	writeText(t, filepath.Join(exchange, resultsFolder, "result-1", threadsFolder), "")
	if err := s.PackThreads(home, apiKey); err == nil || !strings.HasPrefix(err.Error(), "the thread of ABC-1b is not packed: ") {
		t.Errorf("got %v", err)
	}
	if err := s.PackThreads(home, ""); err != nil {
		t.Errorf("without a key there are no threads: %v", err)
	}
}

func TestThreadsInAHostileFolderAreNotTaken(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	writeText(t, filepath.Join(outside, fileOf("1a")), packed(t, "1a", "outside"))
	for name, raid := range map[string]func(shard string) error{
		"a link to another folder": func(shard string) error { return os.Symlink(outside, filepath.Join(shard, threadsFolder)) },
		"a link to a file": func(shard string) error {
			return errors.Join(os.Mkdir(filepath.Join(shard, threadsFolder), 0o700), os.Symlink("../result.json", filepath.Join(shard, threadsFolder, fileOf("1a"))))
		},
		"a pipe": func(shard string) error {
			return errors.Join(os.Mkdir(filepath.Join(shard, threadsFolder), 0o700), syscall.Mkfifo(filepath.Join(shard, threadsFolder, fileOf("1a")), 0o600))
		},
	} {
		exchange, p := t.TempDir(), samplePlan(1)
		writeText(t, bundled(exchange, "1a"), packed(t, "1a", "before"))
		mustOpenSlice(t, exchange, p, 1)
		if err := raid(filepath.Join(exchange, resultsFolder, "result-1")); err != nil {
			t.Fatal(err)
		}
		results, _ := ReadResults(exchange, p)
		if err := Bundle(exchange, results, p.Shards[0].State); err == nil {
			t.Errorf("%s: no error", name)
		}
		if unpacked(t, exchange, "1a") != "before" {
			t.Errorf("%s: the bundle was changed", name)
		}
	}
}
