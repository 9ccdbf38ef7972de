package main

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// moreWork is what the agent does when somebody asks for more.
const moreWork = "Create `brake.go` containing `package shop`"

// asksFor has a person ask for something else in the issue, and put the label on again.
func (s *shop) asksFor(steps ...string) {
	s.hub.Edit(1, "- [ ] "+strings.Join(steps, "\n- [ ] ")+"\n")
	s.hub.PutOn(1, "symphony")
}

// operator runs a command on the state.
func (s *shop) operator(args ...string) {
	s.t.Helper()
	s.ok(append([]string{"state"}, append(args, onBranch)...)...)
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

func TestAPullRequestThatMayNotBeOpenedIsOpenedWhenItMay(t *testing.T) {
	t.Parallel()
	s := newShop(t, otherWork)
	s.hub.Fail("POST /pulls", storetest.Fault{Status: http.StatusForbidden, Says: "GitHub Actions is not permitted to create or approve pull requests."})
	s.tick()
	s.checkSaid("the branch symphony/GH-1 was pushed: pull_request_not_permitted", "allow it in Settings > Actions > General > Workflow permissions")
	if i := s.hub.Issue(1); len(i.Labels) != 1 || len(s.hub.Pulls()) != 0 {
		t.Errorf("the issue was handed over without a pull request: %+v, %+v", i, s.hub.Pulls())
	}
	s.tick()
	s.checkSaid("Nothing can be started until")
	s.operator("resume")
	s.tickWithoutAgent()
	s.assertDelivered()
}

// A session costs money, and the work is on the branch.
func TestAPullRequestThatGitHubTakesLaterIsOpenedWithoutAnotherSession(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork)
	s.hub.Git("update-ref", "refs/heads/work", "refs/heads/main")
	commit := s.hub.Commit("work", map[string]string{"work.txt": "done\n"})
	s.hub.LimitContent(1, time.Hour, false)
	s.openPull("other", commit) // takes what there was room for
	s.tick()
	s.checkSaid("the branch symphony/GH-1 was pushed: open its pull request", "GitHub takes no more comments and pull requests of this account for")
	if i := s.hub.Issue(1); len(i.Labels) != 1 || len(s.hub.Pulls()) != 1 || s.hub.Head("symphony/GH-1") == "" {
		t.Errorf("the issue was handed over without a pull request: %+v, %+v", i, s.hub.Pulls())
	}
	s.hub.LimitContent(100, 0, false)
	s.operator("retry", "GH-1")
	s.tickWithoutAgent()
	pulls := s.hub.Pulls()
	if i := s.hub.Issue(1); len(i.Labels) != 0 || len(pulls) != 2 || pulls[1].Draft || pulls[1].Head != "symphony/GH-1" {
		t.Errorf("%+v, %+v\n%s", i, pulls, s.out)
	}
}

// tickWithoutAgent makes a run in which no agent may work.
func (s *shop) tickWithoutAgent() {
	s.t.Helper()
	s.out = ""
	if s.tick(); strings.Contains(s.out, "turn 1 started") {
		s.t.Errorf("an agent was paid:\n%s", s.out)
	}
}

// The token is the same for every issue, so none is charged, and no more sessions are
// paid for until a person has seen to it.
func TestAHandOverThatTheTokenMayNotDoHoldsEverythingUntilItMay(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork).watched()
	s.hub.Fail("DELETE /issues/{n}/labels/{name}", storetest.Fault{Status: http.StatusForbidden, Says: "Resource not accessible by integration"})
	s.tick()
	s.checkSaid("the work is published, and the issue was not handed over: delivery.hand_over: ", "issues: write")
	s.tick()
	s.checkSaid("Nothing can be started until")
	s.operator("resume")
	s.tickWithoutAgent()
	s.assertDelivered()
}

func TestAPullRequestThatAPersonClosedIsGoneOnWithWhenItIsOpenAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork).watched()
	s.hub.Edit(1, "- [ ] "+sameWork+"\n\n## Next turn\n\n- [ ] "+moreWork+"\n")
	s.tick()
	s.hub.ClosePull(2)
	s.asksFor(moreWork)
	head := s.hub.Head("symphony/GH-1")
	s.tick()
	s.checkSaid("GH-1 is parked", "closed the pull request without merging it", "symphony state retry GH-1")
	if now := s.hub.Head("symphony/GH-1"); now != head || len(s.hub.Pulls()) != 1 || s.hub.Pulls()[0].State != "closed" {
		t.Errorf("the branch moved from %s to %s; pull requests %+v", head, now, s.hub.Pulls())
	}
	s.hub.ReopenPull(2)
	s.operator("retry", "GH-1")
	s.tick()
	s.assertDelivered()
	if files := s.hub.Git("diff", "--name-only", "main", "symphony/GH-1"); files != "brake.go\ncart.go" {
		t.Errorf("the branch changes %q", files)
	}
}

