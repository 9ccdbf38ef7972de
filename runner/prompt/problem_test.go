package prompt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProblemHasItsLineInTheFile(t *testing.T) {
	t.Parallel()
	const source = `Work on {{ issue.titel }}.
{{ issue.id | upcas }}

{% iff attempt %}
  {{ nope
  }} and {{ issue.title + }}
{% endiff %}
{% include "x" %}
{% if attempt and
   issue.nope
%}
{% else if true %}
{% endif %}
{% break %}`
	_, err := ParseAt(source, 10)
	want := []string{
		`10: unknown variable "issue.titel"; issue is an object: did you mean "issue.title"?`,
		`11: unknown filter "upcas"; did you mean "upcase"?`,
		`13: unknown tag "iff"; did you mean "if"?`,
		`14: unknown variable "nope"`,
		`15: syntax error in "issue.title +"; write values, filters and comparisons only`,
		`17: {% include %} is not available, since a prompt reads no files; write the text here`,
		`19: unknown variable "issue.nope"; issue is an object`,
		`21: {% else %} takes no arguments; remove "if true", or write elsif for another condition`,
		`23: {% break %} is outside of a loop; put it in a {% for %}`,
	}
	var problems Problems
	if !errors.As(err, &problems) || !errors.Is(err, ErrParse) || !errors.Is(err, ErrRender) {
		t.Fatal(err)
	}
	var got []string
	for i, p := range problems {
		text := fmt.Sprintf("%d: %s", p.Line, p.Reason)
		if i < len(want) && strings.HasPrefix(text, want[i]) {
			text = want[i]
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestBlocksThatDoNotMatchAreOneProblem(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"{% if true %}\n{% for x in issue.labels %}\n{% endif %}\n{% endfor %}\n{% endif %}": "line 3: {% endif %} stands where {% for %} of line 2 is open; add {% endfor %} before it",
		"{% endif %}\n{% endfor %}":              "line 1: {% endif %} closes nothing; remove it",
		"{% unles true %}\n{% endunles %}":       "line 1: unknown tag \"unles\"; did you mean \"unless\"?",
		"a\n{% if true %}\n{% unless attempt %}": "line 3: {% unless %} is never closed; add {% endunless %}",
		"{% if true":                             "line 1: {% without a tag and %}; close it, or put {% raw %} around text that has {%",
		"{% if true\nthen %}{{ 1 }}{% endif %}":  `line 1: syntax error in "true\nthen"; write values, filters and comparisons only`,
	} {
		_, err := ParseAt(source, 0)
		if diff := cmp.Diff("prompt: template_parse_error: "+want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", source, diff)
		}
	}
}

func TestARenderThatFailsNamesTheLineOfTheFile(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a\n{{ 1 | divided_by: 0 }}":                         `line 9: filter "divided_by"`,
		"a\n\n{% for x in (1..200000) %}{{ x }}{% endfor %}": "line 10: more than 100000 loop iterations",
	} {
		tmpl, err := ParseAt(source, 8)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tmpl.Render(sample(), Run{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", source, err, want)
		}
	}
}
