package publish

import (
	"bytes"
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Bounds of the part of a file that is scanned, in bytes.
const (
	binaryProbe = 8000 // bytes at the beginning, in which git too looks for a NUL byte
	maxPointer  = 1024 // bytes of a pointer of Git LFS
)

// lfsPointer begins every pointer of Git LFS.
var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

// judge returns the differences between the base and the work, and the verdict on them. Changes
// that the branch has on the remote already, at onto, are not judged again: we or a person put
// them there.
func (p *Publisher) judge(ctx context.Context, in *git.Incoming, onto git.ObjectID) ([]git.Change, delivery.Verdict, error) {
	var v delivery.Verdict
	all, err := in.Changes(ctx, in.MergeBase, in.Tip)
	if err != nil {
		return nil, v, err
	}
	changed, err := since(ctx, in, onto, in.Tip, all)
	if err != nil {
		return nil, v, err
	}
	links, err := baseLinks(ctx, in)
	if err != nil {
		return nil, v, err
	}
	work, contents, err := workAt(ctx, in, in.Tip, changed, links)
	if err != nil {
		return nil, v, err
	}
	work.Commits = len(in.Commits)
	v = p.Policy.Check(work)
	for i, c := range changed {
		old, now, err := p.scanned(in, work.Changes[i], contents[c.Old], contents[c.New])
		if err != nil {
			return nil, v, err
		}
		p.Policy.CheckContent(&v, work.Changes[i], old, now, p.Secrets)
	}
	if err := p.lookAtAll(ctx, in, all, links, &v); err != nil {
		return nil, v, err
	}
	if p.Folder != "" && p.Policy.LFS {
		refuseObjects(&v, work)
	}
	if p.KeepHistory {
		err = p.scanHistory(ctx, in, contents, &v)
		if err == nil {
			err = p.judgeHistory(ctx, in, onto, links, &v)
		}
	}
	return all, v, err
}

// lookAtAll adds to the verdict the paths and hidden places that the pull request names for a
// person. It looks at all changes each time, since the body is written anew.
func (p *Publisher) lookAtAll(ctx context.Context, in *git.Incoming, all []git.Change, links []delivery.Link, v *delivery.Verdict) error {
	work, contents, err := workAt(ctx, in, in.Tip, all, links)
	if err != nil {
		return err
	}
	for _, path := range p.Policy.Check(work).Review {
		v.AddReview(path)
	}
	for i, c := range all {
		v.CheckUnseen(work.Changes[i], contents[c.Old], contents[c.New])
	}
	return nil
}

// since returns the changes up to a commit that a branch at onto does not have.
func since(ctx context.Context, in *git.Incoming, onto, commit git.ObjectID, all []git.Change) ([]git.Change, error) {
	if onto.IsZero() {
		return all, nil
	}
	sinceHead, err := in.Changes(ctx, onto, commit)
	return slices.DeleteFunc(slices.Clone(all), func(c git.Change) bool {
		_, found := slices.BinarySearchFunc(sinceHead, c.Path, func(d git.Change, path string) int { return strings.Compare(d.Path, path) })
		return !found
	}), err
}

func workAt(ctx context.Context, in *git.Incoming, commit git.ObjectID, changed []git.Change, links []delivery.Link) (delivery.Work, contentsByID, error) {
	work := delivery.Work{Links: links}
	contents, err := readContents(ctx, in, changed)
	if err != nil {
		return work, nil, err
	}
	for _, c := range changed {
		d := contents.change(c)
		d.Object = newObject(in, c, contents[c.New])
		work.Changes = append(work.Changes, d)
	}
	work.CaseCollisions, err = findCaseCollisions(ctx, in, commit, changed)
	return work, contents, err
}

// contentsByID holds the contents of objects.
type contentsByID map[git.ObjectID][]byte

func readContents(ctx context.Context, in *git.Incoming, changes []git.Change) (contentsByID, error) {
	contents := contentsByID{}
	var ids []git.ObjectID
	for _, c := range changes {
		if isContent(c.OldMode) {
			ids = append(ids, c.Old)
		}
		if isContent(c.NewMode) {
			ids = append(ids, c.New)
		}
	}
	slices.SortFunc(ids, func(a, b git.ObjectID) int { return bytes.Compare(a[:], b[:]) })
	return contents, in.ReadObjects(ctx, slices.Compact(ids), func(object git.Object, r io.Reader) error {
		text, err := io.ReadAll(r)
		contents[object.ID] = text
		return err
	})
}

// isContent reports whether an entry of a tree has content of this repository.
func isContent(m git.Mode) bool { return m != 0 && m != git.ModeFolder && m != git.ModeSubmodule }

func (contents contentsByID) change(c git.Change) delivery.Change {
	text, old := contents[c.New], contents[c.Old]
	d := delivery.Change{
		Path: c.Path, Target: c.Target,
		Binary: bytes.IndexByte(text[:min(len(text), binaryProbe)], 0) >= 0,
		LFS:    len(old) <= maxPointer && bytes.HasPrefix(old, lfsPointer) && !bytes.HasPrefix(text, lfsPointer),
	}
	if c.OldMode != 0 {
		d.Old = delivery.Entry{Mode: c.OldMode, Size: int64(len(old))}
	}
	if c.NewMode != 0 {
		d.New = delivery.Entry{Mode: c.NewMode, Size: c.Size}
	}
	return d
}

func baseLinks(ctx context.Context, in *git.Incoming) ([]delivery.Link, error) {
	found, err := in.Links(ctx, in.MergeBase)
	links := make([]delivery.Link, 0, len(found))
	for _, link := range found {
		links = append(links, delivery.Link(link))
	}
	return links, err
}

// findCaseCollisions returns the pairs of names of one folder that are one file on some file
// systems, of which the work adds one.
func findCaseCollisions(ctx context.Context, in *git.Incoming, commit git.ObjectID, changes []git.Change) (pairs [][2]string, err error) {
	added := map[string]map[string]bool{} // names by folder
	for _, c := range changes {
		// A new folder is a new name in every folder above that did not have it; all of
		// them are looked at.
		for name := path.Clean(c.Path); c.OldMode == 0 && c.NewMode != 0 && name != "." && name != "/"; name = path.Dir(name) {
			folder := path.Dir(name)
			if added[folder] == nil {
				added[folder] = map[string]bool{}
			}
			added[folder][path.Base(name)] = true
		}
	}
	folders := slices.Sorted(maps.Keys(added))
	names, err := in.Names(ctx, commit, folders)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		isNew := func(name string) bool { return added[folder][name] }
		pairs = append(pairs, delivery.CaseCollisions(folder, names[folder], isNew)...)
	}
	return pairs, nil
}

// hidesSecret reports whether work that is not published holds a secret or a text that looks
// like one, also in the commits in between, which the files of [Keep] would show.
func (p *Publisher) hidesSecret(ctx context.Context, in *git.Incoming, v delivery.Verdict) (bool, error) {
	if !v.Secret() {
		v = delivery.Verdict{}
		if err := p.scanHistory(ctx, in, nil, &v); err != nil {
			return true, err
		}
	}
	return v.Secret(), nil
}

// scanHistory adds to the verdict the secrets in the commits in between, which are published
// too if the agent's own history is. Folders hold names.
func (p *Publisher) scanHistory(ctx context.Context, in *git.Incoming, seen contentsByID, v *delivery.Verdict) error {
	var ids []git.ObjectID
	for _, object := range in.Objects {
		if _, known := seen[object.ID]; !known {
			ids = append(ids, object.ID)
		}
	}
	return in.ReadObjects(ctx, ids, func(object git.Object, r io.Reader) error {
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		where := delivery.Change{Path: "a " + object.Type + " of the history (" + object.ID.String() + ")"}
		p.Policy.CheckContent(v, where, nil, text, p.Secrets)
		return p.scanObject(in, where.Path, text, v)
	})
}
