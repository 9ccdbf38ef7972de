package github

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

func TestUploadedPicturesAreReadBySignedAddresses(t *testing.T) {
	t.Parallel()
	g := githubtest.New(t, storetest.Config{Repo: fakeRepo, Token: fakeToken})
	cfg := decode(t, map[string]any{"repo": fakeRepo, "api_key": fakeToken, "api_url": g.URL()})
	r, err := newRepository(cfg, http.DefaultTransport, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a, b, long, hidden := g.AddPicture([]byte("A")), g.AddPicture([]byte("B")), g.AddPicture([]byte("long")), g.AddPicture([]byte("H"))
	const badge = "https://badges.example.org/0c0ffee0-0000-4000-8000-000000000001.png"
	n := g.AddIssue(githubtest.Issue{Title: "Carts forget", Body: fmt.Sprintf("![](%s) ![x](%s) ![](%s)", a, long, badge)})
	comment := g.AddComment(n, githubtest.Member, "See ![]("+b+").")
	issues, err := r.IssuesByID(t.Context(), []tracker.ID{tracker.ID(fmt.Sprint(n))})
	if err != nil || len(issues) != 1 {
		t.Fatal(issues, err)
	}
	g.Asked()

	read := func(pictures ...tracker.Picture) (got []string) {
		for content, err := range Pictures(r.client).Read(t.Context(), issues[0], pictures, 3) {
			got = append(got, strings.TrimSpace(fmt.Sprint(string(content), " ", err)))
			if err != nil && strings.Contains(err.Error(), "jwt=") {
				t.Errorf("the error holds an address that is a secret: %v", err)
			}
		}
		return got
	}
	const unseen = "GitHub does not show it in the text: it may be deleted, or the token may not see it"
	want := []string{"A <nil>", "B <nil>", tracker.ErrTooLarge.Error(), tracker.ErrElsewhere.Error(), unseen, tracker.ErrElsewhere.Error(), tracker.ErrElsewhere.Error()}
	got := read(tracker.Picture{Address: a}, tracker.Picture{Comment: comment, Address: b}, tracker.Picture{Address: long}, tracker.Picture{Address: badge},
		tracker.Picture{Address: hidden}, tracker.Picture{Address: "cart.png"}, tracker.Picture{Address: g.ServerURL() + "/acme/shop/raw/main/a.png"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if asked := g.Asked(); asked[githubtest.GraphQL] != 1 || asked["GET /private-user-images/1/{file}"] != 3 || len(asked) != 2 {
		t.Errorf("the requests are %v", asked)
	}

	if diff := cmp.Diff([]string{tracker.ErrElsewhere.Error()}, read(tracker.Picture{Address: badge})); diff != "" || len(g.Asked()) > 0 {
		t.Errorf("a picture of another host was asked for: %s", diff)
	}
	g.Fail(githubtest.GraphQL, storetest.Fault{After: g.ExpirePictures})
	if diff := cmp.Diff([]string{"the host of the file answers 404 Not Found"}, read(tracker.Picture{Address: a})); diff != "" {
		t.Error(diff)
	}
	g.Fail("GET /private-user-images/1/{file}", storetest.Fault{Status: http.StatusFound, Header: http.Header{"Location": {g.ServerURL() + "/x"}}})
	if diff := cmp.Diff([]string{"the host of the file answers 302 Found"}, read(tracker.Picture{Address: a})); diff != "" {
		t.Error(diff)
	}
}

func TestGitHubKeepsUploadsOnCertainHosts(t *testing.T) {
	t.Parallel()
	const id = "0c0ffee0-0000-4000-8000-000000000001"
	for _, tt := range []struct {
		api, address string
		want         bool
	}{
		{"https://api.github.com", "https://github.com/user-attachments/assets/" + id, true},
		{"https://api.github.com", "https://github.com/acme/shop/assets/12/" + id, true},
		{"https://api.github.com", "https://user-images.githubusercontent.com/1/2-" + id + ".png", true},
		{"https://api.github.com", "https://private-user-images.githubusercontent.com/1/2-" + id + ".png?jwt=x", true},
		{"https://api.github.com", "https://github.com/acme/shop/raw/main/a.png", false},
		{"https://api.github.com", "https://raw.githubusercontent.com/acme/" + id + ".png", false},
		{"https://api.github.com", "https://user-images.githubusercontent.com.example.org/" + id, false},
		{"https://api.github.com", "https://me@github.com/user-attachments/assets/" + id, false},
		{"https://api.github.com", "https://example.org/github.com/" + id, false},
		{"https://api.github.com", "file:///" + id, false},
		{"https://ghe.example.org/api/v3", "https://ghe.example.org/storage/user/5/files/" + id, true},
		{"https://ghe.example.org/api/v3", "https://media.ghe.example.org/user/5/files/" + id, true},
		{"https://ghe.example.org/api/v3", "https://example.org/storage/user/5/files/" + id, false},
		{"https://ghe.example.org/api/v3", "https://github.com/user-attachments/assets/" + id, false},
	} {
		c, err := client.New(client.Config{Repo: fakeRepo, Token: fakeToken, APIURL: tt.api}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := (pictures{c}).uploadOf(tt.address) == id; got != tt.want {
			t.Errorf("%s at %s: %t", tt.address, tt.api, got)
		}
	}
}
