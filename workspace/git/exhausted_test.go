package git

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The words are those of git 2.39 on a full disk, with no more open files or processes, and
// in front of a login page that answers everything with 200 and HTML.
func TestGitSaysWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]error{
		"fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output\n":                              ErrExhausted,
		"error: unable to create temporary file: No space left on device\n":                                                        ErrExhausted,
		"error: unable to create temporary file: Disk quota exceeded\n":                                                            ErrExhausted,
		"fatal: unable to create '/s/shallow.lock': Read-only file system\n":                                                       ErrExhausted,
		"fatal: could not open '/s/packed-refs' for reading: Too many open files\n":                                                ErrExhausted,
		"error: cannot fork to run index-pack: Resource temporarily unavailable\nfatal: fetch-pack: unable to fork off index-pack": ErrExhausted,
		"fatal: unable to create thread: Resource temporarily unavailable\n":                                                       ErrExhausted,
		"fatal: unable to create thread\n":                                                                                         ErrExhausted,
		"remote: fatal: write error: No space left on device\nfatal: the remote end hung up unexpectedly\n":                        ErrUnavailable,
		"error: Cannot access URL http://h/x.git/, return code 22\nfatal: git-http-push failed\nerror: failed to push":             ErrNotFound,
		"fatal: protocol error: bad line length character: <!DO\nfatal: the remote end hung up unexpectedly\n":                     ErrNotFound,
	} {
		err := Remote{}.explain("fetch", fmt.Errorf("run: %w", &exitError{verb: "fetch", code: 128, stderr: stderr}))
		if !errors.Is(err, want) || want != ErrExhausted && errors.Is(err, ErrExhausted) {
			t.Errorf("%q: %v, want %v", stderr, err, want)
		}
	}
}

func TestACertificateIsExplainedByItsFault(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"SSL: no alternative certificate subject name matches target host name 'git.example.org'":         "for another name",
		"SSL: certificate subject name (a.example.org) does not match target host name 'git.example.org'": "for another name",
		"SSL certificate problem: certificate has expired":                                                "has expired; renew it",
		"SSL certificate problem: unable to get local issuer certificate":                                 "set SSL_CERT_FILE",
	} {
		stderr := "fatal: unable to access 'https://git.example.org/x/': " + said
		err := Remote{}.explain("fetch", &exitError{verb: "fetch", code: 128, stderr: stderr})
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", said, err)
		}
	}
}
