package linear

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strings"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
)

// pictures implements [tracker.Pictures]. It asks for texts whose addresses of files are signed
// for some minutes, so that the key goes to the API alone.
type pictures struct{ *reader }

// filesQuery asks for the text of an issue and the addresses of its attachments.
type filesQuery struct {
	Issue struct {
		Description string
		Attachments page[struct{ URL string }] `graphql:"attachments(first: 50)"`
	} `graphql:"issue(id: $id)"`
}

// commentFilesQuery asks for the texts of comments.
type commentFilesQuery struct {
	Comments page[struct{ Body string }] `graphql:"comments(first: $first, filter: {id: {in: $ids}})"`
}

// Attached returns the attachments that are files; the others are links to other services.
func (p pictures) Attached(ctx context.Context, issue tracker.Issue) ([]tracker.Picture, error) {
	if !issue.HasAttachments {
		return nil, nil
	}
	var answer filesQuery
	if err := p.query(ctx, "read the attachments of "+issue.Identifier, &answer, map[string]any{"id": graphql.String(issue.ID)}); err != nil {
		return nil, err
	}
	var files []tracker.Picture
	for _, a := range answer.Issue.Attachments.Nodes {
		if p.fileOf(a.URL) != "" {
			files = append(files, tracker.Picture{Address: a.URL})
		}
	}
	return files, nil
}

// Read asks for the texts and attachments with files first.
func (p pictures) Read(ctx context.Context, issue tracker.Issue, list []tracker.Picture, limit int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		signed, err := p.sign(ctx, issue, list)
		for _, pic := range list {
			file := p.fileOf(pic.Address)
			var content []byte
			reason := err
			switch {
			case file == "":
				reason = tracker.ErrElsewhere
			case err == nil && signed[file] == "":
				reason = errors.New("the text does not show it any more")
			case err == nil:
				content, reason = p.wire.Fetch(ctx, signed[file], limit)
			}
			if errors.Is(reason, transport.ErrTooLong) {
				reason = tracker.ErrTooLarge
			}
			if !yield(content, reason) {
				return
			}
		}
	}
}

// fileOf returns the address of a file without its signature; empty for a file that Linear does
// not keep.
func (p pictures) fileOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return ""
	}
	api, err := url.Parse(p.cfg.Endpoint)
	if err != nil || u.Scheme != api.Scheme {
		return ""
	}
	host := api.Host
	if rest, isAPI := strings.CutPrefix(host, "api."); isAPI {
		host = "uploads." + rest
	}
	if !strings.EqualFold(u.Host, host) {
		return ""
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// fileAddress matches an address in a text.
var fileAddress = lazy.Regexp("https?://[^\\s()<>\\[\\]\"'`\\\\]+")

// sign returns the signed addresses of files by the plain ones.
func (p pictures) sign(ctx context.Context, issue tracker.Issue, list []tracker.Picture) (map[string]string, error) {
	const op = "ask Linear for its signed address"
	var comments []graphql.ID
	inIssue := false
	for _, pic := range list {
		switch {
		case p.fileOf(pic.Address) == "":
		case pic.Comment == "":
			inIssue = true
		default:
			comments = append(comments, pic.Comment)
		}
	}
	ctx = context.WithValue(ctx, signedKey{}, true)
	var texts []string
	if inIssue {
		var answer filesQuery
		if err := p.query(ctx, op, &answer, map[string]any{"id": graphql.String(issue.ID)}); err != nil {
			return nil, err
		}
		texts = append(texts, answer.Issue.Description)
		for _, a := range answer.Issue.Attachments.Nodes {
			texts = append(texts, a.URL)
		}
	}
	if len(comments) > 0 {
		var answer commentFilesQuery
		if err := p.query(ctx, op, &answer, map[string]any{"ids": comments, "first": graphql.Int(len(comments))}); err != nil {
			return nil, err
		}
		for _, c := range answer.Comments.Nodes {
			texts = append(texts, c.Body)
		}
	}
	signed := map[string]string{}
	for _, address := range fileAddress().FindAllString(strings.Join(texts, "\n"), -1) {
		if file := p.fileOf(address); file != "" {
			signed[file] = address
		}
	}
	return signed, nil
}

type signedKey struct{}

// signedFor is the time in seconds for which the addresses are valid.
const signedFor = "300"
