package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/tracker/trackertest"
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
