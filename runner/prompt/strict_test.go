package prompt

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/osteele/liquid/filters"

	"github.com/symphony-runner/symphony/tracker"
)

// sample is an issue in which every field is set.
func sample() tracker.Issue {
	priority := 2
	return tracker.Issue{
		ID:          "7",
		Identifier:  "GH-7",
		Title:       "Fix the login",
		Description: "It fails.",
		Priority:    &priority,
		State:       "In Progress",
		BranchName:  "fix-login",
		URL:         "https://example.test/7",
		AssigneeID:  "ada",
		Labels:      []string{"bug", "urgent"},
		BlockedBy: []tracker.Blocker{
			{ID: "3", Identifier: "GH-3", State: "Done"},
			{Identifier: "GH-4"},
		},
		NativeRef:    map[string]string{"number": "7", "repo": "a/b"},
		CreatedAt:    time.Date(2025, 1, 2, 4, 4, 5, 6, time.FixedZone("", 3600)),
		UpdatedAt:    time.Date(2025, 2, 3, 4, 5, 6, 0, time.UTC),
		Dispatchable: true,
	}
}

func mustParse(t testing.TB, source string) *Template {
	t.Helper()
	tmpl, err := ParseAt(source, 1)
	if err != nil {
		t.Fatalf("ParseAt(%q): %v", source, err)
	}
	return tmpl
}

