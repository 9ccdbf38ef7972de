package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/symphony-runner/symphony"

// levels is the architecture: a package imports only from lower levels. So packages
// of one level know nothing of each other.
var levels = map[string]int{
	// The edge of the process: flags, output and exit statuses; and what commands need from
	// outside: environment, signals, the names of the adapters.
	"cmd/symphony":        8,
	"cmd/symphony/wiring": 7,

	// The tick, which composes all that follows.
	"runner": 6,

	// The displays of what a run does.
	"runner/statuspage": 5,
	"runner/terminal":   5,
	"runner/runlog":     5,
	"runner/telemetry":  5,

	// Sessions on other hosts.
	"runner/worker": 5,

	// What the processes of a fleet give each other.
	"runner/fleet": 5,

	// The sample project, and the trial in a repository.
	"runner/demo":  5,
	"runner/trial": 5,

	// The issue that a person means by a name.
	"runner/lookup": 5,

	// What the checks of a workflow find.
	"runner/validation": 5,

	// The files of a new project.
	"runner/scaffold": 5,

	// The parts of a tick: a session, the settings, the state, the report, a delivery.
	"runner/attempt":  4,
	"runner/workflow": 4,
	"runner/store":    4,
	"runner/report":   4,
	"runner/publish":  4,
	"runner/feedback": 4,
	"runner/progress": 4,

	// What should happen, decided without a clock and a network; and one adapter for
	// each kind of tracker.
	"runner/schedule":   3,
	"runner/prompt":     3,
	"runner/transcript": 3,
	"runner/pictures":   3,
	"runner/secondlook": 3,
	"runner/receipt":    3,
	"runner/delivery":   3,
	"tracker/file":      3,
	"tracker/github":    3,
	"tracker/linear":    3,

	// The three leaves, tracker, codex and workspace, which never import each other, and
	// what stands alone beside them.
	"tracker":               2,
	"codex":                 2,
	"workspace":             2,
	"workspace/git":         2,
	"codex/scriptedagent":   2,
	"tracker/github/client": 2, // of the tracker, the state branch and the liveness of runs
	"runner/action":         2,
	"runner/room":           2,
	"runner/identity":       2,
	"runner/hosts":          2,
	"runner/notify":         2,
	"runner/setup":          2,

	// What makes requests and published texts safe, whatever sends them.
	"internal/transport": 1,
	"internal/defuse":    1,
	"internal/redact":    1,

	// Connections to this program on other hosts.
	"runner/worker/ssh": 1,

	// Connections to app-servers that run already.
	"codex/endpoint": 1,

	// The way of commands to named hosts: the listener in their network, and the proxy behind it.
	"codex/door":  1,
	"codex/proxy": 1,

	// What brings the content of untrusted files within bounds.
	"internal/bounds": 1,

	// What everything may use: text from outside, made fit for errors and logs.
	"internal/text": 0,

	// The words of a shell.
	"internal/shell": 0,

	// The same with many things, a few at a time.
	"internal/parallel": 0,

	// What is prepared when it is first needed, by everything too.
	"internal/lazy": -1,

	// Programs that end with this one.
	"internal/child": 0,

	// Test equipment.
	"internal/githubtest":    4,
	"internal/trackertest":   3,
	"internal/texttest":      1,
	"internal/storetest":     2,
	"internal/codextest":     2,
	"internal/scriptedagent": 3,
	"internal/lfstest":       1,
	"internal/browsertest":   1,
	"internal/sshtest":       1,
	"internal/gittest":       1,
}

// equipment is the packages that only tests and other test equipment may import.
var equipment = []string{"internal/texttest", "internal/codextest", "internal/scriptedagent", "internal/lfstest", "internal/trackertest", "internal/githubtest", "internal/storetest", "internal/browsertest", "internal/sshtest", "internal/gittest"}

