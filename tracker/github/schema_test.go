package github

import (
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

// schemaEnv names the schema that GitHub publishes: schema.graphql of the npm
// package @octokit/graphql-schema@15.26.1.
const schemaEnv = "SYMPHONY_GITHUB_SCHEMA"

// schema is the part of GitHub's schema that the queries use. The fake refuses
// every query that does not fit it.
func schema(t testing.TB) *ast.Schema {
	t.Helper()
	s, err := loadSchema("testdata/github.graphql")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// published is loaded once: it is large.
var published = sync.OnceValues(func() (*ast.Schema, error) { return loadSchema(os.Getenv(schemaEnv)) })

func publishedSchema(t *testing.T) *ast.Schema {
	t.Helper()
	if os.Getenv(schemaEnv) == "" {
		t.Skipf("%s names no file: testdata/github.graphql is not compared with GitHub's schema", schemaEnv)
	}
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loadSchema(path string) (*ast.Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: path, Input: string(text)})
	if err != nil {
		return nil, err
	}
	for _, definition := range doc.Definitions { // what GitHub publishes has some fields twice
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

func TestTheQueriesFitTheSchemaThatGitHubPublishes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.schema = publishedSchema(t)
	r := onBoard(f, map[string]any{"number": 3}, "Todo")
	f.put(func(i *ticket) { i.items[3] = "Todo" })
	f.list(r, "Todo")
	wantRequests(t, f, listPath+" 200", "POST /graphql 200", historyRequest, memRequest)
}

func TestTheSmallSchemaSaysWhatGitHubPublishes(t *testing.T) {
	t.Parallel()
	theirs, compared := publishedSchema(t), 0
	for name, mine := range schema(t).Types {
		if mine.BuiltIn {
			continue
		}
		other := theirs.Types[name]
		if other == nil || other.Kind != mine.Kind {
			t.Errorf("%s %s: GitHub has %v", mine.Kind, name, other)
			continue
		}
		for _, kind := range slices.Concat(mine.Interfaces, mine.Types) {
			if !slices.Contains(other.Interfaces, kind) && !slices.Contains(other.Types, kind) {
				t.Errorf("%s: GitHub does not join it with %s", name, kind)
			}
		}
		for _, value := range mine.EnumValues {
			if other.EnumValues.ForName(value.Name) == nil {
				t.Errorf("%s: GitHub does not have %s", name, value.Name)
			}
		}
		for _, field := range mine.Fields {
			if field.Name == "__schema" || field.Name == "__type" {
				continue
			}
			compared++
			compareField(t, name, field, other.Fields.ForName(field.Name))
		}
	}
	if compared < 50 {
		t.Errorf("only %d fields were compared", compared)
	}
}

func compareField(t *testing.T, in string, mine, theirs *ast.FieldDefinition) {
	t.Helper()
	if theirs == nil {
		t.Errorf("%s.%s: GitHub does not have it", in, mine.Name)
		return
	}
	if mine.Type.String() != theirs.Type.String() {
		t.Errorf("%s.%s is of type %s, at GitHub %s", in, mine.Name, mine.Type, theirs.Type)
	}
	for _, argument := range mine.Arguments {
		other := theirs.Arguments.ForName(argument.Name)
		if other == nil || other.Type.String() != argument.Type.String() || other.DefaultValue.String() != argument.DefaultValue.String() {
			t.Errorf("%s.%s(%s: %s): GitHub has %+v", in, mine.Name, argument.Name, argument.Type, other)
		}
	}
	for _, argument := range theirs.Arguments {
		if argument.Type.NonNull && argument.DefaultValue == nil && mine.Arguments.ForName(argument.Name) == nil {
			t.Errorf("%s.%s: the argument %s is required, and missing here", in, mine.Name, argument.Name)
		}
	}
}
