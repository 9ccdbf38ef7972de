package fleet

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The limits of packed threads, in bytes. A thread packs to about a twentieth.
const (
	maxThread = 16 << 20
	maxBundle = 200 << 20
	// maxBundleFiles bounds the entries of a bundle that are looked at.
	maxBundleFiles = 20_000
)

// thread is a thread that the next session on an issue resumes.
type thread struct {
	issue      tracker.ID
	identifier string // of the issue
	name       string
}

// fileName returns the name of the packed thread.
func (t thread) fileName() string { return t.name + threadSuffix }

const threadSuffix = ".jsonl.gz"

// threadsOf returns the threads that the sessions on the issues of a state resume, in the
// order of the issues. A thread that two issues name belongs to neither: one of them was
// forged.
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
		add(thread{id, c.Identifier, c.Thread})
	}
	for id, talk := range s.Conversations {
		if _, claimed := s.Claims[id]; !claimed { // otherwise the claim has it
			add(thread{id, s.Deliveries[id].Identifier, talk.Thread})
		}
	}
	var all []thread
	for name, t := range named {
		if !twice[name] {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b thread) int { return cmp.Or(cmp.Compare(a.issue, b.issue), cmp.Compare(a.name, b.name)) })
	return all
}

// PackThreads packs the threads that the state of the shard names into its result. It packs
// those it can and reports the others; one that is not there is no error.
func (s *SliceStore) PackThreads(sessionDir string) error {
	var errs []error
	for _, t := range threadsOf(s.result.State) {
		if err := s.packThread(sessionDir, t); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("the thread of %s is not packed: %w", t.identifier, err))
		}
	}
	return errors.Join(errs...)
}

func (s *SliceStore) packThread(sessionDir string, t thread) error {
	rollout, err := attempt.OpenRollout(sessionDir, t.identifier, t.name)
	if err != nil {
		return err
	}
	defer rollout.Close()
	threads, err := makeThreads(s.root)
	if err != nil {
		return err
	}
	defer threads.Close()
	return replaceFile(threads, t.fileName(), func(w io.Writer) error {
		packer := gzip.NewWriter(&boundedWriter{w, maxThread})
		_, err := io.Copy(packer, io.LimitReader(rollout, attempt.MaxRollout))
		return errors.Join(err, packer.Close())
	})
}

// makeThreads opens the folder of the threads in a folder, and makes it.
func makeThreads(folder *os.Root) (*os.Root, error) {
	if err := folder.Mkdir(threadsFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openFolder(folder, threadsFolder)
}

// boundedWriter fails with what exceeds left bytes.
type boundedWriter struct {
	w    io.Writer
	left int64
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		return 0, fmt.Errorf("it is larger than %d bytes: the next session begins a new thread", int64(maxThread))
	}
	b.left -= int64(len(p))
	return b.w.Write(p)
}

// UnpackThreads puts the threads that the state of the shard names from the bundle into
// the Codex homes of their issues. It unpacks those it can and reports the others; one that
// is not in the bundle is no error.
func (s *SliceStore) UnpackThreads(sessionDir string) error {
	bundle, err := openRoot(s.exchange, threadsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the bundle of threads: %w", err)
	}
	defer bundle.Close()
	var errs []error
	for _, t := range threadsOf(s.result.State) {
		if err := unpackThread(bundle, sessionDir, t); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("the thread of %s is not unpacked: %w", t.identifier, err))
		}
	}
	return errors.Join(errs...)
}

func unpackThread(bundle *os.Root, sessionDir string, t thread) error {
	f, err := openRegular(bundle, t.fileName(), maxThread)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacker, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return attempt.PlaceRollout(sessionDir, t.identifier, t.name, unpacker)
}

// Bundle makes the bundle in the exchange folder hold the threads that the issues of the
// state resume: from the result of the shard that worked on the issue, or as they were.
// It drops the others and, if the bundle is too large, the oldest. The results are those
// that were settled. It bundles what it can and reports the rest.
func Bundle(exchange string, results []Result, s *schedule.State) error {
	root, err := openRoot(exchange)
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
		wanted[t.fileName()] = t
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

// addThreads copies the wanted threads of a result into the bundle.
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
		if wanted[t.fileName()].issue != t.issue {
			continue
		}
		if err := copyThread(bundle, from, t.fileName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func copyThread(to, from *os.Root, name string) error {
	f, err := openRegular(from, name, maxThread)
	if err != nil {
		return err
	}
	defer f.Close()
	return replaceFile(to, name, func(w io.Writer) error {
		_, err := io.Copy(w, io.LimitReader(f, maxThread))
		return err
	})
}

// pruneBundle removes what is not wanted from the bundle, and the oldest threads until it
// has its size.
func pruneBundle(bundle *os.Root, wanted map[string]thread) error {
	dir, err := bundle.Open(".")
	if err != nil {
		return err
	}
	entries, err := dir.ReadDir(maxBundleFiles)
	if err = errors.Join(ignoreEOF(err), dir.Close()); err != nil {
		return err
	}
	var errs []error
	var kept []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		_, keep := wanted[entry.Name()]
		if err != nil || !keep || !info.Mode().IsRegular() || info.Size() > maxThread {
			errs = append(errs, bundle.RemoveAll(entry.Name()))
			continue
		}
		kept = append(kept, info)
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { // the newest first
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

// ignoreEOF returns no error for the end of a folder.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