// owners says which packages may import a third-party library.
var owners = map[string][]string{
	"gopkg.in/yaml.v3":                           {"runner/workflow", "runner/action", "tracker/file", "tracker/github/client"},
	"github.com/osteele/liquid":                  {"runner/prompt"},
	"github.com/bmatcuk/doublestar/v4":           {"runner/delivery"},
	"golang.org/x/text":                          {"runner/delivery"},
	"github.com/spf13/cobra":                     {"cmd/symphony"},
	"github.com/spf13/pflag":                     {"cmd/symphony"},
	"github.com/klauspost/compress":              {"runner/setup"},
	"golang.org/x/sync":                          {"internal/parallel"},
	"golang.org/x/sys":                           {"runner/terminal"},
	"charm.land/bubbletea/v2":                    {"runner/terminal"},
	"charm.land/lipgloss/v2":                     {"runner/terminal"},
	"github.com/google/go-cmp":                   {"internal/trackertest"},
	"pgregory.net/rapid":                         {"internal/texttest"},
	"github.com/google/go-github/v62":            {"tracker/github/client"},
	"github.com/bradleyfalzon/ghinstallation/v2": {"tracker/github/client"},
	"github.com/shurcooL/graphql":                {"tracker/linear", "tracker/github", "tracker/github/client"},
	"github.com/vektah/gqlparser/v2":             {"tracker/linear", "internal/trackertest", "internal/githubtest"},
	"github.com/sethvargo/go-githubactions":      {"runner/action"},
	"github.com/mattn/go-runewidth":              {"internal/text"},
	"github.com/charmbracelet/x/ansi":            {"internal/text"},
	"github.com/coder/websocket":                 {"codex/endpoint"},
	"github.com/hashicorp/yamux":                 {"runner/worker"},
	"go.opentelemetry.io":                        {"runner/telemetry"},
	"google.golang.org/protobuf":                 {"runner/telemetry"},
	"github.com/go-logr/logr":                    {"runner/telemetry"},
}

// outside is the files of a pure package that reach people and programs: they have a context.
var outside = []string{"runner/feedback/channel.go", "runner/feedback/kept.go", "runner/feedback/post.go"}

// pure packages have no clock, no goroutine and no context.
var pure = []string{"runner/schedule", "runner/prompt", "runner/report", "runner/delivery", "runner/feedback", "runner/progress", "runner/lookup"}

// capabilities are what only some packages or files may do. main.go alone meets the
// process: everything else gets its environment, its output and its exit status as
// values, so that a test can give others.
var capabilities = []struct {
	pkg, name string   // an import, or a function of it
	owners    []string // packages and files
}{
	// workspace runs what belongs to an agent; workspace/git runs git, and only in the host's own repositories;
	// runner/worker/ssh runs ssh, and codex/door nsenter.
	{"os/exec", "", []string{"workspace", "workspace/git", "runner/worker/ssh", "codex/door", "internal/child", "codex/scriptedagent", "internal/scriptedagent", "internal/codextest", "internal/trackertest", "internal/storetest", "internal/browsertest", "internal/sshtest", "internal/gittest"}},
	{"os", "Getenv", append([]string{"internal/codextest", "internal/trackertest", "internal/browsertest", "internal/sshtest", "internal/gittest"}, mainFile...)},
	{"os", "Environ", mainFile},
	{"os", "LookupEnv", nil},
	{"os", "ExpandEnv", nil},
	{"os", "Setenv", nil},
	{"os", "TempDir", nil}, // and these: they read the environment
	{"os", "UserHomeDir", nil},
	{"os", "UserCacheDir", nil},
	{"os", "UserConfigDir", nil},
	{"os", "Exit", mainFile},
	{"os", "Stdin", mainFile},
	{"os", "Stdout", mainFile},
	{"os", "Stderr", mainFile},
	{"fmt", "Print", nil},
	{"fmt", "Printf", nil},
	{"fmt", "Println", nil},
	{"time", "Sleep", []string{"workspace"}}, // while killed processes die
}

var mainFile = []string{"cmd/symphony/main.go"}

// source is one non-test Go file.
type source struct {
	folder string
	file   *ast.File
	name   string
}

func TestPackagesImportOnlyFromLowerLevels(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		level, known := levels[s.folder]
		if !known {
			t.Fatalf("%s: package %s is not in the table of levels of architecture_test.go: add it above all that it imports", s.name, s.folder)
		}
		seen[s.folder] = true
		for _, imported := range imports(s.file) {
			inner, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			if below, known := levels[inner]; !known || below >= level {
				t.Errorf("%s: %s (level %d) must not import %s (level %d)", s.name, s.folder, level, inner, below)
			}
			if slices.Contains(equipment, inner) && !slices.Contains(equipment, s.folder) {
				t.Errorf("%s imports test equipment outside of a test", s.name)
			}
		}
	}
	for folder := range levels {
		if !seen[folder] {
			t.Errorf("the table of levels names %s, which does not exist", folder)
		}
	}
}

