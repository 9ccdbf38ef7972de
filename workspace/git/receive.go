package git

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// From describes the beginning of the agent's work.
type From struct {
	Start ObjectID // the commit that the workspace was made from
	Base  Branch   // the branch into which the work is to be merged
}

// Incoming is the work of an agent, in a quarantine. Its methods must not be used
// concurrently. The caller has to close it.
type Incoming struct {
	Facts
	Objects []Object // new ones, including the objects of the commits in between

	*quarantine
	*takenObjects
	newBase ObjectID // base that the work was moved to; zero for the store's base at the time of the harvest
	work    []Change // changes between the merge base and the tip, once they have been compared
}

// Facts are the commits of the work of an agent.
type Facts struct {
	From
	MergeBase ObjectID   // merge base of the work and the base, as the store knows the base
	Tip       ObjectID   // the commit with all the work except Untaken
	Untaken   Untaken    // changes that Tip does not have
	Commits   []ObjectID // new ones, the newest first
}

// About returns the facts of the work as they are now: it may have been put on a newer base.
func (in *Incoming) About() Facts { return in.Facts }

// quarantine is a bare repository that borrows the objects of a store.
type quarantine struct {
	store *Store
	dir   string
	sizes map[ObjectID]int64
}

func (s *Store) newIncoming(from From, tip ObjectID, untaken Untaken) *Incoming {
	q := &quarantine{store: s, sizes: map[ObjectID]int64{}}
	return &Incoming{Facts: Facts{From: from, Tip: tip, Untaken: untaken}, quarantine: q, takenObjects: &takenObjects{q, map[string]Pointer{}}}
}

// Receive takes the output of the harvest into a quarantine, and checks it: the pack, every
// object in it, that nothing is missing, and that the work belongs to the history of the base.
// r must return an error, not io.EOF, if the harvest failed, and must end when ctx does.
//
// The error for work that cannot be taken is a [*Refusal], which is io.ErrUnexpectedEOF too
// if r ends before the work does, and a [*NothingNewError] if there is none. No quarantine is
// left after an error.
func (s *Store) Receive(ctx context.Context, r io.Reader, from From) (*Incoming, error) {
	if from.Start.IsZero() || from.Base.IsZero() {
		return nil, errors.New("take the agent's work: the commit it started from or the base is missing")
	}
	in := bufio.NewReader(r)
	header, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	if header.tip == from.Start {
		if _, err := in.ReadByte(); err == nil {
			return nil, refuse("something follows the harvest")
		} else if err != io.EOF {
			return nil, &Refusal{Reason: fmt.Sprintf("the harvest failed: %v", err), Err: err}
		}
		return nil, &NothingNewError{header.untaken}
	}
	incoming := s.newIncoming(from, header.tip, header.untaken)
	if err := incoming.take(ctx, in); err != nil {
		return nil, errors.Join(err, incoming.Close())
	}
	return incoming, nil
}

