package githubtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// commentNode returns a comment or a review as GraphQL gives it.
func (g *graph) commentNode(t *thread, c *comment, typename string) trackertest.Object {
	return trackertest.Object{
		"__typename": typename, trackertest.Interfaces: []string{"Reactable"}, "id": c.node(), "author": actor(c.author), "body": c.body, "bodyHTML": trackertest.Resolver(func(map[string]any) any { return g.bodyHTML(c.body) }), "url": g.commentURL(t, c),
		"createdAt": stamp(c.created), "publishedAt": stamp(c.published), "lastEditedAt": stamp(c.edited), "updatedAt": stamp(c.updated()),
		"viewerDidAuthor": c.author == g.as, "editor": actor(c.editor),
	}
}

// commentsOf returns the connection of the comments on an issue or a pull request.
func (g *graph) commentsOf(t *thread) trackertest.Resolver {
	return func(arguments map[string]any) any {
		list := slices.Clone(t.comments)
		if order, _ := arguments["orderBy"].(map[string]any); order["field"] == "UPDATED_AT" {
			slices.SortStableFunc(list, func(a, b *comment) int { return a.updated().Compare(b.updated()) })
			if order["direction"] == "DESC" {
				slices.Reverse(list)
			}
		}
		return connection(list, func(c *comment) trackertest.Object { return g.commentNode(t, c, "IssueComment") }, arguments)
	}
}

// connection returns the part of a list that the arguments select. As at GitHub, nodes
// need first or last, which is at most 100.
func connection[T any](items []T, node func(T) trackertest.Object, arguments map[string]any) trackertest.Object {
	nodes := func(from, to int) []trackertest.Object {
		part := make([]trackertest.Object, to-from)
		for i, item := range items[from:to] {
			part[i] = node(item)
		}
		return part
	}
	from, to := 0, len(items)
	position := func(key string, otherwise int) int {
		cursor, _ := arguments[key].(string)
		if n, ok := strings.CutPrefix(cursor, "cursor-"); ok {
			return min(max(atoi(n), from), to)
		}
		return otherwise
	}
	from = position("after", from)
	to = position("before", to)
	bound := func(key string) int {
		if arguments[key] == nil {
			return 0
		}
		return atoi(fmt.Sprint(arguments[key]))
	}
	answer := trackertest.Object{"totalCount": len(items)}
	switch first, last := bound("first"), bound("last"); {
	case first == 0 && last == 0:
		missing := trackertest.Failure{Type: "MISSING_PAGINATION_BOUNDARIES", Text: "You must provide a `first` or `last` value to properly paginate."}
		answer["nodes"], answer["pageInfo"] = missing, missing
		return answer
	case max(first, last) > 100:
		answer["nodes"] = trackertest.Failure{Type: "EXCESSIVE_PAGINATION", Text: "Requesting more than 100 records exceeds the limit."}
	case first > 0:
		to = min(from+first, to)
		answer["nodes"] = nodes(from, to)
	default:
		from = max(to-last, from)
		answer["nodes"] = nodes(from, to)
	}
	answer["pageInfo"] = trackertest.Object{
		"hasPreviousPage": from > 0, "hasNextPage": to < len(items), "startCursor": fmt.Sprintf("cursor-%d", from), "endCursor": fmt.Sprintf("cursor-%d", to),
	}
	return answer
}

// asItIs returns a node unchanged, for [connection].
func asItIs(node trackertest.Object) trackertest.Object { return node }

// list returns the connection of a list.
func list[T any](items []T, node func(T) trackertest.Object) trackertest.Resolver {
	return func(arguments map[string]any) any { return connection(items, node, arguments) }
}
