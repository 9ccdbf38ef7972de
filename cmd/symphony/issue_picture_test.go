package main

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
)

// TestDrawAnIssue draws what stands on GitHub when an agent has asked, somebody has answered,
// and the work is published.
func TestDrawAnIssue(t *testing.T) {
	t.Parallel()
	draws(t)
	s := newShop(t, sameWork)
	var ahead atomic.Int64 // of our clock, in seconds: each event has one of its own
	s.hub.SetClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Add(1)) * time.Second) })
	s.hub.SetPermission("kim", "write")
	s.hub.AddLabel("needs-human")
	const title = "Export the orders to the warehouse"
	issue := s.hub.AddIssue(githubtest.Issue{Title: title, Labels: []string{"symphony"}, Body: "- [ ] Call `ask` with `{\"question\": \"Which database should the export read?\", \"choices\": [\"the replica\", \"the primary\"]}`\n\n" +
		"## Next turn\n\n- [ ] Create `export.go` containing `package shop`\n" +
		"- [ ] Call `deliver` with `{\"title\": \"Export the orders to the warehouse\", \"body\": \"The export reads the replica, in pages of 1,000 orders, and goes on where it was interrupted.\"}`\n"})
	s.replace("required_labels: [symphony]", "required_labels: [symphony, export]")
	s.hub.PutOn(issue, "export") // the issue that each shop has is not worked on
	s.tick()
	s.hub.AddComment(issue, "kim", "The replica, please.")
	s.tick()
	pulls := s.hub.Pulls()
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests:\n%s", len(pulls), s.out)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s #%d\n\n**kim** opened this issue and added the label `symphony`\n\n", title, issue)
	for _, comment := range s.hub.Issue(issue).Comments {
		fmt.Fprintf(&b, "**%s** commented\n%s\n\n", comment.Author, visible(comment.Body))
	}
	fmt.Fprintf(&b, "### %s #%d\n\n**github-actions** wants to merge `%s` into `%s`\n%s\n", pulls[0].Title, pulls[0].Number, pulls[0].Head, pulls[0].Base, visible(pulls[0].Body))
	picture, _ := draw(strings.ReplaceAll(b.String(), s.hub.ServerURL(), "https://github.com"))
	picture = strings.Replace(picture, "The summary of a run", "An issue and its pull request", 1)
	writePicture(t, "issue.svg", picture)
}

// visible returns what GitHub shows of a text.
func visible(text string) string {
	text = regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(text, "")
	return strings.TrimSpace(text)
}
