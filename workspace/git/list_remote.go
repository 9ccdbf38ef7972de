package git

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Look returns the source as the remote has it now, and reads no object of it. It fails with
// the errors of Fetch.
func (f *fetcher) Look(ctx context.Context, from Source) (Fetched, error) {
	patterns := []string{"HEAD"}
	if !from.Base.IsZero() {
		patterns = append(patterns, from.Base.ref())
	}
	inTheWay := foldersOf(from.Prefix)
	if from.Prefix != "" {
		patterns = append(append(patterns, branchPrefix+from.Prefix+"*"), inTheWay...)
	}
	list, err := f.list(ctx, patterns...)
	if err != nil {
		return Fetched{}, err
	}
	for _, ref := range inTheWay {
		if !list.refs[ref].IsZero() {
			name := strings.TrimPrefix(ref, branchPrefix)
			return Fetched{}, fmt.Errorf("fetch %s: %w: its branch %s leaves no room for branches below %s; rename it, or set repository.branch_prefix",
				f.remote, ErrUnsupported, name, from.Prefix)
		}
	}
	base := from.Base
	if base.IsZero() {
		base = list.head
		if base.IsZero() || from.Prefix != "" && strings.HasPrefix(base.name, from.Prefix) {
			return f.listLatestBase(ctx, from, base)
		}
		if list.refs[base.ref()].IsZero() { // it was not known when the list was asked for
			list.refs[base.ref()] = list.refs["HEAD"]
		}
	}
	found := newFetched(list.refs, branchPrefix, base, from.Prefix)
	if found.Head.IsZero() {
		return Fetched{}, f.noBase(ctx, from.Base)
	}
	return found, nil
}

// foldersOf returns the references that cannot be there beside branches with the prefix:
// a branch is a file for git, and the prefix names folders.
func foldersOf(prefix string) (refs []string) {
	for i, c := range prefix {
		if c == '/' {
			refs = append(refs, branchPrefix+prefix[:i])
		}
	}
	return refs
}

// listLatestBase returns the source as the remote has it, with the base of the latest
// fetch, because head, the default branch of the remote, cannot be the base.
func (f *fetcher) listLatestBase(ctx context.Context, from Source, head Branch) (Fetched, error) {
	refs, err := f.refs(ctx)
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch %s: %w: %w", f.remote, ErrStore, err)
	}
	var bases []Branch
	for ref := range refs {
		if name, ok := strings.CutPrefix(ref, trackingPrefix); ok && (from.Prefix == "" || !strings.HasPrefix(name, from.Prefix)) {
			if b, err := ParseBranch(name); err == nil {
				bases = append(bases, b)
			}
		}
	}
	switch {
	case len(bases) == 1:
		from.Base = bases[0]
		return f.Look(ctx, from)
	case head.IsZero():
		return Fetched{}, f.noBase(ctx, head)
	}
	return Fetched{}, fmt.Errorf("fetch %s: %w: its HEAD names %s, which is a branch for deliveries; set repository.base", f.remote, ErrNoBase, head)
}

func (f *fetcher) noBase(ctx context.Context, base Branch) error {
	all, err := f.list(ctx, branchPrefix+"*")
	switch {
	case err != nil:
		return err
	case len(all.refs) == 0 && f.remote.Folder() != "":
		return fmt.Errorf("fetch %s: %w: it has no commit yet; commit its first files there, or push them to it, or correct repository.url", f.remote, ErrEmpty)
	case len(all.refs) == 0:
		return fmt.Errorf("fetch %s: %w: it has no branch yet; push a first commit to it, or correct repository.url", f.remote, ErrEmpty)
	case base.IsZero():
		return fmt.Errorf("fetch %s: %w: its HEAD names no branch that exists; set repository.base", f.remote, ErrNoBase)
	}
	names := slices.Sorted(maps.Keys(all.refs))
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], branchPrefix)
	}
	return fmt.Errorf("fetch %s: %w: it has no branch %q; set repository.base to one that it has: %s", f.remote, ErrNoBase, base, sanitize(strings.Join(names[:min(len(names), 5)], ", ")))
}

// listing holds the output of git ls-remote.
type listing struct {
	head Branch // branch that HEAD names; zero for none
	refs map[string]ObjectID
}

func (b *bareRepository) list(ctx context.Context, patterns ...string) (listing, error) {
	c := b.command(append([]string{"ls-remote", "--symref", "--quiet", "--", b.remote.url}, patterns...)...)
	c.remote = &b.remote
	out, err := b.host.run(ctx, c)
	if err != nil {
		return listing{}, b.remote.explain("ls-remote", err)
	}
	l, err := parseListing(string(out))
	if err != nil {
		return listing{}, fmt.Errorf("fetch %s: %w", b.remote, err)
	}
	return l, nil
}

func parseListing(text string) (listing, error) {
	l := listing{refs: map[string]ObjectID{}}
	for line := range strings.Lines(text) {
		value, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			return listing{}, fmt.Errorf("%w: its list of branches has the line %q", ErrUnsupported, sanitize(line))
		}
		if target, isLink := strings.CutPrefix(value, "ref: "); isLink {
			if target, ok := strings.CutPrefix(target, branchPrefix); ok && name == "HEAD" {
				l.head, _ = ParseBranch(target) // a branch whose name is refused cannot be the base
			}
			continue // a clone has refs/remotes/origin/HEAD as well
		}
		id, err := ParseObjectID(value)
		if err != nil {
			return listing{}, err
		}
		l.refs[name] = id
	}
	return l, nil
}
