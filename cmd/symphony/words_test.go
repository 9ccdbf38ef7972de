package main

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestCommentsOfFunctionsSayWhatTheyDo holds to Go's convention that a function's
// comment begins with its name and a verb: a few may say what it is instead.
func TestCommentsOfFunctionsSayWhatTheyDo(t *testing.T) {
	documented := map[string]int{} // functions with a comment, by package
	isOrAre := map[string][]string{}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			documented[s.folder]++
			words := strings.Fields(f.Doc.Text())
			if len(words) > 1 && slices.Contains([]string{"is", "are"}, words[1]) {
				isOrAre[s.folder] = append(isOrAre[s.folder], f.Name.Name)
			}
		}
	}
	for folder, names := range isOrAre {
		if limit := max(documented[folder]/10, 1); len(names) > limit {
			t.Errorf("%s: the comments of %d of %d functions say what the function is, at most %d may: begin those of %s with a verb",
				folder, len(names), documented[folder], limit, strings.Join(names, ", "))
		}
	}
}
