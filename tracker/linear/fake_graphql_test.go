package linear

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/tracker/trackertest"
)

type (
	object   = trackertest.Object
	resolver = trackertest.Resolver
)

// connection returns the page of a list that the arguments first and after select.
// Cursors are positions.
func connection(items []object, cursor func(end int) any) resolver {
	return func(arguments map[string]any) any {
		first, start := 50, 0
		if n, ok := arguments["first"]; ok {
			first, _ = strconv.Atoi(fmt.Sprint(n))
		}
		if after, ok := arguments["after"].(string); ok {
			start, _ = strconv.Atoi(strings.TrimPrefix(after, "cursor-"))
		}
		start = min(start, len(items))
		end := min(start+first, len(items))
		return object{
			"nodes":    items[start:end],
			"pageInfo": object{"hasNextPage": end < len(items), "endCursor": cursor(end)},
		}
	}
}

// matches reports whether a value passes one of Linear's filters.
func matches(v any, filter map[string]any) bool {
	for key, condition := range filter {
		var ok bool
		switch key {
		case "and":
			ok = !slices.ContainsFunc(condition.([]any), func(one any) bool { return !matches(v, one.(map[string]any)) })
		case "some":
			all := v.(resolver)(map[string]any{"first": 1000}).(object)["nodes"].([]object)
			ok = slices.ContainsFunc(all, func(one object) bool { return matches(one, condition.(map[string]any)) })
		case "or":
			ok = slices.ContainsFunc(condition.([]any), func(one any) bool { return matches(v, one.(map[string]any)) })
		case "eq":
			ok = v == condition
		case "eqIgnoreCase":
			ok = strings.EqualFold(v.(string), condition.(string))
		case "in":
			ok = slices.Contains(condition.([]any), v)
		default:
			o, _ := v.(object)
			ok = o != nil && matches(o[key], condition.(map[string]any))
		}
		if !ok {
			return false
		}
	}
	return true
}

func filtered(items []object, filter any) []object {
	conditions, _ := filter.(map[string]any)
	kept := []object{}
	for _, item := range items {
		if matches(item, conditions) {
			kept = append(kept, item)
		}
	}
	return kept
}
