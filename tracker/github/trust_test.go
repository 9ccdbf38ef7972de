package github

import (
	"fmt"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"net/http"
	"strings"
	"testing"
	"time"
)

// grantRoles gives the people of the trust tests their permissions.
func grantRoles(f *fake) {
	for login, role := range map[string]string{"writer": "write", "boss": "admin", githubtest.Member: "write", "reader": "read"} {
		f.SetPermission(login, role)
	}
}

func TestWhoseIssuesMayBeWorkedOn(t *testing.T) {
	t.Parallel()
	outsider := func(i *fakeIssue) { i.Author, i.Association = "evil", "NONE" }
	by := func(login, association string) func(*fakeIssue) {
		return func(i *fakeIssue) { i.Author, i.Association = login, association }
	}
	at := func(i *fakeIssue, minutes int) time.Time { return i.Created.Add(time.Duration(minutes) * time.Minute) }
	edit := func(by string, minutes int) func(*fakeIssue) {
		return func(i *fakeIssue) { i.Edits = append(i.Edits, fakeEvent{By: by, At: at(i, minutes)}) }
	}
	rename := func(by string, minutes int) func(*fakeIssue) {
		return func(i *fakeIssue) { i.Renames = append(i.Renames, fakeEvent{By: by, At: at(i, minutes)}) }
	}
	label := func(by string, minutes int) func(*fakeIssue) {
		return func(i *fakeIssue) {
			i.Labels = []string{"Agent OK"}
			i.Labelings = append(i.Labelings, fakeEvent{By: by, At: at(i, minutes), Label: "Agent OK"})
		}
	}
	for name, test := range map[string]struct {
		issue []func(*fakeIssue)
		why   string // a part of the reason; "" may be worked on
	}{
		"a member's":                        {nil, ""},
		"an owner's":                        {[]func(*fakeIssue){func(i *fakeIssue) { i.Association = "OWNER" }}, ""},
		"a collaborator's":                  {[]func(*fakeIssue){func(i *fakeIssue) { i.Association = "COLLABORATOR" }}, ""},
		"a member's who only reads":         {[]func(*fakeIssue){by("reader", "MEMBER")}, "its author may not write the repository (reader has no write access)"},
		"a collaborator's who only reads":   {[]func(*fakeIssue){by("reader", "COLLABORATOR")}, "its author may not write the repository"},
		"a member's without access":         {[]func(*fakeIssue){by("former", "MEMBER")}, "former is not a collaborator"},
		"a reader's, vouched for":           {[]func(*fakeIssue){by("reader", "MEMBER"), label("writer", 5)}, ""},
		"a reader's, edited by a writer":    {[]func(*fakeIssue){by("reader", "MEMBER"), edit("writer", 1)}, "its author may not write the repository"},
		"a private member's":                {[]func(*fakeIssue){by("writer", "NONE")}, ""},
		"a private member's who has merged": {[]func(*fakeIssue){by("writer", "CONTRIBUTOR")}, ""},
		"a private member's who only reads": {[]func(*fakeIssue){by("reader", "NONE")}, "reader has no write access"},
		"an outsider's":                     {[]func(*fakeIssue){outsider}, "its author may not write the repository (evil is not a collaborator)"},
		"a contributor's":                   {[]func(*fakeIssue){outsider, func(i *fakeIssue) { i.Association = "CONTRIBUTOR" }}, "evil is not a collaborator"},
		"of an imported account":            {[]func(*fakeIssue){func(i *fakeIssue) { i.Author, i.Association = "writer[mannequin]", "MANNEQUIN" }}, "writer is not a person"},
		"a bot's, whatever its association": {[]func(*fakeIssue){func(i *fakeIssue) { i.Author = "helper[bot]" }}, "helper[bot] is not a person"},
		"a deleted account's":               {[]func(*fakeIssue){func(i *fakeIssue) { i.Author = "" }}, "a deleted account"},

		"edited by its author":                  {[]func(*fakeIssue){edit("Kim", 1)}, ""},
		"edited by a writer":                    {[]func(*fakeIssue){edit("writer", 1)}, ""},
		"edited by an outsider":                 {[]func(*fakeIssue){edit("evil", 1)}, "evil is not a collaborator"},
		"edited by a reader":                    {[]func(*fakeIssue){edit("reader", 1)}, "reader has no write access"},
		"edited by an outsider, then corrected": {[]func(*fakeIssue){edit("evil", 1), edit("boss", 2)}, "evil is not a collaborator"},
		"edited by a bot":                       {[]func(*fakeIssue){edit("writer[bot]", 1)}, "writer is not a person"},
		"edited by a bot with its login":        {[]func(*fakeIssue){edit("kim[bot]", 1)}, "kim is not a person"},
		"edited by a deleted account":           {[]func(*fakeIssue){edit("", 1)}, "a deleted account"},
		"renamed by an outsider":                {[]func(*fakeIssue){rename("evil", 1)}, "evil is not a collaborator"},
		"renamed by its author":                 {[]func(*fakeIssue){rename(githubtest.Member, 1)}, ""},
		"edited more often than can be read": {[]func(*fakeIssue){func(i *fakeIssue) {
			for range 101 {
				edit(githubtest.Member, 1)(i)
			}
		}}, "not all of its edits"},
		"renamed more often than can be read": {[]func(*fakeIssue){func(i *fakeIssue) {
			for range 101 {
				rename(githubtest.Member, 1)(i)
			}
		}}, "not all of its edits"},

		"an outsider's, vouched for":                       {[]func(*fakeIssue){outsider, label("writer", 5)}, ""},
		"a deleted account's, vouched for":                 {[]func(*fakeIssue){outsider, func(i *fakeIssue) { i.Author = "" }, label("writer", 5)}, ""},
		"an outsider's, vouched for after the edit":        {[]func(*fakeIssue){outsider, edit("evil", 1), rename("evil", 2), label("boss", 5)}, ""},
		"an outsider's, edited after the label":            {[]func(*fakeIssue){outsider, label("writer", 5), edit("evil", 6)}, "edited after the label"},
		"an outsider's, renamed after the label":           {[]func(*fakeIssue){outsider, label("writer", 5), rename("evil", 6)}, "edited after the label"},
		"an outsider's, edited in the second of the label": {[]func(*fakeIssue){outsider, label("writer", 5), edit("evil", 5)}, "edited after the label"},
		"an outsider's, born with the label":               {[]func(*fakeIssue){outsider, label("writer", 0)}, "edited after the label"},
		"an outsider's, edited and vouched for again":      {[]func(*fakeIssue){outsider, label("writer", 5), edit("evil", 6), label("boss", 7)}, ""},
		"an outsider's, the label by its author":           {[]func(*fakeIssue){outsider, label("evil", 5)}, "evil is not a collaborator"},
		"an outsider's, the label by a reader":             {[]func(*fakeIssue){outsider, label("reader", 5)}, "reader has no write access"},
		"an outsider's, the label by a bot":                {[]func(*fakeIssue){outsider, label("writer[bot]", 5)}, "writer is not a person"},
		"an outsider's, the label by a deleted account":    {[]func(*fakeIssue){outsider, label("", 5)}, "a deleted account"},
		"an outsider's, the label put on again by another": {[]func(*fakeIssue){outsider, label("writer", 5), label("reader", 6)}, "reader has no write access"},
		"an outsider's, the label of unknown origin":       {[]func(*fakeIssue){outsider, func(i *fakeIssue) { i.Labels = []string{"agent ok"} }}, "cannot be read"},
		"an outsider's, the label taken off":               {[]func(*fakeIssue){outsider, label("writer", 5), func(i *fakeIssue) { i.Labels = nil }}, "evil is not a collaborator"},
		"an outsider's, another label":                     {[]func(*fakeIssue){outsider, label("writer", 5), func(i *fakeIssue) { i.Labels = []string{"agent okay"} }}, "evil is not a collaborator"},
		"a member's, edited by an outsider, vouched for":   {[]func(*fakeIssue){edit("evil", 1), label("writer", 5)}, ""},
		"an outsider's with more labels than can be read": {[]func(*fakeIssue){outsider, label("writer", 5), func(i *fakeIssue) {
			for range 100 {
				i.Labelings = append(i.Labelings, fakeEvent{By: "evil", At: at(i, 6), Label: "noise"})
			}
		}}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			grantRoles(f)
			f.put(func(i *fakeIssue) {
				for _, edit := range test.issue {
					edit(i)
				}
			})
			r := f.openWith(map[string]any{"trust_label": "agent ok"}, []string{"open"}, []string{"closed"})
			got := f.read(r, "1")[0]
			if got.Dispatchable != (test.why == "") || !strings.Contains(got.WhyNot, test.why) || got.Dispatchable != (got.WhyNot == "") {
				t.Errorf("dispatchable %t, why %q, want %q", got.Dispatchable, got.WhyNot, test.why)
			}
			if again := f.read(r, "1")[0]; again.WhyNot != got.WhyNot {
				t.Errorf("the second time why is %q, the first time %q", again.WhyNot, got.WhyNot)
			}
		})
	}
}

