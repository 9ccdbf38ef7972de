package client

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

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
	Made    time.Time
}

// Artifacts returns the artifacts of a workflow run.
func (c *Client) Artifacts(ctx context.Context, run int64) ([]Artifact, error) {
	var all []Artifact
	err := c.Walk(c.Path("/actions/runs/%d/artifacts?per_page=100", run), func(at string) (next string, err error) {
		a, err := c.Do(ctx, Request{Path: at, Permission: ReadActions})
		if err != nil {
			return "", err
		}
		var page github.ArtifactList
		if err := c.Decode(a, &page); err != nil {
			return "", err
		}
		for _, of := range page.Artifacts {
			if of != nil {
				all = append(all, Artifact{of.GetID(), of.GetName(), of.GetSizeInBytes(), of.GetExpired(), of.GetCreatedAt().Time})
			}
		}
		return Next(a), nil
	})
	return all, err
}

// ReadArtifact returns the files of an artifact. GitHub redirects to another host, which
// does not get the token. Nothing is unpacked to the disk: a reader of the files decides
// how much of each it takes.
func (c *Client) ReadArtifact(ctx context.Context, of Artifact) (*zip.Reader, error) {
	if of.Bytes > maxArtifact {
		return nil, fmt.Errorf("artifact %.100q has %d MiB, at most %d are read: download it from the page of the run", of.Name, of.Bytes>>20, maxArtifact>>20)
	}
	packed, err := c.download(ctx, c.Path("/actions/artifacts/%d/zip", of.ID))
	if err != nil {
		return nil, err
	}
	files, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // its files are opened by valid names alone
		return nil, fmt.Errorf("artifact %.100q cannot be unpacked: %w: download it from the page of the run", of.Name, err)
	}
	return files, nil
}

// download returns the content at the address that GitHub redirects to.
func (c *Client) download(ctx context.Context, path string) ([]byte, error) {
	req, err := c.NewRequest(ctx, Request{Path: path})
	if err != nil {
		return nil, err
	}
	answer, err := c.Transport.Do(req)
	refused, ok := asRefused(err)
	if !ok || refused.Answer.Status != http.StatusFound {
		if err == nil && len(answer.Body) > maxArtifact {
			err = &transport.Error{Kind: transport.Unreadable, Reason: "the artifact is too large"}
		}
		return answer.Body, c.explain(err, ReadActions)
	}
	packed, whole, err := c.Transport.Tail(ctx, refused.Answer.Header.Get("Location"), maxArtifact)
	if err == nil && !whole {
		err = &transport.Error{Kind: transport.Unreadable, Reason: "the artifact is larger than GitHub said", Remedy: "download it from the page of the run"}
	}
	return packed, err
}
