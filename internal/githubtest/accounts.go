package githubtest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
)

// SetPermission gives a person a role in the repository: admin, maintain, write, triage,
// read or none. Everybody but [Member] may read at first.
func (g *GitHub) SetPermission(login, role string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.levels[login] = role
}

func (g *GitHub) addPermissionRoute(root string) {
	g.handle(root, "metadata: read", "GET /collaborators/{login}/permission", func(r *http.Request) (int, any) {
		role := cmp.Or(g.levels[r.PathValue("login")], "read")
		permission := role
		switch role {
		case "maintain":
			permission = "write"
		case "triage":
			permission = "read"
		}
		return http.StatusOK, object{"permission": permission, "role_name": role, "user": nil}
	})
}

// isAssignable reports whether an account can be assigned to issues and pull requests.
func (g *GitHub) isAssignable(login string) bool { return g.levels[login] != "none" }

// SetAccount gives a token an account, and makes the token valid: the account of a person, or
// of an App, whose login ends with [bot]. Other tokens belong to jobs.
func (g *GitHub) SetAccount(token, login string) {
	g.AcceptToken(token)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accounts[token] = login
}

// accountOf returns the account that a request acts as. g.mu must be held.
func (g *GitHub) accountOf(r *http.Request) string {
	return cmp.Or(g.accounts[storetest.TokenOf(r)], account)
}

// ShowMembership has a member of the organization make that public, which few do.
func (g *GitHub) ShowMembership(login string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.public[login] = true
}

// association returns the association of an author with the repository. As at GitHub, it
// hides the membership of those who have not made it public, so that they look like strangers,
// and like those whose pull request was merged once.
func (g *GitHub) association(login string) string {
	isTheirs := func(t *thread) bool { return t.pull != nil && t.pull.Merged && t.Author == login }
	switch {
	case g.public[login]:
		return "MEMBER"
	case slices.ContainsFunc(g.threads, isTheirs):
		return "CONTRIBUTOR"
	}
	return "NONE"
}

// userType returns the type of an account. A login that ends with [bot] belongs to a bot.
func userType(login string) string {
	if login == account || strings.HasSuffix(login, "[bot]") {
		return accountType
	}
	return "User"
}

// user returns an account as the REST API gives it, which writes the login of an App with a
// suffix; null for a deleted one.
func user(login string) object {
	if login == "" {
		return nil
	}
	v := object{"login": restLogin(login), "id": 1, "node_id": "U_" + login, "type": userType(login), "site_admin": false, "gravatar_id": ""}
	for _, key := range []string{
		"avatar_url", "events_url", "followers_url", "following_url", "gists_url", "html_url", "organizations_url",
		"received_events_url", "repos_url", "starred_url", "subscriptions_url", "url",
	} {
		v[key] = "https://api.github.com/users/x"
	}
	return v
}

// restLogin returns the login of an account as the REST API writes it, and GraphQL where an
// App asks for itself.
func restLogin(login string) string {
	if userType(login) == "Bot" {
		return strings.TrimSuffix(login, "[bot]") + "[bot]"
	}
	return login
}

// actor returns an account as GraphQL gives it, null for a deleted one.
func actor(login string) trackertest.Object {
	if login == "" {
		return nil
	}
	return trackertest.Object{"__typename": userType(login), "login": strings.TrimSuffix(login, "[bot]")}
}
