package linear

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

// maxResult bounds the text of an answer that the model receives, in bytes.
const maxResult = 64 << 10

const graphqlSchema = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "description": "A GraphQL document with exactly one query or mutation. Fragments are fine."},
    "variables": {"type": ["object", "null"], "description": "The variables of the operation."}
  },
  "required": ["query"],
  "additionalProperties": false
}`

// graphqlTool returns linear_graphql, with which the agent uses Linear with the
// credential of the host (SPEC §10.5).
func graphqlTool(endpoint string, wire *transport.Transport) tracker.Tool {
	return tracker.Tool{
		Name: "linear_graphql",
		Description: "Execute one GraphQL query or mutation against Linear, with the credential of the host. " +
			"Mutations are for issues and other content: people, access, keys, webhooks, integrations and settings are refused. " +
			"A comment that you write gets an id which says so, and you may change or delete only such comments. " +
			"The result is Linear's answer; an answer of more than 65,536 bytes is cut, so ask for what you need.",
		InputSchema: json.RawMessage(graphqlSchema),
		Call: func(ctx context.Context, _ tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
			op, err := decodeOperation(arguments)
			if err != nil {
				return errorResult("invalid_input", err)
			}
			if err := checkOperation(op.document); err != nil {
				return errorResult("refused", err)
			}
			if err := op.markComments(); err != nil {
				return errorResult("refused", err)
			}
			if !op.isMutation() { // a mutation that is sent again could be done twice
				ctx = transport.Repeatable(ctx)
			}
			result := execute(ctx, wire, endpoint, op)
			result.Wrote = op.isMutation()
			return result
		},
	}
}

func execute(ctx context.Context, wire *transport.Transport, endpoint string, op operation) tracker.ToolResult {
	body, _ := json.Marshal(op) // it was decoded from JSON
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return errorResult("invalid_input", err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := wire.Do(req)
	if err == nil {
		_, err = result(wire, answer)
	}
	if err != nil {
		return explain(wire, err)
	}
	return tracker.ToolResult{OK: true, Text: truncate(answer.Body)}
}

// explain returns the result of a failed exchange. It shows an answer with GraphQL
// errors as it is, and any other failure as an error of this program.
func explain(wire *transport.Transport, err error) tracker.ToolResult {
	if answer := graphqlErrors(err); answer != nil {
		return tracker.ToolResult{Text: truncate(answer)}
	}
	err = failed(wire, "linear_graphql", err)
	var c category
	if errors.As(err, &c) {
		return errorResult(c.name, err)
	}
	return errorResult(tracker.ErrRateLimited.Error(), err)
}

func errorResult(code string, err error) tracker.ToolResult {
	var payload struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	payload.Error.Code, payload.Error.Message = code, err.Error()
	text, _ := json.Marshal(payload) // two strings can always be encoded
	return tracker.ToolResult{Text: string(text)}
}

// truncate returns an answer, cut to the length that the model is shown.
func truncate(answer []byte) string { return text.Cut(string(answer), maxResult, "ask for less") }

const (
	maxQuery  = 64 << 10 // bytes
	maxTokens = 20_000
)

type operation struct {
	Query     string          `json:"query"`
	Variables json.RawMessage `json:"variables,omitempty"` // an object, or absent

	document *ast.QueryDocument
}

func (op operation) isMutation() bool { return op.document.Operations[0].Operation == ast.Mutation }

// decodeOperation reads the arguments of the tool: an object with query and
// variables, or only the query as a string (SPEC §10.5).
func decodeOperation(arguments json.RawMessage) (operation, error) {
	var op operation
	if err := json.Unmarshal(arguments, &op.Query); err != nil {
		const advice = "give an object with query and, if needed, variables; operationName is not supported"
		if err := tracker.DecodeArguments(arguments, &op, advice); err != nil {
			return operation{}, err
		}
	}
	switch variables := bytes.TrimSpace(op.Variables); {
	case string(variables) == "null":
		op.Variables = nil
	case len(variables) > 0 && variables[0] != '{':
		return operation{}, errors.New("variables must be an object")
	}
	var err error
	if op.document, err = parseSingleOperation(op.Query); err != nil {
		return operation{}, err
	}
	op.Query = formatDocument(op.document)
	return op, nil
}

// formatDocument returns the text of a parsed document. Linear receives this text
// instead of the agent's: where this parser and Linear's read the same text as
// different operations (they end """a"""" in two places), an operation that was
// never checked could be sent.
func formatDocument(document *ast.QueryDocument) string {
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithoutDescription(), formatter.WithIndent("")).FormatQueryDocument(document)
	return text.String()
}

// parseSingleOperation parses a document with exactly one query or mutation.
func parseSingleOperation(query string) (*ast.QueryDocument, error) {
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
