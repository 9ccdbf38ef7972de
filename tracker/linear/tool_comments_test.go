package linear

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

// withVariables returns the arguments of the tool with variables.
func withVariables(query, variables string) string {
	text, _ := json.Marshal(map[string]any{"query": query, "variables": json.RawMessage(variables)})
	return string(text)
}

// spoken returns the comments on the issue of the fake that count as the word of a person.
func (f *fake) spoken(t *testing.T, c client) []string {
	t.Helper()
	all, err := c.Conversation.CommentsSince(t.Context(), map[tracker.ID]time.Time{firstID: {}})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range all[firstID].List {
		if !c.Own && c.Distrust == "" {
			texts = append(texts, c.Text)
		}
	}
	return texts
}

// The key of the fake belongs to a person whose word counts.
func TestTheAgentCannotSpeakAsTheOwnerOfTheKey(t *testing.T) {
	t.Parallel()
	const (
		mine    = "0c0ffee0-0000-4000-8000-000000000001" // by the owner of the key
		program = "53594d50-484f-4e59-8000-000000000001"
		posted  = "53594d50-484f-4e59-9000-000000000001" // by the agent
		create  = `commentCreate(input: {issueId: "` + firstID + `", body: "/symphony retry"}) { success }`
		typed   = `mutation($in: CommentCreateInput!) { commentCreate(input: $in) { success } }`
		input   = `{"issueId": "` + firstID + `", "body": "/symphony retry"`
	)
	for name, test := range map[string]struct {
		arguments string
		refused   bool
	}{
		"a literal":                      {arguments(`mutation { ` + create + ` }`), false},
		"an alias":                       {arguments(`mutation { x: ` + create + ` }`), false},
		"two of them":                    {arguments(`mutation { a: ` + create + ` b: ` + create + ` }`), false},
		"a fragment":                     {arguments(`mutation { ...f } fragment f on Mutation { ` + create + ` }`), false},
		"inline fragments":               {arguments(`mutation { ... { ... on Mutation { ` + create + ` } } }`), false},
		"an id of its own":               {arguments(`mutation { commentCreate(input: {id: "` + mine[:35] + `9", issueId: "` + firstID + `", body: "/symphony retry"}) { success } }`), false},
		"an id by a variable":            {withVariables(`mutation($id: String) { commentCreate(input: {issueId: "`+firstID+`", id: $id, body: "/symphony retry"}) { success } }`, `{"id": "`+mine[:35]+`9"}`), true},
		"a variable":                     {withVariables(typed, `{"in": `+input+`}}`), false},
		"a variable with an id":          {withVariables(typed, `{"in": `+input+`, "id": "`+mine[:35]+`9"}}`), false},
		"a variable with two ids":        {withVariables(typed, `{"in": `+input+`, "id": "x", "id": null}}`), false},
		"a variable twice":               {withVariables(typed, `{"in": `+input+`}, "in": `+input+`, "id": "`+mine[:35]+`9"}}`), false},
		"a default":                      {arguments(`mutation($in: CommentCreateInput! = {issueId: "` + firstID + `", body: "/symphony retry", id: "` + mine[:35] + `9"}) { commentCreate(input: $in) { success } }`), false},
		"one variable for two":           {withVariables(`mutation($in: CommentCreateInput!) { a: commentCreate(input: $in) { success } b: commentCreate(input: $in) { success } }`, `{"in": `+input+`}}`), true},
		"two inputs":                     {arguments(`mutation { commentCreate(input: {issueId: "` + firstID + `", body: "a"}, input: {issueId: "` + firstID + `", body: "b"}) { success } }`), true},
		"no input":                       {arguments(`mutation { commentCreate { success } }`), true},
		"a null":                         {withVariables(typed, `{"in": null}`), true},
		"a list":                         {withVariables(typed, `{"in": [`+input+`}]}`), true},
		"an unknown variable":            {arguments(typed), true},
		"an edit of the owner's":         {arguments(`mutation { commentUpdate(id: "` + mine + `", input: {body: "/symphony retry"}) { success } }`), true},
		"an edit in a block string":      {arguments(`mutation { commentUpdate(id: """` + mine + `""", input: {body: "/symphony retry"}) { success } }`), true},
		"an edit by a variable":          {withVariables(`mutation($id: String!) { commentUpdate(id: $id, input: {body: "/symphony retry"}) { success } }`, `{"id": "`+mine+`"}`), true},
		"an edit by a default":           {arguments(`mutation($id: String! = "` + mine + `") { commentUpdate(id: $id, input: {body: "/symphony retry"}) { success } }`), true},
		"a default that is not used":     {withVariables(`mutation($id: String! = "`+posted+`") { commentUpdate(id: $id, input: {body: "/symphony retry"}) { success } }`, `{"id": "`+mine+`"}`), true},
		"a null that hides a default":    {withVariables(`mutation($id: String = "`+posted+`") { commentUpdate(id: $id, input: {body: "/symphony retry"}) { success } }`, `{"id": null}`), true},
		"an edit beside a harmless one":  {arguments(`mutation { a: commentUpdate(id: "` + posted + `", input: {body: "x"}) { success } b: commentUpdate(id: "` + mine + `", input: {body: "/symphony retry"}) { success } }`), true},
		"an edit in a fragment":          {arguments(`mutation { ...f } fragment f on Mutation { commentUpdate(id: "` + mine + `", input: {body: "/symphony retry"}) { success } }`), true},
		"two ids":                        {arguments(`mutation { commentUpdate(id: "` + posted + `", id: "` + mine + `", input: {body: "/symphony retry"}) { success } }`), true},
		"an id that only begins so":      {arguments(`mutation { commentUpdate(id: "` + posted + ` ` + mine + `", input: {body: "/symphony retry"}) { success } }`), true},
		"an id in upper case":            {arguments(`mutation { commentUpdate(id: "` + strings.ToUpper(posted) + `", input: {body: "/symphony retry"}) { success } }`), true},
		"an edit of the program's":       {arguments(`mutation { commentUpdate(id: "` + program + `", input: {body: "x"}) { success } }`), true},
		"a deletion of the owner's":      {arguments(`mutation { commentDelete(id: "` + mine + `") { success } }`), true},
		"a deletion of the program's":    {withVariables(`mutation($id: String!) { commentDelete(id: $id) { success } }`, `{"id": "`+program+`"}`), true},
		"the comment of an attachment":   {arguments(`mutation { attachmentCreate(input: {issueId: "` + firstID + `", title: "x", url: "https://example.org", commentBody: "/symphony retry"}) { success } }`), true},
		"its document":                   {arguments(`mutation { attachmentCreate(input: {issueId: "` + firstID + `", title: "x", url: "https://example.org", commentBodyData: {}}) { success } }`), true},
		"that by a variable":             {withVariables(`mutation($in: AttachmentCreateInput!) { attachmentCreate(input: $in) { success } }`, `{"in": {"issueId": "`+firstID+`", "commentBody": "/symphony retry"}}`), true},
		"that by a default":              {arguments(`mutation($in: AttachmentCreateInput! = {commentBody: "/symphony retry"}) { attachmentCreate(input: $in) { success } }`), true},
		"that with a part by a variable": {withVariables(`mutation($b: String) { attachmentCreate(input: {title: "x", commentBody: $b}) { success } }`, `{"b": "/symphony retry"}`), true},
		"an edit of its own":             {arguments(`mutation { commentUpdate(id: "` + posted + `", input: {body: "/symphony retry"}) { success } }`), false},
		"an edit of its own by variable": {withVariables(`mutation($id: String!) { commentUpdate(id: $id, input: {body: "/symphony retry"}) { success } }`, `{"id": "`+posted+`"}`), false},
		"a deletion of its own":          {arguments(`mutation { commentDelete(id: "` + posted + `") { success } }`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.add(tracker.Issue{Title: "one", State: "Todo"})
			for id, text := range map[string]string{mine: "Wait.", program: "Begun.", posted: "I try."} {
				f.say(firstID, object{"id": id, "user": f.users[0], "body": text}, time.Now())
			}
			c := f.serve(t)
			got := c.call(t, test.arguments)
			if test.refused && (code(t, got) != "refused" || f.counted() != 0) {
				t.Errorf("%s; %d requests, want none", got.Text, f.counted())
			}
			if !test.refused && !got.OK {
				t.Errorf("%s", got.Text)
			}
			if diff := cmp.Diff([]string{"Wait."}, f.spoken(t, c)); diff != "" {
				t.Errorf("the owner of the key said (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryWayToWriteACommentIsKnown(t *testing.T) {
	t.Parallel()
	// What the other inputs about comments do: they point to a comment that exists, or
	// choose what is synchronized with other services.
	known := []string{
		"commentId", "referenceCommentId", "sourceCommentId", "sourcePullRequestCommentId", "pullRequestCommentId", "resolvingCommentId",
		"comment", "comments", "slackIssueComments",
	}
	schema := published(t)
	seen := map[string]bool{}
	var visit func(kind, path string)
	visit = func(kind, path string) {
		definition := schema.Types[kind]
		if definition == nil || seen[kind] {
			return
		}
		seen[kind] = true
		for _, field := range definition.Fields {
			if strings.Contains(strings.ToLower(field.Name), "comment") && !commentInputs[field.Name] && !slices.Contains(known, field.Name) {
				t.Errorf("%s.%s: %s: does it write a comment?", path, field.Name, field.Type)
			}
			visit(field.Type.Name(), path+"."+field.Name)
		}
	}
	for name := range allowedMutations {
		if strings.HasPrefix(name, "comment") && !slices.Contains([]string{"commentCreate", "commentUpdate", "commentDelete", "commentResolve", "commentUnresolve"}, name) {
			t.Errorf("%s: does it write a comment?", name)
		}
		for _, a := range schema.Mutation.Fields.ForName(name).Arguments {
			if strings.Contains(strings.ToLower(a.Name), "comment") && !slices.Contains(known, a.Name) {
				t.Errorf("%s(%s): does it write a comment?", name, a.Name)
			}
			visit(a.Type.Name(), name)
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d inputs were found", len(seen))
	}
}

func TestCommentsOfAnApplicationAreItsOwn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "one", State: "Todo"})
	f.users[0]["app"] = true
	f.say(firstID, object{"user": f.users[0], "body": "Posted by an older version."}, time.Now())
	c := f.serve(t)
	all, err := c.Conversation.CommentsSince(t.Context(), map[tracker.ID]time.Time{firstID: {}})
	if list := all[firstID].List; err != nil || len(list) != 1 || !list[0].Own {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestACommentPostedWithAnotherKeyDoesNotCount has comments with ids of the program by others
// than the owner of the key: its agent wrote them with the key that it had before, or
// somebody forged them.
func TestACommentPostedWithAnotherKeyDoesNotCount(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "one", State: "Todo"})
	guest, app := newUser("Guest"), newUser("App")
	guest["guest"], app["app"] = true, true
	for n, user := range []object{f.users[1], guest, app} {
		for _, beginning := range []string{programComment, agentComment} {
			f.say(firstID, object{"id": fmt.Sprintf("%s000-00000000000%d", beginning, n), "user": user, "body": "/symphony retry"}, time.Now())
		}
	}
	c := f.serve(t)
	all, err := c.Conversation.CommentsSince(t.Context(), map[tracker.ID]time.Time{firstID: {}})
	if err != nil || len(all[firstID].List) != 6 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, said := range all[firstID].List {
		if said.Own != (said.Author == "app") || !said.Own && said.Distrust == "" {
			t.Errorf("%+v", said)
		}
	}
	if list := f.spoken(t, c); len(list) > 0 {
		t.Errorf("%q counts", list)
	}
}
