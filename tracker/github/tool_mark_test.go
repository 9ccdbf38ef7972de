package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/tracker"
)

// conversations are the calls that say something where people talk, and describing those
// whose text describes something.
var (
	conversations = []string{
		"POST issues/#/comments", "PATCH issues/comments/#", "POST pulls/#/comments", "POST pulls/#/comments/#/replies", "PATCH pulls/comments/#",
		"POST pulls/#/reviews", "PUT pulls/#/reviews/#", "POST pulls/#/reviews/#/events",
	}
	describing = []string{"POST issues", "PATCH issues/#", "POST pulls", "PATCH pulls/#", "POST releases", "PATCH releases/#"}
)

// TestEveryRouteThatSaysSomethingIsKnown compares the routes with GitHub's description, so
// that a new one cannot be forgotten.
func TestEveryRouteThatSaysSomethingIsKnown(t *testing.T) {
	t.Parallel()
	if os.Getenv(openapiEnv) == "" {
		t.Skipf("%s names no file: the tool's routes are not compared with GitHub's OpenAPI description", openapiEnv)
	}
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			rest, ok := strings.CutPrefix(path, "/repos/{owner}/{repo}/")
			if !ok {
				continue
			}
			example := target{fakeRepo, strings.Split(rest, "/")}
			for i, segment := range example.segments {
				if strings.HasPrefix(segment, "{") {
					example.segments[i] = "7"
				}
			}
			for _, allowed := range toolRoutes() {
				name := allowed.method + " " + allowed.path
				if allowed.method == method && example.matches(allowed.path) && slices.Contains(properties(operation), "body") && !slices.Contains(conversations, name) && !slices.Contains(describing, name) {
					t.Errorf("%s has a body: it must be one of the conversations, or describe something", name)
				}
			}
		}
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
	var repositories []*repository
	for _, scope := range []Scope{ScopeIssue, ScopeRepo, ScopeToken} {
		repositories = append(repositories, newBusyFake(t).openIssueScope(func(c *Config) { c.ToolScope = scope }))
	}
	said := 0
	check := func(t rapid.TB, route, text, event string) {
		method, path, _ := strings.Cut(strings.ReplaceAll(route, "#", "1"), " ")
		body := map[string]any{"body": text}
		if event != "" {
			body["event"], body["comments"] = event, []any{map[string]any{"path": "cart.go", "line": 1, "body": text}}
		}
		arguments, _ := json.Marshal(map[string]any{"method": method, "path": "/repos/acme/shop/" + path, "body": body})
		for _, r := range repositories {
			c, err := r.authorizeCall(ownIssueOfTests, arguments)
			if err != nil {
				continue
			}
			texts := []any{c.Body["body"]}
			if list, ok := c.Body["comments"].([]any); ok {
				texts = append(texts, list[0].(map[string]any)["body"])
			}
			for _, text := range texts {
				text := text.(string)
				if text == "" { // GitHub takes no comment without a text, and a review without one says nothing
					continue
				}
				said++
				if tracker.MarkedKey(text) != tracker.AgentKey || tracker.MarkedKey(strings.ReplaceAll(text, "\n", "\r\n")+"\r\n") != tracker.AgentKey || strings.Count(text, "<!--") != 1 {
					t.Errorf("%s says %q", route, text)
				}
			}
		}
	}
	for _, route := range conversations {
		check(t, route, "/symphony retry", "")
	}
	if said != 8*2+4 { // six routes are those of every scope, and two those of a token
		t.Errorf("%d texts were said", said)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		check(t, rapid.SampledFrom(conversations).Draw(t, "route"), text, rapid.SampledFrom([]string{"", "COMMENT", "REQUEST_CHANGES", "APPROVE"}).Draw(t, "event"))
	})
}

// TestAVerdictWithoutATextHasTheMark covers what counts without a word.
func TestAVerdictWithoutATextHasTheMark(t *testing.T) {
	t.Parallel()
	const mark = "<!-- symphony-comment: agent -->"
	for call, want := range map[string]any{
		`POST pulls/5/reviews {"event": "REQUEST_CHANGES"}`:                           mark,
		`POST pulls/5/reviews {"event": "REQUEST_CHANGES", "body": ""}`:               mark,
		`POST pulls/5/reviews {"event": "REQUEST_CHANGES", "body": " \n"}`:            mark,
		`POST pulls/5/reviews/31/events {"event": "REQUEST_CHANGES"}`:                 mark,
		`POST pulls/5/reviews/31/events {"event": "APPROVE", "body": ""}`:             mark,
		`POST pulls/5/reviews {"event": "COMMENT"}`:                                   nil,
		`POST pulls/5/reviews {}`:                                                     nil,
		`POST pulls/5/reviews {"event": "COMMENT", "body": ""}`:                       "",
		`POST pulls/5/reviews {"event": ["REQUEST_CHANGES"], "body": "Look at this"}`: "Look at this\n\n" + mark,
	} {
		parts := strings.SplitN(call, " ", 3)
		r := newBusyFake(t).openIssueScope(func(c *Config) { c.ToolScope = ScopeToken })
		c, err := r.authorizeCall(ownIssueOfTests, json.RawMessage(fmt.Sprintf(`{"method": %q, "path": "/repos/acme/shop/%s", "body": %s}`, parts[0], parts[1], parts[2])))
		if err != nil || c.Body["body"] != want {
			t.Errorf("%s: %v, %v", call, c, err)
		}
	}
}

