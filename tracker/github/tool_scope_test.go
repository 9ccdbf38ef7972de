package github

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

// agentAccount is the account of the token.
const agentAccount = "symphony[bot]"

// newBusyFake returns a fake in which the session's own issue is 1 and its own pull
// request is 5, among those of others.
func newBusyFake(t testing.TB) *fake {
	f := newFake(t)
	for range 2 {
		f.put(func(i *fakeIssue) { i.labels = []string{"bug", "symphony", "status:todo"} })
	}
	f.heads = map[int]string{
		5: "acme/shop:symphony/GH-1", 6: "acme/shop:symphony/GH-2", 7: "evil/shop:symphony/GH-1", 8: "acme/shop:symphony/gh-1",
	}
	said := "I am at it.\n\n" + tracker.CommentMarker(tracker.AgentKey)
	f.threads = map[string]fakeComment{
		"issues/11": {agentAccount, 1, said}, "issues/12": {"mem", 1, said}, "issues/13": {agentAccount, 2, said}, "issues/14": {agentAccount, 5, said}, "issues/15": {agentAccount, 6, said},
		"issues/16": {agentAccount, 1, "Delivered.\n\n" + tracker.CommentMarker("summary")}, "issues/17": {agentAccount, 1, "By hand."},
		"issues/18": {agentAccount, 1, "> I am at it.\n> " + tracker.CommentMarker(tracker.AgentKey)}, "issues/19": {"", 1, said},
		"pulls/21": {agentAccount, 5, said}, "pulls/22": {"mem", 5, said}, "pulls/23": {agentAccount, 6, said}, "pulls/24": {agentAccount, 5, "By hand."},
		"reviews/31": {agentAccount, 5, said}, "reviews/32": {agentAccount, 5, "By hand."}, "reviews/33": {"mem", 5, said},
	}
	return f
}

// openIssueScope returns an adapter whose tool has the default scope.
func (f *fake) openIssueScope(change func(*Config)) *repository {
	f.t.Helper()
	cfg := f.config(map[string]any{"trust_label": "agent ok", "state_label_prefix": "status:", "tool_labels": []any{"blocked", "agent ok"}}, []string{"todo"}, []string{"closed"})
	cfg.RequiredLabels = []string{"symphony"}
	if change != nil {
		change(&cfg)
	}
	return f.openConfig(cfg)
}

