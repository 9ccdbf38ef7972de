package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// CommentsSince reads the comments in the files of issues. Everybody who can write to the
// folder is trusted. A malformed file has no comments.
func (f *folder) CommentsSince(ctx context.Context, since map[tracker.ID]time.Time) (map[tracker.ID]tracker.Comments, error) {
	if len(since) == 0 {
		return nil, nil
	}
	s, err := f.openSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all := make(map[tracker.ID]tracker.Comments)
	for id, after := range since {
		r, err := s.record(ctx, string(id))
		if err != nil {
			return nil, err
		}
		if r == nil || r.malformed != nil {
			continue
		}
		comments, err := readComments(s.root, string(id), after)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, readError(fileName(string(id)), err)
		}
		if len(comments.List) > 0 {
			all[id] = comments
		}
	}
	return all, nil
}

func readComments(root *os.Root, id string, since time.Time) (tracker.Comments, error) {
	info, content, err := readFile(root, fileName(id))
	if err != nil {
		return tracker.Comments{}, err
	}
	doc, err := splitDocument(content)
	if err != nil { // it was changed after it was found well-formed
		return tracker.Comments{}, nil
	}
	return doc.conversation(info.ModTime(), since), nil
}

// React does nothing: a file has no reactions.
func (f *folder) React(context.Context, tracker.ID, string, tracker.Reaction) error { return nil }
