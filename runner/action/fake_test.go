package action_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/symphony-runner/symphony/runner/action"
)

// A runner reads what a step prints, as GitHub's does but more leniently: it ends
// lines at everything that looks like an end, takes a line for a command if any
// way to overlook characters makes it one, and wants neither a known name nor a
// second "::".
type runner struct {
	out     bytes.Buffer
	output  string // path of GITHUB_OUTPUT
	summary string
	env     map[string]string
}

// logRunner has a log only.
func logRunner() *runner { return &runner{env: map[string]string{"GITHUB_ACTIONS": "true"}} }

// newRunner has files besides.
func newRunner(t *testing.T) *runner {
	t.Helper()
	dir := t.TempDir()
	r := logRunner()
	r.output, r.summary = filepath.Join(dir, "output"), filepath.Join(dir, "summary")
	r.env["GITHUB_OUTPUT"], r.env["GITHUB_STEP_SUMMARY"] = r.output, r.summary
	for _, path := range []string{r.output, r.summary} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *runner) getenv(name string) string { return r.env[name] }

func (r *runner) runtime() *action.Runtime { return action.New(&r.out, r.getenv) }

// command is what the runner would do.
type command struct{ Name, Title, Data string }

// read is what the runner makes of the log: commands, and lines that are shown.
func (r *runner) read() (commands []command, shown []string) {
	for _, line := range splitLog(r.out.String()) {
		if c, ok := parse(line); ok {
			commands = append(commands, c)
		} else {
			shown = append(shown, line)
		}
	}
	return commands, shown
}

func splitLog(s string) []string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s)
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

var (
	wholeEscapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)
	halfEscapes  = regexp.MustCompile(`\x1b\[[0-9;]*m?`)
)

// readings are the ways to overlook characters.
func readings(line string) []string {
	var all []string
	for _, s := range []string{line, wholeEscapes.ReplaceAllString(line, ""), halfEscapes.ReplaceAllString(line, "")} {
		all = append(all, s, strings.Map(func(r rune) rune {
			if !unicode.IsSpace(r) && (!unicode.IsPrint(r) || r == '\ufffd' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
				return -1
			}
			return r
		}, s))
	}
	return all
}

func parse(line string) (command, bool) {
	for _, s := range readings(line) {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
		if rest, ok := strings.CutPrefix(s, "::"); ok {
			// A command of ours is read as it was written.
			if exact, ok := strings.CutPrefix(line, "::"); ok {
				rest = exact
			}
			info, data, _ := strings.Cut(rest, "::")
			name, properties, _ := strings.Cut(info, " ")
			title, _ := strings.CutPrefix(properties, "title=")
			return command{name, decode(title), decode(data)}, true
		}
		if i := strings.Index(s, "##["); i >= 0 {
			return command{Name: "##", Data: s[i:]}, true
		}
	}
	return command{}, false
}

func decode(s string) string {
	return strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(s)
}

// outputs are what the file of outputs sets, by the runner's rules.
func (r *runner) outputs() (map[string]string, error) {
	data, err := os.ReadFile(r.output)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	rest := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for len(rest) > 0 {
		line := rest[0]
		rest = rest[1:]
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		switch {
		case line == "":
		case equals >= 0 && (heredoc < 0 || equals < heredoc):
			all[line[:equals]] = line[equals+1:]
		case heredoc > 0:
			end := -1
			for i, s := range rest {
				if s == line[heredoc+2:] {
					end = i
					break
				}
			}
			if end < 0 {
				return nil, fmt.Errorf("no end of %q", line)
			}
			all[line[:heredoc]] = strings.Join(rest[:end], "\n")
			rest = rest[end+1:]
		default:
			return nil, fmt.Errorf("invalid line %q", line)
		}
	}
	return all, nil
}
