package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// contexts are what expressions can name, as GitHub does: nil, bool, float64,
// string or map[string]any.
type contexts map[string]any

// status is how the job goes: success, failure or cancelled.
func (c contexts) status() any { return c["job"].(map[string]any)["status"] }

// condition is the value of an if:. One that asks nothing about the job's status
// asks for success.
func (c contexts) condition(text string) (bool, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "${{"); ok {
		text = strings.TrimSuffix(inner, "}}")
	}
	if text == "" {
		return c.status() == "success", nil
	}
	node, err := parseExpression(text)
	if err != nil {
		return false, err
	}
	asks := false
	actionlint.VisitExprNode(node, func(n, _ actionlint.ExprNode, entering bool) {
		if _, ok := n.(*actionlint.FuncCallNode); ok && entering {
			asks = true
		}
	})
	if !asks && c.status() != "success" {
		return false, nil
	}
	v, err := c.value(node)
	return truthy(v), err
}

// text is a value of the action's YAML with its expressions filled in.
func (c contexts) text(template string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "${{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		expression, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", fmt.Errorf("no end of ${{ in %q", template)
		}
		node, err := parseExpression(expression)
		if err != nil {
			return "", err
		}
		v, err := c.value(node)
		if err != nil {
			return "", err
		}
		b.WriteString(stringOf(v))
		template = after
	}
}

func parseExpression(text string) (actionlint.ExprNode, error) {
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(text + "}}"))
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return node, nil
}

func (c contexts) value(node actionlint.ExprNode) (any, error) {
	switch n := node.(type) {
	case *actionlint.NullNode:
		return nil, nil
	case *actionlint.BoolNode:
		return n.Value, nil
	case *actionlint.IntNode:
		return float64(n.Value), nil
	case *actionlint.StringNode:
		return n.Value, nil
	case *actionlint.VariableNode:
		if v, ok := c[n.Name]; ok {
			return v, nil
		}
		return nil, fmt.Errorf("there is no context %s", n.Name)
	case *actionlint.ObjectDerefNode:
		v, err := c.value(n.Receiver)
		object, _ := v.(map[string]any) // nothing is there to find in nothing
		return object[n.Property], err
	case *actionlint.NotOpNode:
		v, err := c.value(n.Operand)
		return !truthy(v), err
	case *actionlint.LogicalOpNode:
		left, err := c.value(n.Left)
		if err != nil || truthy(left) == (n.Kind == actionlint.LogicalOpNodeKindOr) {
			return left, err
		}
		return c.value(n.Right)
	case *actionlint.CompareOpNode:
		left, err := c.value(n.Left)
		if err != nil {
			return nil, err
		}
		right, err := c.value(n.Right)
		switch n.Kind {
		case actionlint.CompareOpNodeKindEq:
			return equal(left, right), err
		case actionlint.CompareOpNodeKindNotEq:
			return !equal(left, right), err
		}
	case *actionlint.FuncCallNode:
		switch strings.ToLower(n.Callee) {
		case "always":
			return true, nil
		case "success", "failure", "cancelled":
			return c.status() == strings.ToLower(n.Callee), nil
		}
	}
	return nil, fmt.Errorf("an expression that this driver does not know: %#v", node)
}

func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	}
	return true
}

// equal is GitHub's ==: text without regard to case, values of two kinds as numbers.
func equal(a, b any) bool {
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			return strings.EqualFold(s, t)
		}
	}
	return numberOf(a) == numberOf(b)
}

func numberOf(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return v
	case string:
		if v == "" {
			return 0
		}
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return n
		}
	}
	return math.NaN()
}

func stringOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func TestExpressionsAreEvaluatedAsGitHubDoes(t *testing.T) {
	t.Parallel()
	c := contexts{
		"job":    map[string]any{"status": "failure"},
		"inputs": map[string]any{"state": "cache", "dry-run": "false"},
		"steps":  map[string]any{"run": map[string]any{"outcome": "skipped", "outputs": map[string]any{"failed": "0"}}},
	}
	for expression, want := range map[string]bool{
		"":                        false, // that is success()
		"inputs.state == 'CACHE'": false,
		"always() && inputs.state == 'CACHE' && !false": true,
		"always() && steps.run.outcome != 'skipped'":    false,
		"always() && steps.run.outputs.failed":          true, // '0' is a text
		"always() && steps.nobody.outputs.failed == ''": true, // null is 0, and so is ''
		"always() && steps.nobody.outputs.x":            false,
		"${{ failure() }}":                              true,
		"success() || cancelled()":                      false,
	} {
		if got, err := c.condition(expression); err != nil || got != want {
			t.Errorf("if: %s: %v %v", expression, got, err)
		}
	}
	got, err := c.text("<${{ steps.run.outcome == 'skipped' && inputs.state || 'run' }}>${{ inputs.nothing }}${{ true }}")
	if want := "<cache>true"; err != nil || got != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}
