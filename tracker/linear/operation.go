package linear

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

const (
	maxQuery  = 64 << 10 // bytes
	maxTokens = 20_000
)

// operation is what the agent asks Linear to execute.
type operation struct {
	Query     string          `json:"query"`
	Variables json.RawMessage `json:"variables,omitempty"` // an object, or absent

	document *ast.QueryDocument
}

func (op operation) mutation() bool { return op.document.Operations[0].Operation == ast.Mutation }

// decodeOperation reads the arguments of the tool: an object with query and
// variables, or the query alone as a string (SPEC §10.5).
func decodeOperation(arguments json.RawMessage) (operation, error) {
	var op operation
	if err := json.Unmarshal(arguments, &op.Query); err != nil {
		decoder := json.NewDecoder(bytes.NewReader(arguments))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&op); err != nil {
			return operation{}, fmt.Errorf("%w: give an object with query and, if needed, variables; operationName is not supported", err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return operation{}, errors.New("there is more than one value: give one object")
		}
	}
	switch variables := bytes.TrimSpace(op.Variables); {
	case string(variables) == "null":
		op.Variables = nil
	case len(variables) > 0 && variables[0] != '{':
		return operation{}, errors.New("variables must be an object")
	}
	var err error
	if op.document, err = single(op.Query); err != nil {
		return operation{}, err
	}
	op.Query = printed(op.document)
	return op, nil
}

// printed writes a document anew. What is sent is what was judged: where this
// parser and Linear's take the same text for different operations (they end
// """a"""" in two places), the text of the agent could pass for another one.
func printed(document *ast.QueryDocument) string {
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithoutDescription(), formatter.WithIndent("")).FormatQueryDocument(document)
	return text.String()
}

// single parses a document with one operation.
func single(query string) (*ast.QueryDocument, error) {
	switch {
	case strings.TrimSpace(query) == "":
		return nil, errors.New("query is empty: give one GraphQL query or mutation")
	case len(query) > maxQuery:
		return nil, fmt.Errorf("query has more than %d bytes: put long text into variables", maxQuery)
	}
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Name: "query", Input: query}, maxTokens)
	if err != nil {
		return nil, fmt.Errorf("query is not valid GraphQL: %w", err)
	}
	if n := len(document.Operations); n != 1 {
		return nil, fmt.Errorf("query holds %d operations: give exactly one per call", n)
	}
	if document.Operations[0].Operation == ast.Subscription {
		return nil, errors.New("a subscription cannot be executed: give a query or a mutation")
	}
	return document, nil
}