func TestInTheScopeOfAnIssueTheToolWritesToItAlone(t *testing.T) {
	t.Parallel()
	const base = "/repos/acme/shop/"
	text := body(map[string]any{"body": "Done."})
	labels := func(names ...string) map[string]any { return body(map[string]any{"labels": names}) }
	file := func(branch string) map[string]any {
		return body(map[string]any{"branch": branch, "content": "eA==", "message": "x"})
	}
	pull := func(head string, more ...string) map[string]any {
		v := map[string]any{"title": "x", "base": "main", "head": head}
		for _, key := range more {
			v[key] = 2
		}
		return body(v)
	}
	const own, other = "", "What this session may write: comments, state and hand-over labels of issue 1"
	for name, test := range map[string]struct {
		call string // method and path
		more map[string]any
		want string // in the refusal; "" when it is sent
	}{
		"comment":                          {"POST issues/1/comments", text, own},
		"comment on another issue":         {"POST issues/2/comments", text, other},
		"comment on the pull request":      {"POST issues/5/comments", text, own},
		"comment on another one":           {"POST issues/6/comments", text, "#6 is neither"},
		"comment on a fork's":              {"POST issues/7/comments", text, "#7 is neither"},
		"comment on that of a twin branch": {"POST issues/8/comments", text, "#8 is neither"},
		"comment on what is not there":     {"POST issues/99/comments", text, "#99 is neither"},
		"a number with a zero":             {"POST issues/01/comments", text, "not allowed"},
		"a number with a sign":             {"POST issues/+1/comments", text, "not allowed"},
		"a number with a point":            {"POST issues/1.0/comments", text, "not allowed"},
		"a number in other digits":         {"POST issues/１/comments", text, "not allowed"},
		"a number with a space":            {"POST issues/1 /comments", text, "the part"},
		"a huge number":                    {"POST issues/18446744073709551617/comments", text, "not allowed"},
		"a route in capitals":              {"POST Issues/1/comments", text, "not allowed"},
		"a slash that looks like one":      {"POST issues/1∕comments", text, "looks like"},
		"a dot that looks like one":        {"PUT contents/．．/x", file("symphony/GH-1"), "looks like"},

		"edit of the own comment":                   {"PATCH issues/comments/11", text, own},
		"edit of a person's comment":                {"PATCH issues/comments/12", text, "comment 12 was not posted by this tool, but by mem: write a comment of your own"},
		"edit of the own comment elsewhere":         {"PATCH issues/comments/13", text, "comment 13 is not on the issue or the pull request of this session. " + other},
		"edit of the own one on the pull request":   {"PATCH issues/comments/14", text, own},
		"edit of the own one on another":            {"PATCH issues/comments/15", text, "comment 15 is not on"},
		"edit of a comment of the program":          {"PATCH issues/comments/16", text, "comment 16 does not end with the mark of what this tool posts, so a person or the program wrote it"},
		"edit of a comment that is not there":       {"PATCH issues/comments/99", text, "comment 99 does not exist"},
		"edit of the own review comment":            {"PATCH pulls/comments/21", text, own},
		"edit of a person's review comment":         {"PATCH pulls/comments/22", text, "but by mem"},
		"edit of the own review comment on another": {"PATCH pulls/comments/23", text, "comment 23 is not on"},
		"deletion of the own comment":               {"DELETE issues/comments/11", nil, other},
		"reply":                                     {"POST pulls/5/comments/22/replies", text, own},
		"reply to a comment of another":             {"POST pulls/5/comments/23/replies", text, "comment 23 is not one of pull request #5"},
		"reply on another":                          {"POST pulls/6/comments/23/replies", text, "#6 is neither"},
		"reaction":                                  {"POST issues/comments/12/reactions", body(map[string]any{"content": "+1"}), other},
		"review":                                    {"POST pulls/5/reviews", body(map[string]any{"event": "COMMENT", "body": "x"}), own},
		"review of another":                         {"POST pulls/6/reviews", body(map[string]any{"event": "COMMENT", "body": "x"}), "#6 is neither"},
		"review comment as a reply":                 {"POST pulls/5/comments", body(map[string]any{"body": "x", "in_reply_to": 23}), "body.in_reply_to is not allowed"},

		"state":                             {"PATCH issues/1", body(map[string]any{"state": "closed"}), own},
		"state of another":                  {"PATCH issues/2", body(map[string]any{"state": "closed"}), other},
		"state of the pull request":         {"PATCH issues/5", body(map[string]any{"state": "closed"}), other},
		"text of the issue":                 {"PATCH issues/1", body(map[string]any{"body": "x"}), "body.body is not allowed"},
		"labels with the state":             {"PATCH issues/1", body(map[string]any{"labels": []string{"x"}}), "body.labels is not allowed"},
		"another issue":                     {"POST issues", body(map[string]any{"title": "x"}), other},
		"required label off":                {"DELETE issues/1/labels/symphony", nil, own},
		"required label off in capitals":    {"DELETE issues/1/labels/Symphony", nil, own},
		"required label off another":        {"DELETE issues/2/labels/symphony", nil, other},
		"a label of people off":             {"DELETE issues/1/labels/bug", nil, `it may take off ["symphony"] and`},
		"all labels off":                    {"DELETE issues/1/labels", nil, other},
		"required label on":                 {"POST issues/1/labels", labels("symphony"), `the label "symphony" is not the agent's to put on`},
		"state label on":                    {"POST issues/1/labels", labels("status:done", "Blocked"), own},
		"state label on the pull request":   {"POST issues/5/labels", labels("status:done"), own},
		"state label on another":            {"POST issues/2/labels", labels("status:done"), other},
		"the prefix alone":                  {"POST issues/1/labels", labels("status:"), "not the agent's to put on"},
		"another label on":                  {"POST issues/1/labels", labels("status:done", "automerge"), `the label "automerge" is not`},
		"label of trust on":                 {"POST issues/1/labels", labels("agent ok"), "for people to put on"},
		"label of trust off, as configured": {"DELETE issues/1/labels/agent ok", nil, own},
		"labels as text":                    {"POST issues/1/labels", body(map[string]any{"labels": "status:done"}), "must be a list of names"},
		"labels replaced":                   {"PUT issues/1/labels", labels("BUG", "status:done"), own},
		"labels replaced without one":       {"PUT issues/1/labels", labels("status:done"), `the label "bug" is not the agent's to take off`},
		"labels replaced with another":      {"PUT issues/1/labels", labels("bug", "automerge"), `the label "automerge" is not`},

		"pull request":                     {"POST pulls", pull("symphony/GH-1"), own},
		"pull request by its owner":        {"POST pulls", pull("acme:symphony/GH-1"), own},
		"pull request from another":        {"POST pulls", pull("symphony/GH-2"), `body.head must be "symphony/GH-1"`},
		"pull request from a fork":         {"POST pulls", pull("evil:symphony/GH-1"), "body.head must be"},
		"pull request out of an issue":     {"POST pulls", pull("symphony/GH-1", "issue"), "body.issue is not allowed"},
		"pull request of another's fork":   {"POST pulls", pull("symphony/GH-1", "head_repo"), "body.head_repo is not allowed"},
		"text of the pull request":         {"PATCH pulls/5", body(map[string]any{"title": "x", "body": "y"}), own},
		"text of another":                  {"PATCH pulls/6", body(map[string]any{"title": "x"}), "#6 is neither"},
		"state of the pull request itself": {"PATCH pulls/5", body(map[string]any{"state": "open"}), "body.state is not allowed"},
		"reviewers":                        {"POST pulls/5/requested_reviewers", body(map[string]any{"reviewers": []string{"mem"}}), other},

		"file":                 {"PUT contents/a.txt", file("symphony/GH-1"), own},
		"file elsewhere":       {"PUT contents/a.txt", file("symphony/GH-2"), `"symphony/GH-2" is not the branch`},
		"file by a twin":       {"PUT contents/a.txt", file("symphony/gh-1"), `is not the branch`},
		"file by another":      {"PUT contents/a.txt", body(map[string]any{"branch": "symphony/GH-1", "message": "x", "author": map[string]any{"name": "mem"}}), "body.author is not allowed"},
		"branch":               {"POST git/refs", body(map[string]any{"ref": "refs/heads/symphony/GH-1", "sha": sha1}), own},
		"branch of another":    {"POST git/refs", body(map[string]any{"ref": "refs/heads/symphony/GH-12", "sha": sha1}), "is not the branch"},
		"branch moved":         {"PATCH git/refs/heads/symphony/GH-1", body(map[string]any{"sha": sha1}), own},
		"branch moved by path": {"PATCH git/refs/heads/symphony/GH-2", body(map[string]any{"sha": sha1}), "is not the branch"},
		"merge":                {"PUT pulls/5/merge", nil, other},
		"workflow started":     {"POST actions/workflows/1/dispatches", body(map[string]any{"ref": "symphony/GH-1"}), other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newBusyFake(t)
			f.observe = nil
			method, path, _ := strings.Cut(test.call, " ")
			got := f.use(f.openIssueScope(nil), arguments(t, method, base+path, test.more))
			sent := slices.ContainsFunc(f.asked(), func(r string) bool { return !strings.HasPrefix(r, "GET ") && !strings.HasPrefix(r, "POST /graphql ") })
			switch {
			case sent != (test.want == own):
				t.Errorf("sent %t: OK %t, %q", sent, got.OK, got.Text)
			case test.want != own && (got.OK || !strings.Contains(got.Text, test.want)):
				t.Errorf("OK %t, %q: want %q", got.OK, got.Text, test.want)
			}
		})
	}
}

