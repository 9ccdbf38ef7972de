package delivery

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/workspace/git"
)

// Entry is one side of a change. It is the zero value if the path does not exist on that
// side.
type Entry struct {
	Mode git.Mode
	Size int64 // bytes of the content
}

// Change is a path that differs between the base and the work. A rename is two.
type Change struct {
	Path     string
	Old, New Entry
	Binary   bool   // the new content has a NUL byte
	Target   string // target of the new link; empty for another entry
	LFS      bool   // the old content is a pointer of Git LFS and the new content is not
	Object   Object // object of the new content, if it is a pointer that the base does not have
}

// Object is an object of Git LFS that a change needs. The zero value stands for no
// object.
type Object struct {
	ID    string
	Size  int64 // bytes
	Taken bool  // it was taken with the work
}

// Work describes the work that an agent wants to deliver.
type Work struct {
	Changes []Change
	Commits int    // made by the agent
	Links   []Link // links of the base
	// CaseCollisions holds pairs of names, as paths, that stand in one folder of the new tree
	// and have the same fold, if at least one of them is new.
	CaseCollisions [][2]string
}

// Verdict is the judgement of the settings on a work.
type Verdict struct {
	// Refusals holds the reasons why nothing may leave, one for each path and one for each
	// bound; empty when all may.
	Refusals []Refusal
	// Review holds the paths that the pull request names for a person.
	Review []string
	// Marks holds the places that a person does not see there.
	Marks []Mark
	// Draft says that the pull request is a draft.
	Draft bool
	// Warnings holds the warnings of the report about work that may leave.
	Warnings []string
}

// Refusal is one reason why a delivery is refused.
type Refusal struct {
	Path   string // path as the agent wrote it; empty when the reason is about the whole
	Reason string
	Secret bool // the reason is a secret of the run, or a text that looks like one
}

// Error returns the reason with the path, quoted when it is unusual.
func (r Refusal) Error() string {
	if r.Path == "" {
		return r.Reason
	}
	return fmt.Sprintf("%s: %s", quotePath(r.Path), r.Reason)
}

// quotePath returns a path as it is, or quoted if a person could misread it.
func quotePath(path string) string {
	if len(path) > 200 || nameProblem(path) != "" || strings.ContainsAny(path, " `'\"") {
		return fmt.Sprintf("%+.200q", path)
	}
	return path
}

// maxReasons bounds the reasons that an agent or a person is given.
const maxReasons = 20

