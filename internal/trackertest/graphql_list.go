package trackertest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Connection returns the page of a list that the arguments first and after select. The
// cursor is "cursor-" and the position of the next item, unless a function that is not
// nil makes another one.
func Connection(items []Object, cursor func(end int) any) Resolver {
	return func(arguments map[string]any) any {
		first, start := 50, 0
		if n, ok := arguments["first"]; ok {
			first, _ = strconv.Atoi(fmt.Sprint(n))
		}
		if after, ok := arguments["after"].(string); ok {
			start, _ = strconv.Atoi(strings.TrimPrefix(after, "cursor-"))
		}
		start = min(start, len(items))
		end := start + min(first, len(items)-start)
		next := any(fmt.Sprintf("cursor-%d", end))
		if cursor != nil {
			next = cursor(end)
		}
		return Object{"nodes": items[start:end], "pageInfo": Object{"hasNextPage": end < len(items), "endCursor": next}}
	}
}

// matches reports whether a value passes a filter.
func matches(v any, filter map[string]any) bool {
	for key, condition := range filter {
		var ok bool
		switch key {
		case "and":
			ok = !slices.ContainsFunc(condition.([]any), func(one any) bool { return !matches(v, one.(map[string]any)) })
		case "some":
			all := v.(Resolver)(map[string]any{"first": math.MaxInt}).(Object)["nodes"].([]Object)
			ok = slices.ContainsFunc(all, func(one Object) bool { return matches(one, condition.(map[string]any)) })
		case "or":
			ok = slices.ContainsFunc(condition.([]any), func(one any) bool { return matches(v, one.(map[string]any)) })
		case "eq":
			ok = v == condition
		case "gte": // times in UTC, all of one form
			ok = v.(string) >= condition.(string)
		case "eqIgnoreCase":
			ok = strings.EqualFold(v.(string), condition.(string))
		case "in":
			ok = slices.Contains(condition.([]any), v)
		default:
			o, _ := v.(Object)
			ok = o != nil && matches(o[key], condition.(map[string]any))
		}
		if !ok {
			return false
		}
	}
	return true
}

// Filter returns the items that pass a filter in the form of Linear's: an object with a
// condition for each field, such as {state: {name: {in: [Todo]}}}. A nil filter passes
// all.
func Filter(items []Object, filter any) []Object {
	conditions, _ := filter.(map[string]any)
	kept := []Object{}
	for _, item := range items {
		if matches(item, conditions) {
			kept = append(kept, item)
		}
	}
	return kept
}
