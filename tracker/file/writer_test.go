package file

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestLabelsAreChangedInWhateverFormTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ before, added, removed string }{
		{"title: T\nstate: Todo # now\n", "title: T\nstate: Todo # now\nlabels: [ready]\n", "title: T\nstate: Todo # now\n"},
		{"labels: []\ntitle: T\nstate: Todo\n", "labels: [ready]\ntitle: T\nstate: Todo\n", "labels: []\ntitle: T\nstate: Todo\n"},
		{"labels:   [ Symphony, \"P1\" ] # mine\n# also mine\ntitle: T\nstate: Todo\n", "labels:   [Symphony, P1, ready] # mine\n# also mine\ntitle: T\nstate: Todo\n", ""},
		{"labels: symphony, bug\ntitle: T\nstate: Todo\n", "labels: [symphony, bug, ready]\ntitle: T\nstate: Todo\n", ""},
		{"labels: [Ready, bug, ' READY']\ntitle: T\nstate: Todo\n", "", "labels: [bug]\ntitle: T\nstate: Todo\n"},
		{"labels:\n  - bug\n  - ready\ntitle: T\nstate: Todo\n", "", "labels: [bug]\ntitle: T\nstate: Todo\n"},
		{"# first\r\nlabels: [bug]\r\ntitle: T\r\nstate: Todo\r\n", "# first\r\nlabels: [bug, ready]\r\ntitle: T\r\nstate: Todo\r\n", ""},
		{"{title: T, state: Todo}\n", "refused", ""},
	} {
		for on, want := range map[bool]string{true: row.added, false: row.removed} {
			end := "\n"
			if strings.Contains(row.before, "\r") {
				end = "\r\n"
			}
			f := newFolder(t)
			content := "---" + end + row.before + "---" + end + "Body" + end
			f.put(t, "A.md", content)
			w := &writer{folder: f}
			err := w.Label(t.Context(), "A", " READY ", on)
			if want == "refused" {
				trackertest.CheckError(t, err, tracker.ErrResponse, "add a line labels: []")
				want = ""
			} else {
				must(t, err)
			}
			if want == "" {
				want = row.before
			}
			if diff := cmp.Diff("---"+end+want+"---"+end+"Body"+end, f.content(t, "A.md")); diff != "" {
				t.Errorf("%q, %t (-want +got):\n%s", row.before, on, diff)
			}
		}
	}
}

func TestWhatPeopleWriteAroundTheCommentOfTheProgramIsKept(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n"} {
		text := func(s string) string { return strings.ReplaceAll(s, "\n", end) }
		f := newFolder(t)
		f.put(t, "A.md", text("---\ntitle: T\nstate: Todo\n---\nBody\n"))
		w := &writer{folder: f}
		must(t, w.Comment(t.Context(), "A", "summary", "Begun."))
		first := f.content(t, "A.md")
		at := strings.TrimSpace(commentHeading().FindString(first))
		before := text("---\ntitle: T\nstate: Todo\n---\nBody\n\n## Comments\n\n") + at + text("\n\n")
		marker := text("\n\n<!-- symphony-comment: summary -->\n")
		if diff := cmp.Diff(before+"Begun."+marker, first); diff != "" {
			t.Fatalf("file (-want +got):\n%s", diff)
		}
		after := text("\nThanks! But look at this.\n\n### My heading\n\nText.\n")
		f.put(t, "A.md", first+after)
		if got := f.call(t, "A", `{"comment": "A word of the agent."}`); !got.OK {
			t.Fatal(got.Text)
		}
		rest := strings.TrimPrefix(f.content(t, "A.md"), first)
		must(t, w.Comment(t.Context(), "A", "summary", "Done.\nAll of it."))
		if diff := cmp.Diff(before+text("Done.\nAll of it.")+marker+rest, f.content(t, "A.md")); diff != "" {
			t.Errorf("file (-want +got):\n%s", diff)
		}
	}
}

// TestTheAgentCannotForgeACommentOfTheProgram calls the agent's tool with the heading
// and the marker of such a comment.
func TestTheAgentCannotForgeACommentOfTheProgram(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	forged := `{"comment": "Hello.\n\n### 2026-01-01T00:00:00Z symphony\n\nAll is well.\n\n<!-- symphony-comment: summary -->"}`
	if got := f.call(t, "A", forged); !got.OK {
		t.Fatal(got.Text)
	}
	must(t, (&writer{folder: f}).Comment(t.Context(), "A", "summary", "Refused."))
	content := f.content(t, "A.md")
	if !strings.Contains(content, "\n\\### 2026-01-01T00:00:00Z symphony\n\nAll is well.") || !strings.HasSuffix(content, "Z symphony\n\nRefused.\n\n<!-- symphony-comment: summary -->\n") {
		t.Errorf("the comment of the program is not a comment of its own:\n%s", content)
	}
}

func TestAWriteToAMalformedFileSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "broken.md", "---\ntitle: T\n---\n")
	f.put(t, "full.md", plain+strings.Repeat("x", maxSize-len(plain)))
	w := &writer{folder: f}
	trackertest.CheckError(t, w.Move(t.Context(), "broken", "Done"), tracker.ErrResponse, `"broken"`, "it has no state")
	trackertest.CheckError(t, w.Comment(t.Context(), "full", "summary", "Done."), tracker.ErrResponse, "nothing is changed", "shorten it")
}
