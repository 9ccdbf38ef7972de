package git

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mode is the mode of an entry of a tree, as it is written there.
type Mode uint32

// The modes that git writes itself.
const (
	ModeFolder     Mode = 0o40000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeLink       Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// Change is a path at which two trees differ. A rename is a change at each of its two
// paths; a folder in the place of a file is a change of the file and of every file in
// the folder.
type Change struct {
	Path             string // bytes as the agent wrote them, not always valid UTF-8
	OldMode, NewMode Mode   // 0 if there is nothing
	Old, New         ObjectID
	Size             int64  // size of the new content; 0 for a submodule
	Target           string // target of a symbolic link
}

// maxTarget bounds the target of a symbolic link, in bytes.
const maxTarget = 4 << 10

// Changes returns the paths at which two commits or trees differ, sorted. The error for
// trees that are larger than the limits, or have a new entry of a mode that is not listed
// above, is a [Refusal].
func (in *Incoming) Changes(ctx context.Context, from, to ObjectID) ([]Change, error) {
	if from == in.MergeBase && to == in.Tip && in.work != nil {
		return slices.Clone(in.work), nil
	}
	var found []Change
	err := in.store.host.readTrees(ctx, in.confined(), func(w *treeWalk) error {
		err := w.compare(from.String()+"^{tree}", to.String()+"^{tree}", "", 0)
		if err == nil {
			err = w.addTargets()
		}
		found = w.changes
		return err
	})
	if err == nil {
		err = in.addSizes(ctx, found)
	}
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	slices.SortFunc(found, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	if from == in.MergeBase && to == in.Tip {
		in.work = slices.Clone(found)
	}
	return found, nil
}

func (w *treeWalk) addTargets() error {
	for i := range w.changes {
		c := &w.changes[i]
		if c.NewMode != ModeLink {
			continue
		}
		object, err := w.objects.ask(c.New.String())
		if err != nil {
			return err
		}
		text, err := w.objects.contents(object, maxTarget)
		if err != nil {
			return err
		}
		c.Target = string(text)
	}
	return nil
}

func (q *quarantine) addSizes(ctx context.Context, changes []Change) error {
	var unknown []ObjectID
	for _, c := range changes {
		if _, known := q.sizes[c.New]; !known && c.NewMode != 0 && c.NewMode != ModeSubmodule {
			unknown = append(unknown, c.New)
		}
	}
	old, err := q.describe(ctx, unknown)
	if err != nil {
		return err
	}
	for _, object := range old {
		q.sizes[object.ID] = object.Size
	}
	for i := range changes {
		changes[i].Size = q.sizes[changes[i].New]
	}
	return nil
}

// treeWalk compares trees. It reads only those that differ, and never more than the
// limits: a tree of 800 bytes can have a thousand million paths.
type treeWalk struct {
	objects *objectReader
	limits  limits
	trees   int
	entries int
	changes []Change
}

// treeEntry is an entry of a tree.
type treeEntry struct {
	name string
	mode Mode
	id   ObjectID
}

// compare adds the changes between two trees, which are given as requests for git
// cat-file; an empty one stands for an empty tree. prefix is the path of the folder with
// a slash.
func (w *treeWalk) compare(from, to, prefix string, depth int) error {
	if depth > w.limits.depth {
		return refuse("its folders are more than %d deep", w.limits.depth)
	}
	if int64(len(prefix)) > w.limits.name {
		return refuse("a path has more than %d bytes", w.limits.name)
	}
	old, err := w.read(from)
	if err != nil {
		return err
	}
	now, err := w.read(to)
	if err != nil {
		return err
	}
	before := make(map[string]treeEntry, len(old))
	for _, e := range old {
		before[e.name] = e
	}
	for _, e := range now {
		o := before[e.name]
		delete(before, e.name)
		if err := w.entry(prefix+e.name, o, e, depth); err != nil {
			return err
		}
	}
	for _, o := range old {
		if _, left := before[o.name]; left {
			delete(before, o.name)
			if err := w.entry(prefix+o.name, o, treeEntry{}, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *treeWalk) entry(path string, old, now treeEntry, depth int) error {
	if old.id == now.id && old.mode == now.mode {
		return nil
	}
	if int64(len(path)) > w.limits.name {
		return refuse("a path has more than %d bytes", w.limits.name)
	}
	switch now.mode {
	case 0, ModeFolder, ModeFile, ModeExecutable, ModeLink, ModeSubmodule:
	default:
		return refuse("%q has the mode %v, which git does not write", sanitize(path), now.mode)
	}
	c := Change{Path: path}
	var oldTree, newTree string
	if old.mode == ModeFolder {
		oldTree = old.id.String()
	} else {
		c.OldMode, c.Old = old.mode, old.id
	}
	if now.mode == ModeFolder {
		newTree = now.id.String()
	} else {
		c.NewMode, c.New = now.mode, now.id
	}
	if c.OldMode != 0 || c.NewMode != 0 {
		if len(w.changes) >= w.limits.paths {
			return refuse("it changes more than %d paths", w.limits.paths)
		}
		w.changes = append(w.changes, c)
	}
	if oldTree != "" || newTree != "" {
		return w.compare(oldTree, newTree, path+"/", depth+1)
	}
	return nil
}

// maxEntries bounds the entries of all trees that one comparison reads.
const maxEntries = 2_000_000

func (w *treeWalk) read(request string) ([]treeEntry, error) {
	if request == "" {
		return nil, nil
	}
	if w.trees++; w.trees > w.limits.trees {
		return nil, refuse("it changes more than %d folders", w.limits.trees)
	}
	object, err := w.objects.ask(request)
	if err != nil {
		return nil, err
	}
	if object.Type != "tree" {
		return nil, refuse("the object %s is a %s in the place of a folder", object.ID, object.Type)
	}
	text, err := w.objects.contents(object, w.limits.object)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(text)
	if err != nil {
		return nil, err
	}
	if w.entries += len(entries); w.entries > maxEntries {
		return nil, refuse("its folders have more than %d entries", maxEntries)
	}
	return entries, nil
}

func parseTree(text []byte) ([]treeEntry, error) {
	var entries []treeEntry
	for len(text) > 0 {
		head, rest, ok := bytes.Cut(text, []byte{0})
		mode, name, ok2 := bytes.Cut(head, []byte{' '})
		value, err := strconv.ParseUint(string(mode), 8, 32)
		if !ok || !ok2 || err != nil || value == 0 || len(name) == 0 || bytes.IndexByte(name, '/') >= 0 || len(rest) < len(ObjectID{}) {
			return nil, refuse("a folder is malformed")
		}
		e := treeEntry{name: string(name), mode: Mode(value), id: ObjectID(rest[:len(ObjectID{})])}
		entries = append(entries, e)
		text = rest[len(ObjectID{}):]
	}
	return entries, nil
}