func TestAnUnknownNameOrFilterFailsWhereverItStands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ source, want string }{
		{"{{ nope }}", `line 1: unknown variable "nope"; known are attempt, blank, empty, feedback, issue, null, run`},
		{"{{ issue.nope }}", `unknown variable "issue.nope"`},
		{"{{ issue.titel }}", `unknown variable "issue.titel"; issue is an object: did you mean "issue.title"?`},
		{"{{ title }}", `unknown variable "title"; did you mean "issue.title"?`},
		{"{{ isue.title }}", `unknown variable "isue"; did you mean "issue"?`},
		{"{{ issue['nope'] }}", `"issue.nope"`},
		{"{{ issue[\"nope\"] }}", `"issue.nope"`},
		{"{{ issue[attempt] }}", `issue is an object, so write the name of a field`},
		{"{{ issue.title[0] }}", `issue.title is a plain value`},
		{"{{ issue.title.nope }}", `"issue.title.nope"`},
		{"{{ issue.labels.nope }}", `"issue.labels.nope"; issue.labels is a list: known are first, last, size`},
		{"{{ issue.labels[nope] }}", `"nope"`},
		{"{{ issue.labels['nope'] }}", `"issue.labels.nope"`},
		{"{{ issue.blocked_by[0].nope }}", `"issue.blocked_by[0].nope"; issue.blocked_by[0] is an object: known are id, identifier, state`},
		{"{{ issue.blocked_by.first.nope }}", `"issue.blocked_by.first.nope"`},
		{"{{ issue.native_ref.number.nope }}", `"issue.native_ref.number.nope"`},
		{"{{ issue.native_ref[nope] }}", `"nope"`},
		{"{{ issue-title }}", `"issue-title"`},
		{"a\n\n{{ issue.id }}\n{% if true\n and nope %}{% endif %}", `line 5: unknown variable "nope"`},
		{"a\n{{ 'x' | upcas }}", `line 2: unknown filter "upcas"; did you mean "upcase"?`},
		{"{{ 'x' | show }}", `unknown filter "show"`},
		{"{{ 'x' | each }}", `unknown filter "each"`},
		{"{{ 'x' | zzzzzzz }}", "`symphony prompt --help` lists all filters"},

		{"{% if false %}{{ nope }}{% endif %}", `"nope"`},
		{"{% if true %}{% else %}{{ nope }}{% endif %}", `"nope"`},
		{"{% if false %}{{ 'x' | nope }}{% endif %}", `filter "nope"`},
		{"{% if nope %}{% endif %}", `"nope"`},
		{"{% if true %}{% elsif nope %}{% endif %}", `"nope"`},
		{"{% if true or nope %}{% endif %}", `"nope"`},
		{"{% if false and issue.nope %}{% endif %}", `"issue.nope"`},
		{"{% if (true or (false and nope)) %}{% endif %}", `"nope"`},
		{"{% if issue.title contains nope %}{% endif %}", `"nope"`},
		{"{% if 1 < nope %}{% endif %}", `"nope"`},
		{"{% if nope == blank %}{% endif %}", `"nope"`},
		{"{% unless nope %}{% endunless %}", `"nope"`},
		{"{% case nope %}{% when 1 %}{% endcase %}", `"nope"`},
		{"{% case issue.state %}{% when 'a', nope %}{% endcase %}", `"nope"`},
		{"{% case issue.state %}{% when 'a' or nope %}{% endcase %}", `"nope"`},
		{"{% case 1 %}{% when 2 %}{{ nope }}{% else %}{{ nope2 }}{% endcase %}", `"nope2"`},

		{"{% for x in nope %}{% endfor %}", `"nope"`},
		{"{% for x in issue.nope %}{% endfor %}", `"issue.nope"`},
		{"{% for x in (1..nope) %}{% endfor %}", `"nope"`},
		{"{% for x in (nope..2) %}{% endfor %}", `"nope"`},
		{"{% for x in issue.labels limit: nope %}{% endfor %}", `"nope"`},
		{"{% for x in issue.labels offset:nope %}{% endfor %}", `"nope"`},
		{"{% for x in issue.labels | nope %}{% endfor %}", `filter "nope"`},
		{"{% tablerow x in issue.labels cols: nope %}{% endtablerow %}", `"nope"`},
		{"{% for x in issue.labels %}{{ nope }}{% endfor %}", `"nope"`},
		{"{% for x in issue.labels %}{% else %}{{ nope }}{% endfor %}", `"nope"`},
		{"{% for x in issue.labels %}{% else %}{{ x }}{% endfor %}", `"x"`},
		{"{% for x in issue.labels %}{{ x.nope }}{% endfor %}", `"x.nope"`},
		{"{% for b in issue.blocked_by %}{{ b.nope }}{% endfor %}", `"b.nope"`},
		{"{% for b in issue.blocked_by %}{{ b.stat }}{% endfor %}", `did you mean "b.state"?`},
		{"{% for b in issue.blocked_by %}{% endfor %}{{ b }}", `"b"`},
		{"{% for b in issue.blocked_by %}{% endfor %}{{ forloop.index }}", `"forloop"`},
		{"{% for b in issue.blocked_by %}{{ forloop.nope }}{% endfor %}", `"forloop.nope"`},
		{"{% for b in issue.blocked_by %}{{ forloop.parentloop }}{% endfor %}", `"forloop.parentloop"`},

		{"{{ x }}{% assign x = 1 %}", `"x"`},
		{"{% assign x = x %}", `"x"`},
		{"{% assign x = nope %}{{ x }}{{ x.y }}", `"nope"`},
		{"{% assign x = issue %}{{ x.nope }}", `"x.nope"`},
		{"{% assign x = issue.blocked_by | where: 'state', 'Done' | first %}{{ x.nope }}", `"x.nope"`},
		{"{% assign x = issue.title | default: issue.blocked_by %}{{ x.nope }}", `"x.nope"`},
		{"{% capture x %}{{ nope }}{% endcapture %}", `"nope"`},
		{"{% capture x %}{{ x }}{% endcapture %}", `"x"`},
		{"{% assign issue = 1 %}", `"issue" has a meaning already`},
		{"{% for attempt in issue.labels %}{% endfor %}", `"attempt" has a meaning already`},
		{"{% capture forloop %}{% endcapture %}", `"forloop" has a meaning already`},

		{"{{ 'x' | append: nope }}", `"nope"`},
		{"{{ 'x' | replace: 'a', nope }}", `"nope"`},
		{"{{ 'x' | default: 'a', allow_false: nope }}", `"nope"`},
		{"{{ 'x' | default: 'a', nope: true }}", `no option "nope:"`},
		{"{{ 'x' | nope | append: nope2 }}", `filter "nope"`},
		{"{{ nope | nope2 }}", `filter "nope2"`},
		{"{{ issue.blocked_by | map: 'nope' }}", `unknown field "nope" of an item`},
		{"{{ issue.blocked_by | where: 'stat', 1 }}", `did you mean "state"?`},
		{"{{ issue.blocked_by | sort: issue.title }}", `the name of a field here`},
		{"{{ issue.labels | map: 'x' | join }}", `unknown field "x"`},

		// These are known, and the engine would print them in Go's form or not at all.
		{"{{ issue.labels | upcase }}", `filter "upcase" does not apply to a list`},
		{"{{ issue | upcase }}", `filter "upcase" does not apply to an object; write one of its fields`},
		{"{{ issue.native_ref | join }}", `does not apply to an object with any keys`},
		{"{{ issue.title | join }}", `filter "join" does not apply to a plain value`},
		{"{{ issue.title | append: issue.labels }}", `filter "append" does not take a list here`},
		{"{{ issue.labels | concat: 'x' }}", `filter "concat" does not take a plain value here`},
		{"{{ (1..3) }}", `(1..3) is a range`},
		{"{{ (1..3) | join }}", `does not apply to a range`},
		{"{{ issue.url | default: (1..3) }}", `does not take a range here`},
		{"{% for x in issue.title %}{{ x.y.z }}{% endfor %}", `issue.title is a plain value, and a loop goes over a list`},
		{"{% for x in issue.native_ref %}{% endfor %}", `a loop goes over a list`},
		{"{% case issue.url %}{% when blank %}{% endcase %}", `blank cannot stand in when`},
		{"{% if issue.priority <= empty %}{% endif %}", `empty cannot be ordered`},
	} {
		tmpl := mustParse(t, tc.source)
		for how, err := range map[string]error{
			"Check":  tmpl.Check(),
			"Render": func() error { _, err := tmpl.Render(sample(), Run{Attempt: 1}); return err }(),
		} {
			if !errors.Is(err, ErrRender) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s of %q:\n got: %v\nwant: %v with %s", how, tc.source, err, ErrRender, tc.want)
			}
		}
	}
}

