package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/internal/text"
)

// Push moves a branch of the remote to a commit of the quarantine, and to nothing else. old is
// the present commit of the branch, as far as the caller knows; the zero id says that the
// remote must not have it. A push that has already happened is not an error, so after a failure
// it may simply be made again.
//
// The error is [ErrMoved] if the branch is somewhere else or the commit does not follow it:
// fetch, and bring the new commits into the work. [ErrRejected], with the words of the remote,
// means that it would reject the same push again; ErrUnavailable that the push may succeed
// later. Besides, it fails as a Fetch does.
func (in *Incoming) Push(ctx context.Context, to Branch, commit, old ObjectID) error {
	if to.IsZero() || commit.IsZero() {
		return errors.New("push: the branch or the commit is missing")
	}
	if !old.IsZero() && old != commit {
		if err := in.follows(ctx, commit, old); err != nil {
			return fmt.Errorf("push to %s: %w", to, err)
		}
	}
	if err := in.store.push(ctx, in.dir, to.ref(), commit, old); err != nil {
		return fmt.Errorf("push to %s of %s: %w", to, in.store.remote, err)
	}
	return nil
}

// follows returns an error unless commit has old in its history. A lease alone does not
// protect the branch: with the right old value it forces the push.
func (q *quarantine) follows(ctx context.Context, commit, old ObjectID) error {
	_, err := q.store.host.run(ctx, q.command("merge-base", "--is-ancestor", old.String(), commit.String()))
	var exit *exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.code == 1:
		return fmt.Errorf("%w: the commit does not follow %s, which is on the branch", ErrMoved, old)
	case errors.As(err, &exit) && exit.code == 128:
		return fmt.Errorf("%w: the commit %s on the branch is not known here; fetch first", ErrMoved, old)
	}
	return err
}

// push moves a reference of the remote from old to commit, either of which may be nothing. If
// the connection ends before the answer, it looks at the reference.
func (b *bareRepository) push(ctx context.Context, repository, ref string, commit, old ObjectID) error {
	source, lease := commit.String(), old.String()
	if commit.IsZero() {
		source = ""
	}
	if old.IsZero() {
		lease = "" // must not exist
	}
	_, out, err := b.host.output(ctx, command{
		dir: b.dir, repository: repository, remote: &b.remote,
		args: []string{
			"push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed",
			"--force-with-lease=" + ref + ":" + lease, "--", b.remote.url, source + ":" + ref,
		},
	})
	if err == nil {
		return nil
	}
	var exit *exitError
	var noToken *tokenError
	switch {
	case errors.As(err, &noToken):
		return err
	case !errors.As(err, &exit):
		return b.settle(ctx, ref, commit, old, b.remote.explain("push", err))
	}
	if answer, ok := parsePush(string(out), ref); ok {
		failed := answer.classify(b.remote.mask(exit.stderr))
		if errors.Is(failed, ErrMoved) || errors.Is(failed, ErrUnavailable) {
			return b.settle(ctx, ref, commit, old, failed)
		}
		return failed
	}
	failed := b.remote.explain("push", err)
	for _, certain := range []error{ErrUnauthorized, ErrForbidden, ErrNotFound, ErrRenamed} {
		if errors.Is(failed, certain) {
			return failed
		}
	}
	return b.settle(ctx, ref, commit, old, failed)
}

// settle returns the outcome of a push that failed without a clear answer. It reads the reference
// of the remote.
func (b *bareRepository) settle(ctx context.Context, ref string, commit, old ObjectID, failed error) error {
	there, err := b.list(ctx, ref)
	switch now := there.refs[ref]; {
	case err != nil:
		if errors.Is(failed, ErrMoved) {
			return failed
		}
		return fmt.Errorf("%w: whether the push has happened is not known: %w", ErrUnavailable, failed)
	case now == commit:
		return nil
	case now != old:
		return fmt.Errorf("%w: it is at %s, not at %s: fetch, and bring what is there into the work", ErrMoved, display(now), display(old))
	case errors.Is(failed, ErrMoved):
		return fmt.Errorf("%w: it was moved for a moment: %w", ErrUnavailable, failed)
	}
	return failed
}

