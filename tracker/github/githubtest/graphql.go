package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/symphony-runner/symphony/runner/store/storetest"
	"github.com/symphony-runner/symphony/tracker/trackertest"
)

// GraphQL is the kind of all queries and mutations.
const GraphQL storetest.Op = "POST /graphql"

// loadSchema returns the part of GitHub's schema that the program uses.
func loadSchema(t testing.TB) *ast.Schema {
	t.Helper()
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
	schema, err := trackertest.LoadSchema(filepath.Join(folder, "tracker", "github", "testdata", "github.graphql"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// addGraphQL answers queries in exactly the shape that they ask for. A query that does
// not fit the schema fails the test.
func (g *GitHub) addGraphQL(root string) {
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
		data, _ := trackertest.Execute(doc.Operations[0], g.graph(), in.Variables)
		text, failed := json.Marshal(object{"data": data})
		g.mu.Unlock()
		if failed != nil {
			g.t.Error(failed)
		}
		write(w, r, http.StatusOK, text)
	}
	g.HandleFor("issues: read", GraphQL, "POST "+strings.TrimSuffix(root, "/v3")+"/graphql", http.HandlerFunc(answer))
}

// graph returns what queries and mutations begin with. g.mu must be held while it is
// used.
func (g *GitHub) graph() trackertest.Object {
	return trackertest.Object{
		"viewer": trackertest.Object{"__typename": accountType, "login": account + "[bot]"},
		"nodes": trackertest.Resolver(func(arguments map[string]any) any {
			ids, _ := arguments["ids"].([]any)
			list := []trackertest.Object{}
			for _, id := range ids {
				i := slices.IndexFunc(g.threads, func(t *thread) bool { return nodeID(t.Number) == id })
				if i < 0 {
					list = append(list, nil)
					continue
				}
				list = append(list, g.issueNode(g.threads[i]))
			}
			return list
		}),
		"markPullRequestReadyForReview": trackertest.Resolver(func(arguments map[string]any) any {
			input, _ := arguments["input"].(map[string]any)
			i := slices.IndexFunc(g.threads, func(t *thread) bool { return t.pull != nil && pullNodeID(t.Number) == input["pullRequestId"] })
			if i < 0 {
				return trackertest.Object(nil)
			}
			g.threads[i].pull.Draft = false
			return trackertest.Object{"pullRequest": trackertest.Object{"id": input["pullRequestId"]}}
		}),
		"updateIssueComment": trackertest.Resolver(func(arguments map[string]any) any {
			input, _ := arguments["input"].(map[string]any)
			var number, n int
			if _, err := fmt.Sscanf(fmt.Sprint(input["id"]), "IC_%d_%d", &number, &n); err != nil || g.thread(number) == nil || n >= len(g.thread(number).Comments) {
				return trackertest.Object(nil)
			}
			g.thread(number).Comments[n].Body, _ = input["body"].(string)
			return trackertest.Object{"issueComment": trackertest.Object{"id": input["id"]}}
		}),
	}
}

// issueNode returns an issue as GraphQL gives it.
func (g *GitHub) issueNode(t *thread) trackertest.Object {
	actor := func(login string) trackertest.Object {
		return trackertest.Object{"__typename": userType(login), "login": login}
	}
	comments := []trackertest.Object{}
	for n, c := range t.Comments {
		comments = append(comments, trackertest.Object{"id": fmt.Sprintf("IC_%d_%d", t.Number, n), "body": c.Body, "author": actor(c.Author)})
	}
	edits, last, editor := []trackertest.Object{}, any(nil), trackertest.Object(nil)
	for _, at := range t.edited {
		last, editor = at.Format(time.RFC3339), actor(Member)
		edits = append(edits, trackertest.Object{"editedAt": last, "editor": editor})
	}
	return trackertest.Object{
		"__typename": "Issue", "id": nodeID(t.Number), "title": t.Title, "body": t.Body, "lastEditedAt": last, "editor": editor,
		"userContentEdits": trackertest.Object{"totalCount": len(edits), "nodes": edits},
		"comments":         trackertest.Object{"nodes": comments, "pageInfo": trackertest.Object{"hasPreviousPage": false, "startCursor": nil}},
		"projectItems":     trackertest.Object{"nodes": []trackertest.Object{}, "pageInfo": trackertest.Object{"hasNextPage": false}},
		"timelineItems": trackertest.Resolver(func(arguments map[string]any) any {
			nodes := []trackertest.Object{}
			if kinds, _ := arguments["itemTypes"].([]any); slices.Contains(kinds, any("LABELED_EVENT")) {
				for _, l := range t.labelled {
					nodes = append(nodes, trackertest.Object{
						"__typename": "LabeledEvent", "createdAt": l.at.Format(time.RFC3339), "actor": actor(l.by), "label": trackertest.Object{"name": l.label},
					})
				}
			}
			return trackertest.Object{"pageInfo": trackertest.Object{"hasPreviousPage": false}, "nodes": nodes}
		}),
	}
}
