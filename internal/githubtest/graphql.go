package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
)

// GraphQL is the kind of all queries and mutations.
const GraphQL storetest.Op = "POST /graphql"

// graph answers queries and mutations about all parts.
type graph struct {
	*server
	*reviews
	*checks
	*boards
	*pictures
	schema *ast.Schema
}

// UseSchema has the server take the queries that fit another schema.
func (g *graph) UseSchema(s *ast.Schema) { g.schema = s }

// loaded is the part of GitHub's schema that the program uses.
var loaded struct {
	sync.Mutex
	*ast.Schema
}

// schema returns the part of GitHub's schema that the program uses.
func schema(t testing.TB) *ast.Schema {
	t.Helper()
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.Schema != nil {
		return loaded.Schema
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(folder) == folder {
			t.Fatal("the test does not run inside the module, where GitHub's schema is")
		}
		folder = filepath.Dir(folder)
	}
	if loaded.Schema, err = trackertest.LoadSchema(filepath.Join(folder, "tracker", "github", "testdata", "github.graphql")); err != nil {
		t.Fatal(err)
	}
	return loaded.Schema
}

// addGraphQL answers queries in exactly the shape that they ask for. A query that does
// not fit the schema fails the test.
func (g *graph) addGraphQL() {
	answer := func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Query     string
			Variables map[string]any
		}
		if !decode(r, &in) {
			write(w, r, http.StatusBadRequest, []byte(`{"message": "Problems parsing JSON"}`))
			return
		}
		doc, err := gqlparser.LoadQueryWithRules(g.schema, in.Query, nil)
		if err != nil {
			g.t.Errorf("a query does not fit the schema: %v", err)
			write(w, r, http.StatusOK, []byte(`{"errors": [{"message": "Parse error"}]}`))
			return
		}
		g.mu.Lock()
		g.as = g.accountOf(r)
		g.syncPulls()
		data, errors := trackertest.Execute(doc.Operations[0], g.queries(), in.Variables)
		answer := object{"data": data}
		if len(errors) > 0 {
			answer["errors"] = errors
		}
		text, failed := json.Marshal(answer)
		g.mu.Unlock()
		if failed != nil {
			g.t.Error(failed)
		}
		write(w, r, http.StatusOK, text)
	}
	g.HandleFor("issues: read", GraphQL, "POST "+strings.TrimSuffix(g.root, "/v3")+"/graphql", http.HandlerFunc(answer))
}

// queries returns the root of queries and mutations. g.mu must be held while it is
// used.
func (g *graph) queries() trackertest.Object {
	graph := g.mutations()
	_, kind := parts(g.as)
	graph["viewer"] = trackertest.Object{"__typename": kind, "login": restLogin(g.as)}
	graph["repositoryOwner"] = trackertest.Resolver(g.owner)
	graph["node"] = trackertest.Resolver(func(arguments map[string]any) any { return g.node(arguments["id"]) })
	graph["nodes"] = trackertest.Resolver(func(arguments map[string]any) any {
		ids, _ := arguments["ids"].([]any)
		list := []trackertest.Object{}
		for _, id := range ids {
			node, _ := g.node(id).(trackertest.Object)
			list = append(list, node)
		}
		return list
	})
	graph["repository"] = trackertest.Resolver(func(arguments map[string]any) any {
		if !strings.EqualFold(fmt.Sprint(arguments["owner"], "/", arguments["name"]), g.Repo()) {
			return unknown("Could not resolve to a Repository with the name.")
		}
		return g.repositoryNode()
	})
	return graph
}

// unknown returns the error of GraphQL for what does not exist.
func unknown(text string) trackertest.Failure {
	return trackertest.Failure{Type: "NOT_FOUND", Text: text}
}

// node returns the object with an id, an error for none.
func (g *graph) node(id any) any {
	for _, t := range g.threads {
		switch {
		case nodeID(t.Number) == id && t.Gone == 0:
			return g.issueNode(t)
		case t.pull != nil && pullNodeID(t.Number) == id:
			return g.pullNode(t)
		}
	}
	if t, d := g.discussion(id); d != nil {
		return g.discussionNode(t, d)
	}
	if t, c := g.find(id); c != nil {
		return g.commentNode(t, c, map[string]string{"IC": "IssueComment", "PRR": "PullRequestReview", "PRRC": "PullRequestReviewComment"}[c.kind])
	}
	for _, list := range g.of {
		for _, c := range list {
			if node := g.checkNode(c); node["id"] == id {
				return node
			}
		}
	}
	return unknown(fmt.Sprintf("Could not resolve to a node with the global id of '%v'", id))
}

// repositoryNode returns the repository as GraphQL gives it.
func (g *graph) repositoryNode() trackertest.Object {
	return trackertest.Object{
		"id": repositoryID,
		"pullRequest": trackertest.Resolver(func(arguments map[string]any) any {
			t := g.thread(atoi(fmt.Sprint(arguments["number"])))
			if t == nil || t.pull == nil {
				return unknown(fmt.Sprintf("Could not resolve to a PullRequest with the number of %v.", arguments["number"]))
			}
			return g.pullNode(t)
		}),
		"issue": trackertest.Resolver(func(arguments map[string]any) any {
			t := g.thread(atoi(fmt.Sprint(arguments["number"])))
			if t == nil || t.pull != nil || t.Gone != 0 {
				return unknown(fmt.Sprintf("Could not resolve to an Issue with the number of %v.", arguments["number"]))
			}
			return g.issueNode(t)
		}),
		"object": trackertest.Resolver(func(arguments map[string]any) any {
			return g.commitNode(fmt.Sprint(arguments["oid"]))
		}),
		"ref": trackertest.Resolver(func(arguments map[string]any) any {
			branch, _ := strings.CutPrefix(fmt.Sprint(arguments["qualifiedName"]), "refs/heads/")
			if head := g.Head(branch); head != "" {
				return trackertest.Object{"id": "REF_" + branch, "target": trackertest.Object{"oid": head}}
			}
			return trackertest.Object(nil)
		}),
	}
}