// Reasons returns the refusals as a list in Markdown, one a line, at most 20 of them;
// empty when nothing is refused.
func (v Verdict) Reasons() string {
	var b strings.Builder
	for i, refusal := range v.Refusals {
		if i == maxReasons {
			fmt.Fprintf(&b, "- and %d more\n", len(v.Refusals)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", refusal.Error())
	}
	return b.String()
}

// Check returns the verdict on a work, without its content; see [Scanner.Check] for that.
// It names every reason, in the order of the changes.
func (s Settings) Check(w Work) Verdict {
	v := s.checkBounds(w)
	s.checkObjects(w, &v)
	leads := w.leads()
	for _, change := range w.Changes {
		if reason := s.changeProblem(change); reason != "" {
			v.refuse(change.Path, reason)
			continue
		}
		switch protection, pattern := s.protectionByAnyName(change.Path, leads); protection {
		case Refuse:
			v.refuse(change.Path, fmt.Sprintf("the path is protected (%s); leave it as it is on the base branch", pattern))
		case Draft:
			v.Draft = true
			v.AddReview(change.Path)
		case Review:
			v.AddReview(change.Path)
		}
	}
	for _, pair := range w.CaseCollisions {
		v.refuse(pair[0], fmt.Sprintf("on some file systems it is the same file as %s; rename or remove one", quotePath(pair[1])))
	}
	return v
}

func (s Settings) checkBounds(w Work) (v Verdict) {
	if n := len(w.Changes); n > s.MaxFiles {
		v.refuse("", fmt.Sprintf("%d files differ from the base branch, and delivery.max_files is %d; make a smaller change", n, s.MaxFiles))
	}
	if w.Commits > s.MaxCommits {
		v.refuse("", fmt.Sprintf("%d commits are new, and delivery.max_commits is %d; squash them", w.Commits, s.MaxCommits))
	}
	var bytes int64
	for _, change := range w.Changes {
		bytes += change.New.Size
	}
	if bytes > s.MaxBytes {
		v.refuse("", fmt.Sprintf("the new files have %d bytes, and delivery.max_bytes is %d; leave out what is generated", bytes, s.MaxBytes))
	}
	return v
}

// checkObjects adds to the verdict the consequences of the objects of Git LFS that the work
// needs.
func (s Settings) checkObjects(w Work, v *Verdict) {
	var bytes int64
	for _, change := range w.Changes {
		if bytes += change.Object.Size; bytes < 0 { // more than an int64 has
			bytes = math.MaxInt64
			break
		}
	}
	if s.LFS && bytes > s.MaxLFS {
		v.refuse("", fmt.Sprintf("the new files in Git LFS have %d bytes, and delivery.max_lfs_bytes is %d; leave out what is generated", bytes, s.MaxLFS))
		return
	}
	for _, change := range w.Changes {
		switch {
		case change.Object == (Object{}) || change.Object.Taken:
		case s.LFS:
			v.refuse(change.Path, "it is a pointer of Git LFS, and the workspace does not have its object; write the file itself, git makes the pointer")
		default:
			v.AddReview(change.Path)
			v.Warnings = append(v.Warnings, fmt.Sprintf("%s is a new pointer of Git LFS, and its object was not uploaded: unless the server has it, nobody can check the file out; see repository.lfs", quotePath(change.Path)))
		}
	}
}

// changeProblem returns the reason for which a change may not be delivered; empty when it may.
func (s Settings) changeProblem(c Change) string {
	if c.New == (Entry{}) {
		// A path with an unusual name may be removed.
		return s.removalProblem(c)
	}
	if problem := nameProblem(c.Path); problem != "" && c.Old == (Entry{}) { // a file with such a name may stay if it is there
		return problem + "; rename it"
	}
	switch c.New.Mode {
	case git.ModeFile, git.ModeExecutable, git.ModeLink:
	case git.ModeSubmodule:
		if c.Old.Mode == git.ModeSubmodule {
			return "it is a submodule at another commit, and what changes in a submodule is not delivered; leave it as it is on the base branch"
		}
		return "it is a repository inside the repository; add its files instead, or remove it"
	default:
		return fmt.Sprintf("its mode %o is not that of a file, an executable file or a symbolic link", c.New.Mode)
	}
	switch {
	case c.Old.Mode == git.ModeSubmodule:
		return "it replaces a submodule; leave that as it is on the base branch"
	case !s.allowed(c.Path):
		return "the path is in none of delivery.allowed; leave it as it is on the base branch"
	case c.New.Mode == git.ModeLink:
		if problem := linkProblem(c.Path, c.Target); problem != "" {
			return problem + "; link to a file of the repository by a relative path, or copy it"
		}
	case c.LFS:
		return "it is a pointer of Git LFS on the base branch, and the content itself would be committed; leave it as it is"
	case c.Binary && c.New.Size > s.MaxBinary:
		return fmt.Sprintf("it is a binary file of %d bytes, and delivery.max_binary_bytes is %d; leave it out", c.New.Size, s.MaxBinary)
	}
	return ""
}

// removalProblem returns the reason for which a path may not be removed; empty when it may.
func (s Settings) removalProblem(c Change) string {
	switch {
	case c.Old.Mode == git.ModeSubmodule:
		return "it removes a submodule; leave that as it is on the base branch"
	case !s.allowed(c.Path):
		return "the path is in none of delivery.allowed; leave it as it is on the base branch"
	}
	return ""
}

func (v *Verdict) refuse(path, reason string) {
	v.Refusals = append(v.Refusals, Refusal{Path: path, Reason: reason})
}

// AddReview adds a path that the pull request names, once.
func (v *Verdict) AddReview(path string) {
	if !slices.Contains(v.Review, path) {
		v.Review = append(v.Review, path)
	}
}

// Secret reports whether the work is refused because of a secret of the run, or of a text that
// looks like one.
func (v Verdict) Secret() bool {
	return slices.ContainsFunc(v.Refusals, func(r Refusal) bool { return r.Secret })
}

// CaseCollisions returns the pairs of names of one folder that have the same fold, of which at
// least one is new. The folder has them in the new tree; "." is the top.
func CaseCollisions(folder string, names []string, isNew func(name string) bool) (pairs [][2]string) {
	join := func(name string) string {
		if folder == "." {
			return name
		}
		return folder + "/" + name
	}
	byFold := map[string]string{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		folded := fold(name)
		other, taken := byFold[folded]
		if !taken {
			byFold[folded] = name
			continue
		}
		if isNew(name) || isNew(other) {
			pairs = append(pairs, [2]string{join(name), join(other)})
		}
	}
	return pairs
}
