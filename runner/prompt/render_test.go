package prompt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

func TestRender(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ source, full, bare string }{
		{"{{ issue.id }} {{ issue.identifier }} {{ issue.title }} {{ issue.state }}", "7 GH-7 Fix the login In Progress", "1 X-1 T S"},
		{"{{ issue.description }}|{{ issue.branch_name }}|{{ issue.url }}|{{ issue.assignee_id }}", "It fails.|fix-login|https://example.test/7|ada", "|||"},
		{"{{ issue.priority }}|{{ issue.dispatchable }}|{{ attempt }}", "2|true|1", "|false|"},
		{"{{ issue.created_at }}|{{ issue.updated_at }}", "2025-01-02T03:04:05Z|2025-02-03T04:05:06Z", "|"},
		{"{{ issue.created_at | date: '%d %b %Y' }}", "02 Jan 2025", ""},
		{"{{ issue.labels }}|{{ issue.labels.size }}|{{ issue.labels[1] }}|{{ issue.labels.first }}", "bug, urgent|2|urgent|bug", "|0||"},
		{"{{ issue.blocked_by }}", `[{"id":"3","identifier":"GH-3","state":"Done"},{"id":null,"identifier":"GH-4","state":null}]`, ""},
		{"{{ issue.blocked_by | map: 'identifier' }}|{{ issue.blocked_by[1].state }}|{{ issue.blocked_by.last['identifier'] }}", "GH-3, GH-4||GH-4", "||"},
		{"{{ issue.blocked_by | map: 'state' }}|{{ 'a b' | split: ' ' }}|{{ issue.labels | default: 'none' }}", "Done|a, b|bug, urgent", "|a, b|none"},
		{"{{ issue.native_ref.number }}|{{ issue.native_ref['repo'] }}|{{ issue.native_ref.nope }}|{{ issue.native_ref[issue.id] }}", "7|a/b||", "|||"},
		{"{{ issue.native_ref }}|{{ issue.native_ref | json }}", `{"number":"7","repo":"a/b"}|{"number":"7","repo":"a/b"}`, "|null"},
		{"{% if issue.description %}d{% endif %}{% if issue.priority %}p{% endif %}{% if issue.created_at %}c{% endif %}{% if attempt %}a{% endif %}{% if issue.native_ref %}n{% endif %}", "dpcan", ""},
		{"{% if issue.description == blank %}b{% endif %}{% if issue.description == empty %}e{% endif %}{% if issue.description == nil %}n{% endif %}{% if issue.description == null %}N{% endif %}", "", "benN"},
		{"{% if issue.description != blank %}b{% endif %}{% if empty != issue.labels %}l{% endif %}", "bl", ""},
		{"{% assign d = issue.description | strip %}{% if (d == blank) == true and issue.labels == empty %}nothing{% endif %}", "", "nothing"},
		{"{% if '' == empty and ' ' == blank and false == blank %}1{% endif %}{% if ' ' == empty or 0 == blank or false == empty %}2{% endif %}", "1", "1"},
		{"{{ blank }}{{ empty }}{{ null }}{{ nil }}{{ true }}{{ 1.5 }}{{ 'a' }}", "true1.5a", "true1.5a"},
		{"{% if issue.priority < 3 %}soon{% else %}later{% endif %}", "soon", "later"},
		{"{% if issue.labels contains 'bug' and issue.title contains 'login' %}y{% endif %}", "y", ""},
		{"{% if attempt > 0 %}again{% else %}first{% endif %}", "again", "first"},
		{"{% for l in issue.labels %}{{ forloop.index }}{{ l }}{% unless forloop.last %},{% endunless %}{% else %}none{% endfor %}", "1bug,2urgent", "none"},
		{"{% for b in issue.blocked_by reversed limit: 1 %}{{ b.identifier }}{% endfor %}", "GH-4", ""},
		{"{% for b in issue.blocked_by offset:1 %}{{ b.identifier }}{% for l in issue.labels %}{{ b.id }}{{ l }}{% endfor %}{% endfor %}", "GH-4bugurgent", ""},
		{"{% for i in (1..3) %}{% cycle 'a', 'b' %}{% if i == 2 %}{% break %}{% endif %}{% endfor %}", "ab", "ab"},
		{"{% assign n = 1 | plus: 2 %}{% assign r = (2..n) %}{% for i in r limit: n %}{{ i }}{% continue %}x{% endfor %}{% for i in (3..1) %}{% else %}-{% endfor %}", "23-", "23-"},
		{"{% tablerow l in issue.labels cols: 1 %}{{ l }}{% endtablerow %}", `<tr class="row1"><td class="col1">bug</td></tr><tr class="row2"><td class="col1">urgent</td></tr>`, ""},
		{"{% case issue.state %}{% when 'a', 'In Progress' %}p{% when 'S' or 'b' %}s{% else %}-{% endcase %}", "p", "s"},
		{"{% capture c %}[{{ issue.id }}]{% endcapture %}{{ c }}{{ c | size }}", "[7]3", "[1]3"},
		{"{% if false %}{% assign x = 1 %}{% endif %}[{{ x }}]", "[]", "[]"},
		{"{% if false %}{% assign l = issue.labels %}{% endif %}{% for x in l %}{% else %}-{% endfor %}", "-", "-"},
		{"{{ true == false }}{{ issue.id == '7' or attempt }}", "falsetrue", "falsefalse"},
		{"a  {{- issue.id -}}  b {%- if true -%} c {%- endif %} d", "a7bc d", "a1bc d"},
		{"{{ issue.url | default: 'no url' }}{{ false | default: 'x', allow_false: true }}", "https://example.test/7false", "no urlfalse"},
		{"{{ issue.title | replace: 'login', 'x' | upcase | append: '!' }}", "FIX THE X!", "T!"},
		{"{{ issue.title | split: ' ' | sort | join: '+' }}|{{ issue.labels | join }}|{{ issue.labels | concat: issue.labels | uniq }}", "Fix+login+the|bug urgent|bug, urgent", "T||"},
		{"{{ '<a>' | split: ',' | json }}", `["<a>"]`, `["<a>"]`},
		{"{% raw %}{{ nope }}{% nope %}{% { {% endraw %}{% comment %}{{ nope }} {% if %}{% endcomment %}}} %} { {", "{{ nope }}{% nope %}{% { }} %} { {", "{{ nope }}{% nope %}{% { }} %} { {"},
	} {
		tmpl := mustParse(t, tc.source)
		full, err := tmpl.Render(sample(), Run{Attempt: 1})
		if err != nil {
			t.Errorf("%q of a full issue: %v", tc.source, err)
		}
		bare, err := tmpl.Render(tracker.Issue{ID: "1", Identifier: "X-1", Title: "T", State: "S"}, Run{})
		if err != nil {
			t.Errorf("%q of a bare issue: %v", tc.source, err)
		}
		if diff := cmp.Diff([]string{tc.full, tc.bare}, []string{full, bare}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.source, diff)
		}
	}
}

