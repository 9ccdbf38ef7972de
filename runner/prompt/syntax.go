package prompt

import (
	"fmt"
	"strings"
)

// forms maps each tag to the part that it lacks without arguments, and to its form. The empty
// name stands for an output.
var forms = map[string]struct{ lacks, form string }{
	"":         {"nothing to print", "{{ issue.title }}"},
	"assign":   {"no name and no value", "{% assign name = issue.title %}"},
	"capture":  {"no name", "{% capture name %}"},
	"case":     {"no value", "{% case issue.state %}"},
	"elsif":    {"no condition", "{% elsif attempt %}"},
	"for":      {"no name and no list", "{% for label in issue.labels %}"},
	"if":       {"no condition", "{% if attempt %}"},
	"tablerow": {"no name and no list", "{% tablerow label in issue.labels %}"},
	"unless":   {"no condition", "{% unless attempt %}"},
	"when":     {"no value", `{% when "Todo" %}`},
}

// operators maps operators of other languages to Liquid's own.
var operators = map[string]string{
	"=":    "write == to compare",
	"&":    "write and instead of &&",
	"!":    "write != to compare, or {% unless %} for a condition that must not hold",
	"not":  "write != to compare, or {% unless %} for a condition that must not hold",
	"+":    "write the filter plus for numbers, or append for text",
	"-":    "write the filter minus",
	"*":    "write the filter times",
	"/":    "write the filter divided_by",
	"%":    "write the filter modulo",
	"?":    "write {% if %} and {% else %}",
	"then": "remove it, because %} ends the condition",
	"(":    "write a filter and its arguments as | name: argument",
	`"`:    "close the quotes",
	"'":    "close the quotes",
}

// syntaxProblem returns the error of arguments that the grammar does not allow, with advice.
func (e *expression) syntaxProblem() string {
	form := forms[e.tag]
	if strings.TrimSpace(e.args) == "" {
		name := "{{ }}"
		if e.tag != "" {
			name = "{% " + e.tag + " %}"
		}
		return fmt.Sprintf("%s has %s; write for example %s", name, form.lacks, form.form)
	}
	where, advice := "the end of", "write a value after it"
	if e.wrong.text != "" {
		where, advice = fmt.Sprintf("%q in", e.wrong.text), "write values, filters and comparisons only"
	}
	_, isFilter := signatures[e.before.text]
	switch hint, known := operators[e.wrong.text]; {
	case e.before.text == "|" && e.wrong.text == "|":
		advice = "write or instead of ||"
	case e.before.text == "|":
		advice = "write the name of a filter after |"
	case known:
		advice = hint
	case isFilter && e.wrong.text != "":
		advice = fmt.Sprintf("write a colon between a filter and its argument: %s: %s", e.before.text, e.wrong.text)
	case e.tag == "for", e.tag == "tablerow", e.tag == "assign", e.tag == "capture":
		advice = "write it like " + form.form
	}
	return fmt.Sprintf("syntax error at %s %q; %s", where, e.args, advice)
}
