package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Commit is what a commit says.
type Commit struct {
	Author, Committer Person
	Message           string
	Trailers          []string // lines such as "Co-authored-by: A <a@example.com>"
}

// Squash makes one commit from changes that [Incoming.Changes] found between the merge
// base and the tip, all or some of them. The commit has nothing else of the agent: no
// message, author, or state in between. onto is where the remote's branch is, or the
// zero id if it has none; the commit follows it, and the merge base as well if the agent
// merged a newer base. The same arguments give the same id.
//
// The error is [ErrNothingNew] if the commit would change nothing, and a [*Refusal] for
// changes that cannot be made without the others.
func (in *Incoming) Squash(ctx context.Context, allowed []Change, onto ObjectID, c Commit) (ObjectID, error) {
	tree, err := in.buildTree(ctx, allowed)
	if err != nil {
		return ObjectID{}, err
	}
	parents, err := in.parents(ctx, onto)
	if err != nil {
		return ObjectID{}, err
	}
	old, err := in.treeOf(ctx, parents[0])
	if err != nil {
		return ObjectID{}, err
	}
	if len(parents) == 1 && old == tree {
		return ObjectID{}, fmt.Errorf("squash: %w", ErrNothingNew)
	}
	return in.commitTree(ctx, tree, parents, c)
}

// buildTree returns the tree of the merge base with changes.
func (in *Incoming) buildTree(ctx context.Context, changes []Change) (ObjectID, error) {
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(in.dir, "index")}
	read := in.command("read-tree", in.MergeBase.String())
	read.env = index
	if _, err := in.run(ctx, read); err != nil {
		return ObjectID{}, err
	}
	update := in.command("update-index", "-z", "--index-info")
	update.env, update.stdin = index, strings.NewReader(indexInfo(changes))
	if _, err := in.run(ctx, update); err != nil {
		return ObjectID{}, err
	}
	write := in.command("write-tree")
	write.env = index
	out, err := in.run(ctx, write)
	if err != nil {
		return ObjectID{}, err
	}
	tree, err := ParseObjectID(strings.TrimSpace(out))
	if err != nil {
		return ObjectID{}, fmt.Errorf("squash: %w", err)
	}
	// update-index ignores a path it does not like, and replaces a file by a folder of
	// the same name; both without an error.
	made, err := in.Changes(ctx, in.MergeBase, tree)
	if err != nil {
		return ObjectID{}, err
	}
	if path, differ := firstDifference(changes, made); differ {
		return ObjectID{}, refuse("the change of %q cannot be made without changes that are not allowed", sanitize(path))
	}
	return tree, nil
}

// indexInfo returns changes as input of git update-index. Deletions come first, because
// a folder may take the place of a file.
func indexInfo(changes []Change) string {
	var deleted, added strings.Builder
	for _, c := range changes {
		if c.NewMode == 0 {
			fmt.Fprintf(&deleted, "0 %s\t%s\x00", ObjectID{}, c.Path)
		} else {
			fmt.Fprintf(&added, "%o %s\t%s\x00", uint32(c.NewMode), c.New, c.Path)
		}
	}
	return deleted.String() + added.String()
}

// firstDifference returns a path at which two lists of changes do not agree. What only
// writes an old mode in git's own form is no difference.
func firstDifference(wanted, made []Change) (path string, differ bool) {
	type result struct {
		mode Mode
		id   ObjectID
	}
	results := map[string]result{}
	for _, c := range wanted {
		results[c.Path] = result{c.NewMode, c.New}
	}
	for _, c := range made {
		want, ok := results[c.Path]
		delete(results, c.Path)
		switch {
		case ok && want == result{c.NewMode, c.New}:
		case !ok && c.Old == c.New && canonical(c.OldMode) == c.NewMode:
		default:
			return c.Path, true
		}
	}
	for path := range results {
		return path, true
	}
	return "", false
}

// canonical returns the mode that git writes for a mode of old history.
func canonical(m Mode) Mode {
	if m&0o170000 == 0o100000 {
		if m&0o100 != 0 {
			return ModeExecutable
		}
		return ModeFile
	}
	return m
}

// parents returns the parents of a commit that follows both onto and the merge base.
func (in *Incoming) parents(ctx context.Context, onto ObjectID) ([]ObjectID, error) {
	if onto.IsZero() || onto == in.MergeBase {
		return []ObjectID{in.MergeBase}, nil
	}
	out, err := in.run(ctx, in.command("merge-base", "--independent", onto.String(), in.MergeBase.String()))
	if err != nil {
		return nil, err
	}
	var parents []ObjectID
	for _, id := range []ObjectID{onto, in.MergeBase} {
		if slices.Contains(strings.Fields(out), id.String()) {
			parents = append(parents, id)
		}
	}
	if len(parents) == 0 {
		return nil, errors.New("squash: git merge-base names no parent")
	}
	return parents, nil
}

// treeOf returns the tree of a commit.
func (in *Incoming) treeOf(ctx context.Context, commit ObjectID) (ObjectID, error) {
	out, err := in.run(ctx, in.command("rev-parse", "--verify", commit.String()+"^{tree}"))
	if err != nil {
		return ObjectID{}, err
	}
	return ParseObjectID(strings.TrimSpace(out))
}

// commitTree makes a commit.
func (in *Incoming) commitTree(ctx context.Context, tree ObjectID, parents []ObjectID, c Commit) (ObjectID, error) {
	message, err := c.text()
	if err != nil {
		return ObjectID{}, fmt.Errorf("squash: %w", err)
	}
	args := []string{"commit-tree", tree.String()}
	for _, parent := range parents {
		args = append(args, "-p", parent.String())
	}
	run := in.command(append(args, "-F", "-")...)
	run.stdin = strings.NewReader(message)
	for role, p := range map[string]Person{"AUTHOR": c.Author, "COMMITTER": c.Committer} {
		if err := p.check(); err != nil {
			return ObjectID{}, fmt.Errorf("squash: %w", err)
		}
		run.env = append(run.env, "GIT_"+role+"_NAME="+p.Name, "GIT_"+role+"_EMAIL="+p.Email, fmt.Sprintf("GIT_%s_DATE=@%d +0000", role, p.When.Unix()))
	}
	out, err := in.run(ctx, run)
	if err != nil {
		return ObjectID{}, err
	}
	return ParseObjectID(strings.TrimSpace(out))
}

// check returns an error if git would not write the person as it is.
func (p Person) check() error {
	switch {
	case strings.TrimSpace(p.Name) == "" || strings.TrimSpace(p.Email) == "":
		return errors.New("an author or committer has no name or no address")
	case !utf8.ValidString(p.Name+p.Email) || strings.ContainsAny(p.Name+p.Email, "<>\n\r\x00"):
		return fmt.Errorf("an author or committer has a character that a commit cannot have: %q <%q>", p.Name, p.Email)
	case p.When.Unix() < 0:
		return errors.New("an author or committer has no time")
	}
	return nil
}

// text returns the message of the commit with its trailers.
func (c Commit) text() (string, error) {
	message := strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(c.Message, "\r\n", "\n"), "\uFFFD"))
	if message == "" || strings.ContainsRune(message, 0) {
		return "", errors.New("the message is empty or has a NUL")
	}
	message += "\n"
	for i, trailer := range c.Trailers {
		if !strings.Contains(trailer, ": ") || strings.ContainsAny(trailer, "\n\r\x00") {
			return "", fmt.Errorf("%q is no trailer", trailer)
		}
		if i == 0 {
			message += "\n"
		}
		message += trailer + "\n"
	}
	return message, nil
}
