package setup

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// maxNamed bounds the files that a comment names.
const maxNamed = 3

// Section returns the section setup of a WORKFLOW.md as YAML, with comments.
func (s Suggestion) Section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Before any agent works, and again when one of these files changes: %s.\n", text.Some(s.Files, maxNamed))
	b.WriteString("setup:\n")
	writeScript(&b, "run", s.Script, "")
	if s.Update != "" {
		writeScript(&b, "update", s.Update, "for an agent that has changed what the project depends on")
	}
	fmt.Fprintf(&b, "  network: [%s] # sets of hosts that it reaches; agents reach none\n", strings.Join(s.Hosts, ", "))
	if s.Full {
		b.WriteString("  network_mode: full # not every client of Java takes the certificate with which Codex holds others to GET and HEAD\n")
	}
	if len(s.Exposed) > 0 {
		fmt.Fprintf(&b, "  # Git does not ignore %s: write that into .gitignore, and remove keep.\n", text.Some(s.Exposed, maxNamed))
		fmt.Fprintf(&b, "  keep: %s\n", flow(s.Makes))
	}
	return b.String()
}

// writeScript writes a key whose value is a script, with a comment.
func writeScript(b *strings.Builder, key, script, comment string) {
	if comment != "" {
		comment = " # " + comment
	}
	if lines := strings.Split(script, "\n"); len(lines) == 1 && !strings.ContainsAny(script, "#:\"'{}[]|") {
		fmt.Fprintf(b, "  %s: %s%s\n", key, script, comment)
	} else {
		fmt.Fprintf(b, "  %s: |%s\n    %s\n", key, comment, strings.Join(lines, "\n    "))
	}
}

// Line returns the section in one line of YAML.
func (s Suggestion) Line() string {
	rest := ""
	if s.Update != "" {
		rest = ", update: " + quoted(s.Update)
	}
	if s.Full {
		rest += ", network_mode: full"
	}
	if len(s.Exposed) > 0 {
		rest += ", keep: " + flow(s.Makes)
	}
	return fmt.Sprintf("setup: {run: %s, network: [%s]%s}", quoted(s.Script), strings.Join(s.Hosts, ", "), rest)
}

func flow(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
		if !strings.ContainsAny(name, " @+") {
			list[i] = name
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// quoted returns a text in double quotes, as JSON and YAML have it.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // && and > stay as they are
	_ = e.Encode(text)     // strings always encode
	return strings.TrimSpace(b.String())
}