// The loop of package runner and the attempt of package attempt know their parts, and no part
// knows them: only messages know the loop, which bring it what a task has found.
func TestThePartsDoNotKnowTheWhole(t *testing.T) {
	for _, p := range []struct {
		folder, whole string
		shared        []string // what parts share
		parts         int      // at least
	}{
		{"runner", "loop", []string{"core"}, 8},
		{"runner/attempt", "attempt", []string{"core", "journal", "filler"}, 7},
	} {
		isOne := func(e ast.Expr, names ...string) bool {
			if star, ok := e.(*ast.StarExpr); ok {
				e = star.X
			}
			id, ok := e.(*ast.Ident)
			return ok && slices.Contains(names, id.Name)
		}
		parts := 0
		for _, s := range sources(t) {
			if s.folder != p.folder {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.StructType:
					for _, f := range n.Fields.List {
						if isOne(f.Type, p.whole) {
							t.Errorf("%s: a type has the %s as a field: give it what it needs", s.name, p.whole)
						}
						if isOne(f.Type, p.shared...) {
							parts++
						}
					}
				case *ast.FuncDecl:
					for _, param := range n.Type.Params.List {
						if isOne(param.Type, p.whole) && n.Name.Name != "applyTo" {
							t.Errorf("%s: %s is given the %s: only applyTo of a message is", s.name, n.Name.Name, p.whole)
						}
					}
				}
				return true
			})
		}
		if parts < p.parts {
			t.Errorf("%s: %d parts share %v: this test looks for something that is gone", p.folder, parts, p.shared)
		}
	}
}

func TestEachLibraryHasItsOwners(t *testing.T) {
	for _, s := range sources(t) {
		for _, imported := range imports(s.file) {
			if strings.HasPrefix(imported, module) || !strings.Contains(strings.Split(imported, "/")[0], ".") {
				continue
			}
			if !slices.Contains(ownersOf(imported), s.folder) {
				t.Errorf("%s: %s is not an owner of %s", s.name, s.folder, imported)
			}
		}
	}
}

func TestCapabilitiesStayWhereTheyBelong(t *testing.T) {
	for _, s := range sources(t) {
		for _, c := range capabilities {
			if !slices.Contains(c.owners, s.folder) && !slices.Contains(c.owners, s.name) && uses(s.file, c.pkg, c.name) {
				t.Errorf("%s uses %s.%s, which belongs to %v", s.name, c.pkg, c.name, c.owners)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if folder, isText := call.Args[0].(*ast.BasicLit); ok && isText && folder.Value == `""` && (f.Sel.Name == "MkdirTemp" || f.Sel.Name == "CreateTemp") {
				t.Errorf("%s: %s without a folder reads the environment: name the folder", s.name, f.Sel.Name)
			}
			return true
		})
		if !slices.Contains(pure, s.folder) || slices.Contains(outside, s.name) {
			continue
		}
		if uses(s.file, "time", "Now") || uses(s.file, "context", "") {
			t.Errorf("%s: %s is pure: it gets the time as an argument and waits for nothing", s.name, s.folder)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: %s is pure: it starts no goroutine", s.name, s.folder)
			}
			return true
		})
	}
}

func TestNothingRunsBeforeMain(t *testing.T) {
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function", s.name)
			}
		}
	}
}

// maxPrepared is the most that one of our packages may allocate before main, in bytes. A
// compiled regular expression takes 2,000 to 80,000; large tables and expressions that few
// runs use are made when they are needed.
const maxPrepared = 160 << 10