// display returns an id, or a word for none.
func display(id ObjectID) string {
	if id.IsZero() {
		return "(nothing)"
	}
	return id.String()
}

// pushAnswer is the line of git push --porcelain about a reference.
type pushAnswer struct {
	flag    byte // '!' for a refusal
	summary string
}

// parsePush returns the answer about ref in the output of git push --porcelain.
func parsePush(out, ref string) (pushAnswer, bool) {
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 || len(fields[0]) != 1 {
			continue
		}
		if _, to, ok := strings.Cut(fields[1], ":"); ok && to == ref {
			return pushAnswer{fields[0][0], fields[2]}, true
		}
	}
	return pushAnswer{}, false
}

// pushRefusals maps git's words to the meaning of a refusal. The first row that matches counts.
var pushRefusals = []struct {
	words  string // words of the answer or, if it does not have them, of the remote's own output
	kind   error
	advice string
}{
	{"(stale info)", ErrMoved, "somebody pushed to the branch"},
	{"(non-fast-forward)", ErrMoved, "somebody pushed to the branch"},
	{"(fetch first)", ErrMoved, "somebody pushed to the branch"},
	{"exists; cannot create", ErrRejected, "another branch has the name of a folder of this one, or the reverse; delete it, or change repository.branch_prefix"},
	{"exceeds maximum allowed size", ErrTooBig, "the remote does not take so much at once"},
	{"cannot lock ref", ErrUnavailable, "another push is under way"},
	{"failed to update ref", ErrUnavailable, "another push is under way"},
	{"(atomic transaction failed)", ErrUnavailable, "another push is under way"},
	{"fatal error in commit_refs", ErrUnavailable, "the remote has a failure of its own; it is tried again"},
	{"to create or update workflow", ErrWorkflows, "no branch has the workflow files of the work, and the token may not change such files"},
	{"GH008", ErrRejected, "it has pointers of Git LFS whose objects the remote does not have; write the files themselves, with repository.lfs true"},
	{"GH006", ErrRejected, "the branch is protected"},
	{"GH013", ErrRejected, "a rule of the repository forbids it"},
	{"rule violations", ErrRejected, "a rule of the repository forbids it"},
	{"protected branch", ErrRejected, "the branch is protected"},
	{"Internal Server Error", ErrUnavailable, "the remote has a failure of its own"},
	{"", ErrRejected, "the remote refuses it"},
}

// classify returns the error for a refusal; stderr holds the words of the remote.
func (a pushAnswer) classify(stderr string) error {
	words := strings.TrimSpace(remoteWords(stderr))
	for _, row := range pushRefusals {
		if strings.Contains(a.summary, row.words) || strings.Contains(words, row.words) {
			if words != "" {
				words = ": " + sanitize(words)
			}
			err := fmt.Errorf("%w: %s: %s%s", row.kind, row.advice, sanitize(a.summary), words)
			if row.kind == ErrRejected {
				return &RejectedError{ruleOf(a.summary + "\n" + remoteWords(stderr)), err}
			}
			return err
		}
	}
	return fmt.Errorf("%w: %s", ErrRejected, sanitize(a.summary))
}

// contentWords are parts of the messages of GitHub and GitLab about a push with refused
// content.
var contentWords = []string{"secret", "GH001", "GH008", "GH009", "large file", "file size", "larger than", "file path", "file extension", "commit message", "duplicate commit"}

// variable matches the parts of a refusal that differ between two pushes for one reason.
var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`https?://\S+|refs/\S+|\b[0-9a-f]{7,40}\b|\d+`)
})

// maxRule bounds the text of a rule, in bytes.
const maxRule = 300

// ruleOf returns the words of a refusal without the parts that differ for another push; empty
// if the content of the push is the reason.
func ruleOf(words string) string {
	for _, of := range contentWords {
		if strings.Contains(words, of) {
			return ""
		}
	}
	return text.OneLine(variable().ReplaceAllString(words, "*"), maxRule)
}

// remoteWords returns the lines that the remote printed.
func remoteWords(stderr string) string {
	var words strings.Builder
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(line, "remote:"); ok {
			words.WriteString(strings.TrimSpace(text) + "\n")
		}
	}
	return words.String()
}
