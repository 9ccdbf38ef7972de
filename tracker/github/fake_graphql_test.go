package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vektah/gqlparser/v2"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// fakeBoard is a project of the owner acme.
type fakeBoard struct {
	options map[string][]string // by single-select field
}

type (
	object   = trackertest.Object
	resolver = trackertest.Resolver
)

// graphql answers a query from the state, in exactly the shape that it asks for.
func (f *fake) graphql(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string
		Variables map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		f.t.Errorf("query: %v", err)
	}
	doc, err := gqlparser.LoadQueryWithRules(f.schema, in.Query, nil)
	if err != nil {
		f.t.Errorf("the query does not fit the schema: %v", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	data, _ := trackertest.Execute(doc.Operations[0], f.root(), in.Variables)
	reply(w, http.StatusOK, map[string]any{"data": data})
}

func (f *fake) root() object {
	return object{
		"viewer":                        object{"__typename": "User", "login": f.account.restLogin()},
		"updateIssueComment":            f.mutation(f.editComment),
		"addReaction":                   f.mutation(f.react),
		"addProjectV2ItemById":          f.mutation(f.addItem),
		"updateProjectV2ItemFieldValue": f.mutation(f.setStatus),
		"clearProjectV2ItemFieldValue":  f.mutation(f.setStatus),
		"repositoryOwner": resolver(func(args map[string]any) any {
			if args["login"] != "acme" {
				return object(nil)
			}
			return object{"__typename": "Organization", trackertest.Interfaces: []string{"ProjectV2Owner"}, "projectV2": resolver(func(args map[string]any) any {
				n, _ := args["number"].(json.Number)
				number, _ := n.Int64()
				if f, ok := args["number"].(float64); ok {
					number = int64(f)
				}
				return f.project(int(number))
			})}
		}),
		"repository": resolver(func(map[string]any) any {
			return object{"issue": resolver(func(args map[string]any) any { return f.node(nodeID(atoi(fmt.Sprint(args["number"])))) })}
		}),
		"node": resolver(func(args map[string]any) any { return f.node(args["id"]) }),
		"nodes": resolver(func(args map[string]any) any {
			ids, _ := args["ids"].([]any)
			list := []object{}
			for _, id := range ids {
				list = append(list, f.node(id))
			}
			return list
		}),
	}
}

func projectID(n int) string { return string(rune('A'+n)) + "_board" }

func (f *fake) project(number int) object {
	b := f.boards[number]
	if b == nil {
		return nil
	}
	fields := []object{{"__typename": "ProjectV2Field", "name": "Title"}}
	for name, options := range b.options {
		list := []object{}
		for _, option := range options {
			list = append(list, object{"id": "option_" + option, "name": option})
		}
		fields = append(fields, object{"__typename": "ProjectV2SingleSelectField", "id": "field_" + name, "name": name, "options": list})
	}
	return object{"id": projectID(number), "fields": object{"nodes": fields}}
}

func (f *fake) node(id any) object {
	for _, i := range f.issues {
		if nodeID(i.number) == id && i.gone == 0 {
			return f.issueNode(i)
		}
	}
	return nil
}

func actorNode(a *fakeUser) object {
	if a == nil {
		return nil
	}
	return object{"__typename": a.Type, "login": a.Login}
}

func (f *fake) issueNode(i *fakeIssue) object {
	items, edits := []object{}, []object{}
	for number, status := range i.items {
		item := object{"id": itemID(i.number, number), "project": object{"id": projectID(number)}, "fieldValueByName": object(nil)}
		if status != "" {
			item["fieldValueByName"] = object{"__typename": "ProjectV2ItemFieldSingleSelectValue", "name": status}
		}
		items = append(items, item)
	}
	node := object{
		"__typename": "Issue", "id": nodeID(i.number), "number": i.number, "updatedAt": i.updated.Format(time.RFC3339), "title": i.title, "body": i.body, "lastEditedAt": nil, "editor": object(nil),
		"comments":     f.commentPage(i),
		"projectItems": object{"pageInfo": object{"hasNextPage": i.moreBoards}, "nodes": items},
		"timelineItems": resolver(func(args map[string]any) any {
			deeds, kind := i.labelings, "LabeledEvent"
			if types, _ := args["itemTypes"].([]any); slices.Contains(types, any("RENAMED_TITLE_EVENT")) {
				deeds, kind = i.renames, "RenamedTitleEvent"
			}
			nodes := []object{}
			for _, d := range deeds {
				nodes = append(nodes, object{"__typename": kind, "createdAt": d.at.Format(time.RFC3339), "actor": actorNode(d.by), "label": object{"name": d.label}})
			}
			more := len(nodes) > 100
			return object{"pageInfo": object{"hasPreviousPage": more}, "nodes": nodes[max(0, len(nodes)-100):]}
		}),
	}
	for _, e := range i.edits {
		edits = append(edits, object{"editedAt": e.at.Format(time.RFC3339), "editor": actorNode(e.by)})
		node["lastEditedAt"], node["editor"] = e.at.Format(time.RFC3339), actorNode(e.by)
	}
	node["userContentEdits"] = object{"totalCount": len(edits), "nodes": edits[:min(100, len(edits))]}
	return node
}
