package githubtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// boards has the projects of the owner of the repository.
type boards struct {
	*issues
	fields map[int]map[string][]string // options by single-select field, by the number of the board
}

// AddBoard makes a board whose single-select fields have these options. Issues have their status
// there in [Issue.Status].
func (g *boards) AddBoard(number int, fields map[string][]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fields[number] = fields
}

func boardID(n int) string { return fmt.Sprintf("PVT_%d", n) }

func itemID(issue, board int) string { return fmt.Sprintf("PVTI_%d_%d", issue, board) }

// owner returns an owner of repositories with its boards, null for an unknown one.
func (g *boards) owner(arguments map[string]any) any {
	if owner, _, _ := strings.Cut(g.Repo(), "/"); arguments["login"] != owner {
		return trackertest.Object(nil)
	}
	return trackertest.Object{
		"__typename": "Organization", trackertest.Interfaces: []string{"ProjectV2Owner"},
		"projectV2": trackertest.Resolver(func(arguments map[string]any) any { return g.board(atoi(fmt.Sprint(arguments["number"]))) }),
	}
}

// board returns a board as GraphQL gives it, null for an unknown one.
func (g *boards) board(number int) trackertest.Object {
	fields, known := g.fields[number]
	if !known {
		return nil
	}
	nodes := []trackertest.Object{{"__typename": "ProjectV2Field", "name": "Title"}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		options := []trackertest.Object{}
		for _, option := range fields[name] {
			options = append(options, trackertest.Object{"id": "option_" + option, "name": option})
		}
		nodes = append(nodes, trackertest.Object{"__typename": "ProjectV2SingleSelectField", "id": "field_" + name, "name": name, "options": options})
	}
	return trackertest.Object{"id": boardID(number), "fields": trackertest.Object{"nodes": nodes}}
}

// items returns the places of an issue on boards as GraphQL gives them.
func (g *boards) items(t *thread) trackertest.Object {
	nodes := []trackertest.Object{}
	for _, number := range slices.Sorted(maps.Keys(t.Status)) {
		item := trackertest.Object{"id": itemID(t.Number, number), "project": trackertest.Object{"id": boardID(number)}, "fieldValueByName": trackertest.Object(nil)}
		if status := t.Status[number]; status != "" {
			item["fieldValueByName"] = trackertest.Object{"__typename": "ProjectV2ItemFieldSingleSelectValue", "name": status}
		}
		nodes = append(nodes, item)
	}
	return trackertest.Object{"pageInfo": trackertest.Object{"hasNextPage": t.ManyBoards}, "nodes": nodes}
}

// addItem puts an issue on a board.
func (g *boards) addItem(input map[string]any) any {
	for _, t := range g.threads {
		for number := range g.fields {
			if nodeID(t.Number) == input["contentId"] && boardID(number) == input["projectId"] {
				t.Status[number] = ""
				return trackertest.Object{"item": trackertest.Object{"id": itemID(t.Number, number)}}
			}
		}
	}
	return unknown("Could not resolve to a node.")
}

// setStatus sets the status of an issue on a board, or clears it.
func (g *boards) setStatus(input map[string]any) any {
	var issue, board int
	_, err := fmt.Sscanf(fmt.Sprint(input["itemId"]), "PVTI_%d_%d", &issue, &board)
	t := g.thread(issue)
	if err != nil || t == nil || input["projectId"] != boardID(board) {
		return unknown("Could not resolve to a node.")
	}
	value, _ := input["value"].(map[string]any)
	option, _ := value["singleSelectOptionId"].(string)
	t.Status[board] = strings.TrimPrefix(option, "option_")
	return trackertest.Object{"projectV2Item": trackertest.Object{"id": input["itemId"]}}
}
