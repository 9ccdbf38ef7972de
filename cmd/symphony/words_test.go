package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
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

// maxMessage is the longest that the constant part of a message may be: more does
// not fit on a screen beside what it is about.
const maxMessage = 200

// longTexts holds the files whose long texts are no messages: what agents and the
// readers of documents get.
var longTexts = []string{"tracker/linear/tool.go", "tracker/github/tool.go", "runner/workflow/keys.go", "runner/prompt/resumption.go"}

func TestMessagesFitOnAScreen(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains(longTexts, s.name) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			expression, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := constantText(expression)
			if ok && len(text) > maxMessage && !strings.Contains(text, "\n") {
				t.Errorf("%s: %d characters, at most %d: %s", s.name, len(text), maxMessage, text)
			}
			return !ok
		})
	}
}

// constantText returns the text of a string literal, or of literals that are added.
func constantText(expression ast.Expr) (text string, ok bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, leftOK := constantText(e.X)
		right, rightOK := constantText(e.Y)
		return left + right, e.Op == token.ADD && leftOK && rightOK
	}
	return "", false
}
