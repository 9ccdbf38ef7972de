package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/runner/notify"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// root is the folder of the repository.
var root = filepath.Join("..", "..")

// generated returns the parts of the documents that the program knows better, by
// document and by the name in the part's marks.
func generated(t *testing.T) map[string]map[string]string {
	t.Helper()
	action := readAction(t)
	parts := map[string]map[string]string{
		"README.md": {
			"first-run": firstRun(t),
			"setup-npm": setupExample(t),
			"local-run": localRun(t),
		},
		".github/action/README.md": {
			"inputs":          action.inputTable(),
			"outputs":         action.outputTable(),
			"workflow-github": sampleRun(t, "github.yml"),
			"workflow-linear": sampleRun(t, "linear.yml"),
		},
		".github/fleet/README.md": {
			"fleet-caller": sampleRun(t, "fleet-caller.yml"),
			"fleet":        sampleRun(t, "fleet.yml"),
			"costs":        fleetCosts(),
			"accounts":     "```yaml\n" + furtherAccounts(t) + "```\n",
			"fleet-static": staticWork(t),
			"inputs":       readActionOf(t, fleetAction).inputTable(),
			"outputs":      readActionOf(t, fleetAction).outputTable(),
		},
		".github/BENCHMARKS.md":     {"fleet": fleetFigures()},
		".github/SECURITY.md":       {"guard": guardTable(t), "key-places": keyPlaces()},
		"cmd/symphony/README.md":    {"help": helpText(t), "exit": exitTable(), "environment": environmentTable()},
		"runner/workflow/README.md": {"keys": keyTable(), "events": eventTable()},
		"runner/workflow/ROOM.md":   {"room": roomTable(), "hosts": hostTable(), "setup": setupTable()},
	}
	for _, k := range wiring.Trackers() {
		parts["tracker/"+k.Name+"/README.md"] = map[string]string{"settings": settingTable(k)}
	}
	return parts
}

// helpText returns the flags as --help shows them.
func helpText(t *testing.T) string {
	t.Helper()
	help := emptyProject(t).ok("--help").stdout
	_, flags, found := strings.Cut(help, "Flags:\n")
	if !found {
		t.Fatalf("--help shows no flags:\n%s", help)
	}
	flags, _, _ = strings.Cut(flags, "\n\n")
	return "```\nsymphony [flags] [path-to-WORKFLOW.md]\n\n" + flags + "\n```\n"
}

// keyTable returns the table of the keys of WORKFLOW.md.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	for _, key := range workflow.Keys(wiring.Trackers()) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key.Name, code(key.Default), key.Meaning)
	}
	return b.String()
}

// eventTable returns the table of the events of notices.
func eventTable() string {
	var b strings.Builder
	b.WriteString("| event | the change |\n|---|---|\n")
	for _, e := range notify.Events() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e, e.Meaning())
	}
	return b.String()
}

// roomTable returns the table of the variables of the room, on a machine where nothing is
// installed in the home.
func roomTable() string {
	var b strings.Builder
	b.WriteString("| variable | value | why |\n|---|---|---|\n")
	for _, v := range attempt.RoomVariables(room.Room{Dir: "<room>"}, nil) {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v.Name, v.Value, v.Why)
	}
	return b.String()
}

// hostTable returns the table of the sets of hosts.
func hostTable() string {
	var b strings.Builder
	b.WriteString("| set | hosts |\n|---|---|\n")
	for _, set := range hosts.Sets() {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", set, strings.Join(hosts.Of(set), "`, `"))
	}
	return b.String()
}

// setupTable returns the table of the kinds of projects.
func setupTable() string {
	var b strings.Builder
	b.WriteString("| files | `setup.run` | `setup.update` | `network` | in the checkout |\n|---|---|---|---|---|\n")
	for _, kind := range setup.Kinds() {
		files := code(strings.Join(kind.Files, "`, `"))
		if kind.With != "" {
			files += " with " + code(kind.With)
		}
		script := strings.ReplaceAll(strings.Join(kind.Script, "`<br>`"), "|", "\\|")
		script = strings.NewReplacer("{file}", "FILE", "{requirements}", "-r requirements.txt").Replace(script)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", files, code(script), code(kind.Update), kind.Hosts, code(strings.Join(kind.Makes, "`, `")))
	}
	return b.String()
}

// setupExample returns the section that init writes for a lock file of npm.
func setupExample(t *testing.T) string {
	t.Helper()
	suggested, ok := setup.Detect([]string{"package.json", "package-lock.json", ".gitignore"})
	if !ok {
		t.Fatal("nothing is suggested for npm")
	}
	return "```yaml\n" + suggested.Section() + "```\n"
}

// localRun returns the commands of a new user, from the script that runs them.
func localRun(t *testing.T) string {
	t.Helper()
	commands := regexp.MustCompile(`(?m)^exec (symphony .*) (# .*)$`).FindAllStringSubmatch(readText(t, filepath.Join(scriptFolder, "new-user.txt")), -1)
	if len(commands) == 0 {
		t.Fatal("the script has no commands")
	}
	text := "```sh\n"
	for _, command := range commands {
		text += fmt.Sprintf("%-35s %s\n", command[1], command[2])
	}
	return text + "```\n"
}

