package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
)

func TestTheAdapterConforms(t *testing.T) {
	t.Parallel()
	trackertest.Run(t, func(t *testing.T) trackertest.Harness {
		folder := filepath.Join(t.TempDir(), "issues")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		open := func(handOver string) tracker.Adapter {
			t.Helper()
			o := tracker.Options{TerminalStates: []string{"Done"}, HandOver: handOver}
			adapter, err := (&file.Config{Path: folder}).Open(o, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return adapter
		}
		write := func(id tracker.ID, content string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(folder, string(id)+".md"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		created := 0
		return trackertest.Harness{
			Adapter:   open(""),
			HandOver:  open,
			Active:    "Todo",
			Done:      "Done",
			Label:     "Needs Review",
			FreeNames: true,
			Comments: func(id tracker.ID) []string {
				content, err := os.ReadFile(filepath.Join(folder, string(id)+".md"))
				if err != nil {
					t.Fatal(err)
				}
				comments := heading.Split(string(content), -1)[1:]
				for i, comment := range comments {
					comments[i] = strings.ReplaceAll(comment, "\n\\### ", "\n### ")
				}
				return comments
			},
			Discussion: discussion(t, folder),
			Put: func(issue tracker.Issue) tracker.ID {
				if issue.ID == "" {
					created++
					issue.ID = tracker.ID(fmt.Sprintf("T-%03d", created))
				}
				write(issue.ID, markdown(issue))
				return issue.ID
			},
			Delete: func(id tracker.ID) {
				if err := os.Remove(filepath.Join(folder, string(id)+".md")); err != nil {
					t.Fatal(err)
				}
			},
			Corrupt: func(id tracker.ID) { write(id, "no front matter") },
			Refuse: func() {
				if err := os.Rename(folder, folder+".away"); err != nil {
					t.Fatal(err)
				}
			},
			Calls: map[string]string{"issue_update": `{"state": "Done", "comment": "All done."}`},
		}
	})
}

// discussion lets people write comments into the files of issues.
func discussion(t *testing.T, folder string) *trackertest.Discussion {
	change := func(id tracker.ID, edit func(string) string) {
		t.Helper()
		name := filepath.Join(folder, string(id)+".md")
		content, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, []byte(edit(string(content))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	written := func(author, text string, at time.Time) string {
		return "\n### " + at.Format(time.RFC3339) + " " + author + "\n\n" + text + "\n"
	}
	discussed := map[tracker.ID]bool{}
	return &trackertest.Discussion{
		Trusted: "Kim Lee",
		Say: func(id tracker.ID, author, text string, at time.Time) string {
			comment := written(author, text, at)
			added := comment
			if !discussed[id] {
				added = "\n## Comments\n" + comment
			}
			discussed[id] = true
			appendTo(t, filepath.Join(folder, string(id)+".md"), added)
			return comment
		},
		Edit: func(id tracker.ID, comment, text string, at time.Time) {
			change(id, func(content string) string { return strings.Replace(content, comment, written("Kim Lee", text, at), 1) })
		},
		Retract: func(id tracker.ID, comment string) {
			change(id, func(content string) string { return strings.Replace(content, comment, "", 1) })
		},
		ToolCall: func(_ tracker.ID, text string) (string, string) { return "issue_update", `{"comment": "` + text + `"}` },
	}
}

// appendTo adds text to the end of a file.
func appendTo(t *testing.T, name, text string) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// heading matches the headings of comments.
var heading = regexp.MustCompile(`(?m)^### \S+Z (?:symphony|agent)$`)

// markdown returns the content of an issue's file.
func markdown(issue tracker.Issue) string {
	var text strings.Builder
	fmt.Fprintf(&text, "---\ntitle: %q\nstate: %q\n", issue.Title, issue.State)
	if issue.Priority != nil {
		fmt.Fprintf(&text, "priority: %d\n", *issue.Priority)
	}
	if len(issue.Labels) > 0 {
		fmt.Fprintf(&text, "labels: [%s]\n", strings.Join(issue.Labels, ", "))
	}
	for i, blocker := range issue.BlockedBy {
		if i == 0 {
			text.WriteString("blocked_by:\n")
		}
		fmt.Fprintf(&text, "  - %s\n", blocker.ID)
	}
	for key, at := range map[string]time.Time{"created_at": issue.CreatedAt, "updated_at": issue.UpdatedAt} {
		if !at.IsZero() {
			fmt.Fprintf(&text, "%s: %s\n", key, at.Format(time.RFC3339))
		}
	}
	fmt.Fprintf(&text, "---\n%s\n", issue.Description)
	return text.String()
}
