package scriptedagent

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAScriptIsReadFromTheTaskLinesOfAPrompt(t *testing.T) {
	t.Parallel()
	prompt := strings.ReplaceAll(`You are working on ABC-1. Do *this*:

- [ ] Create ~greeting.txt~ containing ~hello~
- [x] Say ~already done~
  * [ ] Append ~~ a ~tick~ ~~ to ~notes/greeting.txt~.
- [ ] Run:

  ~~~bash
  echo one
    echo two
  ~~~

For example:

~~~
- [ ] Say ~no task: an example~
~~~

## next turn ##

## Next turn

- [ ] Call ~issue_update~ with ~{"state":"Review"}~
- [ ] Hang
`, "~", "`")
	got, err := parseScript(prompt)
	if err != nil {
		t.Fatal(err)
	}
	want := script{Turns: [][]step{
		{
			{3, "Create ` containing `", []string{"greeting.txt", "hello"}},
			{5, "Append ` to `", []string{"a `tick`", "notes/greeting.txt"}},
			{6, "Run `", []string{"echo one\n  echo two\n"}},
		}, {
			{23, "Call ` with `", []string{"issue_update", `{"state":"Review"}`}},
			{24, "Hang", nil},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPromptWithoutTasksIsAnEmptyPart(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"", "Just prose.", "- a list\n- [link](x)", "```\n- [ ] never closed"} {
		got, err := parseScript(prompt)
		if diff := cmp.Diff(script{Turns: [][]step{nil}}, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", prompt, err, diff)
		}
	}
}

func TestATaskThatIsNotUnderstoodIsNamed(t *testing.T) {
	t.Parallel()
	for _, task := range []string{
		"", "Do the dishes", "Run", "Run ``", "Run `a` `b`", "Say `unclosed", "Create `a`", "Move this issue to Review",
		"Create `../a` containing `b`", "Append `a` to `/etc/passwd`", "Call `x` with `[]`", "Call `x` with `{`",
		"Wait `soon`", "Wait `-1s`", "Exit `-1`", "Flood `many`", "Output `9999999999` bytes",
		"Fail with `a b`", "Fail with `a 1 2`",
	} {
		_, err := parseScript("Prose.\n- [ ] " + task + "\n- [ ] Hang")
		if err == nil {
			t.Errorf("%q: accepted", task)
		} else if want := "line 2: "; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), task) {
			t.Errorf("%q: %v does not name it", task, err)
		}
	}
}

func TestEveryVerbIsListedAndTakesWhatItsPatternShows(t *testing.T) {
	t.Parallel()
	examples := map[string]string{"count": "1", "delay": "1ms", "arguments": "{}"}
	manual, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, v := range verbs() {
		name, kinds := codeSpans(v.pattern)
		if seen[name] {
			t.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if !strings.Contains(string(manual), "\n//\t"+v.pattern) {
			t.Errorf("the package comment does not list %q", v.pattern)
		}
		task := v.pattern
		for _, kind := range kinds {
			if example, ok := examples[kind]; ok {
				task = strings.Replace(task, kind, example, 1)
			}
		}
		if _, err := parseScript("- [ ] " + task); err != nil {
			t.Errorf("%q: %v", v.pattern, err)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	for _, v := range verbs() {
		f.Add("- [ ] " + v.pattern)
	}
	f.Add("- [ ] Run:\n\n   ````sh\n```\n````\n# Next turn\n* [ ] Say ``` ` ```")
	f.Fuzz(func(t *testing.T, prompt string) {
		script, err := parseScript(prompt)
		if err != nil {
			if script.Turns != nil {
				t.Error("half a script")
			}
			return
		}
		again, err := parseScript(prompt)
		if diff := cmp.Diff(script, again); diff != "" || err != nil {
			t.Errorf("a second reading differs: %v\n%s", err, diff)
		}
		lines := strings.Count(prompt, "\n") + 1
		for _, turn := range script.Turns {
			for _, s := range turn {
				v, ok := lookup(s.Verb)
				if !ok || len(s.Args) != len(v.kinds()) || s.Line < 1 || s.Line > lines {
					t.Errorf("step %+v", s)
				}
				for i, kind := range v.kinds() {
					if err := check(kind, s.Args[i]); err != nil {
						t.Errorf("step %+v: %v", s, err)
					}
				}
			}
		}
	})
}