// settingTable returns the table of the settings of a kind of tracker.
func settingTable(k tracker.Kind) string {
	var b strings.Builder
	b.WriteString("| setting | default | value | meaning |\n|---|---|---|---|\n")
	for _, s := range k.New().Settings() {
		var defaults []string
		for _, value := range s.Defaults {
			defaults = append(defaults, code(flowStyle(value)))
		}
		if s.Required && len(defaults) == 0 {
			defaults = []string{"none, it must be written"}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, strings.Join(defaults, ", else "), s.Want, s.Meaning)
	}
	return b.String()
}

// flowStyle returns a value as it is written in one line of YAML.
func flowStyle(value any) string {
	fields, isMap := value.(map[string]any)
	if !isMap {
		return fmt.Sprint(value)
	}
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		entries = append(entries, fmt.Sprintf("%s: %v", name, fields[name]))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// code returns text as a code span, or nothing for no text.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// guardTable returns the table that the red-team tests of package codex are checked against.
func guardTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "codex", "testdata", "guard.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keyPlaces returns the places of keys that agents may not read.
func keyPlaces() string {
	return "`" + strings.Join(room.CredentialPaths(), "`, `") + "`\n"
}

// TestTheDocumentsSayWhatTheProgramSays compares the generated parts of the
// documents with the program. UPDATE_README=1 writes them.
func TestTheDocumentsSayWhatTheProgramSays(t *testing.T) {
	update := os.Getenv("UPDATE_README") != ""
	for document, parts := range generated(t) {
		path := filepath.Join(root, document)
		text := readText(t, path)
		if found := strings.Count(text, "<!-- begin: "); found != len(parts) {
			t.Errorf("%s has %d generated parts, want %d", document, found, len(parts))
		}
		for name, want := range parts {
			begin, end := "<!-- begin: "+name+" -->\n", "<!-- end: "+name+" -->"
			before, rest, ok1 := strings.Cut(text, begin)
			got, after, ok2 := strings.Cut(rest, end)
			if !ok1 || !ok2 {
				t.Errorf("%s has no part %q: write the lines <!-- begin: %s --> and <!-- end: %s -->, and run this test with UPDATE_README=1", document, name, name, name)
				continue
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" && !update {
				t.Errorf("part %q of %s (-program +document), UPDATE_README=1 writes it:\n%s", name, document, diff)
			}
			text = before + begin + want + end + after
		}
		if update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// documents returns every Markdown file of the repository, by its path from the
// root, except for samples of input and output.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == ".symphony" || name == "testdata" && path != filepath.Join(root, "testdata")):
			return fs.SkipDir
		case filepath.Ext(name) == ".md":
			document, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			texts[filepath.ToSlash(document)] = readText(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var (
	codeBlocks = regexp.MustCompile("(?s)\n```.*?\n```")
	codeSpans  = regexp.MustCompile("`[^`\n]*`")
	links      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug  = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors returns the names that GitHub gives to the headings of a document.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, heading := range headings.FindAllStringSubmatch(codeBlocks.ReplaceAllString(text, ""), -1) {
		name := notInSlug.ReplaceAllString(strings.ToLower(heading[1]), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

// TestEveryLinkOfTheDocumentsLeadsSomewhere checks the relative links: the file
// must exist, and a heading of it when the link names one.
func TestEveryLinkOfTheDocumentsLeadsSomewhere(t *testing.T) {
	t.Parallel()
	all := documents(t)
	checked := 0
	for document, text := range all {
		text = codeSpans.ReplaceAllString(codeBlocks.ReplaceAllString(text, ""), "")
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			checked++
			file, heading, named := strings.Cut(link[1], "#")
			target := document
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(document), file))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", document, link[1])
			} else if named && !anchors(all[target])[heading] {
				t.Errorf("%s links to %s: %s has no such heading", document, link[1], target)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d links were found in %d documents", checked, len(all))
	}
}

// TestTheWayInLeadsToFunctions holds the tables of CONTRIBUTING.md to the code: a link whose text
// is a function leads to the file that declares it.
func TestTheWayInLeadsToFunctions(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("\\[`([A-Za-z.]+)`\\]\\(\\.\\./([^)#]+\\.go)\\)").FindAllStringSubmatch(readText(t, filepath.Join(root, ".github", "CONTRIBUTING.md")), -1)
	for _, link := range named {
		declared := `(?m)^(func|type) ` + link[1] + `\b`
		if receiver, method, isMethod := strings.Cut(link[1], "."); isMethod {
			declared = `(?m)^func \(\w+ \*?` + receiver + `\) ` + method + `\(`
		}
		if !regexp.MustCompile(declared).MatchString(readText(t, filepath.Join(root, link[2]))) {
			t.Errorf("%s does not declare %s", link[2], link[1])
		}
	}
	if len(named) < 30 {
		t.Errorf("only %d links lead to functions", len(named))
	}
}

// TestEveryDocumentIsReachedFromTheReadme follows the links from README.md.
func TestEveryDocumentIsReachedFromTheReadme(t *testing.T) {
	t.Parallel()
	all := documents(t)
	reached := map[string]bool{}
	var follow func(string)
	follow = func(document string) {
		if reached[document] {
			return
		}
		reached[document] = true
		for _, link := range links.FindAllStringSubmatch(all[document], -1) {
			file, _, _ := strings.Cut(link[1], "#")
			target := filepath.ToSlash(filepath.Join(filepath.Dir(document), file))
			if _, found := all[target]; found {
				follow(target)
			}
		}
	}
	follow("README.md")
	for document := range all {
		if !reached[document] && !strings.HasPrefix(document, "runner/demo/files/") && document != ".github/pull_request_template.md" {
			t.Errorf("no link leads from README.md to %s", document)
		}
	}
}
