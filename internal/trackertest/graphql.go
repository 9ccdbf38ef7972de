package trackertest

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Object is a GraphQL object of a fake server. A field is a scalar, nil, an Object, a
// list of Objects (nil for null), an error, or a [Resolver] that returns one of these. The field
// __typename selects the inline fragments that apply; an Object without it matches
// all of them.
type Object map[string]any

// Resolver returns the value of a field for the field's arguments.
type Resolver func(arguments map[string]any) any

// Failure is an error of a field as GitHub writes it, with a type such as FORBIDDEN and
// the whole path of the field.
type Failure struct{ Type, Text string }

func (f Failure) Error() string { return f.Text }

// Failed is the field of an Object that is null because of a [Failure], for the items of
// lists.
const Failed = "failed"

// Interfaces is the field of an Object with the names of the GraphQL interfaces that
// its type implements.
const Interfaces = "interfaces"

// Execute returns the data of one validated operation in exactly the shape that it
// selects, and the errors of its fields in the form of GraphQL's answers.
func Execute(operation *ast.OperationDefinition, root Object, variables map[string]any) (data map[string]any, errors []any) {
	x := &execution{variables: variables}
	data = x.object(operation.SelectionSet, root, nil)
	return data, x.errors
}

// execution carries out one operation.
type execution struct {
	variables map[string]any
	errors    []any
}

// object returns the fields that a selection takes from an object, which is at a path.
func (x *execution) object(set ast.SelectionSet, o Object, path []any) map[string]any {
	out := make(map[string]any)
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			out[s.Alias] = x.value(s, o[s.Name], append(slices.Clip(path), s.Alias))
		case *ast.FragmentSpread:
			maps.Copy(out, x.object(s.Definition.SelectionSet, o, path))
		case *ast.InlineFragment:
			interfaces, _ := o[Interfaces].([]string)
			if o["__typename"] == nil || o["__typename"] == s.TypeCondition || slices.Contains(interfaces, s.TypeCondition) {
				maps.Copy(out, x.object(s.SelectionSet, o, path))
			}
		}
	}
	return out
}

func (x *execution) value(field *ast.Field, v any, path []any) any {
	switch v := v.(type) {
	case Resolver:
		return x.value(field, v(field.ArgumentMap(x.variables)), path)
	case Failure:
		x.errors = append(x.errors, Object{"type": v.Type, "message": v.Text, "path": path})
		return nil
	case error:
		x.errors = append(x.errors, Object{"message": v.Error(), "path": []string{field.Alias}, "extensions": Object{"code": "INPUT_ERROR"}})
		return nil
	case Object:
		if failure, failed := v[Failed].(Failure); failed {
			return x.value(field, failure, path)
		}
		if v != nil {
			return x.object(field.SelectionSet, v, path)
		}
		return nil
	case []Object:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = x.value(field, item, append(slices.Clip(path), i))
		}
		return list
	}
	return v
}