func TestOnlyCandidatesPayForTrust(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	grantRoles(f)
	f.put(func(i *fakeIssue) { i.Association = "NONE" })
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{1} })
	f.put(func(i *fakeIssue) { i.State = stateClosed })
	f.put(func(i *fakeIssue) { i.Association, i.BlockedBy = "NONE", []int{1} })
	r := f.openWith(map[string]any{"trust_label": "agent ok"}, []string{"open"}, []string{"closed"})
	f.SetPermission(githubtest.Member, "")
	f.list(r, "open", "closed")
	wantRequests(t, f, strings.Replace(listPath, "open", "all", 1)+" 200", strings.Replace(memRequest, "200", "404", 1), "GET /repos/acme/shop/issues/2/dependencies/blocked_by?per_page=100 200")
}

func TestEachPersonIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	grantRoles(f)
	for range 3 {
		f.put(func(i *fakeIssue) { i.Edits = []fakeEvent{{By: "writer", At: i.Created}} })
	}
	r := f.open()
	f.list(r, "open")
	f.Change(1, func(i *fakeIssue) { i.Body = "New." })
	f.list(r, "open")
	wantRequests(t, f, listPath+" 200", historyRequest, memRequest, "GET /repos/acme/shop/collaborators/writer/permission 200", listPath+" 200", historyRequest)
}

