package delivery

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/workspace/git"
)

func TestAPathIsProtectedByTheNamesThatLinksGiveIt(t *testing.T) {
	for name, test := range map[string]struct {
		links   []Link
		changes []Change
		want    string // in the only refusal; empty for none
	}{
		"a folder":              {[]Link{{".claude", "tools/claude"}}, []Change{added("tools/claude/settings.json")}, "tools/claude/settings.json: the path is protected (**/.claude/**, because a link makes it .claude/settings.json too)"},
		"by other letters":      {[]Link{{".claude", "Tools/Claude"}}, []Change{added("tools/claude/x")}, "protected (**/.claude/**"},
		"a file":                {[]Link{{"CLAUDE.md", "docs/agents.txt"}}, []Change{added("docs/agents.txt")}, "protected (CLAUDE.md"},
		"below a folder":        {[]Link{{".github/workflows", "../ci"}}, []Change{added("ci/x.yml")}, "protected (.github/**"},
		"by two links":          {[]Link{{".claude", "tools/claude"}, {"tools", "src/tools"}}, []Change{added("src/tools/claude/x")}, "protected (**/.claude/**"},
		"the folder replaced":   {[]Link{{".claude", "tools/claude"}}, []Change{{Path: "tools", New: Entry{git.ModeLink, 1}, Target: "src"}}, "tools: the path is protected (**/.claude/**"},
		"a new link in between": {[]Link{{".claude", "a/b"}}, []Change{{Path: "x/y", New: Entry{git.ModeLink, 1}, Target: "z"}}, ""},
		"beside it":             {[]Link{{".claude", "tools/claude"}}, []Change{added("tools/claude-x.md"), added("tools/claudette/x")}, ""},
		"a link to the top":     {[]Link{{"src/example.com/shop", "../.."}}, []Change{added("a/b.go")}, ""},
		"a link that leaves":    {[]Link{{".claude", "../tools"}, {"CLAUDE.md", "/etc/motd"}}, []Change{added("tools/x"), added("etc/motd")}, ""},
		"a circle":              {[]Link{{"a", "b"}, {"b", "a"}}, []Change{added("b/c")}, ""},
		"too many to look at":   {manyLinks(60), []Change{added("x/y")}, "x/y: the path is protected (more symbolic links"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Defaults().Check(Work{Links: test.links, Changes: test.changes})
			if test.want == "" && len(v.Refusals) == 0 {
				return
			}
			if len(v.Refusals) != 1 || test.want == "" || !strings.Contains(v.Refusals[0].Error(), test.want) {
				t.Errorf("got %v, want %q", v.Refusals, test.want)
			}
		})
	}
}

// manyLinks returns links to the top of the repository, whose names can follow one another.
func manyLinks(n int) (links []Link) {
	for i := range n {
		links = append(links, Link{strings.Repeat("l", i+1), "."})
	}
	return links
}

func TestTheStrongestProtectionOfANameCounts(t *testing.T) {
	s := Defaults()
	s.Protected = []Rule{{"a/**", Draft}, {"mine/**", Allow}}
	got := s.Check(Work{
		Links:   []Link{{"a", "x"}, {"package.json", "x/y"}, {".claude", "mine"}},
		Changes: []Change{added("x/y"), added("mine/z")}, // the rule for the path itself comes first
	})
	if diff := cmp.Diff(Verdict{Draft: true, Review: []string{"x/y"}}, got); diff != "" {
		t.Error(diff)
	}
}

// A file system says which paths lead to a file.
func TestEveryNameOfAFileIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top, err := filepath.EvalSymlinks(tempFolder())
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		file := path.Join(name.Draw(t, "folder"), name.Draw(t, "folder"), "file")
		if err := os.MkdirAll(filepath.Join(top, path.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		var links []Link
		for range rapid.IntRange(1, 4).Draw(t, "links") {
			l := Link{name.Draw(t, "name"), rapid.SampledFrom([]string{"a", "b", "a/b", "c/d", "d/a/file", "c", "./e", "."}).Draw(t, "target")}
			if rapid.Bool().Draw(t, "deeper") {
				l = Link{path.Join(name.Draw(t, "parent"), l.Path), "../" + l.Target}
			}
			at := filepath.Join(top, l.Path)
			made := os.MkdirAll(filepath.Dir(at), 0o755)
			if real, _ := filepath.EvalSymlinks(filepath.Dir(at)); made == nil && real == filepath.Dir(at) && os.Symlink(l.Target, at) == nil { // no path of git leads through a link
				links = append(links, l)
			}
		}
		want, err := os.Stat(filepath.Join(top, file))
		if err != nil {
			t.Skip("a link is in the way")
		}
		names, all := otherNames(file, Work{Links: links}.leads())
		if !all {
			t.Fatal("too many names")
		}
		for _, at := range candidates(3) {
			if info, err := os.Stat(filepath.Join(top, at)); err == nil && os.SameFile(info, want) && at != file && !slices.Contains(names, at) {
				t.Fatalf("with %v, %s is %s too, and its names are %v", links, file, at, names)
			}
		}
	})
}

func tempFolder() string {
	folder, _ := os.MkdirTemp("", "links") // the caller finds out
	return folder
}

// candidates returns the paths of at most n names, each with the file behind it.
func candidates(n int) (all []string) {
	folders := []string{""}
	for range n {
		var next []string
		for _, folder := range folders {
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				next = append(next, path.Join(folder, name))
			}
		}
		for _, at := range next {
			all = append(all, at, path.Join(at, "file"))
		}
		folders = next
	}
	return all
}

func TestTheFolderOfIssuesIsNotDelivered(t *testing.T) {
	s := Defaults()
	s.Issues = []string{"docs/issues"}
	for path, refused := range map[string]bool{
		"docs/issues/NEW-1.md": true, "docs/issues/.comments/NEW-1.md": true, "Docs/ISSUES/a.md": true, "docs/issues": true, "docs": true, "docs/issues.md": false, "docs/x.md": false,
	} {
		if v := s.Check(Work{Changes: []Change{added(path)}}); (len(v.Refusals) == 1) != refused {
			t.Errorf("%s: %v", path, v.Refusals)
		}
	}
	s.Protected = []Rule{{"docs/issues/**", Allow}}
	if v := s.Check(Work{Changes: []Change{added("docs/issues/NEW-1.md")}}); len(v.Refusals) > 0 {
		t.Errorf("a rule of WORKFLOW.md does not come first: %v", v.Refusals)
	}
}
