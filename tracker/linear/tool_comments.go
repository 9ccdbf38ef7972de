package linear

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// commentInputs are the parts of other inputs by which Linear writes a comment, whose id
// this program cannot choose.
var commentInputs = nameSet(`commentBody commentBodyData`)

// markComments makes the comments of an operation the agent's: it gives each new one an
// id that identifies it as the agent's. It returns the reason for a refusal if that
// changes a comment without such an id, or writes a comment in another way. Otherwise the
// agent could say something in the name of the person whose key it is.
func (op *operation) markComments() error {
	variables := make(map[string]any)
	if len(op.Variables) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(op.Variables))
		decoder.UseNumber()
		if err := decoder.Decode(&variables); err != nil {
			return fmt.Errorf("variables cannot be read: %w", err)
		}
	}
	m := commentMarker{operation: op.document.Operations[0], variables: variables}
	for _, v := range m.operation.VariableDefinitions {
		m.checkValue(v.DefaultValue)
		m.checkDirectives(v.Directives)
	}
	m.checkDirectives(m.operation.Directives)
	m.checkJSON(variables)
	m.visit(m.operation.SelectionSet)
	for _, fragment := range op.document.Fragments {
		m.checkDirectives(fragment.Directives)
		m.visit(fragment.SelectionSet)
	}
	if m.refusal != nil || !m.changed {
		return m.refusal
	}
	if len(variables) > 0 {
		op.Variables, _ = json.Marshal(variables) // they were decoded from JSON
	}
	op.Query = formatDocument(op.document)
	return nil
}

// commentMarker goes through an operation.
type commentMarker struct {
	operation *ast.OperationDefinition
	variables map[string]any
	marked    []string // the variables that hold a new comment
	changed   bool
	refusal   error // the first one
}

func (m *commentMarker) refuse(err error) {
	if m.refusal == nil {
		m.refusal = err
	}
}

// visit looks at every field below a selection, but not into fragments that are spread.
func (m *commentMarker) visit(set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			for _, a := range s.Arguments {
				m.checkValue(a.Value)
			}
			m.checkDirectives(s.Directives)
			switch s.Name {
			case "commentCreate":
				m.markNew(s)
			case "commentUpdate", "commentDelete":
				m.checkChange(s)
			}
			m.visit(s.SelectionSet)
		case *ast.InlineFragment:
			m.checkDirectives(s.Directives)
			m.visit(s.SelectionSet)
		case *ast.FragmentSpread:
			m.checkDirectives(s.Directives)
		}
	}
}

func (m *commentMarker) checkDirectives(list ast.DirectiveList) {
	for _, d := range list {
		for _, a := range d.Arguments {
			m.checkValue(a.Value)
		}
	}
}

// checkValue refuses a value that has any of the [commentInputs].
func (m *commentMarker) checkValue(v *ast.Value) {
	if v == nil {
		return
	}
	for _, child := range v.Children {
		m.checkName(child.Name)
		m.checkValue(child.Value)
	}
}

// checkJSON does the same for variables.
func (m *commentMarker) checkJSON(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			m.checkName(name)
			m.checkJSON(inner)
		}
	case []any:
		for _, inner := range v {
			m.checkJSON(inner)
		}
	}
}

func (m *commentMarker) checkName(name string) {
	if commentInputs[name] {
		m.refuse(fmt.Errorf("the input %s is refused: write a comment with commentCreate", name))
	}
}

// argument returns the one argument of a field that has a name; nil for none or several.
func argument(field *ast.Field, name string) *ast.Value {
	var found *ast.Value
	for _, a := range field.Arguments {
		if a.Name != name {
			continue
		}
		if found != nil {
			return nil
		}
		found = a.Value
	}
	return found
}

// variable returns the value of a variable as JSON, or its default in the document.
func (m *commentMarker) variable(name string) (given any, byDefault *ast.Value) {
	if v, ok := m.variables[name]; ok {
		return v, nil
	}
	for _, d := range m.operation.VariableDefinitions {
		if d.Variable == name {
			return nil, d.DefaultValue
		}
	}
	return nil, nil
}

func (m *commentMarker) markNew(field *ast.Field) {
	input := argument(field, "input")
	if input != nil && input.Kind == ast.Variable {
		if slices.Contains(m.marked, input.Raw) {
			m.refuse(errors.New("two comments have the same variable: give each commentCreate its own input"))
			return
		}
		m.marked = append(m.marked, input.Raw)
		given, byDefault := m.variable(input.Raw)
		if object, ok := given.(map[string]any); ok {
			object["id"], m.changed = newCommentID(), true
			return
		}
		input = byDefault
	}
	if input == nil || input.Kind != ast.ObjectValue {
		m.refuse(errors.New("commentCreate needs one argument input, which is an object"))
		return
	}
	input.Children = slices.DeleteFunc(input.Children, func(c *ast.ChildValue) bool {
		if c.Name == "id" && c.Value.Kind == ast.Variable {
			m.refuse(errors.New("leave out the id of a new comment: this tool chooses it"))
		}
		return c.Name == "id"
	})
	input.Children = append(input.Children, &ast.ChildValue{Name: "id", Value: &ast.Value{Raw: newCommentID(), Kind: ast.StringValue}})
	m.changed = true
}

// checkChange refuses the change of a comment that the agent did not post.
func (m *commentMarker) checkChange(field *ast.Field) {
	id := argument(field, "id")
	var text string
	if id != nil && id.Kind == ast.Variable {
		var given any
		if given, id = m.variable(id.Raw); given != nil {
			text, _ = given.(string)
		}
	}
	if id != nil && (id.Kind == ast.StringValue || id.Kind == ast.BlockValue) {
		text = id.Raw
	}
	if !isAgentComment(text) {
		m.refuse(fmt.Errorf("%s is refused: only comments that this tool posted may be changed, whose ids begin with %s", field.Name, agentComment))
	}
}