func TestAWholeIssuePrintsAsJSON(t *testing.T) {
	t.Parallel()
	got, err := mustParse(t, "{{ issue }}").Render(tracker.Issue{ID: "1", Identifier: "X-1", Title: "a < b", State: "S"}, Run{})
	want := `{"assignee_id":null,"blocked_by":[],"branch_name":null,"created_at":null,"description":null,"dispatchable":false,` +
		`"id":"1","identifier":"X-1","labels":[],"native_ref":null,"priority":null,"state":"S","title":"a < b","updated_at":null,"url":null}`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v; (-want +got):\n%s", err, diff)
	}
}

func TestABlankTemplateGivesTheFallbackPrompt(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", " \n\t\n"} {
		got, err := mustParse(t, source).Render(sample(), Run{})
		want := "You are working on an issue from the tracker: GH-7, Fix the login\n\nIt fails.\n"
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v; (-want +got):\n%s", err, diff)
		}
	}
}

func TestTextOfAnIssueIsData(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "{{ issue.title }}|{{ issue.description }}|{{ issue.labels }}|{% assign d = issue.description %}{{ d }}|{% capture c %}{{ d }}{% endcapture %}{{ c }}")
	for _, text := range []string{
		"{{ issue.id }}", "{% include '/etc/passwd' %}", "{% raw %}", "}} %} {{", "{{ issue.nope | nope }}",
		"a\x00b", "-}}", "\r\n \t", "%!s(MISSING)", strings.Repeat("é", maxChars/8),
	} {
		got, err := tmpl.Render(tracker.Issue{Title: text, Description: text, Labels: []string{text, text}}, Run{})
		want := strings.Join([]string{text, text, text + ", " + text, text, text}, "|")
		if err != nil || got != want {
			t.Errorf("an issue that says %.40q: got %.200q, error %v", text, got, err)
		}
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "\xff{{ issue.title }}{{ '%ff' | url_decode }}{{ issue.labels | json }}")
	got, err := tmpl.Render(tracker.Issue{Title: "a\xc3\x28b", Labels: []string{"\xfe"}}, Run{})
	if want := "\uFFFDa\uFFFD(b\uFFFD[\"\\ufffd\"]"; err != nil || got != want {
		t.Errorf("got %q, error %v; want %q", got, err, want)
	}
}

