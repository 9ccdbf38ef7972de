package githubtest

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
)

// people has the roles of people in the repository.
type people struct {
	*server
	levels  map[string]string // roles by login
	public  map[string]bool   // logins whose membership is public
	private bool              // others than people with a role do not see the repository
}

// SetPermission gives a person a role in the repository: admin, maintain, write, triage,
// read or none; or takes it, if it is empty. Everybody but [Member] may read at first.
func (g *people) SetPermission(login, role string) { g.locked(func() { g.levels[login] = role }) }

// MakePrivate hides the repository from people without a role.
func (g *people) MakePrivate() { g.locked(func() { g.private = true }) }

func (g *people) addPermissionRoute() {
	g.handle("metadata: read", "GET /collaborators/{login}/permission", func(r *http.Request) (int, any) {
		role, known := g.levels[r.PathValue("login")]
		switch {
		case !known && !g.private:
			role = "read"
		case role == "":
			return http.StatusNotFound, notFound
		}
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
func (g *people) isAssignable(login string) bool { return g.levels[login] != "none" }

// SetAccount gives a token an account, and makes the token valid: the account of a person, or
// of an App, whose login ends with [bot]. Other tokens belong to jobs.
func (g *server) SetAccount(token, login string) {
	g.AcceptToken(token)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accounts[token] = login
}

// accountOf returns the account that a request acts as. g.mu must be held.
func (g *server) accountOf(r *http.Request) string {
	return cmp.Or(g.accounts[storetest.TokenOf(r)], account)
}

// ShowMembership has a member of the organization make that public, which few do.
func (g *people) ShowMembership(login string) { g.locked(func() { g.public[login] = true }) }

// accountTypes are the types of accounts by the word in brackets at the end of their logins here. Others
// are people.
var accountTypes = map[string]string{"[bot]": "Bot", "[organization]": "Organization", "[mannequin]": "Mannequin"}

// parts returns the login of an account without a word in brackets, and its type.
func parts(login string) (name, kind string) {
	if login == account {
		return login, accountType
	}
	for word, kind := range accountTypes {
		if name, found := strings.CutSuffix(login, word); found {
			return name, kind
		}
	}
	return login, "User"
}

// user returns an account as the REST API gives it, which writes the login of an App with a
// suffix; null for a deleted one.
func user(login string) object {
	if login == "" {
		return nil
	}
	_, kind := parts(login)
	v := object{"login": restLogin(login), "id": 1, "node_id": "U_" + login, "type": kind, "site_admin": false, "gravatar_id": ""}
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
	name, kind := parts(login)
	if kind == "Bot" {
		name += "[bot]"
	}
	return name
}

// actor returns an account as GraphQL gives it, null for a deleted one.
func actor(login string) trackertest.Object {
	if login == "" {
		return nil
	}
	name, kind := parts(login)
	return trackertest.Object{"__typename": kind, "login": name}
}