func TestTheAgentStartsNoWorkflowWithACommand(t *testing.T) {
	t.Parallel()
	for inputs, want := range map[string]string{`{"command": "retry", "issue": "1"}`: "a command, which is for people", `{"issue": "1"}`: "", `null`: ""} {
		r := newBusyFake(t).openIssueScope(func(c *Config) { c.ToolScope = ScopeToken })
		_, err := r.authorizeCall(ownIssueOfTests, json.RawMessage(`{"method": "POST", "path": "/repos/acme/shop/actions/workflows/symphony.yml/dispatches", "body": {"ref": "main", "inputs": `+inputs+`}}`))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", inputs, err)
		}
	}
}

func TestATextOfWhichNothingIsLeftIsRefused(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	got := f.use(f.openIssueScope(nil), arguments(t, "POST", "/repos/acme/shop/issues/1/comments", body(map[string]any{"body": "<!-- /symphony retry -->"})))
	if got.OK || !strings.Contains(got.Text, "nothing is left of body.body") {
		t.Errorf("OK %t, %q", got.OK, got.Text)
	}
	wantRequests(t, f)
}

// TestInEveryScopeTheAgentChangesOnlyWhatItPosted has the tool change comments and reviews
// of its account that it did not post, with a token that GitHub lets do it.
func TestInEveryScopeTheAgentChangesOnlyWhatItPosted(t *testing.T) {
	t.Parallel()
	changes := map[string]string{ // "" for those that are sent
		"PATCH issues/comments/11": "", "PATCH issues/comments/14": "", "PATCH pulls/comments/21": "", "PUT pulls/5/reviews/31": "",
		"PATCH issues/comments/12": "comment 12 was not posted by this tool, but by mem: write a comment of your own",
		"PATCH issues/comments/16": "comment 16 does not end with the mark of what this tool posts, so a person or the program wrote it: write a comment of your own",
		"PATCH issues/comments/17": "comment 17 does not end", "PATCH issues/comments/18": "comment 18 does not end",
		"PATCH issues/comments/19": "comment 19 was not posted by this tool, but by somebody else", "PATCH issues/comments/99": "comment 99 does not exist",
		"PATCH pulls/comments/22": "but by mem", "PATCH pulls/comments/24": "comment 24 does not end",
		"PUT pulls/5/reviews/32": "comment 32 does not end", "PUT pulls/5/reviews/33": "comment 33 was not posted by this tool, but by mem",
	}
	for _, scope := range []Scope{ScopeIssue, ScopeRepo, ScopeToken} {
		for call, want := range changes {
			f := newBusyFake(t)
			changed := false
			f.observe = func(r *http.Request, _ []byte, _ int, _ http.Header, _ []byte) {
				changed = changed || r.Method == http.MethodPatch || r.Method == http.MethodPut
			}
			method, path, _ := strings.Cut(call, " ")
			got := f.use(f.openIssueScope(func(c *Config) { c.ToolScope = scope }), arguments(t, method, "/repos/acme/shop/"+path, body(map[string]any{"body": "OVERWRITTEN"})))
			if method == "PUT" && scope != ScopeToken {
				want = "is not allowed"
			}
			if got.OK != (want == "") || changed != (want == "") || !strings.Contains(got.Text, want) {
				t.Errorf("%s in scope %s: OK %t, %q", call, scope, got.OK, got.Text)
			}
		}
	}
}

// TestACommentThatAPersonTakesOverIsTheirs has a person write below the mark between two
// changes of one session.
func TestACommentThatAPersonTakesOverIsTheirs(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	r := f.openIssueScope(nil)
	change := arguments(t, "PATCH", "/repos/acme/shop/issues/comments/11", body(map[string]any{"body": "Done."}))
	if got := f.use(r, change); !got.OK {
		t.Fatal(got.Text)
	}
	f.mu.Lock()
	c := f.threads["issues/11"]
	c.text += "\n\nNo, use wheels."
	f.threads["issues/11"] = c
	f.mu.Unlock()
	if got := f.use(r, change); got.OK || !strings.Contains(got.Text, "does not end with the mark") {
		t.Errorf("OK %t, %q", got.OK, got.Text)
	}
}
