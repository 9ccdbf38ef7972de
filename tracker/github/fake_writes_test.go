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
