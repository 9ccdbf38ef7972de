package git

import (
	"errors"
	"fmt"
	"strings"
)

// remoteFailures maps git's own words to faults of a remote. The first row that matches counts.
// The words are from git 2.34 to 2.55 in the C locale.
var remoteFailures = []struct {
	words  string
	kind   error
	advice string
}{
	{"terminal prompts disabled", ErrUnauthorized, "the token is missing, wrong or expired; correct repository.token"},
	{"unable to read askpass response", ErrUnauthorized, "the token is missing, wrong or expired; correct repository.token"},
	{"Authentication failed", ErrUnauthorized, "the token is wrong or expired; correct repository.token"},
	{"returned error: 401", ErrUnauthorized, "the token is missing, wrong or expired; correct repository.token"},
	{"HTTP 401", ErrUnauthorized, "the token is missing, wrong or expired; correct repository.token"},
	{"returned error: 429", ErrUnavailable, "the remote limits the rate; it is tried again"},
	{"HTTP 429", ErrUnavailable, "the remote limits the rate; it is tried again"},
	{"returned error: 403", ErrForbidden, "give the token the permission to read and write contents"},
	{"HTTP 403", ErrForbidden, "give the token the permission to read and write contents"},
	{"HTTP 413", ErrTooBig, "the remote does not take so much at once"},
	{"returned error: 404", ErrNotFound, "correct repository.url, or give the token access to it"},
	{"HTTP 404", ErrNotFound, "correct repository.url, or give the token access to it"},
	{"couldn't find remote ref", ErrNoBase, "the branch has just disappeared; it is tried again"},
	{"not found", ErrNotFound, "correct repository.url, or give the token access to it"},
	{"does not appear to be a git repository", ErrNotFound, "the folder is not the top of a git repository; correct repository.url"},
	{"redirect", ErrRenamed, "the repository has another address now; set repository.url to it"},
	{"returned error: 30", ErrRenamed, "the repository has another address now; set repository.url to it"},
	{"mismatched algorithms", ErrUnsupported, "the repository uses SHA-256; only SHA-1 repositories can be delivered to"},
	{"dubious ownership", ErrForbidden, "the folder belongs to another user; run symphony as its owner"},
	{"exceeds maximum allowed size", ErrTooBig, "the remote does not take so much at once"},
	{"fsck error in packed object", ErrUnsupported, "an object in the history of the remote is malformed; run git fsck in a clone"},
	{"not valid: is this a git repository?", ErrNotFound, "what answers is not a git repository; correct repository.url"},
	{"git-http-push failed", ErrNotFound, "what answers is no git server, such as a login page or a proxy; correct repository.url, or check the network"},
	{"bad line length character", ErrNotFound, "what answers is no git server, such as a login page or a proxy; correct repository.url, or check the network"},
	{"Could not resolve", ErrUnavailable, "its host has no address; check repository.url and the network"},
	{"Failed to connect", ErrUnavailable, "check the network and the proxy; it is tried again"},
	{"Couldn't connect", ErrUnavailable, "check the network and the proxy; it is tried again"},
	{"Connection", ErrUnavailable, "check the network and the proxy; it is tried again"},
	{"Operation too slow", ErrUnavailable, "it sends nothing; it is tried again"},
	{"timed out", ErrUnavailable, "check the network and the proxy; it is tried again"},
	{"returned error: 5", ErrUnavailable, "it has a failure of its own; it is tried again"},
	{"HTTP 5", ErrUnavailable, "it has a failure of its own; it is tried again"},
	{"Empty reply", ErrUnavailable, "the connection was cut; it is tried again"},
	{"RPC failed", ErrUnavailable, "the connection was cut; it is tried again"},
	{"early EOF", ErrUnavailable, "the connection was cut; it is tried again"},
	{"unexpected disconnect", ErrUnavailable, "the connection was cut; it is tried again"},
	{"the remote end hung up", ErrUnavailable, "the connection was cut; it is tried again"},
	{"no alternative certificate subject name", ErrUnavailable, "its certificate is for another name; correct the host in repository.url, or the certificate of the server"},
	{"does not match target host", ErrUnavailable, "its certificate is for another name; correct the host in repository.url, or the certificate of the server"},
	{"certificate has expired", ErrUnavailable, "its certificate has expired; renew it on the server, and check the clock of this machine"},
	{"certificate", ErrUnavailable, "its certificate is not trusted here; set SSL_CERT_FILE to a file with the one that signed it"},
	{"invalid index-pack output", ErrTooBig, "its history is larger than the limit or the disk; use a smaller repository, or remove repository and delivery from WORKFLOW.md"}, // index-pack was killed
	{"unable to access", ErrUnavailable, "check repository.url, the network and the proxy; it is tried again"},
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
	for _, row := range remoteFailures {
		if strings.Contains(exit.stderr, row.words) {
			return fmt.Errorf("%s %s: %w: %s: %w", verb, r, row.kind, r.advise(row.kind, row.advice), err)
		}
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
