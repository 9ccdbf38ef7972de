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

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
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
		g.as = g.accountOf(r)
		g.syncPulls()
		data, errors := trackertest.Execute(doc.Operations[0], g.graph(), in.Variables)
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
	g.HandleFor("issues: read", GraphQL, "POST "+strings.TrimSuffix(root, "/v3")+"/graphql", http.HandlerFunc(answer))
}

// graph returns the root of queries and mutations. g.mu must be held while it is
// used.
func (g *GitHub) graph() trackertest.Object {
	graph := g.mutations()
	graph["viewer"] = trackertest.Object{"__typename": userType(g.as), "login": restLogin(g.as)}
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
func (g *GitHub) node(id any) any {
	for _, t := range g.threads {
		switch {
		case nodeID(t.Number) == id:
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
	for _, list := range g.checks {
		for _, c := range list {
			if node := g.checkNode(c); node["id"] == id {
				return node
			}
		}
	}
	return unknown(fmt.Sprintf("Could not resolve to a node with the global id of '%v'", id))
}

// repositoryNode returns the repository as GraphQL gives it.
func (g *GitHub) repositoryNode() trackertest.Object {
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
			if t == nil || t.pull != nil {
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
func (g *GitHub) commitNode(commit string) trackertest.Object {
	return trackertest.Object{
		"__typename": "Commit", "id": "C_" + commit, "oid": commit,
		"statusCheckRollup": trackertest.Resolver(func(map[string]any) any { return g.rollup(commit) }),
	}
}

// issueNode returns an issue as GraphQL gives it.
func (g *GitHub) issueNode(t *thread) trackertest.Object {
	edits, last, editor := []trackertest.Object{}, any(nil), trackertest.Object(nil)
	for _, at := range t.edited {
		last, editor = stamp(at), actor(Member)
		edits = append(edits, trackertest.Object{"editedAt": last, "editor": editor})
	}
	return trackertest.Object{
		"__typename": "Issue", "id": nodeID(t.Number), "number": t.Number, "updatedAt": stamp(t.updated), "title": t.Title, "body": t.Body, "bodyHTML": trackertest.Resolver(func(map[string]any) any { return g.bodyHTML(t.Body) }), "lastEditedAt": last, "editor": editor,
		"userContentEdits": trackertest.Object{"totalCount": len(edits), "nodes": edits},
		"comments":         g.commentsOf(t),
		"projectItems":     trackertest.Object{"nodes": []trackertest.Object{}, "pageInfo": trackertest.Object{"hasNextPage": false}},
		"timelineItems": trackertest.Resolver(func(arguments map[string]any) any {
			nodes := []trackertest.Object{}
			if kinds, _ := arguments["itemTypes"].([]any); slices.Contains(kinds, any("LABELED_EVENT")) {
				for _, l := range t.labeled {
					nodes = append(nodes, trackertest.Object{
						"__typename": "LabeledEvent", "createdAt": stamp(l.at), "actor": actor(l.by), "label": trackertest.Object{"name": l.label},
					})
				}
			}
			return connection(nodes, asItIs, arguments)
		}),
	}
}
