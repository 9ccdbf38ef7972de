package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Save commits the state on top of the revision. It fails with [ErrConflict]
// when the branch has moved on, with [ErrInvalid] when s cannot be kept, and
// with [ErrRefused] and [ErrUnavailable]. When s says nothing new, nothing is
// committed: tokens and signs of life go with the next change (see record.news).
// The last step is not cut short by ctx.
func (b *Branch) Save(ctx context.Context, s *schedule.State, rev Revision) (Revision, error) {
	if err := b.save(ctx, s, rev); err != nil {
		return "", fmt.Errorf("save state to %s: %w", b, err)
	}
	return b.rev, nil
}

func (b *Branch) save(ctx context.Context, s *schedule.State, rev Revision) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if rev == "" || rev != b.rev {
		return fmt.Errorf("%w: it is not what was loaded last: load it again", ErrConflict)
	}
	next := newRecord(s, b.kept.Generation+1)
	data, err := Encode(s, next.Generation)
	if err != nil {
		return err
	}
	if !next.news(b.kept) {
		return nil
	}
	files := map[string]string{stateFile: string(data)}
	if b.page != nil {
		files[pageFile] = b.page(s, time.Now())
	}
	message := b.message(b.kept.state(), s)
	afresh := b.head != "" && next.Generation%b.history == 0
	commit, err := b.commit(ctx, files, message, afresh)
	if afresh && errors.Is(err, ErrRefused) { // a long history is better than none
		commit, err = b.commit(ctx, files, message, false)
	}
	if isRefusal(err) {
		return b.judge(ctx, err)
	}
	if err != nil {
		return err
	}
	b.know(commit, next)
	return nil
}

// commit makes a commit of the files, on top of the head or afresh without a
// parent, and moves the branch to it.
func (b *Branch) commit(ctx context.Context, files map[string]string, message string, afresh bool) (string, error) {
	tree, err := b.writeTree(ctx, files)
	if err != nil {
		return "", err
	}
	parents := []string{}
	if b.head != "" && !afresh {
		parents = append(parents, b.head)
	}
	commit, err := b.create(ctx, "make a commit", "/git/commits", map[string]any{"message": message, "tree": tree.SHA, "parents": parents})
	if err != nil {
		return "", err
	}
	return commit.SHA, b.publish(ctx, commit.SHA, afresh)
}

// object is a git object as GitHub tells of it.
type object struct {
	SHA  string
	Tree []struct{ Path string } // of a tree: what is in it
}

func (b *Branch) create(ctx context.Context, op, path string, body any) (object, error) {
	var o object
	err := b.api.decode(ctx, request{op: op, method: http.MethodPost, url: b.api.rest + path, body: body, need: contentsWrite}, &o)
	if err == nil && !objectName.MatchString(o.SHA) {
		err = fmt.Errorf("%s: %w: this is not what GitHub answers: see that %s is right", op, errUnanswered, b.api.rest)
	}
	return o, err
}

// writeTree makes the tree of the files on top of the head's own, to learn what
// else is there: a branch that holds anything else (the default branch, for
// one) is not ours to write to.
func (b *Branch) writeTree(ctx context.Context, files map[string]string) (object, error) {
	type entry struct {
		Path    string `json:"path"`
		Mode    string `json:"mode"`
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	body := struct {
		Base string  `json:"base_tree,omitempty"`
		Tree []entry `json:"tree"`
	}{Base: b.head}
	for path, content := range files {
		body.Tree = append(body.Tree, entry{path, "100644", "blob", content})
	}
	tree, err := b.create(ctx, "make a tree", "/git/trees", body)
	if err != nil {
		return object{}, err
	}
	for _, e := range tree.Tree {
		if e.Path != stateFile && e.Path != pageFile {
			return object{}, fmt.Errorf("%w: the branch also holds %q, so it is not a state branch: nothing was changed: give the name of another branch, or of none",
				ErrUnreadable, line(e.Path, maxName))
		}
	}
	return tree, nil
}

// judge says what a refusal means: a conflict, if the branch has moved.
func (b *Branch) judge(ctx context.Context, err error) error {
	if head, headErr := b.readHead(ctx); headErr == nil && head != b.head {
		return fmt.Errorf("%w: another run has saved, or somebody moved the branch: load it again", ErrConflict)
	}
	r, _ := errors.AsType[*refusal](err)
	if r.status != http.StatusForbidden {
		return err
	}
	if repo, repoErr := b.repository(ctx); repoErr == nil && repo.Archived {
		archived := *r
		archived.mend = "the repository is archived: unarchive it, or keep the state elsewhere"
		return &archived
	}
	return err
}
