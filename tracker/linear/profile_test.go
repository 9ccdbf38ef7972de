package linear

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheProfileHasEveryRow: the README's table of this adapter is made from the
// first list of the package's documentation, an item "name: text" for each row.
func TestTheProfileHasEveryRow(t *testing.T) {
	t.Parallel()
	source, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	document := new(comment.Parser).Parse(source.Doc.Text())
	var rows []string
	for _, block := range document.Content {
		if list, ok := block.(*comment.List); ok && rows == nil {
			for _, item := range list.Items {
				text := string((&comment.Printer{}).Text(&comment.Doc{Content: item.Content}))
				name, value, _ := strings.Cut(text, ": ")
				if strings.TrimSpace(value) == "" {
					t.Errorf("row %q says nothing", name)
				}
				rows = append(rows, name)
			}
		}
	}
	want := []string{
		"kind", "keys", "defaults", "secrets", "scope", "paging", "identity", "states", "labels",
		"priority", "dispatchable", "tools", "errors", "limits",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
