package codex_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is a line of the table of what a guarded agent can and cannot do.
type row struct {
	what, can, why string
	proof          []string // tests of this package
}

func guard() []row {
	return []row{
		{"read and write its workspace, run programs there", "yes", "it is what the agent is for", []string{"TestAGuardedAgentCanDoItsWork"}},
		{"commit, branch, delete with `rm -rf`", "yes", "`.git` is writable; what Codex still asks about runs inside the sandbox, so the answer is yes", []string{"TestAGuardedAgentCanDoItsWork"}},
		{"write temporary files", "in `$TMPDIR`", "the session has a folder of its own, removed with it; `/tmp` belongs to everybody and is read-only", []string{"TestAGuardedAgentCanDoItsWork", "TestRaidWritesTheSharedTemporaryFolder"}},
		{"read the rest of the disk", "yes", "compilers and libraries are there; so keep no secrets in files that the next rows do not name", nil},
		{"read the Codex home, its own or another issue's", "no", "logins and the conversations of other issues are there", []string{"TestRaidReadsTheCodexHome", "TestRaidReadsTheHomeOfAnotherIssue"}},
		{"read `~/.ssh`, `~/.gnupg`, `~/.aws`, `~/.azure`, `~/.kube`, `~/.docker`, `~/.config/gcloud`, `~/.config/gh`, `~/.netrc`, `~/.git-credentials`", "no", "people's keys", []string{"TestRaidReadsTheKeysOfTheUser"}},
		{"see secrets in its environment", "no", "children get an allowlist and what `codex.env` names; secrets are removed last, after the login profile too", []string{"TestRaidBringsBackASecretByTheLoginProfile"}},
		{"read the environment of this program from `/proc`", "no", "the sandbox has processes of its own; outside it, this program is not dumpable (Linux)", []string{"TestRaidReadsTheEnvironmentOfTheRunner"}},
		{"change `.git/hooks`, `.git/config` or where git looks for them, or replace `.git`", "no", "the next git outside the sandbox would run what is named there", []string{"TestRaidInstallsAGitHook", "TestRaidReplacesTheHooksFolder", "TestRaidChangesTheGitConfiguration", "TestRaidMakesGitReadAnotherConfiguration", "TestRaidReplacesTheRepository"}},
		{"write another workspace, the state, an event log, also through links", "no", "only the workspace and `$TMPDIR` are writable", []string{"TestRaidWritesIntoASiblingWorkspace", "TestRaidWritesTheState", "TestRaidWritesTheEventLog", "TestRaidWritesThroughASymlinkFarm"}},
		{"change the conversation that a later session resumes", "no", "it is in the Codex home", []string{"TestRaidPoisonsTheRollout"}},
		{"reach the network, or services of this machine", "no", "what it reads cannot be sent away; tools of the tracker run outside, with their own limits", []string{"TestRaidReachesTheNetwork", "TestRaidReachesLoopback"}},
		{"leave the sandbox by asking", "no", "Codex refuses by itself; nothing it asks is ever answered with a rule to remember", []string{"TestRaidEscalates", "TestRaidIsNotRememberedAsARule"}},
		{"be configured by the repository's `.codex`", "no", "its servers would run without a sandbox: the sandbox goes with each turn, and Codex never comes to trust the repository", []string{"TestRaidBringsItsOwnCodexConfiguration"}},
		{"be instructed by the repository's `AGENTS.md`", "yes", "instructions are text: they change what the agent tries, not what it can", []string{"TestRaidGoesByTheInstructionsOfTheRepository"}},
		{"leave processes behind", "no", "the process tree is killed before `after_run`", []string{"TestRaidSurvivesTheSession"}},
		{"block or flood this program", "no", "files of the workspace are not opened; output is bounded and never a line of its own", []string{"TestRaidLeavesAFIFOToReadFrom", "TestRaidFloodsAndShoutsAtTheRunner"}},
	}
}

// table is the guard as Markdown, for people.
func table() string {
	var b strings.Builder
	b.WriteString("| the agent can | | because | proved by |\n|---|---|---|---|\n")
	for _, r := range guard() {
		var proof []string
		for _, name := range r.proof {
			proof = append(proof, "`"+name+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.can, r.why, strings.Join(proof, ", "))
	}
	return b.String()
}

func TestTheTableOfTheGuardIsProvedByTheTests(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = strings.HasPrefix(f.Name.Name, "TestRaid")
			}
		}
	}
	for _, r := range guard() {
		for _, name := range r.proof {
			if _, there := tests[name]; !there {
				t.Errorf("%q is proved by %s, which does not exist", r.what, name)
			}
			tests[name] = false
		}
	}
	for name, unnamed := range tests {
		if unnamed {
			t.Errorf("%s proves no row of the table", name)
		}
	}
	want, err := os.ReadFile("testdata/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table()); diff != "" {
		t.Errorf("testdata/guard.md (-have +want):\n%s", diff)
	}
}