func TestPackagesPrepareLittleBeforeMain(t *testing.T) {
	t.Parallel()
	p := emptyProject(t)
	p.env = append(p.env, "GODEBUG=inittrace=1")
	initialized := regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes`).FindAllStringSubmatch(p.ok("--help").stderr, -1)
	ours := 0
	for _, line := range initialized {
		name, isOurs := strings.CutPrefix(line[1], module+"/")
		if !isOurs || name == "cmd/symphony" || slices.Contains(equipment, name) {
			continue // no part of the program, or together with the variables of its tests
		}
		ours++
		if allocated, _ := strconv.Atoi(line[2]); allocated > maxPrepared {
			t.Errorf("%s allocates %d bytes before main, at most %d may be: prepare with sync.OnceValue what not every run needs", name, allocated, maxPrepared)
		}
	}
	if ours == 0 {
		t.Errorf("no package of ours is among the %d that were initialized", len(initialized))
	}
}

func TestEveryPackageTellsItsStory(t *testing.T) {
	described := map[string]bool{}
	for _, s := range sources(t) {
		described[s.folder] = described[s.folder] || s.file.Doc != nil && len(s.file.Doc.Text()) > 200
	}
	for folder, ok := range described {
		if !ok {
			t.Errorf("%s has no package comment of more than 200 characters: write what it decides, and what it never does", folder)
		}
	}
}

func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() != ".." && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		all = append(all, source{path.Dir(filepath.ToSlash(rel)), file, filepath.ToSlash(rel)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func imports(f *ast.File) []string {
	var names []string
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		names = append(names, name)
	}
	return names
}

func ownersOf(imported string) []string {
	for library, packages := range owners {
		if imported == library || strings.HasPrefix(imported, library+"/") {
			return packages
		}
	}
	return nil
}

// uses reports whether a file imports pkg and, when name is given, mentions it.
func uses(f *ast.File, pkg, name string) bool {
	if !slices.Contains(imports(f), pkg) {
		return false
	}
	if name == "" {
		return true
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == path.Base(pkg) {
				found = true
			}
		}
		return !found
	})
	return found
}

// sourceFolders are the folders at the top level that the program is built from.
var sourceFolders = []string{"cmd", "codex", "internal", "runner", "tracker", "workspace"}

// The Action keeps a binary that it has built, under a digest of these folders: with one missing
// it would take an older binary for the present one.
func TestTheActionKnowsTheFoldersOfTheProgram(t *testing.T) {
	folders := map[string]bool{}
	for _, s := range sources(t) {
		folders[strings.Split(s.folder, "/")[0]] = true
	}
	if got := slices.Sorted(maps.Keys(folders)); !slices.Equal(got, sourceFolders) {
		t.Errorf("the program is made of %q, not of %q", got, sourceFolders)
	}
	if want := "find go.mod go.sum " + strings.Join(sourceFolders, " ") + " -type f"; !strings.Contains(readText(t, filepath.Join(root, ".github", "action", "install.sh")), want) {
		t.Errorf("install.sh does not %s", want)
	}
}

// Everything a reader sees first. What is hidden there, .ci and .github, is not the product.
func TestTheTopLevelStaysSmall(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	known := append([]string{"testdata", "bin"}, sourceFolders...) // bin is ignored by git
	for _, entry := range entries {
		if name := entry.Name(); entry.IsDir() && !strings.HasPrefix(name, ".") && !slices.Contains(known, name) {
			t.Errorf("%s is a new folder at the top level: put it below one of %v, or below .github", name, known)
		}
	}
}

// clause matches a comment that says with a clause what a function returns. It returns a noun.
var clause = regexp.MustCompile(`^\w+ returns (what|how|why|whether|where|which|when)\b`)

// TestCommentsOfFunctionsSayWhatTheyDo holds to Go's convention that a function's
// comment begins with its name and a verb: a few may say what it is instead.
func TestCommentsOfFunctionsSayWhatTheyDo(t *testing.T) {
	documented := map[string]int{} // functions with a comment, by package
	isOrAre := map[string][]string{}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			documented[s.folder]++
			if clause.MatchString(f.Doc.Text()) {
				t.Errorf("%s: the comment of %s returns a clause: write a noun", s.name, f.Name.Name)
			}
			words := strings.Fields(f.Doc.Text())
			if len(words) > 1 && slices.Contains([]string{"is", "are"}, words[1]) {
				isOrAre[s.folder] = append(isOrAre[s.folder], f.Name.Name)
			}
		}
	}
	for folder, names := range isOrAre {
		if limit := max(documented[folder]/10, 1); len(names) > limit {
			t.Errorf("%s: the comments of %d of %d functions say what the function is, at most %d may: begin those of %s with a verb",
				folder, len(names), documented[folder], limit, strings.Join(names, ", "))
		}
	}
}

// maxMessage is the longest that the constant part of a message may be: more does
// not fit on a screen beside what it is about.
const maxMessage = 200

// longTexts holds the files whose long texts are not messages: what agents and the
// readers of documents get.
var longTexts = []string{"tracker/linear/tool.go", "tracker/github/tool.go", "runner/workflow/keys.go", "runner/prompt/preamble.go",
	"runner/attempt/deliver_tool.go", "runner/attempt/conversation.go", "runner/prompt/feedback.go",
}

func TestMessagesFitOnAScreen(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains(longTexts, s.name) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isPattern(call) {
				return false
			}
			expression, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := constantText(expression)
			if ok && len(text) > maxMessage && !strings.Contains(text, "\n") {
				t.Errorf("%s: %d characters, at most %d: %s", s.name, len(text), maxMessage, text)
			}
			return !ok
		})
	}
}

// isPattern reports whether a call compiles a regular expression, which nobody reads as a message.
func isPattern(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (f.Sel.Name == "Regexp" || f.Sel.Name == "MustCompile")
}

// constantText returns the text of a string literal, or of literals that are added.
func constantText(expression ast.Expr) (text string, ok bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, leftOK := constantText(e.X)
		right, rightOK := constantText(e.Y)
		return left + right, e.Op == token.ADD && leftOK && rightOK
	}
	return "", false
}
