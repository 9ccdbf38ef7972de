package trackertest

import (
	"os"
	"slices"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

// LoadSchema reads a GraphQL schema. A field that a published schema has twice counts
// once.
func LoadSchema(path string) (*ast.Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: path, Input: string(text)})
	if err != nil {
		return nil, err
	}
	for _, definition := range doc.Definitions {
		fields := definition.Fields
		definition.Fields = nil
		for _, field := range fields {
			if definition.Fields.ForName(field.Name) == nil {
				definition.Fields = append(definition.Fields, field)
			}
		}
	}
	return validator.ValidateSchemaDocument(doc)
}

// CompareSchemas checks that a part of a provider's schema, which its fake server
// uses, agrees with the schema that the provider publishes.
func CompareSchemas(t *testing.T, provider string, part, published *ast.Schema) {
	t.Helper()
	compared := 0
	for name, mine := range part.Types {
		if mine.BuiltIn {
			continue
		}
		theirs := published.Types[name]
		if theirs == nil || theirs.Kind != mine.Kind {
			t.Errorf("%s %s: %s has %v", mine.Kind, name, provider, theirs)
			continue
		}
		for _, joined := range slices.Concat(mine.Interfaces, mine.Types) {
			if !slices.Contains(theirs.Interfaces, joined) && !slices.Contains(theirs.Types, joined) {
				t.Errorf("%s: %s does not join it with %s", name, provider, joined)
			}
		}
		for _, value := range mine.EnumValues {
			if theirs.EnumValues.ForName(value.Name) == nil {
				t.Errorf("%s: %s does not have %s", name, provider, value.Name)
			}
		}
		for _, field := range mine.Fields {
			if field.Name == "__schema" || field.Name == "__type" {
				continue
			}
			compared++
			compareField(t, provider, name, field, theirs.Fields.ForName(field.Name))
		}
		for _, field := range theirs.Fields {
			if mine.Kind == ast.InputObject && field.Type.NonNull && field.DefaultValue == nil && mine.Fields.ForName(field.Name) == nil {
				t.Errorf("%s.%s is required, and missing here", name, field.Name)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d fields were compared", compared)
	}
}

func compareField(t *testing.T, provider, in string, mine, theirs *ast.FieldDefinition) {
	t.Helper()
	if theirs == nil {
		t.Errorf("%s.%s: %s does not have it", in, mine.Name, provider)
		return
	}
	if mine.Type.String() != theirs.Type.String() {
		t.Errorf("%s.%s is of type %s, at %s %s", in, mine.Name, mine.Type, provider, theirs.Type)
	}
	for _, argument := range mine.Arguments {
		other := theirs.Arguments.ForName(argument.Name)
		if other == nil || other.Type.String() != argument.Type.String() || other.DefaultValue.String() != argument.DefaultValue.String() {
			t.Errorf("%s.%s(%s: %s): %s has %+v", in, mine.Name, argument.Name, argument.Type, provider, other)
		}
	}
	for _, argument := range theirs.Arguments {
		if argument.Type.NonNull && argument.DefaultValue == nil && mine.Arguments.ForName(argument.Name) == nil {
			t.Errorf("%s.%s: the argument %s is required, and missing here", in, mine.Name, argument.Name)
		}
	}
}