// repositoryID is the id of the repository in GraphQL.
const repositoryID = "R_1"

// commitNode returns a commit as GraphQL gives it.
func (g *graph) commitNode(commit string) trackertest.Object {
	return trackertest.Object{
		"__typename": "Commit", "id": "C_" + commit, "oid": commit,
		"statusCheckRollup": trackertest.Resolver(func(map[string]any) any { return g.rollup(commit) }),
	}
}

// issueNode returns an issue as GraphQL gives it.
func (g *graph) issueNode(t *thread) trackertest.Object {
	edit := func(e Event) trackertest.Object {
		return trackertest.Object{"editedAt": stamp(e.At), "editor": actor(e.By)}
	}
	last := trackertest.Object{"editedAt": nil, "editor": trackertest.Object(nil)}
	if n := len(t.Edits); n > 0 {
		last = edit(t.Edits[n-1])
	}
	return trackertest.Object{
		"__typename": "Issue", "id": nodeID(t.Number), "number": t.Number, "updatedAt": stamp(t.Updated), "title": t.Title, "body": t.Body,
		"bodyHTML":     trackertest.Resolver(func(map[string]any) any { return g.bodyHTML(t.Body) }),
		"lastEditedAt": last["editedAt"], "editor": last["editor"],
		"userContentEdits": list(t.Edits, edit), "comments": g.commentsOf(t), "projectItems": g.items(t),
		"timelineItems": trackertest.Resolver(func(arguments map[string]any) any {
			var events []Event
			typename := ""
			switch kinds, _ := arguments["itemTypes"].([]any); {
			case slices.Contains(kinds, any("LABELED_EVENT")):
				events, typename = t.Labelings, "LabeledEvent"
			case slices.Contains(kinds, any("RENAMED_TITLE_EVENT")):
				events, typename = t.Renames, "RenamedTitleEvent"
			}
			return connection(events, func(e Event) trackertest.Object {
				return trackertest.Object{"__typename": typename, "createdAt": stamp(e.At), "actor": actor(e.By), "label": trackertest.Object{"name": e.Label}}
			}, arguments)
		}),
	}
}

// pullNode returns a pull request as GraphQL gives it.
func (g *graph) pullNode(t *thread) trackertest.Object {
	if g.Denies("pull-requests: read") {
		return trackertest.Object{trackertest.Failed: forbidden}
	}
	state, mergeable := strings.ToUpper(t.State), "UNKNOWN"
	var closed any
	if t.State != "open" {
		closed = stamp(t.closedAt())
	}
	if t.pull.Merged {
		state = "MERGED"
	}
	return trackertest.Object{
		"__typename": "PullRequest", trackertest.Interfaces: []string{"Reactable"}, "id": pullNodeID(t.Number), "number": t.Number, "title": t.Title,
		"url": g.pullURL(t.Number), "state": state, "mergedBy": actor(t.mergedBy), "headRefOid": t.head, "headRefName": t.pull.Head, "baseRefName": t.pull.Base,
		"isDraft": t.pull.Draft, "isCrossRepository": false, "updatedAt": stamp(t.Updated), "closedAt": closed, "comments": g.commentsOf(t),
		"mergeable": trackertest.Resolver(func(map[string]any) any {
			switch {
			case t.State != "open":
			case g.Conflict("refs/heads/"+t.pull.Base, t.head):
				mergeable = "CONFLICTING"
			default:
				mergeable = "MERGEABLE"
			}
			return mergeable
		}),
		"timelineItems": trackertest.Resolver(func(arguments map[string]any) any {
			events, typename := t.closings, "ClosedEvent"
			if kinds, _ := arguments["itemTypes"].([]any); slices.Contains(kinds, any("CONVERT_TO_DRAFT_EVENT")) {
				events, typename = t.conversions, "ConvertToDraftEvent"
			}
			return connection(events, func(e Event) trackertest.Object {
				return trackertest.Object{"__typename": typename, "actor": actor(e.By), "createdAt": stamp(e.At)}
			}, arguments)
		}),
		"reviews":       list(t.reviews, func(r *review) trackertest.Object { return g.reviewNode(t, r) }),
		"reviewThreads": list(t.discussions, func(d *discussion) trackertest.Object { return g.discussionNode(t, d) }),
		"commits": list([]string{t.head}, func(commit string) trackertest.Object {
			return trackertest.Object{"id": "PRC_" + commit, "commit": g.commitNode(commit)}
		}),
	}
}

func (g *graph) reviewNode(t *thread, r *review) trackertest.Object {
	node := g.commentNode(t, &r.comment, "PullRequestReview")
	node["state"] = r.verdict
	return node
}

func (g *graph) discussionNode(t *thread, d *discussion) trackertest.Object {
	line := any(nil)
	if d.line > 0 {
		line = d.line
	}
	return trackertest.Object{
		"__typename": "PullRequestReviewThread", "id": d.node(), "path": d.path, "line": line, "originalLine": d.original, "isOutdated": d.line == 0, "isResolved": d.resolved,
		"comments": list(d.comments, func(c *comment) trackertest.Object {
			node := g.commentNode(t, c, "PullRequestReviewComment")
			node["diffHunk"] = d.hunk
			return node
		}),
	}
}