func TestEveryProblemIsReportedOnce(t *testing.T) {
	t.Parallel()
	err := mustParse(t, "{{ nope.a.b | append: issue.nope }}\n{% assign x = nope2 %}{{ x.y | upcase }}\n{{ x | nope3 }}").Check()
	got := firstQuoted(err.Error())
	want := []string{"nope", "issue.nope", "nope2", "nope3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s\n%v", diff, err)
	}
}

// firstQuoted matches the first quoted word of each line.
func firstQuoted(text string) []string {
	var words []string
	for line := range strings.Lines(text) {
		words = append(words, strings.Split(line, `"`)[1])
	}
	return words
}

func TestASyntaxErrorFailsTheParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ source, want string }{
		{"a\nb {{ issue.title", `line 2: {{ without }}`},
		{"a\n{{ issue.title\n| upcase }}", `line 2: {{ without }}`},
		{"{{}}", `{{ without }}`},
		{"{{ }}", `nothing to print`},
		{"{{ issue.title }", `{{ without }}`},
		{"{{ issue.title } {{ issue.id }}", `syntax error`},
		{"a\n\n{% if true", `line 3: {% without a tag`},
		{"{% %}", `{% without a tag`},
		{"{% if true %}a", `line 1: {% if %} is never closed; add {% endif %}`},
		{"\n{% raw %}{{ a }}", `line 2: {% raw %} is never closed`},
		{"{% comment %}{% if %}", `{% comment %} is never closed`},
		{"{% capture x %}", `{% capture %} is never closed`},
		{"{% endif %}", `{% endif %} closes nothing`},
		{"{% if true %}\n{% endfor %}", `line 2: {% endfor %} stands where {% if %} of line 1 is open`},
		{"{% else %}", `else`},
		{"{% for x in issue.labels %}{% elsif true %}{% endfor %}", `elsif not inside if`},
		{"{% if true %}{% else if false %}{% endif %}", `{% else %} takes no arguments`},
		{"{% if true %}{% endif x %}", `{% endif %} takes no arguments`},
		{"{% if %}{% endif %}", `no condition`},
		{"{% if a = b %}{% endif %}", `syntax error`},
		{"{% unless && %}{% endunless %}", `syntax error`},
		{"{% for %}{% endfor %}", `no name and no list`},
		{"{% for x on issue.labels %}{% endfor %}", `syntax error`},
		{"{% for x in issue.labels backwards %}{% endfor %}", `syntax error`},
		{"{% assign %}", `no name and no value`},
		{"{% assign x %}", `syntax error`},
		{"{% assign issue.title = 1 %}", `syntax error`},
		{"{% capture 'x' %}{% endcapture %}", `syntax error`},
		{"{% for x in issue.labels %}{% cycle 1 %}{% endfor %}", `expected a string`},
		{"{% cycle 'a' %}", `{% cycle %} is outside of a loop`},
		{"{% if true %}{% break %}{% endif %}", `{% break %} is outside of a loop`},
		{"{% for x in issue.labels %}{% endfor %}{% continue %}", `{% continue %} is outside of a loop`},
		{"\n{% fore %}", `line 2: unknown tag "fore"; did you mean "for"?`},
		{"{% endfro %}", `unknown tag "endfro"`},
		{"{% include 'WORKFLOW.md' %}", `{% include %} is not available, since a prompt reads no files`},
		{"{% render 'x' %}", `{% render %} is not available`},
		{"{% if false %}{% include 'x' %}{% endif %}", `{% include %} is not available`},
		{"{{ %assign x = 1 }}", `syntax error`},
		{"{{ %loop x in issue.labels }}", `syntax error`},
		{"{{ issue.title; }}", `syntax error`},
		{"{{ issue.title | }}", `syntax error`},
		{"{{ | upcase }}", `syntax error`},
		{"{{ issue. title }}", `syntax error`},
		{"{{ 'a }}", `syntax error`},
		{"{{ 99999999999999999999 }}", `line 1: syntax error`},
		{"{{ a\u200db }}", `syntax error`},
		{"{{ " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + " }}", `syntax error`},
		{strings.Repeat("{% if true %}", 200) + strings.Repeat("{% endif %}", 200), `more than 100 blocks`},
		{strings.Repeat("x", maxChars+1), `shorten it`},
	} {
		_, err := ParseAt(tc.source, 1)
		if !errors.Is(err, ErrParse) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParseAt(%.80q):\n got: %v\nwant: %v with %s", tc.source, err, ErrParse, tc.want)
		}
	}
}

// offered collects the names of the engine's filters.
type offered map[string]bool

func (o offered) AddFilter(name string, _ any) { o[name] = true }

func TestTheKnownFiltersAreTheOnesOfTheEngine(t *testing.T) {
	t.Parallel()
	engine := offered{}
	filters.AddStandardFilters(engine)
	want := slices.Sorted(maps.Keys(engine))
	got := slices.Sorted(maps.Keys(signatures))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filters (-engine +ours):\n%s", diff)
	}
}

func TestTheSchemaHasEveryFieldOfAnIssue(t *testing.T) {
	t.Parallel()
	got := schema()["issue"].names()
	want := []string{
		"assignee_id", "blocked_by", "branch_name", "created_at", "description", "dispatchable", "id", "identifier",
		"labels", "native_ref", "priority", "state", "title", "updated_at", "url",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
