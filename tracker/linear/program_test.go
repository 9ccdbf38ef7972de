package linear

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/symphony-runner/symphony/codex/codextest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/trackertest"
)

const sample = "../../testdata/workflows/linear.md"

// documents returns the queries that the sample's prompt gives the agent.
func documents(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, block := range regexp.MustCompile("(?s)```graphql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		list = append(list, block[1])
	}
	if len(list) != 3 {
		t.Fatalf("the sample has %d queries, want those for comments, states and handing over", len(list))
	}
	return list
}

func TestTheQueriesOfTheSampleAreValidAtLinear(t *testing.T) {
	t.Parallel()
	schema := published(t)
	for _, document := range documents(t) {
		if _, errs := gqlparser.LoadQueryWithRules(schema, document, rules.NewDefaultRules()); errs != nil {
			t.Errorf("%v\n%s", errs, document)
		}
	}
}

// calls returns what an agent that follows the sample asks of linear_graphql.
func calls(t *testing.T, id string) []string {
	t.Helper()
	variables := []map[string]string{{"id": id}, {"id": id}, {"id": id, "state": "state-in review", "comment": "Please look."}}
	var list []string
	for i, document := range documents(t) {
		arguments, err := json.Marshal(map[string]any{"query": document, "variables": variables[i]})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(arguments))
	}
	return list
}

func TestTheProgramWorksOnAnIssueOfLinear(t *testing.T) {
	t.Parallel()
	binary := trackertest.Build(t)
	t.Run("scripted agent", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey)
		issue := f.add(tracker.Issue{Title: "Carts forget", State: "Todo"})
		script := "- [ ] Run `" + trackertest.WorkCommand + "`\n"
		for _, call := range calls(t, issue["id"].(string)) {
			script += "- [ ] Call `linear_graphql` with\n\n```json\n" + call + "\n```\n\n"
		}
		issue["description"] = script
		f.worksOn(t, p, p.ScriptedAgent(), issue)
	})
	t.Run("the real Codex", func(t *testing.T) {
		t.Parallel()
		codex := codextest.Path(t)
		f, p := newFake(t), trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey)
		issue := f.add(tracker.Issue{Title: "Carts forget", State: "Todo"})
		replies := []codextest.Reply{trackertest.ToolCall("exec_command", `{"cmd": "`+trackertest.WorkCommand+`"}`)}
		for _, call := range calls(t, issue["id"].(string)) {
			replies = append(replies, trackertest.ToolCall("linear_graphql", call))
		}
		f.worksOn(t, p, p.RealCodex(codex, codextest.Lane{Replies: replies}), issue)
	})
	t.Run("nothing to do among 1,200 issues", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey)
		f.addMany(1200)
		r := f.tick(t, p, p.ScriptedAgent(), "project_slug: ", "required_labels: [symphony]\n  project_slug: ")
		if r.Code != 0 || !strings.Contains(r.Stdout, "Nothing to do") || f.counted() != 1 {
			t.Errorf("exit status %d, %d requests, want 0 by one\n%s\n%s", r.Code, f.counted(), r.Stdout, r.Stderr)
		}
	})
	t.Run("told to wait for two minutes", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey)
		reset := fmt.Sprint(time.Now().Add(2 * time.Minute).UnixMilli())
		f.broken = answer(400, `{"errors":[{"message":"Rate limit exceeded","extensions":{"code":"RATELIMITED"}}]}`,
			"X-RateLimit-Requests-Remaining", "0", "X-RateLimit-Requests-Reset", reset)
		for run := range 2 {
			r := f.tick(t, p, p.ScriptedAgent())
			if r.Code != 1 || !strings.Contains(r.Stdout, "tracker_rate_limited") || !strings.Contains(r.Stdout, "not before 20") || f.counted() != 1 {
				t.Errorf("run %d: exit status %d, %d requests in all, want 1\n%s\n%s", run+1, r.Code, f.counted(), r.Stdout, r.Stderr)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey)
		f.broken = answer(401, `{"errors":[{"message":"no such key: `+apiKey+`"}]}`)
		r := f.tick(t, p, p.ScriptedAgent())
		if r.Code != 1 || !strings.Contains(r.Stdout, "linear_api_status") {
			t.Errorf("exit status %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
		}
	})
}

// tick runs the program once over the fake, with the sample workflow.
func (f *fake) tick(t *testing.T, p *trackertest.Program, agent string, replacements ...string) trackertest.Output {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	p.UseSample(sample, agent, append(replacements, "kind: linear\n", "kind: linear\n  endpoint: "+server.URL+"\n")...)
	return p.Tick()
}

// worksOn runs the program once, in which the agent hands the issue over.
func (f *fake) worksOn(t *testing.T, p *trackertest.Program, agent string, issue object) {
	t.Helper()
	r := f.tick(t, p, agent)
	if r.Code != 0 || !strings.Contains(r.Stdout, "1 completed") {
		t.Fatalf("exit status %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	}
	if state := issue["state"].(object)["name"]; state != "In Review" {
		t.Errorf("the issue is in %v", state)
	}
	want := []object{{"body": "Please look.", "user": f.users[0]}}
	if diff := cmp.Diff(want, f.comments[issue["id"].(string)]); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"list", "tool", "tool", "tool", "read"}, f.kinds()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	p.CheckHandedOver("ENG-1")
}

// kinds returns the purpose of each request: a list, a call by the agent, or a read
// after the turn. An issue is read once more when more than a second passes before
// its session starts, which can happen on a busy machine.
func (f *fake) kinds() []string {
	var kinds []string
	for _, query := range f.asked {
		switch {
		case strings.Contains(query, "$filter:IssueFilter!"):
			kinds = append(kinds, "list")
		case !strings.Contains(query, "$ids:[ID!]!"):
			kinds = append(kinds, "tool")
		case len(kinds) != 1:
			kinds = append(kinds, "read")
		}
	}
	return kinds
}
