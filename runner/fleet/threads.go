package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The limits of packed threads, in bytes. Packing shrinks a rollout to about a twentieth.
const (
	maxThread = 16 << 20
	maxBundle = 200 << 20
	// maxBundleFiles bounds how many entries of a bundle are read.
	maxBundleFiles = 20_000
)

// thread represents a thread that the next session on an issue resumes.
type thread struct {
	issue      tracker.ID
	identifier string // of the issue
	name       string // its id in Codex
	// The sessions and tokens of the issue so far. Two states with the same numbers know
	// the same end of the thread.
	sessions int
	tokens   int64
}

// fileName returns the name of the thread as it was packed after the latest of its sessions.
func (t thread) fileName() string { return fmt.Sprintf("%s.%d%s", t.name, t.sessions, threadSuffix) }

// threadSuffix ends the file name of a packed thread.
const threadSuffix = ".jsonl.gz.sealed"

// parseFileName returns the thread and the number of its sessions that the name of a packed
// thread has.
func parseFileName(file string) (name string, sessions int, ok bool) {
	name, sealed := strings.CutSuffix(file, threadSuffix)
	dot := strings.LastIndexByte(name, '.')
	if !sealed || dot < 0 {
		return "", 0, false
	}
	sessions, err := strconv.Atoi(name[dot+1:])
	t := thread{name: name[:dot], sessions: sessions}
	return t.name, sessions, err == nil && sessions >= 0 && t.fileName() == file
}

// latestIn returns the thread as it was packed last: a session that died has packed nothing.
// packed holds the sessions of each thread in a bundle. It reports false if the bundle does
// not have the thread.
func (t thread) latestIn(packed map[string][]int) (latest thread, found bool) {
	latest = t
	for _, sessions := range packed[t.name] {
		if sessions <= t.sessions && (!found || sessions > latest.sessions) {
			latest.sessions, found = sessions, true
		}
	}
	return latest, found
}

func packedIn(entries []fs.DirEntry) map[string][]int {
	packed := map[string][]int{}
	for _, entry := range entries {
		if name, sessions, ok := parseFileName(entry.Name()); ok {
			packed[name] = append(packed[name], sessions)
		}
	}
	return packed
}

// threadsOf returns the threads that the next sessions on the issues of a state resume, in
// the order of the issues. It leaves out a thread that two issues name, because one of the
// two names is forged.
func threadsOf(s *schedule.State) []thread {
	named := map[string]thread{}
	twice := map[string]bool{}
	add := func(t thread) {
		if !attempt.IsThread(t.name) || t.identifier == "" {
			return
		}
		if other, ok := named[t.name]; ok && other.issue != t.issue {
			twice[t.name] = true
		}
		named[t.name] = t
	}
	for id, c := range s.Claims {
		add(thread{id, c.Identifier, c.Thread, c.Sessions, c.Tokens})
	}
	for id, talk := range s.Conversations {
		if _, claimed := s.Claims[id]; !claimed { // otherwise the claim has it
			add(thread{id, s.Deliveries[id].Identifier, talk.Thread, talk.Sessions, talk.Tokens})
		}
	}
	var all []thread
	for name, t := range named {
		if !twice[name] {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b thread) int { return cmp.Or(cmp.Compare(a.issue, b.issue), cmp.Compare(a.name, b.name)) })
	return all
}

// HasThreads reports whether issues of the shard have threads, which their next sessions resume.
func (s *SliceStore) HasThreads() bool { return len(threadsOf(s.result.State)) > 0 }

// PackThreads packs the threads of the shard's issues into the folder of its result, and
// seals them with a key that is derived from a secret of the shards. sessionDir holds the Codex homes. A thread without
// a rollout is skipped. The error reports the threads that could not be packed; the others
// are packed. With an empty secret PackThreads does nothing.
func (s *SliceStore) PackThreads(sessionDir, secret string) error {
	if secret == "" {
		return nil
	}
	var errs []error
	for _, t := range threadsOf(s.result.State) {
		if err := s.packThread(sessionDir, secret, t); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("the thread of %s is not packed: %w", t.identifier, err))
		}
	}
	return errors.Join(errs...)
}

func (s *SliceStore) packThread(sessionDir, secret string, t thread) error {
	rollout, err := attempt.OpenRollout(sessionDir, t.identifier, t.name)
	if err != nil {
		return err
	}
	defer rollout.Close()
	data, err := t.pack(rollout, secret, maxThread)
	if err != nil {
		return err
	}
	threads, err := makeThreads(s.root)
	if err != nil {
		return err
	}
	defer threads.Close()
	return writeFile(threads, t.fileName(), data)
}

