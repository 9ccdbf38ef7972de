package client

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/transport"
)

// The address of github.com, and the root of its REST API.
const (
	DefaultServer = "https://github.com"
	DefaultAPI    = "https://api.github.com"
)

// IsCloud reports whether a host belongs to GitHub itself. The API of such a host is on a
// host of its own.
func IsCloud(host string) bool { return host == "github.com" || strings.HasSuffix(host, ".ghe.com") }

// ServerOf returns the address of the server of a REST API.
func ServerOf(api string) string {
	scheme, _, _ := strings.Cut(api, "://")
	host := HostOf(api)
	if cloud, ok := strings.CutPrefix(host, "api."); ok && IsCloud(cloud) {
		host = cloud
	}
	return scheme + "://" + host
}

// APIOf returns the address of the REST API of a server.
func APIOf(server string) string {
	if scheme, _, _ := strings.Cut(server, "://"); IsCloud(HostOf(server)) {
		return scheme + "://api." + HostOf(server)
	}
	return server + "/api/v3"
}

// HostOf returns the host of an address, with its port; empty if it has none.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// IsHost reports whether text can be the host of a server, with or without a port.
func IsHost(text string) bool { return hostPattern().MatchString(text) }

var hostPattern = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?$`)

// ParseRepository returns the server and the name in OWNER/NAME or in the address of a
// repository, as git takes it.
func ParseRepository(text string) (server, repository string, ok bool) {
	text = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(text), "/"), ".git")
	if IsRepo(text) {
		return DefaultServer, text, true
	}
	host, name := "", ""
	if u, err := url.Parse(text); err == nil && slices.Contains([]string{"https", "ssh", "git", "http"}, u.Scheme) {
		host, name = u.Hostname(), strings.TrimPrefix(u.Path, "/")
		if u.Scheme == "https" {
			host = u.Host
		}
	} else if host, name, ok = strings.Cut(text, ":"); ok { // git@HOST:OWNER/NAME
		_, host, _ = strings.Cut(host, "@")
	}
	if !IsHost(host) || !IsRepo(name) {
		return "", "", false
	}
	return "https://" + strings.ToLower(host), name, true
}

// repoPattern matches owner/name as GitHub allows it, except that a name of dots
// alone is refused separately.
var repoPattern = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$`)

// IsRepo reports whether s can be the owner/name of a repository.
func IsRepo(s string) bool {
	return repoPattern().MatchString(s) && !strings.HasSuffix(s, "/.") && !strings.HasSuffix(s, "/..")
}

// APIURLForm describes the setting that [ParseAPIURL] reads.
const APIURLForm = "the root of the REST API, as in https://ghe.example.org/api/v3 (http is for a loopback address alone)"

// ParseAPIURL returns the root of a REST API without a slash at its end. It fails
// with text that continues the name of the setting.
func ParseAPIURL(address string) (string, error) {
	u, err := transport.ParseAddress(address)
	if err == nil && (u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("is not a plain URL")
	}
	if err != nil {
		return "", fmt.Errorf("%w: write %s", err, APIURLForm)
	}
	return strings.TrimRight(address, "/"), nil
}