func TestARefusalSaysWhatIsAllowed(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	got := f.use(f.openIssueScope(nil), arguments(t, "POST", "/repos/acme/shop/issues/2/comments", body(map[string]any{"body": "x"})))
	const want = "github_api: #2 is neither the issue nor the pull request of this session. What this session may write: comments, state and hand-over labels of issue 1; " +
		"comments, replies, reviews and the same labels on the pull request of the branch symphony/GH-1, which it may open and edit; the files of that branch"
	if diff := cmp.Diff(want, got.Text); diff != "" {
		t.Error(diff)
	}
}

func TestTheDescriptionSaysWhatMayBeWritten(t *testing.T) {
	t.Parallel()
	for scope, want := range map[Scope]string{ScopeIssue: "only to the issue that you work on", ScopeRepo: "and so are merges", ScopeToken: "also merge"} {
		if got := (Config{ToolScope: scope}).mayWrite(); !strings.Contains(got, want) || strings.Count(got, ". ") != 1 {
			t.Errorf("%s: %q: want two sentences with %q", scope, got, want)
		}
	}
	if got := (Config{Options: tracker.Options{Delivered: true}}).mayWrite(); !strings.Contains(got, "files, branches") || strings.Contains(got, "open") {
		t.Errorf("delivered: %q", got)
	}
}

func TestWhatIsKnownOfANumberIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	f.observe = nil
	r := f.openIssueScope(nil)
	comment := func(method, path string) {
		f.use(r, arguments(t, method, "/repos/acme/shop/"+path, body(map[string]any{"body": "x"})))
	}
	comment("POST", "issues/1/comments")
	wantRequests(t, f, "POST /repos/acme/shop/issues/1/comments 201")
	comment("POST", "issues/5/comments")
	comment("POST", "issues/5/comments")
	wantRequests(t, f, "GET /repos/acme/shop/pulls/5 200", "POST /repos/acme/shop/issues/5/comments 201", "POST /repos/acme/shop/issues/5/comments 201")
	comment("PATCH", "issues/comments/11")
	comment("PATCH", "issues/comments/14")
	comment("PATCH", "issues/comments/12")
	comment("PATCH", "issues/comments/12")
	wantRequests(t, f,
		"GET /repos/acme/shop/issues/comments/11 200", "POST /graphql 200", "PATCH /repos/acme/shop/issues/comments/11 200",
		"GET /repos/acme/shop/issues/comments/14 200", "PATCH /repos/acme/shop/issues/comments/14 200",
		"GET /repos/acme/shop/issues/comments/12 200", "GET /repos/acme/shop/issues/comments/12 200") // somebody may have made it theirs
	comment("POST", "issues/9/comments") // it is not there yet
	f.heads[9] = "acme/shop:symphony/GH-1"
	comment("POST", "issues/9/comments")
	wantRequests(t, f, "GET /repos/acme/shop/pulls/9 404", "GET /repos/acme/shop/pulls/9 200", "POST /repos/acme/shop/issues/9/comments 201")
}

func TestWhatIsKnownForOneIssueIsNotForAnother(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	r := f.openIssueScope(nil)
	call := arguments(t, "POST", "/repos/acme/shop/issues/5/comments", body(map[string]any{"body": "x"}))
	if got := f.use(r, call); !got.OK {
		t.Fatal(got.Text)
	}
	if got := r.tool().Call(t.Context(), tracker.Issue{ID: "2", Identifier: "GH-2"}, json.RawMessage(call)); got.OK || len(f.comments) != 1 {
		t.Errorf("OK %t, %q: the pull request is another session's", got.OK, got.Text)
	}
}

func TestTheOwnBranchHasTheConfiguredPrefix(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	f.heads[9] = "acme/shop:bots/GH-1"
	r := f.openIssueScope(func(c *Config) { c.BranchPrefix = "bots/" })
	for number, want := range map[string]bool{"5": false, "9": true} {
		got := f.use(r, arguments(t, "POST", "/repos/acme/shop/issues/"+number+"/comments", body(map[string]any{"body": "x"})))
		if got.OK != want || !want && !strings.Contains(got.Text, "bots/GH-1") {
			t.Errorf("#%s: OK %t, %q", number, got.OK, got.Text)
		}
	}
}

func TestANumberThatCannotBeCheckedIsRefused(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	f.failWith(http.StatusForbidden, nil, `{"message": "Resource not accessible"}`)
	got := f.use(f.openIssueScope(nil), arguments(t, "POST", "/repos/acme/shop/issues/5/comments", body(map[string]any{"body": "x"})))
	if got.OK || !strings.Contains(got.Text, "cannot be checked") {
		t.Errorf("OK %t, %q", got.OK, got.Text)
	}
	wantRequests(t, f, "GET /repos/acme/shop/pulls/5 0")
}

func TestWhatTheHostPublishesIsNotTheTools(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	r := f.openIssueScope(func(c *Config) { c.Delivered = true })
	for _, write := range writes() {
		if write.body == "" {
			continue
		}
		published := strings.HasPrefix(write.path, "git/") || strings.HasPrefix(write.path, "contents/") || write.path == "pulls" || write.method+write.path == "PATCHpulls/1"
		if !published {
			continue
		}
		if got := f.use(r, arguments(t, write.method, "/repos/acme/shop/"+write.path, map[string]any{"body": json.RawMessage(write.body)})); got.OK || !strings.Contains(got.Text, "published for you") {
			t.Errorf("%s %s: OK %t, %q", write.method, write.path, got.OK, got.Text)
		}
	}
	wantRequests(t, f)
}