// Anybody may write issues in a public repository, and each account costs a request.
func TestIssuesOfManyStrangersCostFewRequests(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	grantRoles(f)
	f.put(func(i *fakeIssue) { i.Author, i.Association = "writer", "NONE" })
	for n := range 45 {
		f.put(func(i *fakeIssue) { i.Author, i.Association = fmt.Sprintf("evil%d", n), "NONE" })
	}
	r := f.open()
	asked := 0
	for poll := range 4 {
		issues := f.list(r, "open")
		requests := 0
		for _, request := range f.asked() {
			if strings.Contains(request, "/collaborators/") && strings.HasSuffix(request, " 404") {
				requests++
			}
		}
		if asked += requests; requests > 20 {
			t.Errorf("poll %d asked about %d strangers", poll, requests)
		}
		for _, i := range issues {
			if i.ID != "1" && (i.Dispatchable || i.WhyNot == "") {
				t.Errorf("poll %d: %s is dispatchable", poll, i.Identifier)
			}
		}
		if poll == 3 && !issues[0].Dispatchable {
			t.Errorf("the issue of a private member among them: %s", issues[0].WhyNot)
		}
		r.pollsLater()
	}
	if asked != 45 {
		t.Errorf("%d requests about 45 strangers, who are known for an hour", asked)
	}
}

func TestAWriterWhoLosesAccessIsNoLongerTrustedAtTheNextPoll(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(f *fake){
		"made a reader": func(f *fake) { f.SetPermission(githubtest.Member, "read") },
		"removed":       func(f *fake) { f.SetPermission(githubtest.Member, "") },
	} {
		f := newFake(t)
		f.put(nil)
		r := f.open()
		if got := f.list(r, "open")[0]; !got.Dispatchable {
			t.Fatalf("%s: before, why %q", name, got.WhyNot)
		}
		f.asked()
		f.list(r, "open") // in the same poll
		wantRequests(t, f, listPath+" 304")
		r.pollsLater()
		f.list(r, "open") // nothing has changed, which costs nothing of the limit
		again := strings.Replace(memRequest, "200", "304", 1)
		wantRequests(t, f, listPath+" 304", again, again) // twice, since every answer is too old
		lose(f)
		r.pollsLater()
		if got := f.list(r, "open")[0]; got.Dispatchable || !strings.Contains(got.WhyNot, "may not write") {
			t.Errorf("%s: dispatchable %t, why %q", name, got.Dispatchable, got.WhyNot)
		}
		f.SetPermission(githubtest.Member, "admin")
		r.pollsLater()
		if got := f.list(r, "open")[0]; !got.Dispatchable {
			t.Errorf("%s: given back, why %q", name, got.WhyNot)
		}
	}
}

