package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

func TestThePermissionOfAPersonIsAskedForAgainWhenItIsTooOld(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]int32{time.Hour: 1, 0: 3} {
		s := newServer(t, 200, nil, `{"permission": "write"}`)
		access := client.NewAccess(s.client(t), limit)
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
		access := client.NewAccess(newServer(t, row.status, nil, row.body).client(t), time.Hour)
		said := []client.PullComment{{Author: row.who, At: time.Unix(9, 0)}, {Author: row.who, At: time.Unix(1, 0)}, {Author: row.who, Own: true, At: time.Unix(9, 0)}}
		got, err := access.Judge(t.Context(), said, time.Unix(9, 0))
		if err != nil || len(got) != 2 || got[1].Distrust != "" || !strings.Contains(got[0].Distrust, row.want) || (row.want == "") != (got[0].Distrust == "") {
			t.Errorf("%+v: %+v, %v", row, got, err)
		}
	}
}

func TestAnEditByAnotherAccountCountsOnlyIfThatMayWrite(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	g.SetPermission("kim", "write")
	g.SetPermission("lee", "admin")
	access := client.NewAccess(c, time.Hour)
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