func makeThreads(folder *os.Root) (*os.Root, error) {
	if err := folder.Mkdir(threadsFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openFolder(folder, threadsFolder)
}

// UnpackThreads unpacks the threads of the shard's issues from the bundle into the Codex
// homes of the issues, below sessionDir. A thread that is not in the bundle is skipped. The
// error reports the threads that could not be unpacked, such as those that were sealed with
// another secret; the others are unpacked. With an empty secret UnpackThreads does nothing.
func (s *SliceStore) UnpackThreads(sessionDir, secret string) error {
	if secret == "" {
		return nil
	}
	bundle, err := openRoot(s.exchange, threadsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the bundle of threads: %w", err)
	}
	defer bundle.Close()
	entries, err := listBundle(bundle)
	if err != nil {
		return fmt.Errorf("read the bundle of threads: %w", err)
	}
	packed := packedIn(entries)
	var errs []error
	for _, t := range threadsOf(s.result.State) {
		t, found := t.latestIn(packed)
		if !found {
			continue
		}
		if err := unpackThread(bundle, sessionDir, secret, t); err != nil {
			errs = append(errs, fmt.Errorf("the thread of %s is not unpacked: %w", t.identifier, err))
		}
	}
	return errors.Join(errs...)
}

func unpackThread(bundle *os.Root, sessionDir, secret string, t thread) error {
	data, err := readFile(bundle, t.fileName(), maxThread)
	if err != nil {
		return err
	}
	rollout, err := t.unpack(data, secret)
	if err != nil {
		return err
	}
	return attempt.PlaceRollout(sessionDir, t.identifier, t.name, rollout)
}

// Bundle updates the bundle of threads in the exchange folder. It copies the threads from
// the results, and removes those that no issue of the state resumes. If the bundle is still
// too large, it removes the oldest threads too. The state is the one in which the results
// were settled: a thread of a result that came too late does not agree with it, and is not
// copied. The error reports the threads that were not copied or removed; the others were.
// Without the folder there is nothing to copy or to remove, as where collect runs again after
// its results were deleted.
func Bundle(exchange string, results []Result, s *schedule.State) error {
	root, err := openRoot(exchange)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the bundle of threads: %w", err)
	}
	defer root.Close()
	bundle, err := makeThreads(root)
	if err != nil {
		return fmt.Errorf("make the bundle of threads: %w", err)
	}
	defer bundle.Close()
	wanted := map[string]thread{}
	for _, t := range threadsOf(s) {
		wanted[t.name] = t
	}
	var errs []error
	for _, r := range results {
		if err := addThreads(bundle, r, wanted); err != nil {
			errs = append(errs, fmt.Errorf("the threads of shard %d are not kept: %w", r.Owner.Shard, err))
		}
	}
	if err := pruneBundle(bundle, wanted); err != nil {
		errs = append(errs, fmt.Errorf("remove old threads: %w", err))
	}
	return errors.Join(errs...)
}

// listBundle returns the entries of a bundle, of which a hostile one may have many.
func listBundle(bundle *os.Root) ([]fs.DirEntry, error) {
	dir, err := bundle.Open(".")
	if err != nil {
		return nil, err
	}
	entries, err := dir.ReadDir(maxBundleFiles)
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return entries, errors.Join(err, dir.Close())
}

// addThreads copies the wanted threads of a result into the bundle. wanted holds them by name.
func addThreads(bundle *os.Root, r Result, wanted map[string]thread) error {
	from, err := openRoot(r.folder, threadsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	var errs []error
	for _, t := range threadsOf(r.State) {
		want := wanted[t.name]
		if t.identifier = want.identifier; t != want {
			continue // of another issue, or of a session whose result was not settled
		}
		if err := copyThread(bundle, from, t.fileName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func copyThread(to, from *os.Root, name string) error {
	data, err := readFile(from, name, maxThread)
	if err != nil {
		return err
	}
	return writeFile(to, name, data)
}

// pruneBundle removes what is not the latest of a wanted thread from the bundle, and then the
// oldest threads until the others fit into maxBundle. wanted holds the threads by name.
func pruneBundle(bundle *os.Root, wanted map[string]thread) error {
	entries, err := listBundle(bundle)
	if err != nil {
		return err
	}
	packed, latest := packedIn(entries), map[string]bool{}
	for _, t := range wanted {
		if t, found := t.latestIn(packed); found {
			latest[t.fileName()] = true
		}
	}
	var errs []error
	var kept []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		keep := latest[entry.Name()]
		if err != nil || !keep || !info.Mode().IsRegular() || info.Size() > maxThread {
			errs = append(errs, bundle.RemoveAll(entry.Name()))
			continue
		}
		kept = append(kept, info)
	}
	slices.SortStableFunc(kept, func(a, b fs.FileInfo) int { // the newest first
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	size := int64(0)
	for _, info := range kept {
		if size += info.Size(); size > maxBundle {
			errs = append(errs, bundle.Remove(info.Name()))
		}
	}
	return errors.Join(errs...)
}
