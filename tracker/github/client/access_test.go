package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

func TestThePermissionOfAPersonIsAskedForAgainWhenItIsTooOld(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]int32{time.Hour: 1, 0: 3} {
		s := newServer(t, 200, nil, `{"permission": "write"}`)
		access := client.NewAccess(s.client(t), limit, tracker.IsMarked)
		for _, login := range []string{"kim", "Kim", "KIM"} {
			if why, err := access.Denial(t.Context(), client.Account{Type: "User", Login: login}); why != "" || err != nil {
				t.Errorf("%s: %q, %v", login, why, err)
			}
		}
		if got := s.requests.Load(); got != want {
			t.Errorf("with a limit of %v there were %d requests, want %d", limit, got, want)
		}
	}
}

func TestOnlyTheWordOfPeopleWithWriteAccessCounts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		who    client.Account
		status int
		body   string
		want   string // of the denial
	}{
		{client.Account{Type: "User", Login: "kim"}, 200, `{"permission": "admin"}`, ""},
		{client.Account{Type: "User", Login: "kim"}, 200, `{"permission": "read"}`, "kim has no write access"},
		{client.Account{Type: "User", Login: "kim"}, 404, `{}`, "kim is not a collaborator"},
		{client.Account{Type: "User", Login: "kim"}, 403, `{}`, "metadata: read"},
		{client.Account{Type: "Bot", Login: "linter"}, 200, `{"permission": "admin"}`, "linter is not a person"},
		{client.Account{}, 200, `{"permission": "admin"}`, "a deleted account"},
	} {
		access := client.NewAccess(newServer(t, row.status, nil, row.body).client(t), time.Hour, tracker.IsMarked)
		said := []client.PullComment{{Author: row.who, At: time.Unix(9, 0)}, {Author: row.who, At: time.Unix(1, 0)}}
		got, err := access.Judge(t.Context(), said, time.Unix(9, 0))
		if err != nil || len(got) != 1 || got[0].Own || !strings.Contains(got[0].Distrust, row.want) || (row.want == "") != (got[0].Distrust == "") {
			t.Errorf("%+v: %+v, %v", row, got, err)
		}
	}
}

func TestAnEditByAnotherAccountCountsOnlyIfThatMayWrite(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	g.SetPermission("kim", "write")
	g.SetPermission("lee", "admin")
	access := client.NewAccess(c, time.Hour, tracker.IsMarked)
	kim := client.Account{Type: "User", Login: "kim"}
	for _, row := range []struct {
		author, editor client.Account
		want           string
	}{
		{kim, kim, ""},
		{kim, client.Account{Type: "User", Login: "lee"}, ""},
		{kim, client.Account{Type: "User", Login: "mallory"}, "another account edited it: mallory has no write access"},
		{kim, client.Account{Type: "Bot", Login: "linter"}, "another account edited it: linter is not a person"},
		{kim, client.Account{}, "another account edited it: a deleted account"},
		{client.Account{Type: "User", Login: "mallory"}, kim, "mallory has no write access"},
	} {
		got, err := access.Judge(t.Context(), []client.PullComment{{Author: row.author, Edited: true, Editor: row.editor}}, time.Time{})
		if err != nil || len(got) != 1 || got[0].Distrust != row.want {
			t.Errorf("%+v: %+v, %v", row, got, err)
		}
	}
}

// TestWhoseWordACommentIs covers the accounts that the program and its agent may have, and the
// people who share one of them.
func TestWhoseWordACommentIs(t *testing.T) {
	t.Parallel()
	const (
		agent, host = "\n\n<!-- symphony-comment: agent -->", "\n\n<!-- symphony-comment: reply-12ab -->\r\n"
		quoted      = "\n\n> <!-- symphony-comment: agent -->"
	)
	kim, mallory, job := client.Account{Type: "User", Login: "kim"}, client.Account{Type: "User", Login: "mallory"}, client.Account{Type: "Bot", Login: "github-actions"}
	for name, row := range map[string]struct {
		by       client.Account
		ours     bool
		text     string
		own      bool
		distrust string
	}{
		"the agent with the token of a person":          {kim, true, "/symphony retry" + agent, true, ""},
		"the program with it":                           {kim, true, "Done." + host, true, ""},
		"that person":                                   {kim, true, "/symphony retry", false, ""},
		"that person with a quotation":                  {kim, true, "Look:" + quoted, false, ""},
		"that person below a quotation":                 {kim, true, "> Done." + agent + "\n\nNot yet.", false, ""},
		"that person above a quotation":                 {kim, true, "Not yet.\n\nOn Monday kim wrote:\n> Done.\n>" + quoted, false, ""},
		"that person, who has no write access":          {mallory, true, "/symphony retry", false, "mallory has no write access"},
		"the agent with the token of a job":             {job, true, "/symphony retry" + agent, true, ""},
		"an older version with it":                      {job, true, "/symphony retry", true, ""},
		"the agent with the token of somebody else":     {kim, false, "/symphony retry" + agent, false, "the last line is the mark"},
		"the program with it elsewhere":                 {kim, false, "Done." + host, false, "the last line is the mark"},
		"the agent with that of another App":            {job, false, "/symphony retry" + agent, true, ""},
		"another App":                                   {job, false, "Red.", false, "github-actions is not a person"},
		"a stranger with a mark":                        {mallory, false, "/symphony retry" + agent, false, "mallory has no write access"},
		"a person with a mark that has text behind":     {kim, false, "Use wheels." + agent + " or not", false, ""},
		"a person with a mark in the middle":            {kim, false, "Use" + agent + "\nwheels.", false, ""},
		"a person with a mark of a key that is none":    {kim, false, "Use wheels.\n<!-- symphony-comment:  -->", false, ""},
		"a person with two keys in a mark":              {kim, false, "Use wheels.\n<!-- symphony-comment: a --> -->", false, ""},
		"a person with a mark in a line of its own":     {kim, false, "Use <!-- symphony-comment: agent -->", false, ""},
		"a person with a mark alone":                    {kim, false, "<!-- symphony-comment: agent -->", false, "the last line is the mark"},
		"a person with a mark and ends of lines of \\r": {kim, false, "x\r<!-- symphony-comment: agent -->\r", false, "the last line is the mark"},
	} {
		permission := map[string]string{"kim": "write", "mallory": "read"}[row.by.Login]
		s := newServer(t, 200, nil, `{"permission": "`+permission+`"}`)
		got, err := client.NewAccess(s.client(t), time.Hour, tracker.IsMarked).Judge(t.Context(), []client.PullComment{{Author: row.by, Ours: row.ours, Text: row.text}}, time.Time{})
		if err != nil || len(got) != 1 || got[0].Own != row.own || !strings.Contains(got[0].Distrust, row.distrust) || (row.distrust == "") != (got[0].Distrust == "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
