package scriptedagent

import (
	"os"
	"strings"
	"testing"
)

func TestEveryVerbIsListed(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	patterns := []string{ignoreVerb}
	for _, v := range verbs() {
		patterns = append(patterns, v.Pattern)
	}
	for _, pattern := range patterns {
		if !strings.Contains(string(manual), "\n//\t"+pattern) {
			t.Errorf("the package comment does not list %q", pattern)
		}
	}
}

func TestAnArgumentThatIsWrongFailsTheTurnBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	for _, task := range []string{
		"Wait `soon`", "Wait `-1s`", "Exit `-1`", "Flood `many`", "Output `9999999999` bytes",
		"Fail with `a b`", "Fail with `a 1 2`",
	} {
		p, thread, _ := scripted(t)
		end := p.turn(thread, "- [ ] Say `never`\n- [ ] "+task)
		equal(t, "status", "failed", end.Status)
		if said := end.Error.Message; !strings.Contains(said, "line 2: ") || !strings.Contains(said, task) || len(p.said()) > 0 {
			t.Errorf("%q: %s, %q", task, said, p.said())
		}
	}
}
