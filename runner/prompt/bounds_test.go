package prompt

import (
	"errors"
	"strings"
	"testing"

	"github.com/osteele/liquid/values"

	"github.com/symphony-runner/symphony/tracker"
)

func TestATemplateThatNeverEndsIsStopped(t *testing.T) {
	t.Parallel()
	double := func(tag string) string {
		return "{% assign x = 'xxxxxxxx' %}{% for i in (1..99) %}" + tag + "{% endfor %}"
	}
	for _, source := range []string{
		"{% for i in (1..30000000) %}{% endfor %}",
		"{% for i in (1..9223372036854775806) %}{% endfor %}",
		"{% for i in (1..30000000) reversed offset: 5 %}{% endfor %}",
		"{% for a in (1..999) %}{% for b in (1..999) %}{% for c in (1..999) %}{% endfor %}{% endfor %}{% endfor %}",
		"{% tablerow i in (1..30000000) %}{% endtablerow %}",
		"{% assign n = 99999 | times: 99999 | ceil %}{% assign r = (1..n) %}{% for i in r %}{% endfor %}",
		"{% for i in (1..99999) %}" + strings.Repeat("x", 99_999) + "{% endfor %}",
		"{% capture c %}{% for i in (1..99999) %}" + strings.Repeat("x", 99_999) + "{% endfor %}{% endcapture %}",
		double("{% assign x = x | append: x %}"),
		double("{% assign x = x | prepend: x %}"),
		double("{% assign x = x | replace: 'x', x %}"),
		double("{% capture x %}{{ x }}{{ x }}{% endcapture %}"),
		double("{% assign l = x | split: '' %}{% assign x = l | join: x %}"),
		"{% assign l = 'a,b' | split: ',' %}{% for i in (1..99) %}{% assign l = l | concat: l %}{% endfor %}",
		"{{ issue.description | replace: 'x', issue.description }}",
		"{{ issue.description | split: '' | join: issue.description }}",
		// The shape of a name is the one of its last assignment in the text;
		// a range that gets past the checker so must not be spread out.
		"{% assign l = issue.labels %}{% for i in (1..2) %}{{ l | join }}{% assign l = (1..9000000000) %}{% endfor %}",
	} {
		tmpl := mustParse(t, source)
		if err := tmpl.Check(); err != nil {
			t.Errorf("%.80q: %v", source, err)
		}
		text, err := tmpl.Render(tracker.Issue{Description: strings.Repeat("x", 20_000)}, Run{})
		if text != "" || !errors.Is(err, ErrRender) || !strings.Contains(err.Error(), errTooMuch.Error()) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%.80q gave %d bytes and error %v", source, len(text), err)
		}
	}
}

func TestALongRangeMayBeLeftEarly(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"{% for i in (1..30000000) limit: 3 %}{{ i }}{% endfor %}",
		"{% for i in (1..30000000) %}{{ i }}{% if i == 3 %}{% break %}{% endif %}{% endfor %}",
	} {
		if got, err := mustParse(t, source).Render(tracker.Issue{}, Run{}); err != nil || got != "123" {
			t.Errorf("%q: got %q, error %v", source, got, err)
		}
	}
}

func TestAnIssueOfAnySizeFitsTheMeter(t *testing.T) {
	t.Parallel()
	issue := sample()
	issue.Description = strings.Repeat("word\n", 200_000)
	issue.Labels = make([]string, 2000)
	issue.BlockedBy = make([]tracker.Blocker, 2000)
	got, err := mustParse(t, `{{ issue.description | strip | replace: "word", "term" }}
{% for l in issue.labels %}{{ forloop.index }}{% endfor %}{% for b in issue.blocked_by %}{{ b.state }}{% endfor %}`).Render(issue, Run{})
	if err != nil || !strings.HasPrefix(got, "term\nterm") {
		t.Errorf("got %d bytes, error %v", len(got), err)
	}
}

func TestTheMeterStaysEmptyOnceItIs(t *testing.T) {
	t.Parallel()
	for _, cost := range []int{11, -1} { // a cost below zero is an overflow
		m := &meter{left: 10}
		if err := m.spend(cost); !errors.Is(err, errTooMuch) {
			t.Errorf("spend(%d) of 10: %v", cost, err)
		}
		if err := m.spend(1); !errors.Is(err, errTooMuch) {
			t.Errorf("spend(1) after spend(%d): %v", cost, err)
		}
	}
}

func TestEveryKindOfValueHasAWeight(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for _, value := range []any{
		long, []any{long}, []string{long}, map[string]any{long: nil}, map[string]any{"": long},
		map[string]string{long: ""}, map[string]string{"": long}, []any{map[string]any{"": []any{long}}}, values.NewRange(1, 1000),
	} {
		if n := weigh(value); n < len(long) {
			t.Errorf("%T weighs %d", value, n)
		}
	}
}

// stackTrace is an error of the kind that the engine panics with.
type stackTrace struct{ cause error }

func (stackTrace) Error() string  { return "goroutine 1 [running]" }
func (s stackTrace) Cause() error { return s.cause }

func TestAPanicOfTheEngineIsAnError(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	for _, tc := range []struct {
		panics any
		want   string
	}{{cause, "the cause"}, {stackTrace{cause}, "the cause"}, {"a word", "the template engine gave up: a word"}} {
		err := func() (err error) {
			defer recovered(&err)
			panic(tc.panics)
		}()
		if err == nil || err.Error() != tc.want {
			t.Errorf("panic(%v) became %v, want %s", tc.panics, err, tc.want)
		}
	}
}
