package github

import (
	"fmt"
	"strings"
)

func itemID(issue, board int) string { return fmt.Sprintf("item_%d_%d", issue, board) }

// mutation returns the resolver of a mutation: what carry does with its input, or null.
func (f *fake) mutation(carry func(input map[string]any) object) resolver {
	return func(args map[string]any) any {
		input, _ := args["input"].(map[string]any)
		return carry(input)
	}
}

// commentPage returns the comments of an issue, page by page from the newest on.
func (f *fake) commentPage(i *fakeIssue) resolver {
	return func(args map[string]any) any {
		end := len(i.comments)
		if before, ok := args["before"].(string); ok {
			end = atoi(strings.TrimPrefix(before, "before_"))
		}
		start := max(0, end-100)
		nodes := []object{}
		for n, c := range i.comments[start:end] {
			nodes = append(nodes, object{"id": fmt.Sprintf("IC_%d_%d", i.number, start+n), "body": c.body, "author": actorNode(&c.by)})
		}
		return object{"nodes": nodes, "pageInfo": object{"hasPreviousPage": start > 0, "startCursor": fmt.Sprintf("before_%d", start)}}
	}
}

func (f *fake) editComment(input map[string]any) object {
	var issue, n int
	if _, err := fmt.Sscanf(input["id"].(string), "IC_%d_%d", &issue, &n); err != nil {
		return object{"issueComment": object(nil)}
	}
	f.issues[issue].comments[n].body = input["body"].(string)
	return object{"issueComment": object{"id": input["id"]}}
}

func (f *fake) addItem(input map[string]any) object {
	for _, i := range f.issues {
		if nodeID(i.number) == input["contentId"] && input["projectId"] == projectID(3) {
			i.items[3] = ""
			return object{"item": object{"id": itemID(i.number, 3)}}
		}
	}
	return nil
}

// setStatus sets the status of an issue on board 3, or clears it.
func (f *fake) setStatus(input map[string]any) object {
	var issue, board int
	if _, err := fmt.Sscanf(input["itemId"].(string), "item_%d_%d", &issue, &board); err != nil || input["projectId"] != projectID(board) {
		return nil
	}
	value, _ := input["value"].(map[string]any)
	option, _ := value["singleSelectOptionId"].(string)
	f.issues[issue].items[board] = strings.TrimPrefix(option, "option_")
	return object{"projectV2Item": object{"id": input["itemId"]}}
}
