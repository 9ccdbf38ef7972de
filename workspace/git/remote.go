package git

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
)

// Token is a credential for a remote over HTTP. It prints as "***".
type Token string

// String returns a mask.
func (t Token) String() string { return "***" }

// GoString returns a mask.
func (t Token) GoString() string { return "***" }

// MarshalText returns a mask.
func (t Token) MarshalText() ([]byte, error) { return []byte("***"), nil }

// LogValue returns a mask.
func (t Token) LogValue() slog.Value { return slog.StringValue("***") }

// TokenSource returns the token for one command that talks to a remote. It is asked
// before each, so that tokens may be short-lived. Its error is [ErrUnauthorized] in the
// end, unless it is [ErrUnavailable].
type TokenSource func(context.Context) (Token, error)

// Remote is a repository that the host fetches from and pushes to.
type Remote struct {
	url    string
	scheme string // "https", "http" or "file"
	token  Token
	tokens TokenSource // source of tokens in place of token; nil for none

	isSubmodule bool // the address is from a .gitmodules, not from the settings
}

// ParseRemote returns the remote at a URL: https, http on this machine, or the
// absolute path of a folder, also as file:. Credentials belong in token, never in the
// URL. The error is [ErrRemote].
func ParseRemote(address string, token Token) (Remote, error) {
	fail := func(reason string) (Remote, error) {
		if u, err := url.Parse(address); err == nil {
			u.User, u.RawQuery, u.Fragment = nil, "", ""
			address = u.String()
		} else {
			address = "(not a URL)"
		}
		return Remote{}, fmt.Errorf("repository %.200q: %w: %s", address, ErrRemote, reason)
	}
	if strings.ContainsFunc(address, func(c rune) bool { return !unicode.IsPrint(c) || c == ' ' && !filepath.IsAbs(address) }) {
		return fail("it contains a space or a character that does not print; correct repository.url")
	}
	if filepath.IsAbs(address) {
		return fileRemote(address), nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fail("it cannot be read; use https://HOST/OWNER/NAME")
	case u.User != nil:
		return fail("it contains a user or a password; put the token into repository.token")
	case u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || u.Path == "" || u.Path == "/":
		return fail("it is not the address of a repository; use https://HOST/OWNER/NAME")
	}
	switch u.Scheme {
	case "https":
		if u.Host == "" {
			return fail("it names no host; use https://HOST/OWNER/NAME")
		}
	case "http":
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fail("http would show the token to the network; use https")
		}
	case "file":
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return fail("it is not the absolute path of a folder on this machine")
		}
		return fileRemote(u.Path), nil
	default:
		return fail("only https is supported, because the token is used for it; use https://HOST/OWNER/NAME")
	}
	return Remote{url: u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), scheme: u.Scheme, token: token}, nil
}

func fileRemote(path string) Remote {
	return Remote{url: (&url.URL{Scheme: "file", Path: filepath.Clean(path)}).String(), scheme: "file"}
}

// WithTokens returns the remote with the tokens of a source in place of its own. A
// repository on this machine gets none.
func (r Remote) WithTokens(source TokenSource) Remote {
	if r.scheme != "file" {
		r.token, r.tokens = "", source
	}
	return r
}

// authorized returns the remote as one command uses it, with its token.
func (r Remote) authorized(ctx context.Context) (*Remote, error) {
	if r.tokens == nil {
		return &r, nil
	}
	token, err := r.tokens(ctx)
	switch {
	case err == nil:
		r.token = token
		return &r, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &tokenError{err}
}

// URL returns the address, which never contains a credential.
func (r Remote) URL() string { return r.url }

// Folder returns the path of a repository on this machine, or "" for another remote.
func (r Remote) Folder() string {
	if u, err := url.Parse(r.url); err == nil && r.scheme == "file" {
		return u.Path
	}
	return ""
}

// String returns the address.
func (r Remote) String() string { return r.url }

func (r Remote) header() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+string(r.token)))
}

// config returns the configuration of commands that talk to the remote. It goes into
// their environment, because other processes can read arguments.
func (r Remote) config() []string {
	if r.token == "" || r.scheme == "file" {
		return nil
	}
	u, err := url.Parse(r.url)
	if err != nil {
		return nil // ParseRemote has checked it
	}
	return []string{"http." + u.Scheme + "://" + u.Host + "/.extraHeader", "Authorization: " + r.header()}
}

func (r Remote) mask(text string) string {
	if r.token == "" {
		return text
	}
	_, encoded, _ := strings.Cut(r.header(), " ")
	return strings.NewReplacer(string(r.token), "***", encoded, "***").Replace(text)
}
