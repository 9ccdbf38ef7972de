package publish

import (
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// newObject returns the object of Git LFS that a change needs, if the remote cannot be
// expected to have it: the new content is a pointer that no file of the remote has.
func newObject(in *git.Incoming, c git.Change, text []byte) delivery.Object {
	pointer, ok := git.ParsePointer(text)
	if !ok || c.NewMode == git.ModeLink || !in.IsNew(c.New) {
		return delivery.Object{}
	}
	return delivery.Object{ID: pointer.OID, Size: pointer.Size, Taken: in.Has(pointer)}
}

// scanned returns the old and the new content of a change as they are scanned for secrets: the
// contents of the objects for a file in Git LFS that was taken with the work.
func (p *Publisher) scanned(in *git.Incoming, c delivery.Change, oldText, newText []byte) (oldContent, newContent []byte, err error) {
	if !c.Object.Taken {
		return oldText, newText, nil
	}
	pointer, _ := git.ParsePointer(newText)
	if newContent, err = in.Object(pointer); err != nil {
		return nil, nil, err
	}
	if pointer, ok := git.ParsePointer(oldText); ok && pointer.Size <= p.Policy.MaxLFS {
		if oldText, err = in.Object(pointer); err != nil {
			return nil, nil, err
		}
	}
	return oldText, newContent, nil
}

// refuseObjects adds to the verdict that objects of Git LFS have no place in a patch.
func refuseObjects(v *delivery.Verdict, work delivery.Work) {
	for _, c := range work.Changes {
		if c.Object.Taken {
			v.Refusals = append(v.Refusals, delivery.Refusal{Path: c.Path, Reason: "it is in Git LFS, and a patch (delivery.kind) cannot hold its content; leave it as it is"})
		}
	}
}

// scanObject adds to the verdict the secrets in the object of Git LFS that a file of the
// history stands for. If the history is published, an object that it needs and that was not
// taken is a refusal.
func (p *Publisher) scanObject(in *git.Incoming, where string, text []byte, v *delivery.Verdict) error {
	pointer, ok := git.ParsePointer(text)
	if !ok || !p.Policy.LFS {
		return nil
	}
	if !in.Has(pointer) {
		if p.KeepHistory {
			v.Refusals = append(v.Refusals, delivery.Refusal{Path: where, Reason: "it is a pointer of Git LFS whose object was not taken: the workspace does not have it, or the objects of all commits have more bytes than delivery.max_lfs_bytes; squash the commits"})
		}
		return nil
	}
	content, err := in.Object(pointer)
	if err == nil {
		p.Policy.CheckContent(v, delivery.Change{Path: where}, nil, content, p.Secrets)
	}
	return err
}
