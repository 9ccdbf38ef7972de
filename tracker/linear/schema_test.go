package linear

import (
	"os"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// published loads the schema that Linear publishes, or skips.
func published(t *testing.T) *ast.Schema {
	path := os.Getenv("SYMPHONY_LINEAR_SCHEMA")
	if path == "" {
		t.Skip("SYMPHONY_LINEAR_SCHEMA does not name Linear's published schema, so testdata/api/linear.graphql is not compared with it")
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: path, Input: string(source)})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestTheSmallSchemaSaysWhatLinearSays(t *testing.T) {
	t.Parallel()
	theirs := published(t)
	ours := newFake(t).schema
	compared := 0
	for name, mine := range ours.Types {
		if mine.BuiltIn {
			continue
		}
		other := theirs.Types[name]
		if other == nil || other.Kind != mine.Kind {
			t.Errorf("%s %s: Linear has %v", mine.Kind, name, other)
			continue
		}
		for _, field := range mine.Fields {
			if field.Name == "__schema" || field.Name == "__type" {
				continue
			}
			compared++
			compareField(t, name, field, other.Fields.ForName(field.Name))
		}
		for _, field := range other.Fields {
			if mine.Kind == ast.InputObject && field.Type.NonNull && field.DefaultValue == nil && mine.Fields.ForName(field.Name) == nil {
				t.Errorf("%s.%s is required, and missing here", name, field.Name)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d fields were compared", compared)
	}
}

func compareField(t *testing.T, in string, mine, theirs *ast.FieldDefinition) {
	t.Helper()
	if theirs == nil {
		t.Errorf("%s.%s: Linear does not have it", in, mine.Name)
		return
	}
	if mine.Type.String() != theirs.Type.String() {
		t.Errorf("%s.%s is of type %s, at Linear %s", in, mine.Name, mine.Type, theirs.Type)
	}
	for _, argument := range mine.Arguments {
		other := theirs.Arguments.ForName(argument.Name)
		if other == nil || other.Type.String() != argument.Type.String() || other.DefaultValue.String() != argument.DefaultValue.String() {
			t.Errorf("%s.%s(%s: %s): Linear has %+v", in, mine.Name, argument.Name, argument.Type, other)
		}
	}
	for _, argument := range theirs.Arguments {
		if argument.Type.NonNull && argument.DefaultValue == nil && mine.Arguments.ForName(argument.Name) == nil {
			t.Errorf("%s.%s: the argument %s is required, and missing here", in, mine.Name, argument.Name)
		}
	}
}

func TestEveryQueryIsValidAtLinear(t *testing.T) {
	t.Parallel()
	schema := published(t)
	for name, query := range everyQuery(t) {
		if _, errs := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules()); errs != nil {
			t.Errorf("%s: %v\n%s", name, errs, query)
		}
	}
}
