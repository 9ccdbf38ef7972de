package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestALabelChoosesTheModel works on one issue with the real Codex while its labels change: each
// session has the model, the effort and the service tier of the labels at its start, also one that
// goes on with the thread of another model.
func TestALabelChoosesTheModel(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": "---\ntitle: Hard\nstate: Todo\nlabels: [docs, Hard]\n---\nPlease.\n"})
	p.env = append(p.env, "OPENAI_API_KEY="+agentKey, "OPENAI_BASE_URL="+m.URL())
	const entries = "{hard: {model: gpt-5.5, effort: high, service_tier: fast}, docs: {effort: medium}}"
	p.replace("codex:\n", "agent: {max_turns: 1, max_issues_per_tick: 1}\nbudget: {max_idle_sessions: 0}\ncodex:\n  by_label: "+entries+"\n")
	p.ok("validate")
	if out := p.ok("explain", "A-1").stdout; !strings.Contains(strings.Join(strings.Fields(out), " "),
		"A session that starts now has the model gpt-5.5, effort high, service tier priority, because of the label hard (codex.by_label).") {
		t.Errorf("explain says %q", out)
	}

	type sent struct {
		Model     string
		Reasoning struct{ Effort string }
		Tier      string `json:"service_tier"`
	}
	type chosen struct {
		Label, Model, Effort string
		Tier                 string `json:"service_tier"`
	}
	// tick performs a tick, and returns the last request of its session and what its report says.
	tick := func() (last sent, says chosen) {
		t.Helper()
		before := len(m.Requests())
		p.ok("--once", "--report", "report.json")
		requests := m.Requests()
		if len(requests) == before {
			t.Fatal("the model was not asked")
		}
		var document struct{ Issues []struct{ Codex chosen } }
		for from, to := range map[string]any{string(requests[len(requests)-1].Body): &last, p.read("report.json"): &document} {
			if err := json.Unmarshal([]byte(from), to); err != nil {
				t.Fatal(err)
			}
		}
		return last, document.Issues[0].Codex
	}
	check := func(name, model, effort, tier string, want chosen) {
		t.Helper()
		last, says := tick()
		if last.Model != model || last.Reasoning.Effort != effort || last.Tier != tier {
			t.Errorf("%s: the model was asked with %+v", name, last)
		}
		if diff := cmp.Diff(want, says); diff != "" {
			t.Errorf("%s: the report says %s", name, diff)
		}
	}
	relabel := func(labels string) {
		p.write("issues/A-1.md", "---\ntitle: Hard\nstate: Todo\nlabels: ["+labels+"]\n---\nPlease.\n")
	}
	check("both labels", "gpt-5.5", "high", "priority", chosen{"hard", "gpt-5.5", "high", "priority"})
	thread := p.claims()["A-1"].Thread
	relabel("docs")
	check("one label", "gpt-6.1-sol", "medium", "", chosen{Label: "docs", Effort: "medium"})
	relabel("")
	check("no label", "gpt-6.1-sol", "low", "", chosen{})
	if now := p.claims()["A-1"].Thread; thread == "" || now != thread {
		t.Errorf("the thread was %s, and is %s", thread, now)
	}

	const wrong = "{hard: {model: gpt-0}, docs: {effort: turbo}, late: {service_tier: scale, model: gpt-5.5}}"
	p.replace(entries, wrong)
	before := len(m.Requests())
	out := p.run("validate").stdout
	for _, want := range []string{
		`codex.by_label.hard.model "gpt-0": model_not_found: use one of gpt-`,
		`codex.by_label.docs.effort "turbo": codex_settings_refused: the model gpt-6.1-sol has low, medium, high`,
		`codex.by_label.late.service_tier "scale": codex_settings_refused: the model gpt-5.5 has default, flex, priority`,
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("validate does not say %s:\n%s", want, out)
		}
	}
	p.run("--once")
	if c := p.claims()["A-1"]; c.Failures != 0 || len(m.Requests()) != before {
		t.Errorf("settings that are wrong cost the issue %d failures, and %d requests", c.Failures, len(m.Requests())-before)
	}
	p.replace(wrong, entries)
	relabel("hard")
	check("corrected", "gpt-5.5", "high", "priority", chosen{"hard", "gpt-5.5", "high", "priority"})
}
