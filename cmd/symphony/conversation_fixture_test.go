package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// The pull request of a conversation, which is for issue 1, and its branch.
const (
	talkPull   = 2
	talkBranch = "symphony/GH-1"
)

// newTalk returns a shop as [shop.talk] leaves it.
func newTalk(t *testing.T, turns ...string) *shop {
	t.Helper()
	s := newShop(t, sameWork)
	s.talk(turns...)
	return s
}

// talk has the work of a new shop delivered. In each further session the agent does the steps of
// one turn, and after the last turn it adds a line to log.txt. What it is sent from now on is
// kept, see given.
func (s *shop) talk(turns ...string) {
	s.t.Helper()
	for range 8 {
		turns = append(turns, "- [ ] Append `more` to `log.txt`\n")
	}
	s.hub.Edit(1, "- [ ] "+sameWork+"\n\n## Next turn\n\n"+strings.Join(turns, "\n\n## Next turn\n\n"))
	var ahead atomic.Int64 // of our clock, in seconds: each event has one of its own
	s.hub.SetClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Add(1)) * time.Second) })
	for _, person := range []string{"kim", "lee"} {
		s.hub.SetPermission(person, "write")
	}
	s.replace(`command: "`, `command: "tee -a `+filepath.Join(s.dir, "wire")+` | `)
	s.tick()
	s.assertDelivered()
	s.write("wire", "")
	s.out = ""
}

// given returns everything that the program has sent to the agent.
func (s *shop) given() string { return s.read("wire") }

// useTool returns a step that calls a tool.
func useTool(tool, arguments string) string {
	return fmt.Sprintf("- [ ] Call `%s` with `%s`\n", tool, arguments)
}

// post returns a step that calls GitHub.
func post(method, path, body string) string {
	return useTool("github_api", fmt.Sprintf(`{"method":%q,"path":"/repos/acme/shop/%s","body":%s}`, method, path, body))
}

// sessions returns how many sessions started since checkSaid was called last.
func (s *shop) sessions() int { return strings.Count(s.out, "msg=dispatched") }

// tickInShard makes a run of a fleet with one shard.
func (s *shop) tickInShard() {
	s.t.Helper()
	s.runs++
	job := func(name string) storetest.Job {
		return storetest.Job{Name: "fleet / " + name, Status: "in_progress", Runner: "GitHub Actions 1", Started: time.Now()}
	}
	s.hub.SetRun(storetest.Run{ID: int64(s.runs), Status: "in_progress", Jobs: []storetest.Job{job("plan"), job("shard 1")}})
	defer s.hub.SetRun(storetest.Run{ID: int64(s.runs), Status: "completed", Conclusion: "success"})
	exchange := filepath.Join(s.t.TempDir(), "exchange")
	for _, part := range [][]string{{"plan", "--shards", "1", "--shard-slots", "1", onBranch}, {"work", "--shard", "1"}, {"collect", onBranch}} {
		cmd := s.command(s.t.Context(), append(part, "--exchange", exchange)...)
		cmd.Env = append(cmd.Env, "GITHUB_RUN_ID="+strconv.Itoa(s.runs), "GITHUB_RUN_ATTEMPT=1")
		out, err := cmd.CombinedOutput()
		s.out += string(out)
		if err != nil {
			s.t.Fatalf("%s: %v\n%s", part[0], err, out)
		}
	}
}

// checkSessions fails the test unless this number of sessions started in the next run.
func (s *shop) checkSessions(want int, why string) {
	s.t.Helper()
	before := s.sessions()
	s.tick()
	if got := s.sessions() - before; got != want {
		s.t.Errorf("%s: %d sessions, want %d\n%s", why, got, want, s.out)
	}
}

// checkSaid fails the test unless the runs since the last call said all of this.
func (s *shop) checkSaid(texts ...string) {
	s.t.Helper()
	said := oneSpaced(s.out)
	for _, text := range texts {
		if !strings.Contains(said, text) {
			s.t.Errorf("nothing says %q:\n%s", text, s.out)
		}
	}
	s.out = ""
}

// isParked reports whether the state says that the issue waits for a person.
func (s *shop) isParked() bool {
	return strings.Contains(s.ok("state", "show", onBranch).stdout, "parked")
}

// ourComments returns the comments on an issue or a pull request that the program itself
// wrote, without its agent's.
func (s *shop) ourComments(number int) (texts []string) {
	for _, c := range s.hub.Issue(number).Comments {
		if key := tracker.MarkedKey(c.Body); key != "" && key != tracker.AgentKey {
			texts = append(texts, c.Body)
		}
	}
	return texts
}

// openPull opens a pull request of a branch at a commit.
func (s *shop) openPull(branch, commit string) {
	s.t.Helper()
	s.hub.Git("update-ref", "refs/heads/"+branch, commit)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.hub.URL()+"/repos/acme/shop/pulls", strings.NewReader(fmt.Sprintf(`{"title": "Work", "head": %q, "base": "main"}`, branch)))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer ghs_0123456789abcdefTOKEN")
	answer, err := s.hub.Client().Do(request)
	if err != nil || answer.StatusCode != http.StatusCreated {
		s.t.Fatal(err, answer)
	}
	answer.Body.Close()
}

// state returns the saved state and its generation.
func (s *shop) state() (*schedule.State, int64) {
	s.t.Helper()
	text, _ := s.hub.File("symphony-state", "state.json")
	state, generation, err := store.Decode([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	return state, generation
}

// saveState replaces the saved state of a generation.
func (s *shop) saveState(state *schedule.State, generation int64) {
	s.t.Helper()
	data, err := store.Encode(state, generation+1)
	if err != nil {
		s.t.Fatal(err)
	}
	s.hub.Commit("symphony-state", map[string]string{"state.json": string(data)})
}

// inJob gives the runs of a shop the environment of a job, and returns the function that
// reads the step summary.
func (s *shop) inJob() (summary func() string) {
	s.write("summary.md", "")
	s.env = append(s.env, "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+filepath.Join(s.dir, "summary.md"), "GITHUB_OUTPUT="+filepath.Join(s.dir, "output"), "GITHUB_EVENT_NAME=schedule",
		"GITHUB_WORKFLOW_REF=acme/shop/.github/workflows/tick.yml@refs/heads/main", "SYMPHONY_ARTIFACT=symphony-9")
	return func() string { return s.read("summary.md") }
}