func TestALabelOfTrustDoesNotOutliveTheAccessOfWhoPutItOn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SetPermission("writer", "write")
	f.put(func(i *fakeIssue) {
		i.Author, i.Association, i.Labels = "evil", "NONE", []string{"ok"}
		i.Labelings = []fakeEvent{{By: "writer", At: i.Created.Add(time.Minute), Label: "ok"}}
	})
	r := f.openWith(map[string]any{"trust_label": "ok"}, []string{"open"}, []string{"closed"})
	if got := f.list(r, "open")[0]; !got.Dispatchable {
		t.Fatalf("before, why %q", got.WhyNot)
	}
	f.SetPermission("writer", "triage")
	r.pollsLater()
	if got := f.list(r, "open")[0]; got.Dispatchable || !strings.Contains(got.WhyNot, "writer has no write access") {
		t.Errorf("dispatchable %t, why %q", got.Dispatchable, got.WhyNot)
	}
}

// pollsLater makes the permissions too old, as they are at the next poll.
func (r *repository) pollsLater() { r.trust.access.Limit = 0 }

func TestAPermissionThatCannotBeReadIsNone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Edits = []fakeEvent{{By: "writer", At: i.Created}} })
	f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/collaborators/") {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	if got := f.read(f.open(), "1")[0]; got.Dispatchable || !strings.Contains(got.WhyNot, "metadata: read") {
		t.Errorf("dispatchable %t, why %q", got.Dispatchable, got.WhyNot)
	}
}

// A history of another text than the one in hand proves nothing: an edit may
// fall between the two requests.
func TestTextThatChangesWhileItIsReadIsNotTrusted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	r := f.open()
	f.setFault(func(_ http.ResponseWriter, q *http.Request) bool {
		if q.Method == http.MethodPost {
			f.Change(1, func(i *fakeIssue) { i.Body += " More." })
		}
		return false
	})
	if got := f.read(r, "1")[0]; got.Dispatchable || !strings.Contains(got.WhyNot, "changed while it was read") {
		t.Errorf("dispatchable %t, why %q", got.Dispatchable, got.WhyNot)
	}
	f.setFault(nil)
	if got := f.read(r, "1")[0]; !got.Dispatchable {
		t.Errorf("read again: why %q", got.WhyNot)
	}
}

func TestAnIssueWhoseEditHistoryIsNotShownIsNotTrusted(t *testing.T) {
	t.Parallel()
	const text = `"id": "I_1", "title": "An issue", "body": "Its text."`
	for name, node := range map[string]string{
		"no node":    `null`,
		"no edits":   `{` + text + `, "userContentEdits": null, "renames": {"nodes": []}, "labelings": {"nodes": []}}`,
		"no renames": `{` + text + `, "userContentEdits": {"totalCount": 0, "nodes": []}, "renames": null}`,
		"null edit":  `{` + text + `, "userContentEdits": {"totalCount": 1, "nodes": [null]}, "renames": {"nodes": []}}`,
		"null event": `{` + text + `, "userContentEdits": {"totalCount": 0, "nodes": []}, "renames": {"nodes": [null]}}`,
		"an edit that only the issue knows": `{` + text + `, "lastEditedAt": "2026-01-01T00:00:00Z", "editor": null,
			"userContentEdits": {"totalCount": 0, "nodes": []}, "renames": {"nodes": []}}`,
	} {
		f := newFake(t)
		f.put(nil)
		r := f.open()
		f.setFault(func(w http.ResponseWriter, q *http.Request) bool {
			if q.Method != http.MethodPost {
				return false
			}
			reply(w, http.StatusOK, nil, fmt.Sprintf(`{"data":{"nodes": [%s]}, "errors": [{"type": "NOT_FOUND", "path": ["nodes", 0]}]}`, node))
			return true
		})
		if got := f.read(r, "1")[0]; got.Dispatchable || got.WhyNot == "" {
			t.Errorf("%s: dispatchable %t, why %q", name, got.Dispatchable, got.WhyNot)
		}
	}
}

// A temporary failure must not stop a session that runs.
func TestTrustThatCannotBeAskedForFailsTheRead(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	r := f.open()
	f.setFault(func(w http.ResponseWriter, q *http.Request) bool {
		if q.Method == http.MethodPost {
			reply(w, http.StatusBadGateway, nil, "no")
		}
		return q.Method == http.MethodPost
	})
	f.listError(r)
}

func TestAnyoneMeansNoQuestions(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Author, i.Association = "evil", "NONE" })
	r := f.openWith(map[string]any{"trust": "anyone"}, []string{"open"}, []string{"closed"})
	if got := f.list(r, "open"); !got[0].Dispatchable {
		t.Errorf("why %q", got[0].WhyNot)
	}
	wantRequests(t, f, listPath+" 200")
}
