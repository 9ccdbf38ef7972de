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

// guardRow is a line of the table of what a guarded agent can and cannot do.
type guardRow struct {
	what, can, why string
	proof          []string // tests of this package, or of a package of proofs
}

// proofs lists the files whose tests prove rows: the red team of this package, and tests
// of the whole program, of the trackers' tools and of the files of a fleet.
var proofs = []string{"../runner/attempt/verify_test.go", "../runner/attempt/second_look_test.go", "../runner/attempt/host_sockets_test.go", "../runner/attempt/denied_codex_test.go", "../runner/attempt/repository_codex_test.go", "../runner/room/sockets_test.go", "../runner/delivery/unseen_test.go", "../runner/publish/publish_test.go", "../workspace/git/*_test.go", "*_test.go", "../cmd/symphony/guard_*_test.go", "../tracker/github/*_test.go", "../tracker/linear/*_test.go", "../tracker/file/*_test.go", "../runner/pictures/*_test.go", "../runner/fleet/*_test.go", "../runner/worker/*_test.go"}

// guardRows returns the rows of the table.
func guardRows() []guardRow {
	return []guardRow{
		{"read and write its workspace, run programs there", "yes", "it is what the agent is for", []string{"TestAGuardedAgentCanDoItsWork"}},
		{"commit, branch, delete with `rm -rf`", "yes", "`.git` is writable; what Codex still asks about runs inside the sandbox, so the answer is yes", []string{"TestAGuardedAgentCanDoItsWork"}},
		{"write temporary files", "in `$TMPDIR`, and on Linux in `/tmp`", "the session has folders of its own, removed with it. One of them lies over `/tmp`: of this machine's, which belongs to everybody, commands see the entries alone in which there is something that their sandbox, PATH or variables name, read-only. Where Codex does not start its sandbox by the `bwrap` on the PATH, `/tmp` is that of the machine, read-only", []string{"TestAGuardedAgentCanDoItsWork", "TestRaid/WritesTheSharedTemporaryFolder", "TestRaid/ReadsTheSharedTemporaryFolder", "TestRaid/PlantsLinksInItsOwnTmp", "TestRaid/ChangesTheNotesOfCodex"}},
		{"read the rest of the disk", "yes", "compilers and libraries are there; so keep no secrets in files that the next rows do not name, or name them in `codex.deny`", nil},
		{"read the Codex home, its own or another issue's", "no", "logins and the conversations of other issues are there", []string{"TestRaid/ReadsTheCodexHome", "TestRaid/ReadsTheHomeOfAnotherIssue"}},
		{"read other issues' workspaces, the event logs, the state, what the shards of a fleet exchange", "no", "the folders that hold them are denied whole, so also what is made there later; a state file is denied alone where its folder holds WORKFLOW.md or the home as well, and a command that runs while it is saved can then read it", []string{"TestRaid/ReadsASiblingWorkspace", "TestRaid/ReadsTheState", "TestRaid/ReadsAnEventLog", "TestRaidReadsWhatOtherSessionsMakeMeanwhile", "TestRaidHasCodexReadThroughALink", "TestRaid/HasCodexShowAnImage"}},
		{"read the places below, and those of `codex.deny`", "no", "people, programs and runners keep keys there; a single file that is made, or replaced by another one, while a command runs can be read by that command: what is in a denied folder cannot, so name the folder in `codex.deny`", []string{"TestRaidReadsAPlaceWhereKeysAreKept", "TestRaidReadsWhatCodexDenyNames", "TestRaid/ReadsWhatIsMadeLater", "TestRaidReadsADeniedPathThatIsAPatternForCodex"}},
		{"see secrets in its environment", "no", "children get an allowlist and what `codex.env` names; secrets are removed last, after the login profile too", []string{"TestRaid/BringsBackASecretByTheLoginProfile"}},
		{"read the environment of this program from `/proc`", "no", "the sandbox has processes of its own; outside it, this program is not dumpable (Linux), which the superuser can read all the same", []string{"TestRaid/ReadsTheEnvironmentOfTheRunner"}},
		{"change `.git/hooks`, `.git/config` or where git looks for them, or replace `.git`", "no", "the next git outside the sandbox would run what is named there", []string{"TestRaid/InstallsAGitHook", "TestRaid/ReplacesTheHooksFolder", "TestRaid/ChangesTheGitConfiguration", "TestRaid/MakesGitReadAnotherConfiguration", "TestRaid/ReplacesTheRepository", "TestRaidLeavesTrapsForTheHost"}},
		{"have the git of a hook run its programs", "in the sandbox alone with `repository`; else yes, if the hook lets it", "with `repository` hooks run in the sandbox, unless WORKFLOW.md says `hooks.trusted`. Otherwise they run outside, on what the agent left: git runs what is in a folder of the work that `core.hooksPath` names, as husky does, and what the configuration of a repository inside the work names. So let such hooks fetch and push and nothing else, with `-c core.hooksPath=/dev/null` and `--no-recurse-submodules`", []string{"TestRaidIsRunByTheGitOfASandboxedHook", "TestRaidIsRunByTheGitOfAHook"}},
		{"have this program's git obey what it made: configuration, hooks, filters, links, refs, other repositories", "no", "with `repository`, no git of the host runs in a workspace: the work is packed inside the sandbox and read as a stream into a repository that no agent can reach; each session begins with a new `.git`", []string{"TestRaidLeavesAHostileRepository", "TestRaidDeliversFromCodexsSandbox", "TestAProgramOfAnAgentIsNotTakenForGit", "TestRaidWaitsInAWorkspaceOfAnOlderVersion"}},
		{"notify people, start bots or close other issues by the text of its pull request", "no", "mentions, commands, closing words, hidden comments and images are defused; the lines that close the issue and mark the pull request are the program's", []string{"TestRaidWritesThePullRequest"}},
		{"take the token for the repository, or read the repository of the host", "no", "the token is in the environment of the host's git, and in requests to the server of Git LFS of that repository, alone; the folder of that repository is denied; what the agent fetches and pushes itself goes nowhere, as it has no network", []string{"TestRaidDeliversFromCodexsSandbox"}},
		{"choose by its branch where this program fetches from", "no", "with `repository.submodules`, the addresses in `.gitmodules` count as the base branch has them, and the token goes to the host of `repository.url` alone", []string{"TestABranchNeitherAddsNorRedirectsAFetch", "TestTheTokenGoesToTheHostOfTheRepositoryAlone"}},
		{"move a branch or tag that is not its issue's", "no", "with `delivery`, the repository, the base and the branch come from WORKFLOW.md and the issue; a commit is pushed, never what a ref of the agent names, and only if the branch is where this program saw it last", []string{"TestRaidLeavesAHostileRepository", "TestRaidDeliversIntoTheRepositoryOfAPerson"}},
		{"deliver workflows, or files that servers, tools and other agents obey", "no", "the work is compared with the base by its files, whatever its history says, and by names as the least careful file system reads them, and as the links of the base branch name them; work on an older base than the session's is refused. `delivery.protected` changes the list", []string{"TestRaidDeliversWhatMustNotLeave", "TestCodexWorksInARepositoryThatHasItsSettings"}},
		{"hide from a reviewer what it delivers, by characters, blanks or a head that is not true", "it is delivered and named", "the pull request names each place with new characters that are invisible or turn the direction of writing, with text behind 200 blanks, and each file that GitHub folds", []string{"TestWhatAReviewerDoesNotSeeIsMarked", "TestAnyNewHiddenCharacterIsMarked"}},
		{"have the second look at its work write, or talk it into silence", "it cannot write; it can be talked to", "with `delivery.review` the reviewer's commands cannot write the work, which is tried before each look, and the host's tools are refused. It reads what strangers and the agent wrote, so a text there can mislead it: it only ever sends work back or adds words to the pull request, and lets nothing pass that `delivery.verify` or a rule of the delivery holds back", []string{"TestAReviewReadsTheWorkDuringATurn", "TestADefectThatTheSecondLookFindsIsNotDelivered"}},
		{"have the check of its work pass by something that is not delivered", "no", "with `delivery.verify` the check runs on a clean checkout of the commit, in a folder that the agent can neither read nor write; hooks prepare it, those that run outside the sandbox on the base alone. What the commit itself does to the check is for its reviewers to see", []string{"TestTheCheckSeesTheWorkAlone", "TestTheHooksPrepareTheCheck"}},
		{"deliver a secret of the run, or what looks like a token or a private key", "no, as far as it can be recognized", "files, names and links are searched, in plain text, base64, hex and the forms of URLs and JSON, also in broken lines and in dumps; tokens of a hundred issuers are known by their format. A secret that is encoded otherwise, or in pieces, is not found: no agent has one to begin with", []string{"TestRaidDeliversWhatMustNotLeave", "TestSecretsInTheHistoryLeaveWithTheHistoryOnly"}},
		{"bring something else than its own files into Git LFS, or out of it", "no", "with `repository.lfs` the host downloads what commits of the remote name, and uploads what it has compared with the agent's pointer and searched for secrets; ids of objects are hexadecimal digits, and the links that an agent makes are not followed", []string{"TestHostileObjectsOfGitLFSAreRefused", "TestTheTokenReachesNoOtherHostOfGitLFS"}},
		{"deliver objects that harm who takes them: broken ones, links that leave, names that are one on other systems, or more than the limits", "no", "`git index-pack --strict` and the policy look at them in a quarantine with bounds; refused work is kept as files, unless it holds a secret", []string{"TestRaidDeliversWhatMustNotLeave"}},
		{"write another workspace, the state, an event log, also through links", "no", "only the workspace and `$TMPDIR` are writable; this program follows no link there, and removes those in `.git` before a hook. A hook's own commands follow the others", []string{"TestRaid/WritesIntoASiblingWorkspace", "TestRaid/WritesTheState", "TestRaid/WritesTheEventLog", "TestRaid/WritesThroughASymlinkFarm", "TestRaidLeavesTrapsForTheHost"}},
		{"change the conversation that a later session resumes", "no", "it is in the Codex home; between the shards of a fleet it travels encrypted, bound to its issue",
			[]string{"TestRaid/PoisonsTheRollout", "TestAThreadThatCannotBeOpenedIsReportedAndSkipped"}},
		{"speak, as a shard of a fleet, for the issues of others", "no, even if it can write the result", "a result is looked for where its shard belongs, decoded strictly, bounded, and refused " +
			"if it is of another shard or about an issue that the plan did not give to it; no link in it is followed",
			[]string{"TestAHostileFolderOfAShardDoesNotHarmOtherShards", "TestAResultAboutIssuesOfAnotherShardIsRefused"}},
		{"change what bash runs before each of its commands", "no", "the file is the program's, and read-only inside the sandbox", []string{"TestRaid/ChangesWhatBashReadsFirst"}},
		{"reach its own loopback", "yes, on Linux, with `sandbox.loopback`", "tests start servers; each command has a network of its own, and nothing starts before this is tried: no other interface, a port of this program is refused, and the thread has the feature that separates networks", []string{"TestAGuardedAgentCanDoItsWork", "TestALoopbackThatIsNotClosedIsRefused"}},
		{"open Unix sockets", "its own, with `sandbox.unix_sockets`", "Codex then opens those of the machine too: `/tmp`, `/run` and the sockets that a search finds when the session starts are denied, and before the first turn this is tried with a socket of this program. One that is made later in a folder that the agent can read, or that belongs to a container, is reached", []string{"TestRaidConnectsToUnixSocketsOfTheMachine", "TestRaidSearchesForSocketsOfTheMachine", "TestUnixSocketsOfTheMachineThatAreNotClosedAreRefused", "TestRaidAsksTheProxyOfCodexForAUnixSocket", "TestABindMountHasItsSocketsDenied"}},
		{"reach the network, or services of this machine", "no; without a loopback, except datagram sockets whose path it can read", "what it reads cannot be sent away; `/run`, where the machine keeps its sockets, is denied; tools of the tracker run outside, with their own limits", []string{"TestRaid/ReachesTheNetwork", "TestRaid/ReachesThisMachineByEveryNetwork", "TestRaid/AsksTheProxyOfCodex", "TestRaid/SendsToASocketOfTheMachine", "TestRaid/SendsToADeniedSocketOfTheMachine", "TestRaidSendsToASocketWithoutALoopback"}},
		{"reach hosts outside", "those that `codex.network` names, none by default", "each request goes through a proxy of this program, whose only listener is in the network of that command; it knows the host by its name and passes GET, HEAD and OPTIONS alone, without a body; no address, no other host inside a connection, none of the networks of hooks; what stands in a path or a header passes", []string{"TestATurnReachesTheHostsOfItsNetwork", "TestRaidLeavesItsAllowedHosts", "TestRaidUsesTheNetworkOfAProgram", "TestRaidAsksForADoor", "TestRaidLooksForThePipesOfItsDoor"}},
		{"reach services of this machine that are named", "those of the key `services`, none by default", "this program passes bytes between a listener in the network of each command and one port of the loopback outside, on at most 64 connections that end with the command; no other port is reached, and no command of a review reaches any. What the service lets a client on loopback do, the agent can do", []string{"TestCommandsReachTheServices", "TestRaidUsesTheBridgeToAService", "TestAReviewReachesNoService"}},
		{"take the key by which that proxy reads encrypted requests, or change the certificates of clients", "no", "the key is in the memory of this program alone; commands have a copy of the certificate, which is read-only", []string{"TestRaidTakesTheKeyOfTheProxy"}},
		{"be given an issue that a stranger wrote or edited, by GitHub", "no", "its author and editors must have write access, or somebody who has vouches for it with the label `trust_label`; GitHub is asked in every poll; `trust: anyone` switches this off", []string{"TestWhoseIssuesMayBeWorkedOn", "TestAWriterWhoLosesAccessIsNoLongerTrustedAtTheNextPoll"}},
		{"be given an issue that a stranger wrote or edited, by Linear", "yes", "there is no such gate: whoever can write in the project counts, guests, integrations and forms included; `tracker.required_labels` keeps issues back until somebody labels them", nil},
		{"read comments of strangers, by either tool", "yes", "they are text: the samples' prompts say what they are", nil},
		{"be told what to do by comments, reviews and commands of strangers", "no, where GitHub's comments count", "only people with write access count, and the bots of `feedback.bots`; the rest is neither shown nor obeyed, also while a session works. What counts is data: without invisible characters, bounded, and in quotations that no line of it can leave", []string{"TestRaidSpeaksAsAStranger"}},
		{"be told what to do, or have a report or a comment forged, by the names of people, files and checks", "no", "a name is one line, bounded, without hidden characters and without markup of a page or a job", []string{"TestRaidNamesPeopleFilesAndChecks"}},
		{"be told what to do by text in a picture of an issue or a comment", "as by the text around it", "the same people decide about both; the prompt says that it is data", nil},
		{"have this program fetch from a host, or decode anything, by the picture of an issue or a comment", "no", "the tracker's own hosts alone are asked, without a credential and without redirects; size, pixels and format are bounded before anything is decoded", []string{"TestUploadedPicturesAreReadBySignedAddresses", "TestFilesAreReadBySignedAddresses", "TestPicturesAreRegularFilesInTheFolder", "TestOnlyWholePicturesOfBoundedSizeAreTaken"}},
		{"answer or resolve a thread that it was not given", "no", "`reply` takes the numbers of its items alone, and no other tool reaches threads of other pull requests or resolves any", []string{"TestRaidAnswersThreadsOfOthers"}},
		{"speak as a person in the folder of issues of the file tracker, or give itself an issue there", "no", "the sandbox lets it write into its own workspace, and a folder of issues in `workspace.root` is refused; so is a delivery that changes the folder of issues in the repository", []string{"TestRaidWritesIntoTheFolderOfIssues", "TestTheWorkflowInUseIsNotDelivered"}},
		{"change WORKFLOW.md", "no", "the program reads its own, outside of the workspaces, and a delivery that changes one, or the file in use by another name, is refused", []string{"TestTheWorkflowInUseIsNotDelivered"}},
		{"answer its own question, give commands or hide who speaks, by what it posts", "no, with one account for the tracker and the delivery", "what the account of the token wrote never counts; commands, mentions and hidden parts are defused, a question stands in a quotation, and the program's comments are not the agent's to edit", []string{"TestRaidAnswersItselfAndGivesOrders"}},
		{"post a secret of the run by a tool", "no, as far as it can be recognized", "a call of a tracker's tool that holds one is refused; in answers and questions it is hidden, also when only the harmless text shows it", []string{"TestRaidAnswersItselfAndGivesOrders"}},
		{"write to another issue, to a pull request, a branch or a comment of somebody else, by GitHub's tools", "no", "`github_api` only reads. `issue_update` takes no number: it adds comments to the issue of the session, writes one note there, moves it, and changes the labels of `tracker.provider.tool_labels`", []string{"TestTheToolWritesNothing", "TestNoUpdateReachesWhatIsNotTheSessions", "TestWhatIsNotTheAgentsIsRefusedWithoutARequest"}},
		{"notify people, start bots or close other issues by what it posts with `issue_update`", "no", "mentions, commands and closing words are defused before they are sent", []string{"TestWhatTheAgentPostsCommandsAndNotifiesNobody"}},
		{"vouch for the text of a stranger with the label of trust", "no", "it may put on labels of `tool_labels` alone, never that one, also not as the label of a state", []string{"TestWhatIsNotTheAgentsIsRefusedWithoutARequest"}},
		{"read another repository, settings or secrets by `github_api`", "no", "only what a table allows is sent (`tracker/github/read_tool.go`), by GET; the credential stays on the host", []string{"TestTheToolRefusesWithoutARequest", "TestTheToolReadsNoSettings", "TestTheToolReachesNoOtherRepository"}},
		{"read and change, by `linear_graphql`, issues and content of every team that the key can see", "yes", "a key has no scope by project: give it one of an account that sees what the agent may", nil},
		{"administer Linear by `linear_graphql`: people, access, keys, webhooks, integrations, settings", "no", "each mutation of Linear's schema is sorted into content and administration, and an unknown one is refused; so are fields that hold secrets", []string{"TestAdministrationIsRefusedWithoutARequest", "TestOfEveryRefusedMutationTheToolSendsNothing", "TestEveryMutationOfLinearIsSentOrRefused", "TestEveryFieldThatLeadsToASecretIsRefused", "TestWhatIsSentIsWhatWasJudged"}},
		{"have more rights in an app-server that runs already", "no, but it reads `/tmp`", "with `codex.endpoint` the server must show that it is on this machine; the session gives it the permission profile under a name of its own, leaves its commands none of its variables, and takes both back; no command reaches the server", []string{"TestRaidOnAServerThatRunsAlready", "TestAServerThatIsNotOursIsRefused", "TestAServerThatRunsAlready"}},
		{"have more rights on a worker host", "no", "with `worker.ssh_hosts` the same program makes the same session there, with the same checks before the first turn: the places of keys and the files of this program are those of the host. No credential goes there but the key of the model, in memory", []string{"TestRaidOnAWorkerHost"}},
		{"leave the sandbox by asking", "no", "Codex refuses by itself; nothing it asks is ever answered with a rule to remember", []string{"TestRaid/Escalates", "TestRaid/IsNotRememberedAsARule"}},
		{"be configured by the repository's `.codex`", "no", "its servers would run without a sandbox: the sandbox goes with each turn, and Codex never comes to trust the repository", []string{"TestRaid/BringsItsOwnCodexConfiguration"}},
		{"be instructed by the repository's `AGENTS.md`", "yes", "instructions are text: they change what the agent tries, not what it can", []string{"TestRaid/GoesByTheInstructionsOfTheRepository"}},
		{"leave processes behind", "no", "the process tree is killed before `after_run`", []string{"TestRaidSurvivesTheSession"}},
		{"block or flood this program, or its hooks", "no", "this program opens no file of the workspace, and removes named pipes before a hook; output is bounded and never a line of its own", []string{"TestRaidLeavesAFIFOToReadFrom", "TestRaidHoldsItsDoor", "TestRaid/FloodsAndShoutsAtTheRunner", "TestRaidLeavesTrapsForTheHost"}},
		{"take all processes, open files or memory of the machine", "no, within its bounds", "`codex.max_processes`, which does not bind the superuser, `codex.max_open_files` and `codex.max_memory_mb`; when memory is out the kernel ends processes of sessions first (Linux). The disk has no bound", []string{"TestRaidTakesTheMachine"}},
	}
}

// guardTable returns the rows as a Markdown table.
func guardTable() string {
	var b strings.Builder
	b.WriteString("| the agent can | | because | proved by |\n|---|---|---|---|\n")
	for _, r := range guardRows() {
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
	var files []string
	for _, pattern := range proofs {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
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
	tests["TestRaid"] = false
	for _, r := range raids(newTestbed(t, plainModel)) {
		tests["TestRaid/"+r.name] = true
	}
	for _, r := range guardRows() {
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
	if os.Getenv("UPDATE_README") != "" { // .github/SECURITY.md takes it from there
		if err := os.WriteFile("testdata/guard.md", []byte(guardTable()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), guardTable()); diff != "" {
		t.Errorf("testdata/guard.md (-have +want):\n%s", diff)
	}
}
