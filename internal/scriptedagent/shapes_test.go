package scriptedagent

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// opaque are the fields whose contents have no one shape.
var opaque = []string{"arguments", "codexErrorInfo", "sandbox", "approvalPolicy", "proposedExecpolicyAmendment",
	"availableDecisions", "contentItems", "commandActions", "text_elements", "gitInfo"}

// shape adds the path of each field in v to paths.
func shape(v any, prefix string, paths map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			paths[prefix+name] = true
			if !slices.Contains(opaque, name) {
				shape(field, prefix+name+".", paths)
			}
		}
	case []any:
		for _, e := range v {
			shape(e, strings.TrimSuffix(prefix, ".")+"[].", paths)
		}
	}
}

// recordedShapes returns the fields of each recorded kind of message, and whether every
// message of the kind has them.
func recordedShapes(t testing.TB) map[string]map[string]bool {
	t.Helper()
	b, err := os.ReadFile("testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	shapes := make(map[string]map[string]bool)
	var kind string
	for line := range strings.Lines(string(b)) {
		if fields, ok := strings.CutPrefix(line, "\t"); ok {
			shapes[kind] = make(map[string]bool)
			for _, f := range strings.Fields(fields) {
				name, optional := strings.CutSuffix(f, "?")
				shapes[kind][name] = !optional
			}
		} else {
			kind = strings.TrimSpace(line)
		}
	}
	return shapes
}

// kind returns the name under which a message is recorded.
func (p *peer) kind(e event) string {
	switch {
	case e.Error != nil:
		return "error"
	case e.Method == "":
		return "reply " + p.methods[string(e.ID)]
	case e.ID != nil:
		return "request " + e.Method
	}
	if item, ok := e.Params["item"].(map[string]any); ok {
		return "notification " + e.Method + " " + item["type"].(string)
	}
	return "notification " + e.Method
}

// checkShapes compares the received messages with the recordings. No message may lack a
// field that all of its kind have; in a strict comparison none may have further fields.
func (p *peer) checkShapes(strict bool) {
	p.t.Helper()
	if p.t.Failed() {
		p.t.Logf("what came:\n%s", p.transcript())
	}
	recorded := recordedShapes(p.t)
	for _, e := range p.all {
		var msg any
		if json.Unmarshal(e.Line, &msg) != nil {
			continue
		}
		want, ok := recorded[p.kind(e)]
		if !ok {
			if strict {
				p.t.Errorf("Codex has no %s", p.kind(e))
			}
			continue
		}
		got := make(map[string]bool)
		shape(msg, "", got)
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if want[path] && !got[path] {
				p.t.Errorf("%s lacks %s", p.kind(e), path)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[path]; strict && !ok {
				p.t.Errorf("%s has %s, which Codex does not", p.kind(e), path)
			}
		}
	}
}
