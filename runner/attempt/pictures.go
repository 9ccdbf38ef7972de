package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/runner/pictures"
	"github.com/symphony-runner/symphony/runner/prompt"
)

// withPictures returns the text of the first turn, and the files of the pictures that the model
// has not seen.
func (a *attempt) withPictures(ctx context.Context, text string) (with string, images []string) {
	set, err := a.gatherPictures(ctx, text, a.sandbox.session.TakesImages)
	if left := set.Warning(); left != "" && ctx.Err() == nil {
		a.warn("the model does not get all pictures", errors.New(left))
	}
	if err == nil {
		images, err = a.dirs.savePictures(set)
	}
	if err != nil {
		a.warn("the model gets no pictures", err)
		return text, nil
	}
	return text + set.Text(), images
}

// gatherPictures returns the pictures for a prompt. A thread that is resumed has the pictures of
// the issue. takes is called if there are any; nil for a model that takes them.
func (a *attempt) gatherPictures(ctx context.Context, text string, takes func(context.Context) (string, bool)) (pictures.Set, error) {
	if !a.Images {
		return pictures.Set{}, nil
	}
	o := pictures.Options{Issue: a.Issue, Prompt: text, Takes: takes}
	if !a.resumed {
		o.Attached = a.Tracker.Pictures
		o.Sources = []pictures.Source{{Name: "the issue", Text: a.Issue.Description, From: a.Tracker.Pictures}}
	}
	for i, f := range a.Feedback {
		s := pictures.Source{Name: "item " + cmp.Or(f.ID, strconv.Itoa(i+1)) + " of the feedback", Text: a.Redact(f.Text), Comment: f.Comment, From: a.Tracker.Pictures}
		if f.OnPull {
			s.From = a.PullPictures
		}
		if f.Comment != "" {
			o.Sources = append(o.Sources, s)
		}
	}
	set := pictures.Gather(ctx, o)
	if !prompt.Fits(text + set.Text()) {
		return pictures.Set{}, errors.New("the prompt is so long that there is no room to name them: shorten what it prints")
	}
	return set, nil
}

func (d *sessionDirs) savePictures(set pictures.Set) (paths []string, err error) {
	if len(set.Pictures) == 0 {
		return nil, nil
	}
	if d.all == "" {
		return nil, errors.New("there is no folder for the sessions' own files")
	}
	folder := filepath.Join(d.all, picturesDir, d.key)
	if err = os.RemoveAll(folder); err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	for i, p := range set.Pictures {
		path := filepath.Join(folder, fmt.Sprintf("%d.%s", i+1, strings.ToLower(p.Format)))
		if err == nil {
			err = os.WriteFile(path, p.Content, 0o600)
		}
		paths = append(paths, path)
	}
	if err != nil {
		return nil, fmt.Errorf("save the pictures for Codex: %w", err)
	}
	return paths, nil
}
