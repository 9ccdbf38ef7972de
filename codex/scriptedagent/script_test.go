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
  - [ ] Append ~more~ to ~notes/greeting.txt~.
- [ ] Run:

  ~~~bash
  echo one
    echo two
  ~~~

For example:

~~~
- [ ] Say ~no task: an example~
~~~

## Next turn

- [ ] Call ~issue_update~ with ~{"state":"Review"}~
- [ ] Move this issue to ~Done~
`, "~", "`")
	parts, err := parseScript(prompt, verbs())
	if err != nil {
		t.Fatal(err)
	}
	want := [][][]string{
		{
			{"Create `path` containing `text`", "greeting.txt", "hello"},
			{"Append `text` to `path`", "more", "notes/greeting.txt"},
			{"Run `command`", "echo one\n  echo two\n"},
		},
		{
			{"Call `tool` with `arguments`", "issue_update", `{"state":"Review"}`},
			{"Move this issue to `state`", "Done"},
		},
	}
	if diff := cmp.Diff(want, read(parts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// read returns the patterns and arguments of steps.
func read(parts [][]step) [][][]string {
	all := make([][][]string, len(parts))
	for i, part := range parts {
		for _, s := range part {
			all[i] = append(all[i], append([]string{s.verb.Pattern}, s.args...))
		}
	}
	return all
}

func TestAPromptWithoutTasksIsAnEmptyPart(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"", "Just prose.", "- a list\n- [link](x)", "```\n- [ ] never closed"} {
		parts, err := parseScript(prompt, verbs())
		if diff := cmp.Diff([][][]string{nil}, read(parts)); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", prompt, err, diff)
		}
	}
}

func TestATaskThatIsNotUnderstoodIsNamed(t *testing.T) {
	t.Parallel()
	for _, task := range []string{
		"", "Do the dishes", "Run", "Run `", "Run ``", "Run `a` `b`", "Run `unclosed", "Create `a`", "Move this issue to Review",
		"Create `../a` containing `b`", "Append `a` to `/etc/passwd`", "Call `x` with `[]`", "Call `x` with `{`",
	} {
		_, err := parseScript("Prose.\n- [ ] "+task+"\n- [ ] Run `true`", verbs())
		if err == nil {
			t.Errorf("%q: accepted", task)
		} else if want := "line 2: "; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), task) {
			t.Errorf("%q: %v does not name it", task, err)
		}
	}
}

func TestEveryVerbIsListedAndTakesWhatItsPatternShows(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs() {
		if !strings.Contains(string(manual), "\n//\t"+v.Pattern) {
			t.Errorf("the package comment does not list %q", v.Pattern)
		}
		if _, err := parseScript("- [ ] "+strings.Replace(v.Pattern, "arguments", "{}", 1), verbs()); err != nil {
			t.Errorf("%q: %v", v.Pattern, err)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	for _, v := range verbs() {
		f.Add("- [ ] " + v.Pattern)
	}
	f.Add("- [ ] Run:\n\n   ````sh\n```\n````\n# Next turn\n- [ ] Run ``` ` ```")
	f.Fuzz(func(t *testing.T, prompt string) {
		parts, err := parseScript(prompt, verbs())
		if err != nil && parts != nil {
			t.Error("half a script")
		}
		for _, part := range parts {
			for _, s := range part {
				if strings.Count(s.verb.Pattern, "`") != 2*len(s.args) || s.verb.Check != nil && s.verb.Check(s.args) != nil {
					t.Errorf("step %+v", s)
				}
			}
		}
	})
}
