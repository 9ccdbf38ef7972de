package main

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// TestATickIsOneTraceThatAddsUpToItsReport compares the report of a tick of the real Codex with
// what a real collector has got of it.
func TestATickIsOneTraceThatAddsUpToItsReport(t *testing.T) {
	t.Parallel()
	program, got := collectorProgram(t), &collected{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := got.take(r); err != nil {
			t.Errorf("the collector sends on: %v", err)
		}
	}))
	defer server.Close()
	collector := realCollector{To: server.URL, Signals: []string{"traces", "metrics"}, Headers: []string{"X-Key"}}
	address, stop, err := collector.start(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("the collector ends with %v", err)
		}
	})

	costs := func(r codextest.Reply, u codextest.Usage) codextest.Reply {
		r.Usage = &u
		return r
	}
	shell := func(command string) codextest.Reply { return call("exec_command", map[string]string{"cmd": command}) }
	p, _ := realProject(t, map[string]string{"A-1": todo("Two turns"), "A-2": todo("A long context"), "A-3": todo("Fails")},
		lane("A-1", costs(shell("exit 3"), codextest.Usage{Input: 1000, Cached: 600, CacheWrite: 100, Output: 50, Reasoning: 20}), say("Half of it."), handOver(), say("Done.")),
		lane("A-2", costs(handOver(), codextest.Usage{Input: 300_000, Cached: 1000, Output: 2000}), say("Done.")),
		lane("A-3", say("Not yet."), codextest.Reply{Failed: &codextest.Failed{Code: "invalid_prompt", Message: "hidden-word"}}))
	p.replace("codex:\n", `telemetry: {otlp: true}
budget:
  prices:
    gpt-5.5: {input: 2.5, cached_input: 0.25, cache_write: 3, output: 15, long_context: {above: 272000, input: 5, cached_input: 0.5, output: 22.5}}
codex:
`)
	p.env = append(p.env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address, "OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20key", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test",
		"OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json")
	p.ok("--once", "--report", "report.json")
	type tokens struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Models []struct {
			Cached     int64 `json:"cached_input_tokens"`
			CacheWrite int64 `json:"cache_write_tokens"`
		}
		Cost struct{ USD *float64 }
	}
	var report struct {
		Warnings []string
		Counts   map[string]int
		Issues   []struct{ Turns int }
		Spent    struct {
			tokens
			Sessions int
			Seconds  float64 `json:"seconds_running"`
		}
	}
	if err := json.Unmarshal([]byte(p.read("report.json")), &report); err != nil {
		t.Fatal(err)
	}
	var cached, written int64
	for _, m := range report.Spent.Models {
		cached, written = cached+m.Cached, written+m.CacheWrite
	}
	turns := 0
	for _, issue := range report.Issues {
		turns += issue.Turns
	}
	if len(report.Spent.Models) != 2 || report.Spent.Cost.USD == nil || report.Spent.Sessions < 3 || turns < 4 || len(report.Warnings) > 0 {
		t.Fatalf("the report is about too little, or warns:\n%s", p.read("report.json"))
	}
	if got.resource["service.name"] != "symphony" || got.resource["deployment.environment.name"] != "test" || got.resource["telemetry.sdk.language"] != "go" || got.keys[0] != "a key" {
		t.Errorf("the resource is %v, and the headers are %q", got.resource, got.keys)
	}

	// The spans.
	byID := map[string]collectedSpan{}
	names := map[string]int{}
	for _, s := range got.spans {
		byID[s.id] = s
		names[s.name]++
	}
	sum := func(span, name string) (total float64) {
		for _, s := range got.spans {
			if s.name == span {
				n, err := strconv.ParseFloat(cmp.Or(value(s.attributes, name), "0"), 64)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				total += n
			}
		}
		return total
	}
	parents := map[string]string{"tick": "", "invoke_agent codex": "tick"} // and of all others it is a session
	for _, s := range got.spans {
		parent, found := byID[s.parent]
		want, known := parents[s.name]
		if !known {
			want = "invoke_agent codex"
		}
		if parent.name != want || found != (want != "") || s.trace != got.spans[0].trace {
			t.Errorf("%s is in the trace %s below %q", s.name, s.trace, parent.name)
		}
		if found && (s.began.Before(parent.began) || s.ended.After(parent.ended)) || s.ended.Before(s.began) {
			t.Errorf("%s takes from %v to %v, and %s from %v to %v", s.name, s.began, s.ended, parent.name, parent.began, parent.ended)
		}
	}
	if names["tick"] != 1 || names["invoke_agent codex"] != report.Spent.Sessions || names["turn"] != turns || names["execute_tool shell"] != 1 || names["execute_tool issue_update"] != 2 {
		t.Errorf("%d sessions, %d turns, and the spans %v", report.Spent.Sessions, turns, names)
	}
	equal := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, and in the report %v", what, got, want)
		}
	}
	for _, span := range []string{"tick", "invoke_agent codex"} {
		equal(span+": input", sum(span, "gen_ai.usage.input_tokens"), float64(report.Spent.Input))
		equal(span+": output", sum(span, "gen_ai.usage.output_tokens"), float64(report.Spent.Output))
		equal(span+": cached input", sum(span, "gen_ai.usage.cache_read.input_tokens"), float64(cached))
		equal(span+": cache writes", sum(span, "gen_ai.usage.cache_creation.input_tokens"), float64(written))
		equal(span+": dollars", sum(span, "symphony.cost.usd"), *report.Spent.Cost.USD)
	}
	equal("tick: sessions", sum("tick", "symphony.sessions"), float64(report.Spent.Sessions))
	equal("tick: issues", sum("tick", "symphony.issues"), float64(len(report.Issues)))
	equal("sessions: turns", sum("invoke_agent codex", "symphony.turns"), float64(turns))
	equal("command: exit status", sum("execute_tool shell", "process.exit.code"), 3)
	failed := 0
	for _, s := range got.spans {
		if s.name == "invoke_agent codex" && s.failed != (value(s.attributes, "error.type") != "") {
			t.Errorf("a session has the status %v and %v", s.failed, s.attributes)
		}
		if s.name == "invoke_agent codex" && s.failed {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no session has failed")
	}

	// The metrics.
	add := func(name, label, text string) (total float64) {
		for _, n := range got.numbers {
			if n.name == name && (label == "" || value(n.attributes, label) == text) {
				if !n.sum {
					t.Errorf("%s is no sum of differences", name)
				}
				total += n.value
			}
		}
		return total
	}
	const ofTokens = "symphony.tick.tokens"
	equal("metric of input", add(ofTokens, "kind", "input")+add(ofTokens, "kind", "cached_input")+add(ofTokens, "kind", "cache_write"), float64(report.Spent.Input))
	equal("metric of cached input", add(ofTokens, "kind", "cached_input"), float64(cached))
	equal("metric of cache writes", add(ofTokens, "kind", "cache_write"), float64(written))
	equal("metric of output", add(ofTokens, "kind", "output"), float64(report.Spent.Output))
	equal("metric of dollars", add("symphony.tick.cost", "known", "true"), *report.Spent.Cost.USD)
	equal("metric of sessions", add("symphony.tick.sessions", "", ""), float64(report.Spent.Sessions))
	for outcome, n := range report.Counts {
		if outcome == "completed" || outcome == "failed" || outcome == "parked" || outcome == "retrying" {
			equal("metric of issues: "+outcome, add("symphony.tick.issues", "outcome", outcome), float64(n))
		}
	}
	if got := add("symphony.tick.agent_time", "", ""); math.Abs(got-report.Spent.Seconds) > 0.001 {
		t.Errorf("the metric of the time is %v, in the report it is %v", got, report.Spent.Seconds)
	}
	for _, n := range got.numbers {
		if n.unit == "" {
			t.Errorf("%s has no unit", n.name)
		}
	}
}
