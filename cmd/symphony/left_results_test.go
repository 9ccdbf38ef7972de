package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// A fleet's collect may die. What its shards did counts all the same, and no issue is
// charged for it.
func TestTheNextTickTakesOverWhatAFleetDidNotCollect(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"artifacts", "references"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			takeOver(t, by == "artifacts")
		})
	}
}

func takeOver(t *testing.T, byArtifacts bool) {
	const token = "ghs_0123456789abcdefTOKEN"
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token})
	hello := "- [ ] Create `hello.txt` containing `hello`\n- [ ] Move this issue to `Review`\n"
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), map[string]string{
		"A-1": "---\ntitle: Say hello\nstate: Todo\n---\n" + hello,
		"A-2": "---\ntitle: Use a key\nstate: Todo\n---\n- [ ] Run `cat license.key`\n",
		"A-3": "---\ntitle: Say hello too\nstate: Todo\n---\n" + hello,
	})
	p.env = append(p.env, "GITHUB_RUN_ID=77", "GITHUB_RUN_ATTEMPT=1")
	p.ok("plan", "--exchange", "exchange", "--shards", "3", "--shard-slots", "1")
	p.ok("work", "--exchange", "exchange", "--shard", "1")
	p.ok("work", "--exchange", "exchange", "--shard", "2")
	server := []string{"GITHUB_API_URL=" + g.URL(), "GITHUB_SERVER_URL=" + g.ServerURL(), "GITHUB_REPOSITORY=acme/shop", "GITHUB_TOKEN=" + token}
	if byArtifacts {
		uploadExchange(g, p)
	} else {
		pushExchange(g, p, server)
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "exchange")); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour)
	job := func(title, conclusion, runner string) storetest.Job {
		return storetest.Job{Name: title, Status: "completed", Conclusion: conclusion, Started: at, Completed: at, Runner: runner}
	}
	g.SetRun(storetest.Run{ID: 77, Status: "completed", Conclusion: "failure", Jobs: []storetest.Job{
		job("plan", "success", "GitHub Actions 1"), job("shard 1", "success", "GitHub Actions 2"), job("shard 2", "failure", "GitHub Actions 3"),
		job("shard 3", "cancelled", ""), job("collect", "failure", "GitHub Actions 4"),
	}})
	p.env = append(append(p.env, server...), "GITHUB_RUN_ID=78")
	r := p.ok("--once", "--report", "out.json")
	var reported struct {
		Issues []struct {
			Identifier string `json:"issue_identifier"`
			JobURL     string `json:"job_url"`
		}
	}
	if err := json.Unmarshal([]byte(p.read("out.json")), &reported); err != nil {
		t.Fatal(err)
	}
	jobs := map[string]string{}
	for _, issue := range reported.Issues {
		jobs[issue.Identifier] = strings.TrimPrefix(issue.JobURL, g.ServerURL()+"/acme/shop/actions/runs/")
	}
	if diff := cmp.Diff(map[string]string{"A-1": "77/job/2", "A-2": "77/job/3", "A-3": ""}, jobs); diff != "" { // the last one worked in this run
		t.Errorf("the jobs of the shards: %s", diff)
	}
	for _, want := range []string{"2 completed, 1 failed", "Say hello too"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the report lacks %q:\n%s\n%s", want, r.stdout, r.stderr)
		}
	}
	if state := p.read(".symphony/state.json"); strings.Count(state, `"failures": 1`) != 1 || strings.Contains(state, `"shard"`) {
		t.Errorf("the state is\n%s", state)
	}
}

// uploadExchange uploads what two of three shards left, and what somebody else did.
func uploadExchange(g *githubtest.GitHub, p *project) {
	p.t.Helper()
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-plan-1", Files: map[string]string{"plan.json": p.read("exchange/plan.json")}})
	for _, shard := range []string{"1", "2"} {
		result := "result-" + shard + "/result.json"
		g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-result-1-" + shard, Files: map[string]string{result: p.read("exchange/results/" + result)}})
	}
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-result-1-3", Packed: []byte("no zip")}) // costs no other shard its result
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-result-1-2000", Packed: []byte("no zip")})
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-result-2-1", Packed: []byte("no zip")})
}

// pushExchange pushes the same as references.
func pushExchange(g *githubtest.GitHub, p *project, server []string) {
	p.t.Helper()
	local := p.env
	p.env = append(slices.Clone(p.env), server...)
	p.ok("exchange", "push", "--exchange", "exchange")
	p.ok("exchange", "push", "--exchange", "exchange", "--shard", "1")
	p.ok("exchange", "push", "--exchange", "exchange", "--shard", "2")
	p.env = local
	folder := strings.TrimSuffix(g.Git("for-each-ref", "--format=%(refname)", "refs/symphony/fleet/**/plan"), "plan")
	blob := g.Git("rev-parse", folder+"plan:plan.json")
	g.Git("update-ref", "refs/symphony/fleet/77-1/999999999999999/plan", g.Git("rev-parse", folder+"plan")) // a later plan, which is not a fleet's
	for _, name := range []string{"shard-3", "shard-2000", "other"} {
		g.Git("update-ref", folder+name, blob) // no commit
	}
}
