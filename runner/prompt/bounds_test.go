package prompt

import (
	"errors"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

func TestATemplateThatNeverEndsIsStopped(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"{% for i in (1..30000000) %}{% endfor %}":                                                                  "more than 100000 loop iterations",
		"{% for i in (1..9223372036854775806) %}{% endfor %}":                                                       "more than 100000 loop iterations",
		"{% for i in (1..30000000) reversed offset: 5 %}{% endfor %}":                                               "more than 100000 loop iterations",
		"{% for a in (1..999) %}{% for b in (1..999) %}{% for c in (1..999) %}{% endfor %}{% endfor %}{% endfor %}": "more than 100000 loop iterations",
		"{% tablerow i in (1..30000000) %}{% endtablerow %}":                                                        "more than 100000 loop iterations",
		"{% assign n = 99999 | times: 99999 | ceil %}{% assign r = (1..n) %}{% for i in r %}{% endfor %}":           "more than 100000 loop iterations",
		"{% for i in (1..99999) %}" + strings.Repeat("x", 99_999) + "{% endfor %}":                                  "the prompt is too long",
		"{% for i in (1..2000) %}{{ issue.description }}{% endfor %}":                                               "the prompt is too long",
	} {
		tmpl := mustParse(t, source)
		if err := tmpl.Check(); err != nil {
			t.Errorf("%.80q: %v", source, err)
		}
		text, err := tmpl.Render(tracker.Issue{Description: strings.Repeat("x", 20_000)}, Run{})
		if text != "" || !errors.Is(err, ErrRender) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%.80q gave %d bytes and error %v", source, len(text), err)
		}
	}
}

func TestTheLoopsOfOneRenderDoNotCountInTheNext(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "{% for i in (1..60000) %}{% endfor %}done")
	for range 3 {
		if text, err := tmpl.Render(tracker.Issue{}, Run{}); text != "done" || err != nil {
			t.Errorf("got %q, error %v", text, err)
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

func TestALargeIssueIsRendered(t *testing.T) {
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
