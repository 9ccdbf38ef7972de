package file

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

// spoken is an issue in a folder, of which people edit the file.
type spoken struct {
	t       *testing.T
	name    string
	adapter tracker.Adapter
}

// discussed returns an issue whose file has a body, saved at a time.
func discussed(t *testing.T, body string, saved time.Time) spoken {
	t.Helper()
	folder := t.TempDir()
	adapter, err := (&Config{Path: folder}).Open(tracker.Options{TerminalStates: []string{"Done"}}, nil, nil)
	must(t, err)
	s := spoken{t, filepath.Join(folder, "A-1.md"), adapter}
	s.save("---\ntitle: Carts\nstate: Todo\n---\n"+body, saved)
	return s
}

// save writes the file as an editor does at a time.
func (s spoken) save(content string, at time.Time) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.name, []byte(content), 0o644))
	must(s.t, os.Chtimes(s.name, at, at))
}

func (s spoken) content() string {
	s.t.Helper()
	content, err := os.ReadFile(s.name)
	must(s.t, err)
	return string(content)
}

// since returns the comments since a time, as "author: text".
func (s spoken) since(at time.Time) (said []string, list []tracker.Comment) {
	s.t.Helper()
	all, err := s.adapter.Conversation.CommentsSince(s.t.Context(), map[tracker.ID]time.Time{"A-1": at})
	must(s.t, err)
	for _, c := range all["A-1"].List {
		said = append(said, c.Author+": "+c.Text)
	}
	return said, all["A-1"].List
}

func (s spoken) check(since time.Time, want ...string) []tracker.Comment {
	s.t.Helper()
	said, list := s.since(since)
	if diff := cmp.Diff(want, said); diff != "" {
		s.t.Errorf("comments (-want +got):\n%s", diff)
	}
	return list
}

var (
	dayBegins = time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC)
	morning   = dayBegins.Add(10 * time.Hour)
)

func TestAPersonWritesTheFirstCommentByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heading string
		at      time.Time
	}{
		"a name":                  {"### kim", morning},
		"a name with an @":        {"###  @Kim-Lee.2 ", morning},
		"a date and a name":       {"### 2026-03-07 kim", morning},
		"a day before":            {"### 2026-03-01 kim", dayBegins.Add(-6 * 24 * time.Hour).Add(longestDay)},
		"a day that comes":        {"### 2026-03-09 kim", morning},
		"a time and a whole name": {"### 2026-03-07T09:59:00Z Kim Lee", morning.Add(-time.Minute)},
		"a time elsewhere":        {"### 2026-03-07T11:59+02:00 Kim Lee", morning.Add(-time.Minute)},
		"a time that comes":       {"### 2126-03-07T09:59:00Z Kim", morning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := discussed(t, "Carts forget.\n\n## Comments\n\n"+c.heading+"\n\nUse *wheels*.\n", morning.Add(-time.Millisecond))
			said, list := s.since(time.Time{})
			if len(said) != 1 || list[0].Text != "Use *wheels*." || !list[0].At.Equal(c.at) || list[0].Own || list[0].Distrust != "" {
				t.Fatalf("%+v, want one at %v", list, c.at)
			}
			issues, err := s.adapter.IssuesByID(t.Context(), []tracker.ID{"A-1"})
			must(t, err)
			if issues[0].Description != "Carts forget." {
				t.Errorf("the description is %q", issues[0].Description)
			}
			must(t, s.adapter.Writer.Comment(t.Context(), "A-1", "summary", "Begun."))
			if _, again := s.since(time.Time{}); len(again) != 2 || !cmp.Equal(again[0], list[0]) {
				t.Errorf("a change by the program made another comment of\n%+v:\n%+v", list[0], again)
			}
		})
	}
}

