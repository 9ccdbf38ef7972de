package git

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
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
	_, err := q.store.host.run(ctx, q.confined("merge-base", "--is-ancestor", old.String(), commit.String()))
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
	c := b.command("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed",
		"--force-with-lease="+ref+":"+lease, "--", b.remote.url, source+":"+ref)
	c.repository, c.remote = repository, &b.remote
	_, out, err := b.host.output(ctx, c)
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
		failed := refusalOf(answer, b.remote.mask(exit.stderr))
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

func display(id ObjectID) string {
	if id.IsZero() {
		return "(nothing)"
	}
	return id.String()
}

// parsePush returns the answer about ref in the output of git push --porcelain.
func parsePush(out, ref string) (answer string, ok bool) {
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 || len(fields[0]) != 1 {
			continue
		}
		if _, to, ok := strings.Cut(fields[1], ":"); ok && to == ref {
			return fields[2], true
		}
	}
	return "", false
}

// pushRefusals holds the words for refusals of a push, of git's answer or the remote's own output.
var pushRefusals = []failure{
	{[]string{"(stale info)", "(non-fast-forward)", "(fetch first)"}, ErrMoved, "somebody pushed to the branch"},
	{[]string{"exists; cannot create"}, ErrRejected, "another branch has the name of a folder of this one, or the reverse; delete it, or change repository.branch_prefix"},
	{[]string{"exceeds maximum allowed size"}, ErrTooBig, "the remote does not take so much at once"},
	{[]string{"cannot lock ref", "failed to update ref", "(atomic transaction failed)"}, ErrUnavailable, "another push is under way"},
	{[]string{"fatal error in commit_refs"}, ErrUnavailable, "the remote has a failure of its own; it is tried again"},
	{[]string{"to create or update workflow"}, ErrWorkflows, "no branch has the workflow files of the work, and the token may not change such files"},
	{[]string{"GH008"}, ErrRejected, "it has pointers of Git LFS whose objects the remote does not have; write the files themselves, with repository.lfs true"},
	{[]string{"GH006"}, ErrRejected, "the branch is protected"},
	{[]string{"GH013", "rule violations"}, ErrRejected, "a rule of the repository forbids it"},
	{[]string{"protected branch"}, ErrRejected, "the branch is protected"},
	{[]string{"Internal Server Error"}, ErrUnavailable, "the remote has a failure of its own"},
	{[]string{""}, ErrRejected, "the remote refuses it"},
}

// refusalOf returns the error for an answer that refuses; stderr holds the words of the remote.
func refusalOf(answer, stderr string) error {
	words := strings.TrimSpace(remoteWords(stderr))
	f, _ := failureIn(pushRefusals, answer, words) // the last row has no words, so there is one
	if words != "" {
		words = ": " + sanitize(words)
	}
	err := fmt.Errorf("%w: %s: %s%s", f.kind, f.advice, sanitize(answer), words)
	if f.kind == ErrRejected {
		return &RejectedError{ruleOf(answer + "\n" + remoteWords(stderr)), err}
	}
	return err
}

// contentWords are parts of the messages of GitHub and GitLab about a push with refused
// content.
var contentWords = []string{"secret", "GH001", "GH008", "GH009", "large file", "file size", "larger than", "file path", "file extension", "commit message", "duplicate commit"}

// variable matches the parts of a refusal that differ between two pushes for one reason.
var variable = lazy.Regexp(`https?://\S+|refs/\S+|\b[0-9a-f]{7,40}\b|\d+`)

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

func remoteWords(stderr string) string {
	var words strings.Builder
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(line, "remote:"); ok {
			words.WriteString(strings.TrimSpace(text) + "\n")
		}
	}
	return words.String()
}

// temporaryPrefix is the place on the remote where objects wait until they are part of a
// branch. The remote starts no workflow for it. Below it are folders with the names of
// branches.
const temporaryPrefix = "refs/symphony/push/"

// Temporary is a reference of the remote that keeps objects there until a branch has
// them. Its name is its own.
type Temporary struct {
	store  *bareRepository
	name   string
	commit ObjectID
}

// PushTemporary brings a commit and its objects to the remote without a branch, so that a
// commit that the remote signs can be made from its tree and moved to a branch, which is at old
// now. References that killed runs left for the branch are deleted. It fails with the errors of
// [Incoming.Push]. Delete the reference, whatever happens to the branch.
func (in *Incoming) PushTemporary(ctx context.Context, to Branch, commit, old ObjectID) (Temporary, error) {
	if to.IsZero() || commit.IsZero() {
		return Temporary{}, errors.New("push objects: the branch or the commit is missing")
	}
	fail := func(err error) (Temporary, error) {
		return Temporary{}, fmt.Errorf("push objects for %s to %s: %w", to, in.store.remote, err)
	}
	if !old.IsZero() {
		if err := in.follows(ctx, commit, old); err != nil {
			return fail(err)
		}
	}
	folder := temporaryPrefix + to.name + "/"
	there, err := in.store.list(ctx, to.ref(), folder+"*")
	if err != nil {
		return fail(err)
	}
	now := there.refs[to.ref()]
	if now != old {
		return fail(fmt.Errorf("%w: it is at %s, not at %s: fetch, and bring what is there into the work", ErrMoved, display(now), display(old)))
	}
	delete(there.refs, to.ref())
	in.store.deleteTemporary(ctx, there.refs)
	t := Temporary{in.store.bareRepository, folder + rand.Text(), commit}
	if err := in.store.push(ctx, in.dir, t.name, commit, ObjectID{}); err != nil {
		return fail(err)
	}
	return t, nil
}

// DeleteTemporary deletes the references for a branch that killed runs have left. A reference
// that cannot be deleted is only logged: it does no harm.
func (b *bareRepository) DeleteTemporary(ctx context.Context, to Branch) error {
	there, err := b.list(ctx, temporaryPrefix+to.name+"/*")
	if err != nil {
		return fmt.Errorf("look for temporary references of %s: %w", b.remote, err)
	}
	b.deleteTemporary(ctx, there.refs)
	return nil
}

func (b *bareRepository) deleteTemporary(ctx context.Context, refs map[string]ObjectID) {
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if err := (Temporary{b, name, refs[name]}).Delete(ctx); err != nil {
			b.host.log.WarnContext(ctx, "what a killed run left on the remote was not deleted", "reference", name, "error", err)
		}
	}
}

// Delete deletes the reference. A missing one is not an error.
func (t Temporary) Delete(ctx context.Context) error {
	if err := t.store.push(ctx, t.store.repository(), t.name, ObjectID{}, t.commit); err != nil {
		return fmt.Errorf("delete the temporary reference %s of %s: %w", t.name, t.store.remote, err)
	}
	return nil
}
