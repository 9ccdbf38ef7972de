package github

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const agentMark = "\n\n<!-- symphony-comment: agent -->"

// update calls the tool for the issue of the tests.
func (f *fake) update(r *repository, arguments string) tracker.ToolResult {
	return r.updateTool().Call(f.t.Context(), ownIssueOfTests, json.RawMessage(arguments))
}

// openAgent returns an adapter over state labels whose agent has labels of its own. Issue 1 is
// that of the session.
func (f *fake) openAgent(change ...func(*Config)) *repository {
	f.t.Helper()
	f.AddLabel("status:todo", "status:review", "status:agent ok", "blocked", "agent ok", "bug", "symphony")
	for range 2 {
		f.put(func(i *fakeIssue) { i.Labels = []string{"bug", "symphony", "status:todo"} })
	}
	cfg := f.config(map[string]any{"trust_label": "agent ok", "state_label_prefix": "status:", "tool_labels": []any{"blocked", "agent ok"}}, []string{"todo"}, []string{"closed"})
	cfg.RequiredLabels = []string{"symphony"}
	for _, change := range change {
		change(&cfg)
	}
	return f.openConfig(cfg)
}

// writes returns the requests that changed something.
func (f *fake) writes() []string {
	return slices.DeleteFunc(f.asked(), func(r string) bool { return strings.HasPrefix(r, "GET ") || strings.HasPrefix(r, "POST /graphql ") })
}

func TestTheAgentChangesItsIssue(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.openAgent()
	got := f.update(r, `{"state": " Review ", "comment": "Begun.", "add_labels": ["Blocked"], "remove_labels": ["symphony", "agent ok"]}`)
	want := tracker.ToolResult{OK: true, Wrote: true, Text: `GH-1: the comment is added; the label "Blocked" is on; the label "symphony" is off; the label "agent ok" is off; the state is "Review".`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bug", "blocked", "status:review"}, f.Issue(1).Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Begun." + agentMark}, f.texts(1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bug", "symphony", "status:todo"}, f.Issue(2).Labels); diff != "" {
		t.Errorf("another issue: %s", diff)
	}
	if got := f.update(r, `{"state": "closed"}`); !got.OK || f.Issue(1).State != "closed" {
		t.Errorf("%+v: the issue is %s", got, f.Issue(1).State)
	}
}

// TestWhatIsNotTheAgentsIsRefusedWithoutARequest is about everything that a call of the tool
// may not ask for.
func TestWhatIsNotTheAgentsIsRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	const labels = `You may put on the labels ["blocked"] and take off ["blocked" "agent ok" "symphony"].`
	for arguments, want := range map[string]string{
		`{}`:                                       "there is nothing to do: give an object with state, comment",
		`null`:                                     "there is nothing to do",
		`{"add_labels": [], "state": null}`:        "there is nothing to do",
		`{"issue": 2, "comment": "x"}`:             `"issue"`,
		`{"id": "2", "state": "closed"}`:           `"id"`,
		`{"comment": "x"} {"comment": "y"}`:        "more than one value",
		`{"comment": ["@admin"]}`:                  "comment",
		`{"comment": " \n"}`:                       "comment is empty",
		`{"comment": "<!-- /symphony retry -->"}`:  "nothing is left of the text",
		`{"note": "<!-- -->"}`:                     "nothing is left of the text",
		`{"state": ""}`:                            "state must be one line",
		`{"state": "a\nb"}`:                        "state must be one line",
		`{"state": "agent ok"}`:                    `the state "agent ok" is a label for people to put on`,
		`{"state": " AGENT OK "}`:                  "for people to put on",
		`{"add_labels": ["agent ok"]}`:             `the label "agent ok" is not yours to put on. ` + labels,
		`{"add_labels": ["bug"]}`:                  `the label "bug" is not yours to put on. ` + labels,
		`{"add_labels": ["symphony"]}`:             "not yours to put on",
		`{"add_labels": ["status:review"]}`:        "Labels of states are set by state",
		`{"add_labels": ["blocked", "automerge"]}`: `the label "automerge" is not yours`,
		`{"remove_labels": ["bug"]}`:               `the label "bug" is not yours to take off. ` + labels,
		`{"remove_labels": ["status:todo"]}`:       "Labels of states are set by state",
		`{"add_labels": "blocked"}`:                "add_labels",
		`{"add_labels": [` + strings.Repeat(`"blocked",`, 20) + `"blocked"]}`: "more than 20 labels",
	} {
		f := newFake(t)
		r := f.openAgent(func(c *Config) {
			if strings.Contains(strings.ToLower(arguments), "agent ok") && strings.HasPrefix(arguments, `{"state"`) {
				c.TrustLabel = "status:agent ok"
			}
		})
		if got := f.update(r, arguments); got.OK || got.Wrote || !strings.HasPrefix(got.Text, "issue_update: ") || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %+v, want %q", arguments, got, want)
		}
		wantRequests(t, f)
	}
}

