package file

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

func (f *folder) call(t testing.TB, id, arguments string) tracker.ToolResult {
	t.Helper()
	return f.updateTool().Call(t.Context(), tracker.Issue{ID: tracker.ID(id)}, json.RawMessage(arguments))
}

func (f *folder) content(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(f.file(name))
	must(t, err)
	return string(content)
}

var timestamp = time.RFC3339

func TestTheToolChangesTheStateAndAddsComments(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "---\n# mine\nstate:   'Todo' # for now\ntitle: T\nupdated_at: 2026-01-01\n---\nBody without end")
	start := time.Now().UTC().Truncate(time.Second)

	got := f.call(t, "A", `{"state": " In Progress ", "comment": "Begun.\r\n\u001b[31mred"}`)
	want := tracker.ToolResult{OK: true, Wrote: true, Text: `A: the state is now "In Progress", it was "Todo"; the comment is added.`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	issues, err := f.IssuesByID(t.Context(), []tracker.ID{"A"})
	must(t, err)
	at := issues[0].UpdatedAt
	if issues[0].State != "In Progress" || issues[0].Description != "Body without end" || at.Before(start) {
		t.Errorf("got %+v", issues[0])
	}
	stamp := at.Format(timestamp)
	text := "---\n# mine\nstate:   'In Progress' # for now\ntitle: T\nupdated_at: " + stamp + "\n---\nBody without end\n\n" +
		"## Comments\n\n### " + stamp + " agent\n\nBegun.\n\uFFFD[31mred\n"
	if diff := cmp.Diff(text, f.content(t, "A.md")); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}

	got = f.call(t, "A", `{"comment": "Again.", "state": null}`)
	if !got.OK || got.Text != "A: the comment is added." {
		t.Errorf("got %+v", got)
	}
	content := f.content(t, "A.md")
	if strings.Count(content, "## Comments\n") != 1 || !strings.HasSuffix(content, " agent\n\nAgain.\n") {
		t.Errorf("the second comment does not stand below the first:\n%s", content)
	}
}

func TestAStateThatIsThereAlreadyWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	before, err := os.Stat(f.file("A.md"))
	must(t, err)
	got := f.call(t, "A", `{"state": "TODO"}`)
	if want := `A: the state is "Todo" already.`; !got.OK || got.Text != want {
		t.Errorf("got %+v, want %q", got, want)
	}
	after, err := os.Stat(f.file("A.md"))
	must(t, err)
	if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("the file was written")
	}
}

func TestTheToolRefusesWhatItsSchemaForbids(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	for arguments, want := range map[string]string{
		`{}`:                                "nothing to do",
		`{"state": 1}`:                      "each a string",
		`{"state": ""}`:                     "one line of 1 to 100",
		`{"state": "a\nb"}`:                 "one line of 1 to 100",
		`{"state": "a\u2028b"}`:             "one line of 1 to 100",
		`{"comment": " \n"}`:                "comment is empty",
		`{"comment": ["a"]}`:                "each a string",
		`{"comment": "a", "label": "b"}`:    `no field "label"`,
		`{"comment": "a"} {"comment": "b"}`: "give one object",
		`{"state": "` + strings.Repeat("é", 101) + `"}`:       "one line of 1 to 100",
		`{"comment": "` + strings.Repeat("x", maxSize) + `"}`: "would be malformed",
	} {
		if got := f.call(t, "A", arguments); got.OK || !strings.Contains(got.Text, want) {
			t.Errorf("%.80s: got %+v, want a failure with %q", arguments, got, want)
		}
	}
	if got := f.content(t, "A.md"); got != plain {
		t.Errorf("the file was written:\n%.200s", got)
	}
}

func TestTheToolSaysWhatIsWrongWithTheFile(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "broken.md", "---\ntitle: T\n---\n")
	f.put(t, "anchored.md", "---\nstate: &s Todo\ntitle: *s\n---\n")
	must(t, os.Symlink("anchored.md", f.file("link.md")))
	for id, want := range map[string]string{
		"broken":      "it has no state",
		"anchored":    "write it as one line",
		"link":        "not a regular file",
		"gone":        "the issue is gone",
		"../anchored": "is gone",
	} {
		if got := f.call(t, id, `{"state": "Done"}`); got.OK || !strings.Contains(got.Text, want) {
			t.Errorf("%s: got %+v, want a failure with %q", id, got, want)
		}
	}
	must(t, os.RemoveAll(f.path))
	if got := f.call(t, "broken", `{"state": "Done"}`); got.OK || strings.Contains(got.Text, errGone.Error()) {
		t.Errorf("no folder: got %+v, want a failure that does not take the issue for gone", got)
	}
}

func TestCallsAtTheSameTimeLoseNothing(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	const calls = 20
	results := make([]tracker.ToolResult, calls)
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() { results[i] = f.call(t, "A", fmt.Sprintf(`{"state": "S%d", "comment": "note %d."}`, i, i)) })
	}
	group.Wait()
	content := f.content(t, "A.md")
	for i, result := range results {
		if !result.OK || strings.Count(content, fmt.Sprintf("note %d.", i)) != 1 {
			t.Errorf("call %d: %+v, and its comment is not there once", i, result)
		}
	}
}