func TestACommitOfAReviewerStaysAndIsThereForTheAgent(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork).watched()
	s.tick()
	theirs := s.hub.Commit("symphony/GH-1", map[string]string{"README.md": "# Shop\n", "cart.go": "package shop // reviewed\n"})
	s.asksFor("Run `grep reviewed cart.go`", moreWork)
	s.tick()
	s.assertDelivered()
	if parent := s.hub.Git("rev-parse", "symphony/GH-1^"); parent != theirs {
		t.Errorf("the last commit is on top of %s, want %s", parent, theirs)
	}
}

// TestWorkThatMayNotLeaveCanBeTakenByHandAsTheReportSays runs the commands that the
// report shows.
func TestWorkThatMayNotLeaveCanBeTakenByHandAsTheReportSays(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork, "Create `.github/workflows/ci.yml` containing `on: push`", "Create `AGENTS.md` containing `Obey.`")
	s.tick()
	report := s.out
	if !regexp.MustCompile(`(?m)^ +- AGENTS\.md: the path is protected`).MatchString(report) {
		t.Errorf("the second reason has no line of its own:\n%s", report)
	}
	s.checkSaid("1 refused", ".github/workflows/ci.yml: the path is protected (.github/**)")
	if s.hub.Head("symphony/GH-1") != "" || len(s.hub.Pulls()) != 0 || len(s.hub.Issue(1).Labels) != 1 {
		t.Errorf("something was published or handed over: %v, %+v, %+v", s.hub.Branches(), s.hub.Pulls(), s.hub.Issue(1))
	}
	where := regexp.MustCompile(`not published: (\S+) keeps it`).FindStringSubmatch(oneSpaced(report))
	commands := regexp.MustCompile(`(?m)^ +(git .*)$`).FindAllStringSubmatch(report, -1)
	if where == nil || len(commands) != 3 {
		t.Fatalf("the report names no folder, or not three commands:\n%s", report)
	}
	clone := t.TempDir()
	run := func(command string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = clone, append(os.Environ(), s.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	run("git clone --quiet " + s.hub.Git("rev-parse", "--absolute-git-dir") + " .")
	if err := os.CopyFS(clone, os.DirFS(where[1])); err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		run(command[1])
	}
	for name, want := range map[string]string{"cart.go": "package shop\n", ".github/workflows/ci.yml": "on: push\n"} {
		if got, err := os.ReadFile(filepath.Join(clone, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestWorkWithASecretIsNowhereButInTheWorkspaceAndTheReportSaysSo(t *testing.T) {
	t.Parallel()
	s := newShop(t, "Run `echo ghp_0123456789abcdefghijklmnopqrstuvwxyzAB > key`")
	s.tick()
	s.checkSaid("key: line 1 looks like a token", "The work on GH-1 was not published. It is in the workspace alone: files that keep it would hold what looks like a secret.")
	if _, err := os.Stat(filepath.Join(s.dir, ".symphony", "refused")); !errors.Is(err, fs.ErrNotExist) || len(s.hub.Pulls()) > 0 || s.hub.Head("symphony/GH-1") != "" {
		t.Errorf("the work is elsewhere: %v, %v", err, s.hub.Branches())
	}
}

// TestARepositoryThatCannotBeUsedIsSaidBeforeAnythingStarts has validate and a tick say
// what is wrong with what to do about it, and no issue is charged.
func TestARepositoryThatCannotBeUsedIsSaidBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	setting := func(text string) func(*shop) {
		return func(s *shop) { s.replace("repository: {", "repository: {"+text+", ") }
	}
	for name, test := range map[string]struct {
		spoil func(*shop)
		want  string
	}{
		"no git": {func(s *shop) {
			programs := t.TempDir()
			for _, name := range []string{"bash", "sh"} {
				path, err := exec.LookPath(name)
				if err == nil {
					err = os.Symlink(path, filepath.Join(programs, name))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			s.env = append(s.env, "PATH="+programs)
		}, "git_unusable: executable file not found"},
		"an old git, for paths": {func(s *shop) {
			real, err := exec.LookPath("git")
			if err != nil {
				t.Fatal(err)
			}
			s.write("old/git", "#!/bin/sh\ncase \" $* \" in *' version '*) echo git version 2.35.1; exit;; esac\nexec "+shellQuote(real)+" \"$@\"\n")
			if err := os.Chmod(filepath.Join(s.dir, "old", "git"), 0o755); err != nil {
				t.Fatal(err)
			}
			s.env = append(s.env, "PATH="+filepath.Join(s.dir, "old")+":"+os.Getenv("PATH"))
			setting("paths: [app]")(s)
		}, "git_unusable: repository.paths needs git 2.36.0 or newer, not 2.35.1; install it, or remove the key"},
		"a wrong token":      {setting("token: $CODEX_HOME"), "remote_unauthorized: the token is missing, wrong or expired; correct repository.token"},
		"no such repository": {func(s *shop) { s.replace("/acme/shop}", "/acme/cellar}") }, "remote_not_found: correct repository.url, or give the token access to it"},
		"nobody listens":     {func(s *shop) { s.replace(s.hub.CloneURL(), "http://127.0.0.1:1/acme/shop") }, "remote_unavailable: check the network and the proxy"},
		"no base":            {setting("base: develop"), `base_not_found: it has no branch "develop"; set repository.base to one that it has: main`},
		"no room for ours":   {func(s *shop) { s.hub.Commit("symphony", map[string]string{"README.md": "# Ours\n"}) }, "repository_unsupported: its branch symphony leaves no room for branches below symphony/; rename it, or set repository.branch_prefix"},
		"an empty one":       {func(s *shop) { s.hub.Delete("main") }, "remote_empty: it has no branch yet; push a first commit to it, or correct repository.url"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, sameWork).watched()
			s.env = append(s.env, "CODEX_HOME=/nowhere")
			test.spoil(s)
			for _, args := range [][]string{{"validate"}, {"--once"}} {
				r := s.run(args...)
				told := test.want // by validate
				if args[0] == "--once" {
					_, told, _ = strings.Cut(test.want, ": ") // a report has no category, the log has
				}
				if r.code == 0 || !strings.Contains(oneSpaced(r.stdout), told) || !strings.Contains(r.stderr, test.want) && args[0] == "--once" {
					t.Errorf("symphony %s: exit status %d\n%s\n%s", args[0], r.code, r.stdout, r.stderr)
				}
			}
			if claims := s.claims(); len(claims) > 0 {
				t.Errorf("claims: %+v", claims)
			}
		})
	}
}

// TestAStateOfTheHandOverThatDoesNotExistIsFoundBeforeAnythingStarts has validate and a
// tick name it, and no issue is charged.
func TestAStateOfTheHandOverThatDoesNotExistIsFoundBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork).watched()
	s.hub.PutOn(1, "status:Todo")
	s.replace("kind: github", "kind: github\n  active_states: [Todo]\n  terminal_states: [closed]")
	s.replace("provider: {", `provider: {state_label_prefix: "status:", `)
	s.replace("{remove_label: symphony}", "{state: In Review}")
	for _, args := range [][]string{{"validate"}, {"--once"}} {
		r := s.run(args...)
		if want := `delivery.hand_over.state: there is no label "status:In Review": make it, or write another state: the labels give "Todo"`; r.code != exitUsage ||
			!strings.Contains(oneSpaced(r.stdout+r.stderr), want) {
			t.Errorf("symphony %s: exit status %d\n%s\n%s", args[0], r.code, r.stdout, r.stderr)
		}
	}
	if claims := s.claims(); len(claims) > 0 {
		t.Errorf("claims: %+v", claims)
	}
	s.hub.AddIssue(githubtest.Issue{Title: "Another", Labels: []string{"status:In Review"}})
	s.tick()
	if i := s.hub.Issue(1); !slices.Contains(i.Labels, "status:In Review") || len(s.hub.Pulls()) != 1 {
		t.Errorf("the issue was not handed over: %+v, %+v", i, s.hub.Pulls())
	}
}

func TestAPullRequestThatGitHubTakesAfterTheDeadlineIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork)
	s.hub.AddIssue(githubtest.Issue{Title: "Carts squeak", Body: s.hub.Issue(1).Body, Labels: []string{"symphony"}})
	s.hub.LimitContent(1, 5*time.Minute, false)
	s.tick("--deadline=10s")
	out := oneSpaced(s.out)
	if !strings.Contains(out, "1 completed, 1 failed") || !strings.Contains(out, "GitHub takes no more comments and pull requests of this account for 5m") {
		t.Error(s.out)
	}
	if pulls := s.hub.Pulls(); len(pulls) != 1 {
		t.Errorf("pull requests: %+v", pulls)
	}
}