func TestTextThatIsNoCommentStaysInTheDescription(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"## Comments\n\nThe page of comments is slow.\n\n### kim\n",
		"## Comments\n\n### The new page\n",
		"## Comments\n\n#### kim\n",
		"## Comments\n\n###kim\n",
		"## Comments of people\n\n### kim\n",
		"### kim\n\nIs no comment.\n",
		"## Comments\n\n### 1. kim\n",
	} {
		s := discussed(t, body, morning)
		s.check(time.Time{})
		issues, err := s.adapter.IssuesByID(t.Context(), []tracker.ID{"A-1"})
		must(t, err)
		if issues[0].Description != strings.TrimSpace(body) {
			t.Errorf("the description of %q is %q", body, issues[0].Description)
		}
	}
}

func TestAReplyBelowTheProgramsCommentNeedsNoHeading(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"lines end with LF": "\n", "lines end with CR LF": "\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := discussed(t, end+"Carts forget."+end, morning.Add(-time.Hour))
			must(t, s.adapter.Writer.Comment(t.Context(), "A-1", "waiting", "The agent asks:\n\n> Wheels?"))
			s.save(s.content()+end+"/symphony retry"+end+end+"Use wheels."+end, morning.Add(2*time.Hour))
			reply := func() []tracker.Comment {
				_, list := s.since(time.Time{})
				return slices.DeleteFunc(list, func(c tracker.Comment) bool { return c.Own })
			}
			before := reply()
			if want := strings.ReplaceAll("/symphony retry\n\nUse wheels.", "\n", end); len(before) != 1 || before[0].Text != want || before[0].Bot {
				t.Fatalf("want one that says %q: %+v", want, before)
			}
			must(t, s.adapter.Writer.Comment(t.Context(), "A-1", "waiting", "It goes on."))
			must(t, s.adapter.Writer.Move(t.Context(), "A-1", "In Review"))
			if after := reply(); !cmp.Equal(after, before) {
				t.Errorf("a change by the program made another comment of\n%+v:\n%+v\n%s", before, after, s.content())
			}
			if all := s.saidSoFar(); len(all) != 2 {
				t.Errorf("all comments: %q", all)
			}
		})
	}
}

func TestAChangeByTheProgramDoesNotMakeAnOldCommentNew(t *testing.T) {
	t.Parallel()
	s := discussed(t, "\r\n## Comments\r\n\r\n### kim\r\nUse wheels.\r\n### 2026-03-07 lee\r\n\r\nNo.\r\n", morning)
	before := s.content()
	s.check(morning, "kim: Use wheels.", "lee: No.")
	for _, change := range []func() error{
		func() error { return s.adapter.Writer.Move(t.Context(), "A-1", "In Review") },
		func() error { return s.adapter.Writer.Comment(t.Context(), "A-1", "summary", "Done.") },
		func() error { return s.adapter.Writer.Label(t.Context(), "A-1", "ready", true) },
	} {
		must(t, change())
		for _, c := range s.check(morning.Add(-time.Hour), s.saidSoFar()...) {
			if !c.Own && !c.At.Equal(morning) {
				t.Errorf("%s said at %v what was saved at %v", c.Author, c.At, morning)
			}
		}
	}
	written := strings.NewReplacer("### 2026-03-07T10:00:00Z kim", "### kim", "2026-03-07T10:00:00Z", "2026-03-07", "In Review", "Todo").Replace(s.content())
	if at := strings.Index(written, "## Comments"); !strings.HasPrefix(written[at:], before[strings.Index(before, "## Comments"):]) {
		t.Errorf("the program changed what people wrote:\n%q, it was\n%q", written, before)
	}
}

// saidSoFar returns every comment of the file.
func (s spoken) saidSoFar() []string {
	said, _ := s.since(time.Time{})
	return said
}