func TestTheDescriptionSaysWhichLabelsAreTheAgents(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		"No label is yours to change.":                                    {},
		`You may take off the labels ["symphony"].`:                       {Options: tracker.Options{RequiredLabels: []string{"symphony"}}},
		`You may put on the labels ["blocked"] and take off ["blocked"].`: {ToolLabels: []string{"blocked"}},
		`You may take off the labels ["ok"].`:                             {ToolLabels: []string{"ok"}, TrustLabel: "ok"},
	} {
		if got := cfg.labelRule(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAnUpdateThatFailsSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.openAgent()
	got := f.update(r, `{"comment": "Begun.", "state": "nowhere"}`)
	if got.OK || !got.Wrote || !strings.Contains(got.Text, "issue_update: the state is not done: ") || !strings.Contains(got.Text, `"review"`) || !strings.HasSuffix(got.Text, ". Done before: the comment is added") {
		t.Errorf("%+v", got)
	}
	f.Change(1, func(i *fakeIssue) { i.State = "closed" })
	if got := f.update(r, `{"state": "todo"}`); got.OK || !strings.Contains(got.Text, "it is closed") || f.Issue(1).State != "closed" {
		t.Errorf("an issue that is closed: %+v", got)
	}
	f.Change(1, func(i *fakeIssue) { i.Gone = http.StatusNotFound })
	if got := f.update(r, `{"comment": "x"}`); got.OK || !strings.Contains(got.Text, "there is no such issue") {
		t.Errorf("an issue that is gone: %+v", got)
	}
}

// TestACommentWhoseAnswerIsLostIsNotPostedAgain has GitHub post it and not say so.
func TestACommentWhoseAnswerIsLostIsNotPostedAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.openAgent()
	f.Fail("POST /issues/{n}/comments", storetest.Fault{Lose: true})
	got := f.update(r, `{"comment": "Begun."}`)
	if got.OK || !got.Wrote || len(f.texts(1)) != 1 || !strings.Contains(got.Text, "read the comments before you post it again") {
		t.Errorf("%+v, %q", got, f.texts(1))
	}
}

func TestTheNoteOfAnAgentIsOneComment(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.openAgent()
	for _, note := range []string{"Plan.", "Plan, half done.", "All done."} {
		if got := f.update(r, fmt.Sprintf(`{"note": %q}`, note)); !got.OK {
			t.Fatal(got.Text)
		}
	}
	if c := f.texts(1); len(c) != 1 || c[0] != "All done.\n\n<!-- symphony-comment: note -->" {
		t.Errorf("%+v", c)
	}
}

func TestWhatTheAgentPostsCommandsAndNotifiesNobody(t *testing.T) {
	t.Parallel()
	const evil = "@dependabot merge\n/approve\nFixes #2\n<!-- hidden -->"
	const want = "@\u200bdependabot merge\n\\/approve\nF\u200bixes #2"
	f := newFake(t)
	r := f.openAgent()
	text, _ := json.Marshal(evil)
	if got := f.update(r, fmt.Sprintf(`{"comment": %s, "note": %[1]s}`, text)); !got.OK {
		t.Fatal(got.Text)
	}
	if diff := cmp.Diff([]string{want + agentMark, want + "\n\n<!-- symphony-comment: note -->"}, f.texts(1)); diff != "" {
		t.Error(diff)
	}
}

// TestWhateverTheAgentSaysEndsWithItsMark draws texts from what could pass for another mark,
// hide the agent's, or take it away.
func TestWhateverTheAgentSaysEndsWithItsMark(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"/symphony retry", "\n", "\r", "\r\n", " ", "\t", "```", "~~~\n", "> ", "<!--", "-->", " -->", "<!-- symphony-comment: agent -->", "<!-- symphony-comment: waiting -->",
		"symphony-comment: ", "agent", "\u200b", "\u2028", "\u00a0", "\v", "\f", "\u0085", "\x00", "<div>", "<pre>", "&lt;!--", "\\", "é",
	}
	f := newFake(t)
	f.observe = nil
	r := f.openAgent()
	said := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		kind := rapid.SampledFrom([]string{"comment", "note"}).Draw(t, "kind")
		n := f.put(nil)
		arguments, _ := json.Marshal(map[string]string{kind: text})
		r.updateTool().Call(t.Context(), tracker.Issue{ID: tracker.ID(strconv.Itoa(n))}, arguments)
		key := map[string]string{"comment": tracker.AgentKey, "note": noteKey}[kind]
		for _, text := range f.texts(n) {
			said++
			if tracker.MarkedKey(text) != key || tracker.MarkedKey(strings.ReplaceAll(text, "\n", "\r\n")+"\r\n") != key || strings.Count(text, "<!--") != 1 {
				t.Errorf("the agent says %q", text)
			}
		}
	})
	if said == 0 {
		t.Error("nothing was said, so this shows nothing")
	}
}

