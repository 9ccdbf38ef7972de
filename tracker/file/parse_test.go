package file

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

var modified = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// issue returns an issue with only what is required, changed by the caller.
func issue(change func(*tracker.Issue)) tracker.Issue {
	i := tracker.Issue{ID: "A-1", Identifier: "A-1", Title: "T", State: "Todo", UpdatedAt: modified, Dispatchable: true}
	change(&i)
	return i
}

func TestAnIssueIsReadFromItsFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content string
		want    tracker.Issue
	}{
		"everything": {
			"---\ntitle: T\nstate: Todo\npriority: 2\nlabels: [Bug, ' urgent ', BUG]\nblocked_by: [B-1, C-2]\n" +
				"created_at: 2026-01-31\nupdated_at: 2026-02-01T10:30:00+01:00\n" +
				"assignee_id: kim\nbranch_name: login\nurl: https://example.org/42\nmine: kept\n---\n\n# Why\n\nBecause.\n\n",
			issue(func(i *tracker.Issue) {
				i.Priority = new(2)
				i.Labels = []string{"bug", "urgent"}
				i.BlockedBy = []tracker.Blocker{{ID: "B-1", Identifier: "B-1"}, {ID: "C-2", Identifier: "C-2"}}
				i.CreatedAt = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
				i.UpdatedAt = time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC)
				i.AssigneeID, i.BranchName, i.URL = "kim", "login", "https://example.org/42"
				i.Description = "# Why\n\nBecause."
			}),
		},
		"the least":                    {"---\ntitle: T\nstate: Todo\n---", issue(func(*tracker.Issue) {})},
		"title from a heading":         {"---\nstate: Todo\n---\nx\n# T \n# U\n", issue(func(i *tracker.Issue) { i.Description = "x\n# T \n# U" })},
		"windows":                      {"\uFEFF---\r\ntitle: T\r\nstate: Todo\r\n---\r\none\r\ntwo\r\n", issue(func(i *tracker.Issue) { i.Description = "one\ntwo" })},
		"text that is a number":        {"---\ntitle: 1.0\nstate: 2\npriority: '3'\n---", issue(func(i *tracker.Issue) { i.Title, i.State, i.Priority = "1.0", "2", new(3) })},
		"priority that is none":        {"---\ntitle: T\nstate: Todo\npriority: 1.5\n---", issue(func(*tracker.Issue) {})},
		"priority that is a list":      {"---\ntitle: T\nstate: Todo\npriority: [1]\n---", issue(func(*tracker.Issue) {})},
		"times that are none":          {"---\ntitle: T\nstate: Todo\ncreated_at: soon\nupdated_at: 7\n---", issue(func(*tracker.Issue) {})},
		"labels with commas":           {"---\ntitle: T\nstate: Todo\nlabels: a, B,, a\n---", issue(func(i *tracker.Issue) { i.Labels = []string{"a", "b"} })},
		"empty lists":                  {"---\ntitle: T\nstate: Todo\nlabels:\nblocked_by: []\n---", issue(func(*tracker.Issue) {})},
		"an alias":                     {"---\ntitle: &t T\nstate: Todo\nbranch_name: *t\n---", issue(func(i *tracker.Issue) { i.BranchName = "T" })},
		"bytes that are no text":       {"---\ntitle: T\nstate: Todo\n---\na\xff\x00b", issue(func(i *tracker.Issue) { i.Description = "a\uFFFD\uFFFDb" })},
		"a rule in the body":           {"---\ntitle: T\nstate: Todo\n---\na\n---\nb", issue(func(i *tracker.Issue) { i.Description = "a\n---\nb" })},
		"comments are no description":  {"---\ntitle: T\nstate: Todo\n---\na\n\n## Comments\n\n### 2026-01-01T00:00:00Z agent\n\nb\n", issue(func(i *tracker.Issue) { i.Description = "a" })},
		"a chapter of that name is":    {"---\ntitle: T\nstate: Todo\n---\na\n\n## Comments\n\nb\n", issue(func(i *tracker.Issue) { i.Description = "a\n\n## Comments\n\nb" })},
		"a title that spans two lines": {"---\ntitle: |\n  T\n  U\nstate: ' Todo '\n---", issue(func(i *tracker.Issue) { i.Title = "T U" })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse("A-1", []byte(test.content), modified)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMalformedFileSaysWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content string
		want    string
	}{
		"empty":                {"", `write a line "---"`},
		"no front matter":      {"# Title\n", `write a line "---"`},
		"a longer fence":       {"----\ntitle: T\nstate: Todo\n----\n", `write a line "---"`},
		"no end":               {"---\ntitle: T\nstate: Todo\n", `write a line "---" after it`},
		"a lone CR at the end": {"---\r\ntitle: T\r\nstate: Todo\r\n---\r", `write a line "---" after it`},
		"not a mapping":        {"---\n- a\n---\n", "correct it"},
		"broken YAML":          {"---\ntitle: T\nstate: [\n---\n", "correct it"},
		"a line number":        {"---\ntitle: T\nstate: Todo\nstate: Done\n---\n", "line 4"},
		"no title":             {"---\nstate: Todo\n---\n", "no title"},
		"no state":             {"---\ntitle: T\nstate:\n---\n", "no state"},
		"neither":              {"---\n---\n", "no title and no state"},
		"a state that is two":  {"---\ntitle: T\nstate: [a, b]\n---\n", "no state"},
		"labels of another kind": {
			"---\ntitle: T\nstate: Todo\nlabels: {a: b}\n---\n", "labels: it is not a list",
		},
		"a blocker of another kind": {
			"---\ntitle: T\nstate: Todo\nblocked_by: [[A-1]]\n---\n", "blocked_by: an entry is not plain text",
		},
		"front matter too large": {"---\ntitle: T\nstate: Todo\nnote: " + strings.Repeat("x", maxFrontMatter) + "\n---\n", "its front matter is larger than 65536 bytes: shorten it"},
		"too many keys":          {"---\ntitle: T\nstate: Todo\n" + manyKeys(501) + "---\n", "its front matter has more than 500 keys: remove some"},
		"too large":              {"---\ntitle: T\nstate: Todo\n---\n" + strings.Repeat("x", maxSize), "shorten it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse("A-1", []byte(test.content), modified)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
			if diff := cmp.Diff(tracker.Issue{}, got); diff != "" {
				t.Errorf("a malformed file gave an issue (-want +got):\n%s", diff)
			}
		})
	}
}

