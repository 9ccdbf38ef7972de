package github

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// text takes a value that is text.
func text(v any, into *string) bool {
	s, ok := v.(string)
	*into = s
	return ok
}

// oneWord reports whether a value may stand in a header or a URL.
func oneWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// number takes a value that is a whole number.
func number(v any, into *int) bool {
	n, ok := v.(int)
	*into = n
	return ok
}

// choice takes one of a few values.
func choice[T ~string](v any, into *T, allowed ...T) (want string, ok bool) {
	var s string
	ok = text(v, &s) && slices.Contains(allowed, T(s))
	*into = T(s)
	return fmt.Sprintf("one of %q", allowed), ok
}

const apiURLWant = "the root of the REST API, as in https://ghe.example.org/api/v3 (http is for a loopback address alone)"

// settleAPI checks the root of the API and brings it to its usual form.
func (c *Config) settleAPI() bool {
	u, err := url.Parse(c.APIURL)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && loopback
}

// graphqlURL returns where the GraphQL API of a REST root is: beside v3 on an
// Enterprise server, below the root elsewhere.
func graphqlURL(api string) string {
	if server, ok := strings.CutSuffix(api, "/api/v3"); ok {
		return server + "/api/graphql"
	}
	return api + "/graphql"
}

// instead returns what to write in place of an unknown key.
func instead(key string, known []string) string {
	switch key {
	case "token":
		return "write api_key"
	case "endpoint":
		return "write api_url"
	}
	best := tracker.Nearest(key, known)
	if best == "" {
		return "the keys are " + strings.Join(known, ", ")
	}
	return "did you mean " + best + "?"
}
