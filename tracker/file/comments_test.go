package file

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/tracker"
)

// drawBody draws the body of an issue file with comments, as people leave one: with line
// ends of several systems, space around texts, and a last line without an end.
func drawBody(t *rapid.T, newline string) string {
	ends := rapid.SampledFrom([][]string{{newline}, {newline, newline, "\n", "\r\n", "\r", ""}}).Draw(t, "ends")
	line := rapid.SampledFrom([]string{
		"", "", " ", "\t", "text", "  - a list", "## Comments", "# Title", "###", "\x00\xff", `\### kim`,
		"### kim", "### @a.b-c ", "### 2026-01-01 lee", "### 2126-01-01T00:00:00Z kim lee", "### 2026-01-01T00:00:00Z agent",
		"### 2026-01-01T00:00:00Z symphony", tracker.CommentMarker("waiting"), tracker.CommentMarker("status"),
	})
	var body strings.Builder
	write := func(lines ...string) {
		for _, l := range lines {
			body.WriteString(l + rapid.SampledFrom(ends).Draw(t, "end"))
		}
	}
	write(rapid.SliceOfN(line, 0, 3).Draw(t, "before")...)
	if rapid.Bool().Draw(t, "comments") {
		body.WriteString(newline + "## Comments" + newline)
	}
	write(rapid.SliceOfN(line, 0, 8).Draw(t, "after")...)
	return body.String()
}

// For a thorough run:
//
//	go test ./tracker/file -run TestAWriteKeeps -rapid.checks=100000
func TestAWriteKeepsTheDescriptionAndEachCommentOfPeople(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		content := []byte("---" + newline + "title: T" + newline + "state: Todo" + newline + "---" + newline + drawBody(t, newline))
		for range 2 {
			asked := change{
				state:   rapid.SampledFrom([]string{"", "Done"}).Draw(t, "state"),
				comment: rapid.SampledFrom([]string{"", "Done so.", "### kim\nhi", "\r"}).Draw(t, "comment"),
				key:     rapid.SampledFrom([]string{"", "waiting", "status"}).Draw(t, "key"),
				at:      modified, modified: modified,
			}
			edited, err := asked.apply(content)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ofPeople(t, content), ofPeople(t, edited)); diff != "" {
				t.Fatalf("%+v made of\n%q\nthis:\n%q\n(-want +got):\n%s", asked, content, edited, diff)
			}
			content = edited
		}
	})
}

// ofPeople returns what people wrote in a file: the description and, as "author: text",
// their comments.
func ofPeople(t *rapid.T, content []byte) []string {
	doc, err := splitDocument(content)
	if err != nil {
		t.Fatal(err)
	}
	said := []string{doc.description()}
	for _, c := range doc.conversation(modified, time.Time{}).List {
		if !c.Own {
			said = append(said, c.Author+": "+c.Text)
		}
	}
	return said
}
