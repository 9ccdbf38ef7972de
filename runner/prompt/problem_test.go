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
		"11: unknown filter \"upcas\"; did you mean \"upcase\"? `symphony prompt --help` lists all filters",
		`13: unknown tag "iff"; did you mean "if"?`,
		`14: unknown variable "nope"`,
		`15: syntax error at "+" in "issue.title +"; write the filter plus for numbers, or append for text`,
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
		"{% if true\nthen %}{{ 1 }}{% endif %}":  `line 2: syntax error at "then" in "true\nthen"; remove it, because %} ends the condition`,
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

func TestASyntaxErrorSaysWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"{{ }}":                                   "{{ }} has nothing to print; write for example {{ issue.title }}",
		"{% if %}{% endif %}":                     "{% if %} has no condition; write for example {% if attempt %}",
		"{% unless %}{% endunless %}":             "{% unless %} has no condition; write for example {% unless attempt %}",
		"{% if true %}{% elsif %}{% endif %}":     "{% elsif %} has no condition; write for example {% elsif attempt %}",
		"{% case %}{% endcase %}":                 "{% case %} has no value; write for example {% case issue.state %}",
		"{% case 1 %}{% when %}{% endcase %}":     `{% when %} has no value; write for example {% when "Todo" %}`,
		"{% for %}{% endfor %}":                   "{% for %} has no name and no list; write for example {% for label in issue.labels %}",
		"{% tablerow %}{% endtablerow %}":         "{% tablerow %} has no name and no list; write for example {% tablerow label in issue.labels %}",
		"{% assign %}":                            "{% assign %} has no name and no value; write for example {% assign name = issue.title %}",
		"{% capture %}{% endcapture %}":           "{% capture %} has no name; write for example {% capture name %}",
		"{% for x %}{% endfor %}":                 `syntax error at the end of "x"; write it like {% for label in issue.labels %}`,
		"{% for x of issue.labels %}{% endfor %}": `syntax error at "of" in "x of issue.labels"; write it like {% for label in issue.labels %}`,
		"{% assign x %}":                          `syntax error at the end of "x"; write it like {% assign name = issue.title %}`,
		"{% assign x = %}":                        `syntax error at the end of "x ="; write it like {% assign name = issue.title %}`,
		"{% if attempt == %}{% endif %}":          `syntax error at the end of "attempt =="; write a value after it`,
		"{% if attempt = 1 %}{% endif %}":         `syntax error at "=" in "attempt = 1"; write == to compare`,
		"{% if attempt && true %}{% endif %}":     `syntax error at "&" in "attempt && true"; write and instead of &&`,
		"{% if attempt || true %}{% endif %}":     `syntax error at "|" in "attempt || true"; write or instead of ||`,
		"{% if !attempt %}{% endif %}":            `syntax error at "!" in "!attempt"; write != to compare, or {% unless %} for a condition that must not hold`,
		"{% if not attempt %}{% endif %}":         `syntax error at "not" in "not attempt"; write != to compare, or {% unless %} for a condition that must not hold`,
		"{{ attempt ? 1 : 2 }}":                   `syntax error at "?" in "attempt ? 1 : 2"; write {% if %} and {% else %}`,
		`{{ "unclosed }}`:                         `syntax error at "\"" in "\"unclosed"; close the quotes`,
		"{{ issue.title | }}":                     `syntax error at the end of "issue.title |"; write the name of a filter after |`,
		"{{ issue.title | | upcase }}":            `syntax error at "|" in "issue.title | | upcase"; write or instead of ||`,
		"{{ issue.title | truncate 3 }}":          `syntax error at "3" in "issue.title | truncate 3"; write a colon between a filter and its argument: truncate: 3`,
		"{{ issue.title issue.id }}":              `syntax error at "issue" in "issue.title issue.id"; write values, filters and comparisons only`,
	} {
		_, err := ParseAt(source, 0)
		if diff := cmp.Diff("prompt: template_parse_error: line 1: "+want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", source, diff)
		}
	}
}

func TestAnUnknownFilterSaysWhereTheListIs(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		"trim":    `unknown filter "trim"; did you mean "strip"? `,
		"zzzzzzz": `unknown filter "zzzzzzz"; `,
	} {
		err := Check("{{ issue.title | "+filter+" }}", 0)
		want = "prompt: template_render_error: line 1: " + want + "`symphony prompt --help` lists all filters"
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filter, diff)
		}
	}
}
