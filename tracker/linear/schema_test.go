package linear

import (
	"os"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// published loads the schema that Linear publishes, or skips.
func published(t *testing.T) *ast.Schema {
	path := os.Getenv("SYMPHONY_LINEAR_SCHEMA")
	if path == "" {
		t.Skip("SYMPHONY_LINEAR_SCHEMA does not name Linear's published schema, so testdata/api/linear.graphql is not compared with it")
	}
	schema, err := trackertest.LoadSchema(path)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestTheSmallSchemaSaysWhatLinearSays(t *testing.T) {
	t.Parallel()
	trackertest.CompareSchemas(t, "Linear", newFake(t).schema, published(t))
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