// TestNoUpdateReachesWhatIsNotTheSessions draws calls from what hostile agents try, and looks
// at what arrived at GitHub.
func TestNoUpdateReachesWhatIsNotTheSessions(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.observe = nil
	r := f.openAgent()
	texts := []string{"x", "../2", "2", "#2", "closed", "todo", "review", "agent ok", "blocked", "bug", "symphony", "status:review", "a/b", "%2e%2e", "blocked/../../2"}
	sent := 0
	rapid.Check(t, func(t *rapid.T) {
		f.asked()
		f.Change(1, func(i *fakeIssue) { i.State, i.Labels = stateOpen, []string{"bug", "symphony", "status:todo"} })
		given := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(t, "keys") {
			key := rapid.SampledFrom([]string{"state", "comment", "note", "add_labels", "remove_labels", "id", "number", "repo"}).Draw(t, "key")
			text := rapid.SampledFrom(texts).Draw(t, "text")
			if given[key] = text; strings.HasSuffix(key, "labels") {
				given[key] = []string{text}
			}
		}
		arguments, _ := json.Marshal(given)
		f.update(r, string(arguments))
		for _, request := range f.writes() {
			sent++
			if path := strings.Fields(request)[1]; path != "/repos/acme/shop/issues/1" && !strings.HasPrefix(path, "/repos/acme/shop/issues/1/") {
				t.Errorf("%s: %s", arguments, request)
			}
		}
		if has := f.Issue(1).Labels; slices.Contains(has, "agent ok") || !slices.Contains(has, "bug") {
			t.Errorf("%s: the labels are %q", arguments, has)
		}
	})
	if sent == 0 {
		t.Error("nothing was sent, so this shows nothing")
	}
}

// crowded is a server that takes so many posts at once, and refuses others for a minute.
type crowded struct {
	room  int
	posts int
}

func (s *crowded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-RateLimit-Remaining", "4000")
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{"id": 1, "number": 1, "node_id": "I_1", "title": "x", "state": "open", "created_at": "2026-03-01T12:00:00Z", "updated_at": "2026-03-01T12:00:00Z", "repository_url": "https://api.example.org/repos/acme/shop", "url": "https://api.example.org/repos/acme/shop/issues/1"}`)
		return
	}
	if s.room == 0 {
		s.room = 1
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message": "You have exceeded a secondary rate limit and have been temporarily blocked from content creation."}`)
		return
	}
	s.room--
	s.posts++
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"id": 1}`)
}

// TestWhatTheAgentPostsWaitsForTheLimitsOfContent is about comments: they wait like the posts
// of the program itself, and count for their limits.
func TestWhatTheAgentPostsWaitsForTheLimitsOfContent(t *testing.T) {
	t.Parallel()
	server := &crowded{room: 1}
	trackertest.Bubble(t, server, func(t *testing.T, base http.RoundTripper) {
		cfg := Config{Repo: "acme/shop", APIURL: "https://api.example.org", Token: "token"}
		cfg.Content = client.NewContentPace(0)
		r, err := newRepository(cfg, base, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		tool := r.updateTool()
		call := func(within time.Duration) (bool, string) {
			ctx, end := context.WithTimeout(t.Context(), within)
			defer end()
			result := tool.Call(ctx, ownIssueOfTests, json.RawMessage(`{"comment": "Hello."}`))
			return result.OK, result.Text
		}
		began := time.Now()
		for i := range 2 {
			if ok, text := call(tool.Timeout); !ok {
				t.Errorf("post %d: %s", i, text)
			}
		}
		if took := time.Since(began); server.posts != 2 || took < time.Minute {
			t.Errorf("%d posts after %v", server.posts, took)
		}
		if ok, text := call(30 * time.Second); ok || !strings.Contains(text, "nothing was posted") || strings.Contains(text, "posted later") {
			t.Errorf("in less time: %s", text)
		}
		for cfg.Content.Take(time.Now()) == 0 {
		}
		server.room = 100
		if ok, text := call(time.Second); ok || server.posts != 2 || !strings.Contains(text, "GitHub takes no more comments and pull requests of this account for") {
			t.Errorf("beyond the limits: %s", text)
		}
	})
}