// Published returns work that the remote already had at the last fetch: the commit tip,
// which is meant for a base. Nothing in it is new. The caller has to close it.
func (s *Store) Published(ctx context.Context, base Branch, tip ObjectID) (*Incoming, error) {
	in := s.newIncoming(From{tip, base}, tip, Untaken{})
	err := in.makeQuarantine(ctx)
	if err == nil {
		err = in.findMergeBase(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the work at %s: %w", tip, err), in.Close())
	}
	return in, nil
}

// Remote returns the remote of the store.
func (q *quarantine) Remote() Remote { return q.store.remote }

// Close deletes the quarantine.
func (q *quarantine) Close() error {
	if err := os.RemoveAll(q.dir); err != nil {
		return fmt.Errorf("delete the quarantine: %w", err)
	}
	return nil
}

// confined returns a command that runs in the quarantine, within the limits for
// incoming objects.
func (q *quarantine) confined(args ...string) command {
	return command{dir: q.dir, repository: q.dir, args: args, confined: true, config: []string{"core.fsync", "none"}} // it does not outlive us
}

// run runs git in the quarantine. A git that fails there or that a limit ends is a
// refusal: the agent's objects are the only thing that differs from one time to
// another.
func (q *quarantine) run(ctx context.Context, c command) (string, error) {
	p, out, err := q.store.host.output(ctx, c)
	var exit *exitError
	switch {
	case errors.Is(err, ErrExhausted):
		return "", fmt.Errorf("take the agent's work in %s: %w: %w", q.store.dir, ErrExhausted, err)
	case errors.As(err, &exit):
		return "", &Refusal{Reason: limitReason(exit), Err: err}
	case err != nil:
		return "", fmt.Errorf("take the agent's work: %w", err)
	}
	if text := p.errorText(); text != "" {
		return "", refuse("git %s says: %s", p.verb, sanitize(text))
	}
	return string(out), nil
}

func limitReason(exit *exitError) string {
	switch {
	case exit.signal == syscall.SIGXCPU || exit.signal == syscall.SIGKILL:
		return fmt.Sprintf("git %s took too much processor time", exit.verb)
	case exit.signal == syscall.SIGXFSZ:
		return fmt.Sprintf("git %s wrote a file that is too large", exit.verb)
	case strings.Contains(exit.stderr, "ut of memory"):
		return fmt.Sprintf("git %s needed too much memory", exit.verb)
	}
	return exit.Error()
}

// take fills the quarantine from the rest of the harvest.
func (in *Incoming) take(ctx context.Context, r io.Reader) error {
	if err := in.makeQuarantine(ctx); err != nil {
		return fmt.Errorf("take the agent's work: make its quarantine: %w", err)
	}
	err := in.index(ctx, r)
	if err == nil {
		err = in.listNew(ctx)
	}
	if err != nil {
		return in.blame(ctx, err)
	}
	if len(in.Commits) == 0 {
		return &NothingNewError{in.Untaken}
	}
	if err := in.findMergeBase(ctx); err != nil {
		return err
	}
	return in.checkMergeBase(ctx)
}

// blame returns the error to show for work that could not be taken: a commit that the
// store does not have is not the agent's fault.
func (in *Incoming) blame(ctx context.Context, err error) error {
	if !errors.Is(err, ErrRefused) {
		return err
	}
	start := command{dir: in.dir, repository: in.store.repository(), args: []string{"cat-file", "-e", in.Start.String() + "^{tree}"}}
	if _, missing := in.store.host.run(ctx, start); missing != nil {
		return fmt.Errorf("take the agent's work: %w: it does not have the commit %s, from which the work began; fetch first", ErrStore, in.Start)
	}
	return err
}

// makeQuarantine makes a repository that borrows the objects of the store and has its
// references.
func (in *Incoming) makeQuarantine(ctx context.Context) error {
	s := in.store
	in.dir = filepath.Join(s.dir, incomingName, rand.Text())
	if err := makeFolder(filepath.Dir(in.dir)); err != nil {
		return err
	}
	if err := makeRepository(in.dir); err != nil {
		return err
	}
	refs, err := s.refs(ctx)
	if err != nil {
		return err
	}
	if refs[in.Base.tracking()].IsZero() {
		return fmt.Errorf("%w: it does not have the base %s; fetch first", ErrStore, in.Base)
	}
	refs[startRef] = in.Start
	shallow, err := readShallow(s.repository())
	if err != nil {
		return err
	}
	files := map[string]string{
		"packed-refs":             formatPackedRefs(refs),
		"objects/info/alternates": filepath.Join(s.repository(), "objects") + "\n",
	}
	if shallow != "" {
		files["shallow"] = shallow
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(in.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startRef is the commit where the agent's work began.
const startRef = "refs/symphony/start"

func (q *quarantine) index(ctx context.Context, r io.Reader) error {
	limits := q.store.host.limits
	name := filepath.Join(q.dir, "incoming.pack")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("take the agent's work: %w", err)
	}
	defer os.Remove(name)
	defer file.Close()
	objects, err := copyPack(file, r, limits)
	if err != nil || objects == 0 {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("take the agent's work: %w", err)
	}
	c := q.confined("index-pack", "--strict", "--stdin", "--fix-thin", fmt.Sprintf("--max-input-size=%d", limits.pack))
	c.stdin, c.fileSize = file, 2*limits.pack // twice the limit: index-pack adds the objects that a thin pack borrows
	_, err = q.run(ctx, c)
	return err
}

// listNew finds out which objects are new. It fails if one is missing.
func (in *Incoming) listNew(ctx context.Context) error {
	list, err := in.run(ctx, in.confined("rev-list", "--objects", "--no-object-names", in.Tip.String(), "--not", "--all"))
	if err != nil {
		return err
	}
	limits := in.store.host.limits
	if n := strings.Count(list, "\n"); n > limits.objects {
		return refuse("it has %d new objects, the limit is %d; commit fewer files", n, limits.objects)
	}
	var ids []ObjectID
	for line := range strings.Lines(list) {
		id, err := ParseObjectID(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return fmt.Errorf("take the agent's work: git rev-list: %w", err)
		}
		ids = append(ids, id)
	}
	if in.Objects, err = in.describe(ctx, ids); err != nil {
		return err
	}
	total := int64(0)
	for _, object := range in.Objects {
		in.sizes[object.ID] = object.Size
		total += object.Size
		if object.Size > limits.object || total > limits.contents {
			return refuse("its new objects have %d bytes, the limits are %d for each and %d for all", total, limits.object, limits.contents)
		}
		if object.Type == "commit" {
			in.Commits = append(in.Commits, object.ID)
		}
	}
	return nil
}

// describe returns types and sizes of objects, in their order. It does not read their contents.
func (q *quarantine) describe(ctx context.Context, ids []ObjectID) ([]Object, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	c := q.confined("cat-file", "--batch-check", "--buffer")
	c.stdin = requests(ids)
	out, err := q.run(ctx, c)
	if err != nil {
		return nil, err
	}
	objects := make([]Object, 0, len(ids))
	for line := range strings.Lines(out) {
		object, err := parseObjectLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	if len(objects) != len(ids) {
		return nil, fmt.Errorf("take the agent's work: git cat-file answers %d of %d requests", len(objects), len(ids))
	}
	return objects, nil
}

func requests(ids []ObjectID) io.Reader {
	var text strings.Builder
	for _, id := range ids {
		text.WriteString(id.String() + "\n")
	}
	return strings.NewReader(text.String())
}

// ReadObjects calls visit with each object and a reader of its content, in the order of ids.
// The reader is valid until visit returns.
func (q *quarantine) ReadObjects(ctx context.Context, ids []ObjectID, visit func(Object, io.Reader) error) error {
	if len(ids) == 0 {
		return nil
	}
	objects, err := q.store.host.openObjects(ctx, q.confined(), requests(ids))
	if err != nil {
		return fmt.Errorf("read objects: %w", err)
	}
	for range ids {
		if err = objects.visit(q.store.host.limits.object, visit); err != nil {
			break
		}
	}
	if err := objects.close(err); err != nil {
		return fmt.Errorf("read objects: %w", err)
	}
	return nil
}

func (o *objectReader) visit(limit int64, visit func(Object, io.Reader) error) error {
	object, err := o.header()
	if err != nil {
		return err
	}
	if object.Size > limit {
		return refuse("the %s %s has %d bytes, the limit is %d", object.Type, object.ID, object.Size, limit)
	}
	rest := io.LimitReader(o.out, object.Size)
	if err := visit(object, rest); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return err
	}
	_, err = o.out.Discard(1)
	return err
}
