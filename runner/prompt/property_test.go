package prompt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/osteele/liquid"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/tracker"
)

// fragments lists pieces of templates that use only known names. Each use of a
// name is marked by @, and … is where another fragment fits.
var fragments = []string{
	"text ", "\n",
	"{{ @issue.title }}", "{{- @issue.description | upcase -}}", "{{ @issue }}", "{{ @issue['state'] }}",
	"{{ @issue.labels }}", "{{ @issue.labels[@attempt] }}", "{{ @issue.native_ref[@issue.id] }}",
	"{{ @issue.blocked_by[0].identifier | default: @issue.url | append: @issue.branch_name }}",
	"{{ @issue.blocked_by | map: 'state' | join: @issue.title }}",
	"{{ @issue.created_at | date: '%Y' }}", "{{ (@issue.title == @blank) or @attempt > 1 }}",
	"{% if @issue.description == @empty and @issue.priority < 3 %}…{% elsif true or @attempt %}…{% else %}…{% endif %}",
	"{% unless @issue.dispatchable %}…{% else %}…{% endunless %}",
	"{% case @issue.state %}{% when @issue.title, 'x' %}…{% when 1 or @null %}…{% else %}…{% endcase %}",
	"{% for x in @issue.labels limit: @issue.labels.size %}{{ @x }}{{ @forloop.index }}…{% else %}…{% endfor %}",
	"{% for b in @issue.blocked_by %}{{ @b.state }}{% cycle 'a', 'b' %}…{% endfor %}",
	"{% assign a = @issue.priority | plus: 1 %}{{ @a | times: @a }}…",
	"{% assign l = @issue.blocked_by | where: 'state', @issue.state %}{% for i in @l reversed %}{{ @i.id }}{% endfor %}",
	"{% if false %}{% capture c %}…{% endcapture %}{% endif %}{{ @c | size }}",
	"{% raw %}{{ nope }}{% endraw %}{% comment %}{{ nope }}{% endcomment %}",
}

func template(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var out strings.Builder
		for range rapid.IntRange(1, 3).Draw(t, "fragments") {
			for i, part := range strings.Split(rapid.SampledFrom(fragments).Draw(t, "fragment"), "…") {
				if i > 0 && depth > 0 {
					out.WriteString(template(depth-1).Draw(t, "body"))
				}
				out.WriteString(part)
			}
		}
		return out.String()
	})
}

func issues() *rapid.Generator[tracker.Issue] {
	return rapid.Custom(func(t *rapid.T) tracker.Issue {
		text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringMatching(`[{}% a-z.|\x00]*`))
		issue := tracker.Issue{
			ID:           tracker.ID(text.Draw(t, "id")),
			Identifier:   text.Draw(t, "identifier"),
			Title:        text.Draw(t, "title"),
			Description:  text.Draw(t, "description"),
			Priority:     rapid.Ptr(rapid.Int(), true).Draw(t, "priority"),
			State:        text.Draw(t, "state"),
			URL:          text.Draw(t, "url"),
			Labels:       rapid.SliceOfN(text, 0, 4).Draw(t, "labels"),
			NativeRef:    rapid.MapOfN(text, text, 0, 3).Draw(t, "native_ref"),
			Dispatchable: rapid.Bool().Draw(t, "dispatchable"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "blockers") {
			issue.BlockedBy = append(issue.BlockedBy, tracker.Blocker{ID: tracker.ID(text.Draw(t, "id")), State: text.Draw(t, "state")})
		}
		if rapid.Bool().Draw(t, "has a time") {
			issue.CreatedAt = time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "created_at"), 0)
		}
		return issue
	})
}

func TestATemplateOfKnownNamesAlwaysRenders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := strings.ReplaceAll(template(2).Draw(t, "template"), "@", "")
		tmpl, err := ParseAt(source, 1)
		if err != nil {
			t.Fatal(err)
		}
		run := Run{
			Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"), Resumed: rapid.Bool().Draw(t, "resumed"), WorkspaceKept: rapid.Bool().Draw(t, "kept"),
			Refused: rapid.String().Draw(t, "refused"), Branch: rapid.SampledFrom([]string{"", "b"}).Draw(t, "branch"),
		}
		text, err := tmpl.Render(issues().Draw(t, "issue"), run)
		if err != nil || !utf8.ValidString(text) {
			t.Fatalf("%q\n%v", text, err)
		}
	})
}

func TestOneUnknownNameAnywhereFailsEveryRender(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := template(2).Filter(func(s string) bool { return strings.Contains(s, "@") }).Draw(t, "template")
		parts := strings.Split(source, "@")
		at := rapid.IntRange(1, len(parts)-1).Draw(t, "which")
		tmpl, err := ParseAt(strings.Join(parts[:at], "")+"un"+strings.Join(parts[at:], ""), 1)
		if err != nil {
			t.Fatal(err)
		}
		line := 1 + strings.Count(strings.Join(parts[:at], ""), "\n")
		want := fmt.Sprintf("line %d: unknown variable \"un", line)
		if _, err := tmpl.Render(issues().Draw(t, "issue"), Run{}); !errors.Is(err, ErrRender) || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want %s", err, want)
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, fragment := range fragments {
		f.Add(strings.NewReplacer("@", "", "…", "").Replace(fragment), "{{ issue.title }}", "a\x00\xff", 1)
	}
	for _, source := range []string{
		"", "{{", "{%", "{{ %assign x = 1 }}", "{{ 'a' | slice: 0, -1 }}", "{{ x?.y['z'][-1] }}", "{% for i in (1..99999999) %}{{ i }}{% endfor %}",
		"{% assign x = issue == blank %}{{ x }}", "{%- raw -%}{{ {%- endraw -%}", "{% if a %}{% else if b %}{% endif %}", "{{ issue | json | split: '' | sort_natural }}",
	} {
		f.Add(source, "title", "", 0)
	}
	f.Fuzz(func(t *testing.T, source, title, description string, attempt int) {
		tmpl, err := ParseAt(source, 1)
		if err != nil {
			if !errors.Is(err, ErrParse) {
				t.Fatalf("Parse: %v", err)
			}
			return
		}
		if tmpl.Check() == nil {
			if _, err := compile(liquid.NewEngine(), tmpl.source, "", 1); err != nil {
				t.Fatalf("the source was rewritten into one that does not parse: %v\n%s", err, tmpl.source)
			}
		}
		issue := sample()
		issue.Title, issue.Description = title, description
		text, err := tmpl.Render(issue, Run{Attempt: attempt})
		switch {
		case err != nil && (text != "" || !errors.Is(err, ErrRender)):
			t.Fatalf("Render: %q, %v", text, err)
		case tmpl.Check() != nil && err == nil:
			t.Fatalf("rendered in spite of %v", tmpl.Check())
		case !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxChars:
			t.Fatalf("a prompt of %d bytes is not one that Codex takes", len(text))
		}
	})
}

func BenchmarkRender(b *testing.B) {
	source := strings.Repeat(`You are working on {{ issue.identifier }}: {{ issue.title | upcase }}.
{% if issue.description == blank %}Nothing more is known.{% else %}{{ issue.description }}{% endif %}
{% for blocker in issue.blocked_by %}- {{ forloop.index }}. {{ blocker.identifier }} is {{ blocker.state | default: "open" }}
{% endfor %}`, 13)
	tmpl, err := ParseAt(source, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Render(sample(), Run{Attempt: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