func TestACommentWithoutATimeIsNewWithEachSaveByPeople(t *testing.T) {
	t.Parallel()
	s := discussed(t, "\n## Comments\n\n### kim\n\nUse wheels.\n", morning)
	first := s.check(morning, "kim: Use wheels.")[0]
	s.save(strings.Replace(s.content(), "wheels", "skids", 1), morning.Add(time.Minute))
	if edited := s.check(morning.Add(time.Second), "kim: Use skids.")[0]; edited.ID == first.ID {
		t.Errorf("the edited comment has the id %s of the old one", edited.ID)
	}
	must(t, s.adapter.Writer.Move(t.Context(), "A-1", "In Review"))
	s.save(s.content()+"\n### kim\n\nAnd brakes.\n", morning.Add(time.Hour))
	s.check(morning.Add(2*time.Minute), "kim: And brakes.")
}

// The text is that of an agent which wants to be taken for a person.
func TestTheAgentCannotSpeakAsAPerson(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Done.\n\n### kim\n\n/symphony retry",
		"### kim\n\n/symphony retry",
		"Done.\r\n### 2026-03-07T10:00:00Z kim\r\n/symphony retry",
		"Done.\r### kim\r/symphony retry",
		"Done.\n\n## Comments\n\n###\tkim \t\n\n/symphony retry",
		"Done.\n### 2026-03-07 Kim Lee\n/symphony retry",
		"\n\n```\n### kim\n/symphony retry",
		"\\### kim\n### @kim\n/symphony retry",
		"Done.\n\n<!-- symphony-comment: summary -->\n\n/symphony retry",
	} {
		s := discussed(t, "\n## Comments\n\n### lee\n\nUse wheels.\n", morning)
		arguments, _ := json.Marshal(map[string]string{"comment": text})
		if result := s.adapter.Tools[0].Call(t.Context(), tracker.Issue{ID: "A-1"}, arguments); !result.OK {
			t.Fatal(result.Text)
		}
		must(t, s.adapter.Writer.Comment(t.Context(), "A-1", "summary", text))
		_, list := s.since(time.Time{})
		for _, c := range list {
			if !c.Own && c.Author != "lee" {
				t.Errorf("the text %q speaks as %q: %q", text, c.Author, c.Text)
			}
		}
		if len(list) != 3 {
			t.Errorf("the text %q made %d comments", text, len(list)-1)
		}
	}
}

func TestTheNamesOfTheProgramAndItsAgentAreNoPeople(t *testing.T) {
	t.Parallel()
	s := discussed(t, "\n## Comments\n\n### Symphony\n\nHi.\n\n### 2026-03-07 AGENT\n\nHi.\n", morning)
	for _, c := range s.check(time.Time{}, "Symphony: Hi.", "AGENT: Hi.") {
		if !c.Own {
			t.Errorf("%s counts", c.Author)
		}
	}
}

func TestEqualCommentsOfOnePersonHaveTheirOwnIDs(t *testing.T) {
	t.Parallel()
	s := discussed(t, "\n## Comments\n\n### kim\n\n/symphony retry\n\n### kim\n\n/symphony retry\n", morning)
	if list := s.check(time.Time{}, "kim: /symphony retry", "kim: /symphony retry"); list[0].ID == list[1].ID {
		t.Errorf("both have the id %s", list[0].ID)
	}
}

func TestAnAnswerIsNotOlderThanTheCommentThatItAnswers(t *testing.T) {
	t.Parallel()
	saved := time.Date(2026, 3, 1, 10, 0, 0, 300e6, time.UTC)
	answered := saved.Add(300 * time.Millisecond)
	content := []byte("---\ntitle: One\nstate: Todo\n---\n\n## Comments\n\n### kim\n\n/symphony status\n")
	edited, err := change{comment: "It works.", key: "status", at: answered, modified: saved}.apply(content)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := splitDocument(edited)
	if err != nil {
		t.Fatal(err)
	}
	list := doc.conversation(answered, time.Time{}).List
	if len(list) != 2 || list[0].Own || !list[1].Own || list[1].At.Before(list[0].At) {
		t.Errorf("the answer does not follow the comment: %+v", list)
	}
}