// manyKeys returns front matter with n keys that the adapter does not know.
func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d:\n", i)
	}
	return b.String()
}

// FuzzParse checks that any file is read without harm, and that the tool either
// changes a file that is an issue or refuses, and never breaks it.
func FuzzParse(f *testing.F) {
	f.Add("---\ntitle: T\nstate: Todo # now\nupdated_at: 2026-01-01\n---\nbody", "Done")
	f.Add("---\r\n{title: T, state: 'In Progress'}\r\n---\r\n", "yes")
	f.Add("---\r\n{title: T, state: 'In Progress'}\r\n---\r", "s")
	f.Add("---\ntitle: &t T\nstate: *t\nlabels: a, b\n---\n\n## Comments\n\n### 2026-01-01T00:00:00Z agent\n\nhi", "a: b #c")
	f.Add("---\ntitle: T\nstate: Todo\n---\nA\n## Comments\r\n\n### kim\r\nhi\n### 2026-01-01 lee\n### 2126-01-01T00:00:00Z kim\n", "x")
	f.Add("---\ntitle: T\nstate: Todo\n---\nA\r", "x")
	f.Add("---\nstate: >\n  To\n  do\ntitle: T\nblocked_by:\n- A-2\n---\n\xff\x00", "'\"")
	f.Fuzz(func(t *testing.T, content, state string) {
		if strings.ContainsFunc(state, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }) || !utf8.ValidString(state) {
			t.Skip("the tool refuses such a state")
		}
		before, err := parse("A-1", []byte(content), modified)
		if err != nil {
			if diff := cmp.Diff(tracker.Issue{}, before); diff != "" {
				t.Errorf("a malformed file gave an issue:\n%s", diff)
			}
			return
		}
		if missing := before.MissingFields(); len(missing) > 0 || !utf8.ValidString(before.Description) {
			t.Fatalf("not an issue: no %v, %+v", missing, before)
		}
		asked := change{state: strings.Join(strings.Fields(state), " "), comment: "Done so.", at: modified, modified: modified}
		edited, err := asked.apply([]byte(content))
		if err != nil {
			return
		}
		after, err := parse("A-1", edited, modified)
		if err != nil {
			if len(edited) > maxSize {
				return
			}
			t.Fatalf("the edit broke the file: %v\n%q\n%q", err, content, edited)
		}
		want := before
		if asked.state != "" {
			want.State = asked.state
		}
		want.UpdatedAt, after.UpdatedAt = time.Time{}, time.Time{}
		if diff := cmp.Diff(want, after); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
