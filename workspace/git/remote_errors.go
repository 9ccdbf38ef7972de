package git

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// failure is the meaning of words in an error of git or of a remote.
type failure struct {
	words  []string // any of them
	kind   error
	advice string
}

// failureIn returns the first of the failures whose words are in any of the texts.
func failureIn(failures []failure, texts ...string) (f failure, found bool) {
	at := slices.IndexFunc(failures, func(f failure) bool {
		return slices.ContainsFunc(f.words, func(words string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, words) })
		})
	})
	if at < 0 {
		return failure{}, false
	}
	return failures[at], true
}

// remoteFailures holds git's own words for faults of a remote. The words are from git 2.34 to 2.55
// in the C locale.
var remoteFailures = []failure{
	{[]string{"terminal prompts disabled", "unable to read askpass response"}, ErrUnauthorized, "the token is missing, wrong or expired; correct repository.token"},
	{[]string{"Authentication failed"}, ErrUnauthorized, "the token is wrong or expired; correct repository.token"},
	{[]string{"returned error: 401", "HTTP 401"}, ErrUnauthorized, "the token is missing, wrong or expired; correct repository.token"},
	{[]string{"returned error: 429", "HTTP 429"}, ErrUnavailable, "the remote limits the rate; it is tried again"},
	{[]string{"returned error: 403", "HTTP 403"}, ErrForbidden, "give the token the permission to read and write contents"},
	{[]string{"HTTP 413"}, ErrTooBig, "the remote does not take so much at once"},
	{[]string{"returned error: 404", "HTTP 404"}, ErrNotFound, "correct repository.url, or give the token access to it"},
	{[]string{"couldn't find remote ref"}, ErrNoBase, "the branch has just disappeared; it is tried again"},
	{[]string{"not found"}, ErrNotFound, "correct repository.url, or give the token access to it"},
	{[]string{"does not appear to be a git repository"}, ErrNotFound, "the folder is not the top of a git repository; correct repository.url"},
	{[]string{"redirect", "returned error: 30"}, ErrRenamed, "the repository has another address now; set repository.url to it"},
	{[]string{"mismatched algorithms"}, ErrUnsupported, "the repository uses SHA-256; only SHA-1 repositories can be delivered to"},
	{[]string{"dubious ownership"}, ErrForbidden, "the folder belongs to another user; run symphony as its owner"},
	{[]string{"exceeds maximum allowed size"}, ErrTooBig, "the remote does not take so much at once"},
	{[]string{"fsck error in packed object"}, ErrUnsupported, "an object in the history of the remote is malformed; run git fsck in a clone"},
	{[]string{"not valid: is this a git repository?"}, ErrNotFound, "what answers is not a git repository; correct repository.url"},
	{[]string{"git-http-push failed", "bad line length character"}, ErrNotFound, "what answers is no git server, such as a login page or a proxy; correct repository.url, or check the network"},
	{[]string{"Could not resolve"}, ErrUnavailable, "its host has no address; check repository.url and the network"},
	{[]string{"Failed to connect", "Couldn't connect", "Connection"}, ErrUnavailable, "check the network and the proxy; it is tried again"},
	{[]string{"Operation too slow"}, ErrUnavailable, "it sends nothing; it is tried again"},
	{[]string{"timed out"}, ErrUnavailable, "check the network and the proxy; it is tried again"},
	{[]string{"returned error: 5", "HTTP 5"}, ErrUnavailable, "it has a failure of its own; it is tried again"},
	{[]string{"Empty reply", "RPC failed", "early EOF", "unexpected disconnect", "the remote end hung up"}, ErrUnavailable, "the connection was cut; it is tried again"},
	{[]string{"no alternative certificate subject name", "does not match target host"}, ErrUnavailable, "its certificate is for another name; correct the host in repository.url, or the certificate of the server"},
	{[]string{"certificate has expired"}, ErrUnavailable, "its certificate has expired; renew it on the server, and check the clock of this machine"},
	{[]string{"certificate"}, ErrUnavailable, "its certificate is not trusted here; set SSL_CERT_FILE to a file with the one that signed it"},
	{[]string{"invalid index-pack output"}, ErrTooBig, "its history is larger than the limit or the disk; use a smaller repository, or remove repository and delivery from WORKFLOW.md"}, // index-pack was killed
	{[]string{"unable to access"}, ErrUnavailable, "check repository.url, the network and the proxy; it is tried again"},
}

// explain returns the error of a command that talked to the remote, with its category and a
// remedy.
func (r Remote) explain(verb string, err error) error {
	var exit *exitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrTimeout):
		advice := "check the network; it is tried again"
		if verb == "fetch" {
			advice = "nothing of it is kept: use a faster connection, or a job whose checkout has the whole history (fetch-depth: 0)"
		}
		return fmt.Errorf("%s %s: %w: %w; %s", verb, r, ErrUnavailable, err, r.advise(ErrUnavailable, advice))
	case errors.Is(err, ErrExhausted):
		return fmt.Errorf("%s %s: %w: this machine is the cause, not the remote: make room on its disk, or end other processes: %w", verb, r, ErrExhausted, err)
	case !errors.As(err, &exit):
		return fmt.Errorf("%s %s: %w", verb, r, err)
	}
	if f, known := failureIn(remoteFailures, exit.stderr); known {
		return fmt.Errorf("%s %s: %w: %s: %w", verb, r, f.kind, r.advise(f.kind, f.advice), err)
	}
	return fmt.Errorf("%s %s: %w", verb, r, err)
}

// advise returns the advice about an error of a kind. The address of a submodule is not
// in the settings.
func (r Remote) advise(kind error, advice string) string {
	if !r.isSubmodule {
		return advice
	}
	switch kind {
	case ErrUnauthorized, ErrForbidden, ErrNotFound:
		return "correct its address in .gitmodules, or let repository.token read it, which goes to the host of repository.url alone"
	case ErrRenamed:
		return "it has another address now; correct that in .gitmodules"
	case ErrUnavailable:
		return "check its address in .gitmodules and the network; it is tried again"
	}
	return advice
}
