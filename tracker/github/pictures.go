package github

import (
	"context"
	"errors"
	"html"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Pictures returns the reader of the pictures that people have uploaded to issues, pull requests
// and their comments. In a private repository these have no address for programs; the HTML of a
// text has addresses that are signed for some minutes. They need no token, and get none.
func Pictures(c *client.Client) tracker.Pictures { return pictures{c} }

// pictures implements [tracker.Pictures].
type pictures struct{ client *client.Client }

// Attached returns nothing: all files on GitHub are in texts.
func (pictures) Attached(context.Context, tracker.Issue) ([]tracker.Picture, error) { return nil, nil }

// Read asks for the HTML of all texts with uploaded pictures at once.
func (p pictures) Read(ctx context.Context, issue tracker.Issue, list []tracker.Picture, limit int) iter.Seq2[[]byte, error] {
	nodeOf := func(pic tracker.Picture) string {
		if pic.Comment != "" {
			return pic.Comment
		}
		return issue.NativeRef["node_id"]
	}
	return func(yield func([]byte, error) bool) {
		var nodes []string
		for _, pic := range list {
			if p.uploadOf(pic.Address) != "" && !slices.Contains(nodes, nodeOf(pic)) {
				nodes = append(nodes, nodeOf(pic))
			}
		}
		bodies, err := p.bodies(ctx, nodes)
		for _, pic := range list {
			upload := p.uploadOf(pic.Address)
			var content []byte
			reason := err
			switch {
			case upload == "":
				reason = tracker.ErrElsewhere
			case err == nil:
				content, reason = p.fetch(ctx, bodies[nodeOf(pic)], upload, limit)
			}
			if !yield(content, reason) {
				return
			}
		}
	}
}

// uploadID matches the id of an uploaded file, which is in each of its addresses.
var uploadID = lazy.Regexp(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// uploadOf returns the id of the uploaded file at an address; empty for another address.
func (p pictures) uploadOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Scheme != "https" && u.Scheme != "http" || !isFileHost(p.client.Server(), strings.ToLower(u.Host), true) {
		return ""
	}
	ids := uploadID().FindAllString(strings.ToLower(u.Path), -1)
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

// isFileHost reports whether a host serves the files that people upload to a server. The texts
// also have addresses on the server itself.
func isFileHost(server, host string, inText bool) bool {
	own := client.HostOf(server)
	if own == "github.com" {
		return host == "private-user-images.githubusercontent.com" || host == "user-images.githubusercontent.com" || inText && host == own
	}
	return host == own || strings.HasSuffix(host, "."+own)
}

type textNode struct {
	BodyHTML string `graphql:"bodyHTML"`
}

type textsQuery struct {
	Nodes []*struct {
		ID            string   `graphql:"id"`
		Issue         textNode `graphql:"... on Issue"`
		IssueComment  textNode `graphql:"... on IssueComment"`
		Review        textNode `graphql:"... on PullRequestReview"`
		ReviewComment textNode `graphql:"... on PullRequestReviewComment"`
	} `graphql:"nodes(ids: $ids)"`
}

func (p pictures) bodies(ctx context.Context, nodes []string) (map[string]string, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	var answer textsQuery
	if err := p.client.Query(ctx, client.ReadIssues, &answer, map[string]any{"ids": nodeIDs(nodes)}); err != nil {
		return nil, failed("ask GitHub for its signed address", err)
	}
	bodies := map[string]string{}
	for _, n := range answer.Nodes {
		if n != nil {
			bodies[n.ID] = n.Issue.BodyHTML
		}
	}
	return bodies, nil
}

// pictureSource matches the source of a picture in GitHub's HTML.
var pictureSource = lazy.Regexp(`<img\s(?:[^>]*\s)?src="([^"]+)"`)

// fetch reads an uploaded file that the HTML of a text shows.
func (p pictures) fetch(ctx context.Context, body, upload string, limit int) ([]byte, error) {
	for _, match := range pictureSource().FindAllStringSubmatch(body, -1) {
		address := html.UnescapeString(match[1])
		u, err := url.Parse(address)
		if err != nil || !isFileHost(p.client.Server(), strings.ToLower(u.Host), false) || !strings.Contains(strings.ToLower(u.Path), upload) {
			continue
		}
		content, err := p.client.Transport.Fetch(ctx, address, limit)
		if errors.Is(err, transport.ErrTooLong) {
			err = tracker.ErrTooLarge
		}
		return content, err
	}
	return nil, errors.New("GitHub does not show it in the text: it may be deleted, or the token may not see it")
}
