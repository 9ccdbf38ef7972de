package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/transport"
)

// ErrPages reports pages of a list that do not fit together.
var ErrPages = errors.New("the pages do not fit together")

// maxPages is more than a list can have that is not a mistake.
const maxPages = 5000

// list reads all pages of a list below the repository.
func list[T any](ctx context.Context, c *Client, p Permission, path string) (all []T, err error) {
	err = walk(ctx, c, p, c.Path("%s", path), func(page []T) bool {
		all = append(all, page...)
		return true
	})
	return all, err
}

// walk calls take with the pages of a list as long as it wants more, as [Client.Walk] does.
func walk[Page any](ctx context.Context, c *Client, p Permission, first string, take func(Page) (more bool)) error {
	return c.Walk(first, func(at string) (next string, err error) {
		a, err := c.Do(ctx, Request{Path: at, Permission: p})
		if err != nil {
			return "", err
		}
		var page Page
		if err := c.Decode(a, &page); err != nil || !take(page) {
			return "", err
		}
		return Next(a), nil
	})
}

// Walk calls read for the pages of a list, beginning with the first: read returns
// the address of the next page, see [Next]. When it fails because a page is too long, since
// anybody may write long texts, Walk goes on with smaller pages. Walk fails with [ErrPages]
// if the next page is outside of the API, or leads back.
func (c *Client) Walk(first string, read func(at string) (next string, err error)) error {
	seen := make(map[string]bool)
	for at := first; at != ""; {
		if seen[at] || len(seen) == maxPages {
			return pagesError(fmt.Sprintf("page %d leads back to one before it", len(seen)), "try again later")
		}
		seen[at] = true
		next, err := read(at)
		if smaller := smallerPage(at); smaller != "" && errors.Is(err, transport.ErrTooLong) {
			at = smaller
			continue
		}
		if err != nil {
			return err
		}
		if next != "" && !strings.HasPrefix(next, c.root+"/") {
			return pagesError(fmt.Sprintf("the next page %s is not on %s", c.Transport.Quote(next), c.root), "check "+c.names.APIURL)
		}
		at = next
	}
	return nil
}

// The numbers of items that a list is asked for. With the smaller one, a page of items of
// the greatest length, escaped, is not too long.
const (
	pageSize      = 100
	smallPageSize = 10
)

// smallerPage returns the address of the first part of a page; "" if the page has no parts.
func smallerPage(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	q := u.Query()
	if q.Get("per_page") != strconv.Itoa(pageSize) {
		return ""
	}
	q.Set("per_page", strconv.Itoa(smallPageSize))
	number, err := strconv.Atoi(q.Get("page"))
	switch {
	case q.Has("after"): // the place, of which the number says nothing with other pages
		q.Del("page")
	case err == nil && number > 0:
		q.Set("page", strconv.Itoa((number-1)*pageSize/smallPageSize+1))
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func pagesError(reason, remedy string) error {
	return &transport.Error{Kind: transport.Unreadable, Reason: reason, Remedy: remedy, Err: ErrPages}
}

// Next returns the address of the page after an answer, "" after the last one.
func Next(a transport.Answer) string {
	for _, line := range a.Header.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			target, attributes, _ := strings.Cut(strings.TrimSpace(link), ";")
			if strings.Contains(attributes, `rel="next"`) && strings.HasPrefix(target, "<") && strings.HasSuffix(target, ">") {
				return target[1 : len(target)-1]
			}
		}
	}
	return ""
}

// InHalves calls read with a list, and with its halves where the answer about all of it is too
// long, since anybody may write long texts.
func InHalves[T any](list []T, read func([]T) error) error {
	err := read(list)
	if half := len(list) / 2; half > 0 && errors.Is(err, transport.ErrTooLong) {
		if err = InHalves(list[:half], read); err == nil {
			err = InHalves(list[half:], read)
		}
	}
	return err
}