func TestAPromptLongerThanCodexTakesIsRefused(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "{{ issue.description }}")
	longest := strings.Repeat("é", maxChars)
	if got, err := tmpl.Render(tracker.Issue{Description: longest}, Run{}); err != nil || got != longest {
		t.Errorf("the longest prompt: %d bytes, error %v", len(got), err)
	}
	_, err := tmpl.Render(tracker.Issue{Identifier: "X-1", Description: longest + "é"}, Run{})
	if !errors.Is(err, ErrRender) || !strings.Contains(err.Error(), "the prompt of X-1 has 1048577 characters and may have 1048576; shorten") {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorOfTheEngineHasItsLineAndIsShort(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ source, want string }{
		{"{% if true %}\n{% for l in issue.labels %}\n{{ 1 | divided_by: 0 }}{% endfor %}{% endif %}", `line 3: filter "divided_by": division by zero`},
		{"\n{{ issue.description | date: '%Y' }}", `line 2: filter "date": can't convert string(xxx`},
		{"\n{{ 'a' | slice: 0, -1 }}", `line 2: filter "slice": runtime error`},
		{"{{ 'a' | upcase: 'b', 'c' }}", `line 1: filter "upcase": wrong number of arguments`},
		{"{{ issue.created_at | date: issue.description }}", `the format has 5000 bytes`},
		{"{{ 'NaN' | plus: 1 | json }}", `print its fields one by one`},
		{"\n{% for i in (1..issue.priority) %}{% endfor %}", `line 2: can't convert`},
		{"\n{% for l in issue.labels limit: 'x' %}{% endfor %}", `(line 2): loop limit must be an integer`},
	} {
		issue := sample()
		issue.Description, issue.Priority = strings.Repeat("x", 5000), nil
		_, err := mustParse(t, tc.source).Render(issue, Run{})
		if !errors.Is(err, ErrRender) || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 500 {
			t.Errorf("%q: got %v, want %s", tc.source, err, tc.want)
		}
	}
}

func TestATemplateKnowsWhetherTheThreadAndTheWorkspaceAreThoseOfAnEarlierSession(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "{{ run.resumed }} {{ run.workspace_kept }}{% if run.resumed %} thread{% endif %}{% if run.workspace_kept %} workspace{% endif %}")
	for want, run := range map[string]Run{
		"false false":                {},
		"false true workspace":       {Attempt: 1, WorkspaceKept: true},
		"true false thread":          {Resumed: true},
		"true true thread workspace": {Resumed: true, WorkspaceKept: true},
	} {
		got, err := tmpl.Render(sample(), run)
		if err != nil || !strings.HasSuffix(got, want) || !run.Resumed && got != want {
			t.Errorf("%+v: %v\n%s", run, err, got)
		}
	}
}

func TestTheFirstPromptOfAResumedThreadSaysThatItIsResumed(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "The prompt.")
	for kept, test := range map[bool]struct{ want, not string }{
		true:  {"The workspace was kept", "The workspace is new"},
		false: {"The workspace is new", "The workspace was kept"},
	} {
		got, err := tmpl.Render(sample(), Run{Resumed: true, WorkspaceKept: kept})
		if err != nil || !strings.HasSuffix(got, "\n\nThe prompt.") {
			t.Fatalf("%v\n%s", err, got)
		}
		for _, want := range []string{"This thread continues", "GH-7", `its state is "In Progress"`, "the prompt below counts", test.want} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
		if strings.Contains(got, test.not) {
			t.Errorf("%q in:\n%s", test.not, got)
		}
	}
	if _, err := mustParse(t, "{{ issue.description }}").Render(tracker.Issue{Description: strings.Repeat("x", maxChars)}, Run{Resumed: true}); !errors.Is(err, ErrRender) {
		t.Errorf("a prompt that is too long with its preamble: %v", err)
	}
}

func TestContinuationSaysWhereTheWorkStandsAndNotWhatItIs(t *testing.T) {
	t.Parallel()
	issue := sample()
	issue.State = "{{ In Review }}"
	got := Continuation(issue, 2, 20, false)
	for _, want := range []string{"GH-7", "turn 2 of at most 20", `"{{ In Review }}"`, "stand", "left", "hand the issue over"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	for _, not := range []string{issue.Title, issue.Description, issue.URL} {
		if strings.Contains(got, not) {
			t.Errorf("the prompt's %q is repeated in:\n%s", not, got)
		}
	}
}

// TestTheReadmeOfWorkflowsNamesEveryVariable compares the variables of a template
// with the document for authors of WORKFLOW.md.
func TestTheReadmeOfWorkflowsNamesEveryVariable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "workflow", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, value := range bindings(tracker.Issue{}, Run{}) {
		fields, object := value.(map[string]any)
		if !object {
			names = append(names, name)
		}
		for field := range fields {
			names = append(names, name+"."+field)
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d variables: %q", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("runner/workflow/README.md does not name %s", name)
		}
	}
}
