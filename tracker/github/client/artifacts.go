package client

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-github/v62/github"

	"github.com/symphony-runner/symphony/internal/transport"
)

// maxArtifact bounds an artifact that is read, in bytes as it is packed. It is held in
// memory.
const maxArtifact = 64 << 20

// Artifact is an upload of a workflow run under a name.
type Artifact struct {
	ID      int64
	Name    string
	Bytes   int64 // size as packed
	Expired bool  // GitHub no longer has it
}

// Artifacts makes requests about the uploads of workflow runs.
type Artifacts struct{ c *Client }

// Of returns the artifacts of a workflow run.
func (a Artifacts) Of(ctx context.Context, run int64) (all []Artifact, err error) {
	err = walk(ctx, a.c, ReadActions, a.c.Path("/actions/runs/%d/artifacts?per_page=100", run), func(page github.ArtifactList) bool {
		for _, of := range page.Artifacts {
			if of != nil {
				all = append(all, Artifact{of.GetID(), of.GetName(), of.GetSizeInBytes(), of.GetExpired()})
			}
		}
		return true
	})
	return all, err
}

// Read returns the files of an artifact. Nothing is unpacked to the disk: a reader of the files
// decides how much of each it takes.
func (a Artifacts) Read(ctx context.Context, of Artifact) (*zip.Reader, error) {
	if of.Bytes > maxArtifact {
		return nil, fmt.Errorf("artifact %.100q has %d MiB, at most %d are read: download it from the page of the run", of.Name, of.Bytes>>20, maxArtifact>>20)
	}
	packed, whole, err := a.c.download(ctx, a.c.Path("/actions/artifacts/%d/zip", of.ID), maxArtifact)
	if err == nil && !whole {
		err = &transport.Error{Kind: transport.Unreadable, Reason: "the artifact is larger than GitHub said", Remedy: "download it from the page of the run"}
	}
	if err != nil {
		return nil, err
	}
	files, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // its files are opened by valid names alone
		return nil, fmt.Errorf("artifact %.100q cannot be unpacked: %w: download it from the page of the run", of.Name, err)
	}
	return files, nil
}

// download returns the last n bytes of a log or an artifact, and reports whether that is all of
// it. GitHub redirects to another host, which does not get the token.
func (c *Client) download(ctx context.Context, path string, n int) (content []byte, whole bool, err error) {
	bounded := *c.Transport
	bounded.MaxAnswer = min(n, bounded.MaxAnswer)
	req, err := c.NewRequest(ctx, Request{Path: path})
	if err != nil {
		return nil, false, err
	}
	answer, err := bounded.Do(req)
	if e, ok := asRefused(err); ok && e.Answer.Status == http.StatusFound {
		return c.Transport.Tail(ctx, e.Answer.Header.Get("Location"), n)
	}
	return answer.Body, true, c.explain(err, ReadActions)
}
