package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// conformance are the rows of the specification's section 17 that tests have to
// show, with those of its extension for worker hosts (§6.4, §8.3 and Appendix A), and where they are shown: a test as folder.Name, a check of the tracker
// conformance suite as internal/trackertest.Name (TestTheAdapterConforms of each
// adapter runs it), a script or a scenario as its path.
var conformance = []struct {
	section string
	row     string
	shownBy []string
}{
	{"6.4", "worker.ssh_hosts is an optional list of hosts as ssh takes them; without it work runs on this machine", []string{
		"runner/workflow.TestWorkerHostsTakeThePlaceOfThisMachine", "runner/workflow.TestWorkerHostsThatCannotBeUsedAreRefused",
		"cmd/symphony.TestATickOnWorkerHostsNeedsNothingHere", "cmd/symphony.TestAFleetHasNoWorkerHosts",
	}},
	{"6.4", "worker.max_concurrent_agents_per_host is an optional positive integer", []string{
		"runner/workflow.TestWorkerHostsTakeThePlaceOfThisMachine", "runner/workflow.TestAValueThatIsNoIntegerInRangeIsAProblem",
	}},
	{"8.3", "each host runs at most worker.max_concurrent_agents_per_host agents at once; a host at that cap is skipped", []string{
		"testdata/plan/worker-hosts.txtar", "runner/schedule.TestADispatchIsToTheRightHost", "runner/schedule.TestPlanStartsWhatTheSpecificationSays",
	}},
	{"A", "the host of the last attempt goes first, then the one with the fewest sessions; when all are taken an issue waits, and nothing runs on this machine", []string{
		"testdata/plan/worker-hosts.txtar", "runner/schedule.TestADispatchIsToTheRightHost",
	}},
	{"A", "a host that fails is told apart from an issue that fails: it is left alone for a time, and its issues start elsewhere without a charge", []string{
		"testdata/plan/worker-host-lost.txtar", "runner/schedule.TestALostHostChargesNothing", "runner.TestASessionGoesOnAtAnotherHostWhenItsOwnIsLost",
	}},
	{"A", "two agents never work on one issue, also when a host is cut off", []string{
		"runner/schedule.TestClaimsSurviveAnySequenceOfEvents", "testdata/plan/worker-host-lost.txtar",
	}},
	{"A", "the app-server runs on the host, over ssh, and setup, hooks, check, delivery and conversation are as here", []string{
		"cmd/symphony.TestIssuesAreWorkedOnByHosts", "runner/worker.TestAHostIsReachedBySSH", "runner/worker.TestASessionOnAHostDeliversItsWork",
		"runner/worker.TestTheHooksOfAHostRunThere", "runner/worker.TestConversationsReachTheSession", "runner/worker.TestTheEventLogIsTheSame",
	}},
	{"A", "the posture is that of this machine, and checked on the host; nothing secret goes there but the key of the model", []string{
		"runner/worker.TestRaidOnAWorkerHost", "runner/worker.TestAHostIsTestedWithoutAnIssue", "runner/worker/ssh.TestNoSettingOfSSHSendsMore",
	}},
	{"A", "a connection that is lost in any phase loses and doubles nothing, and leaves nothing on the host", []string{
		"runner/worker.TestALostHostCostsNothing", "runner/worker.TestAHostThatDiesIsLeft", "cmd/symphony.TestIssuesAreWorkedOnByHosts",
	}},
	{"A", "workspace.root is a folder on the host", []string{
		"runner/worker.TestTheHooksOfAHostRunThere", "runner/worker.TestPathsThatTheHostDoesNotKnowAreNamed",
		"runner/workflow.TestWorkerHostsTakeThePlaceOfThisMachine", "cmd/symphony.TestTheRoomOfAnIssueOnAWorkerHostIsThere",
	}},
	{"A", "workspaces are cleaned up on the hosts that have them", []string{
		"cmd/symphony.TestIssuesAreWorkedOnByHosts",
		"runner.TestWorkspacesOfFinishedIssuesAreRemovedFromAllHostsAtStart", "runner.TestASessionGoesOnAtAnotherHostWhenItsOwnIsLost",
		"runner.TestOnlyHostsOfTheWorkflowAreAskedToRemoveAWorkspace",
	}},
	{"A", "people see which host a session has, and what is wrong with a host", []string{
		"runner/report.TestTheReportNamesWorkerHosts", "runner/statuspage.TestThePagesNameTheWorkerHostOfASession",
		"runner/terminal.TestAFrameNamesTheWorkerHostOfASession", "cmd/symphony.TestValidateTriesEachWorkerHost",
	}},

	{"17.1", "an explicit workflow path wins; without one it is WORKFLOW.md of the working directory", []string{
		"testdata/script/paths.txt",
	}},
	{"17.1", "a changed file is applied without a restart; a bad change keeps the last good settings and is shown", []string{
		"runner.TestAServiceKeepsPollingAndPicksUpChanges", "runner.TestABadEditOfTheWorkflowBlocksDispatchAndKeepsReconciling",
		"runner/workflow.TestASourceKeepsTheLastGoodWorkflow", "runner/workflow.TestASourceNoticesAnEditOfTheSameSizeAndTime",
	}},
	{"17.1", "a missing file, invalid YAML and front matter that is no map have a typed error each", []string{
		"runner/workflow.TestAFileThatCannotBeReadIsMissing", "runner/workflow.TestABrokenFileNamesTheLineAndWhatToDo", "testdata/script/usage.txt",
	}},
	{"17.1", "defaults apply; an unknown tracker kind is refused; the adapter's keys are kept, and checked by the adapter", []string{
		"runner/workflow.TestAMinimalWorkflowHasTheDefaults", "runner/workflow.TestTheKindMustBeAKnownOne",
		"runner/workflow.TestTrackerSettingsComeFromBothPlacesAndTheEnvironment", "tracker/linear.TestAWrongSettingIsNamedAndTheKeyIsNotShown",
		"tracker/github.TestWrongSettingsAreRefusedWithWhatIsAllowed", "tracker/file.TestAWrongSettingIsNamedWithWhatIsAllowed", "runner/workflow.TestEveryWrongTrackerSettingIsAProblemOfTheFile",
	}},
	{"17.1", "$NAME is resolved in secrets and paths, ~ in paths; codex.command stays a shell string", []string{
		"runner/workflow.TestAPathBecomesAbsolute", "runner/workflow.TestTrackerSettingsComeFromBothPlacesAndTheEnvironment",
		"runner/workflow.TestCommandsAndScriptsAreNotExpanded",
	}},
	{"17.1", "limits per state compare normalized names and drop invalid values", []string{
		"runner/workflow.TestInvalidLimitsOfStatesAreIgnoredWithAWarning", "testdata/plan/per-state-slots.txtar",
	}},
	{"17.1", "the prompt renders issue and attempt, and fails on unknown names", []string{
		"runner/prompt.TestRender", "runner/prompt.TestAnUnknownNameOrFilterFailsWhereverItStands",
		"runner/attempt.TestThePromptIsTheTemplateForTheIssueAndTheAttempt",
	}},

	{"17.2", "an issue has the same path each time: made when missing, used again when there", []string{
		"workspace.TestAWorkspaceIsMadeOnceAndReused",
	}},
	{"17.2", "anything but a directory in its place is handled safely", []string{
		"workspace.TestOnlyARealFolderIsAWorkspace", "workspace.TestStartRefusesAForgedOrMissingWorkspace",
	}},
	{"17.2", "errors of populating a workspace are shown", []string{
		"workspace.TestTheErrorOfAHookHasItsNameStatusAndOutput", "workspace.TestAFailedAfterCreateLeavesNoWorkspace",
	}},
	{"17.2", "after_create runs for a new workspace alone", []string{
		"workspace.TestAWorkspaceIsMadeOnceAndReused",
	}},
	{"17.2", "before_run runs before each attempt, and its failure ends the attempt", []string{
		"runner/attempt.TestHooksRunInOrderAndAfterRunWhenTheAgentIsDead", "runner/attempt.TestAHookThatFailsBeforeTheAgentIsStarted",
	}},
	{"17.2", "after_run runs after each attempt; its failure is logged and ends nothing", []string{
		"runner/attempt.TestAStoppedSessionIsNotOverBeforeAfterRunIs", "runner/attempt.TestAFailureOfAfterRunChangesNoOutcomeAndIsReported",
	}},
	{"17.2", "before_remove runs before a removal; its failure is logged and ends nothing", []string{
		"workspace.TestRemoveDeletesTheWorkspaceAndFollowsNoLink",
	}},
	{"17.2", "keys are sanitised, stable and free of collisions", []string{
		"workspace.TestAnIdentifierThatIsAFileNameIsItsOwnKey", "workspace.TestAnIdentifierThatIsNotAFileNameGetsItsHash",
		"workspace.TestIssuesNeverShareAFolder",
	}},
	{"17.2", "the workspace is checked to be under the root before a launch, and is the agent's working directory", []string{
		"workspace.TestStartRefusesARootThatWasReplaced", "workspace.TestAnAgentIsAConnectionThatEndsWithItsInput",
		"codex.TestTheHandshakeSaysWhatTheSpecificationAsks",
	}},

	{"17.3", "candidates are listed by active states and scope; empty lists of states or ids ask nothing; order is kept over pages", []string{
		"internal/trackertest.StatesMatchWhateverTheirCaseAndOuterSpace", "internal/trackertest.NothingAskedIsAnsweredWithoutARequest",
		"internal/trackertest.AListKeepsTheTrackersOrderOverPages", "tracker/linear.TestWhatIsArchivedTrashedOrElsewhereIsNotVisible",
	}},
	{"17.3", "labels are lower case; optional fields that cannot be used become null", []string{
		"internal/trackertest.IssuesAreNormalized", "tracker/linear.TestEveryFieldIsNormalized", "tracker/github.TestAnIssueIsNormalized",
		"tracker/file.TestAnIssueIsReadFromItsFile",
	}},
	{"17.3", "a malformed record is logged and left out of a list, and fails a read by id", []string{
		"internal/trackertest.AMalformedRecordIsDroppedFromAListWithAWarning", "internal/trackertest.MalformedRecordsFailAReadByIDThatNamesThem",
	}},
	{"17.3", "a refresh by id gives whole issues, with the provider's ids in native_ref and its rules as dispatchable", []string{
		"internal/trackertest.IssuesAreReadInTheOrderAskedEachOnce", "internal/trackertest.IssuesAreNormalized", "tracker/linear.TestEveryFieldIsNormalized",
		"tracker/github.TestWhoseIssuesMayBeWorkedOn", "tracker/linear.TestAnAssigneeNarrowsWhatIsListedAndWhatMayBeWorkedOn",
	}},
	{"17.3", "each adapter publishes its profile", []string{
		"cmd/symphony.TestEveryTrackerPublishesItsProfile", "cmd/symphony.TestTheProfilesNameTheirToolsWithSchemaAndResult",
	}},
	{"17.3", "every error has a category", []string{
		"internal/trackertest.ARefusalFailsEveryRead", "internal/trackertest.AFailureMidwayGivesNothing", "tracker/linear.TestWhatIsNoResultIsAnError",
		"tracker/github.TestARefusalNamesTheSettingToChange", "tracker/github.TestARateLimitSaysHowLongToWait",
	}},

	{"17.4", "issues start by priority, then by age", []string{
		"runner/schedule.TestIssuesAreOrderedByUrgencyAgeAndName", "runner/schedule.TestNewIssuesStartInOrder", "testdata/plan/first-dispatch-and-order.txtar",
	}},
	{"17.4", "an issue that is not dispatchable, blocked, or lacks a label is not eligible", []string{
		"runner/schedule.TestAnIneligibleIssueHasAReason", "runner/schedule.TestOnlyAnEligibleFreeIssueIsDispatched", "testdata/plan/blockers.txtar",
	}},
	{"17.4", "a refresh updates the running entry", []string{
		"runner/schedule.TestAClaimStoresTheIssueAsPeopleSeeIt", "testdata/plan/per-state-slots.txtar",
	}},
	{"17.4", "a state that is not active stops the agent and keeps the workspace; a terminal one stops it and removes the workspace", []string{
		"testdata/plan/left-active.txtar", "testdata/plan/terminal-while-running.txtar", "runner.TestAnIssueThatIsDoneStopsItsSessionAndLosesItsWorkspace",
	}},
	{"17.4", "a reconciliation with nothing running does nothing", []string{
		"runner.TestAReconciliationWithNothingRunningAsksAndChangesNothing",
	}},
	{"17.4", "a normal end continues shortly, as attempt 1; another one backs off from 10 s up to the limit", []string{
		"testdata/plan/continuation.txtar", "testdata/plan/retry-backoff-then-parked.txtar", "runner/schedule.TestBackoffFollowsTheFormula",
	}},
	{"17.4", "an entry that waits has its attempt, due time, identifier and error", []string{
		"runner/schedule.TestTheEndOfASessionUpdatesItsClaim", "runner/statuspage.TestTheStateHasEveryFieldOfTheSpecificationAndOurs",
	}},
	{"17.4", "a session that stalls is killed and tried again", []string{
		"testdata/plan/stall.txtar", "runner.TestASilentSessionIsStoppedAndWaits", "runner/attempt.TestAFrozenAgentIsStopped",
	}},
	{"17.4", "that there is no slot is a reason with a name", []string{
		"testdata/plan/per-state-slots.txtar", "testdata/plan/due-while-full-goes-first.txtar",
	}},
	{"17.4", "the snapshot has rows of what runs and waits, totals and rate limits, and says when it is unavailable", []string{
		"runner/statuspage.TestTheStateHasEveryFieldOfTheSpecificationAndOurs", "runner/statuspage.TestASnapshotThatIsNotThereYetIsUnavailableAndNotEmpty",
		"cmd/symphony.TestTheStatusServerShowsWhatRuns",
	}},

	{"17.5", "the agent is started by bash -lc in the workspace", []string{
		"workspace.TestTheShellStillBecomesTheAgentAndKeepsItsExitStatus", "workspace.TestAnAgentIsAConnectionThatEndsWithItsInput",
	}},
	{"17.5", "handshake, identity of the client, and the policy in the messages that start thread and turn", []string{
		"codex.TestTheHandshakeSaysWhatTheSpecificationAsks", "codex.TestTheWorkflowsPolicyGoesWithEveryTurn",
	}},
	{"17.5", "the ids of thread and turn become session_started", []string{
		"codex.TestEventsSayWhereTheyBelong", "codex.TestIDsOfOlderServersAreUnderstood",
	}},
	{"17.5", "requests and turns have their timeouts", []string{
		"codex.TestARequestWithoutAnAnswerTimesOut", "codex.TestATurnHasATotalTimeout",
	}},
	{"17.5", "lines are framed; standard error is apart", []string{
		"codex.TestLinesAreCutAtTheirEnds", "codex.TestTheLastLineNeedsNoLineFeed", "codex.TestALineThatIsNotAMessageIsAnEvent",
		"workspace.TestStderrIsLoggedLineByLine",
	}},
	{"17.5", "approvals, user input and unknown tools are answered by policy, and never hang", []string{
		"codex.TestEveryRequestOfTheProtocolIsAnswered", "codex.TestATurnThatNeedsAPersonFailsWithTheQuestions",
		"codex.TestACallOfAnUnknownToolFailsAndTheSessionContinues",
	}},
	{"17.5", "usage and rate limits are found in every shape and understood", []string{
		"codex.TestUsageIsWhatTheSessionSpent", "codex.TestTokensAreNeitherLostNorCountedTwiceInAnyMixOfReports",
		"codex.TestRateLimitsComeWithTheirEvent", "codex.TestAUsageLimitSaysWhenItEnds",
	}},
	{"17.5", "the adapter's tools alone are advertised; they run on the host with its credential and know the current issue", []string{
		"codex.TestTheHandshakeSaysWhatTheSpecificationAsks", "internal/trackertest.ToolsDescribeThemselves",
		"internal/trackertest.ToolsDoWhatTheyAreAsked", "runner/attempt.TestAnAttemptDoesWhatTheIssueSays",
	}},
	{"17.5", "tools leave no secret in the child, and fail with an answer", []string{
		"workspace.TestSecretsAndTheActionsRuntimeAreKeptFromChildrenEvenWhenNamed", "runner/attempt.TestTheAnswerOfAToolHoldsNoSecret",
		"runner/attempt.TestAFailedToolIsAnAnswerToTheAgent", "codex.TestAToolThatFailsIsAnAnswer",
	}},

	{"17.6", "validation errors are visible", []string{
		"testdata/script/validate.txt", "testdata/script/usage.txt", "runner/workflow.TestAllProblemsAreReportedAtOnceInTheOrderOfLines",
	}},
	{"17.6", "log lines name the issue and the session", []string{
		"runner.TestTheEndOfASessionIsLoggedWithItsSessionAndItsProcess", "runner/attempt.TestEveryLogLineOfASessionNamesItAndItsProcess",
	}},
	{"17.6", "a log sink that fails does not stop the program", []string{
		"cmd/symphony.TestATickGoesOnWhenItsLogCannotBeWritten", "runner/attempt.TestAnEventLogThatCannotBeWrittenIsAWarning",
	}},
	{"17.6", "totals stay right over repeated updates", []string{
		"codex.TestTokensAreNeitherLostNorCountedTwiceInAnyMixOfReports", "runner/schedule.TestTokensAreCountedOnce",
	}},
	{"17.6", "the status and the words of events change nothing", []string{
		"runner.TestTheSummariesOfASessionChangeNoState", "runner/schedule.TestPlanDependsOnNothingElse",
	}},

	{"17.7", "a path as argument, the default path, a missing path", []string{
		"testdata/script/paths.txt",
	}},
	{"17.7", "an error at the start is one clean message", []string{
		"testdata/script/usage.txt", "testdata/script/paths.txt",
	}},
	{"17.7", "the exit status is 0 after a normal end, and not 0 after any other", []string{
		"testdata/script/once.txt", "testdata/script/usage.txt", "testdata/script/two-ticks.txt", "cmd/symphony.TestTheStatusServerShowsWhatRuns",
	}},

	{"17.8", "with credentials from the environment a smoke test works on a real issue of its own and cleans up; without them it is skipped by name", []string{
		"tracker/linear.TestTheRealLinear", "tracker/github.TestTheRealGitHub",
		"tracker/linear.TestTheSmokeTestGoesThroughTheLifeOfAnIssueAndCleansUp", "tracker/github.TestTheSmokeTestGoesThroughTheLifeOfAnIssueAndCleansUp",
	}},
	{"17.8", "a smoke test that is asked for and fails, fails", []string{
		"tracker/linear.TestTheSmokeTestFailsWhereLinearDoes", "tracker/github.TestTheSmokeTestFailsWhereGitHubDoes",
	}},
}

func TestEveryRowOfTheSpecificationsTestsIsShown(t *testing.T) {
	t.Parallel()
	exists := testNames(t)
	seen := map[string]bool{}
	for _, row := range conformance {
		name := row.section + ": " + row.row
		if seen[name] || len(row.shownBy) == 0 {
			t.Errorf("%s: it stands here twice, or nothing shows it", name)
		}
		seen[name] = true
		for _, test := range row.shownBy {
			if !exists[test] {
				t.Errorf("%s: there is no test %s: name the one that shows it now", name, test)
			}
		}
	}
}

// testNames returns all that may be named as showing a row: tests of Go, checks of
// the conformance suite, scripts and scenarios.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	root := filepath.Join("..", "..")
	names := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := path.Dir(file)
		switch {
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && file != ".":
			return fs.SkipDir
		case folder == "testdata/script" || folder == "testdata/plan":
			names[file] = true
			return nil
		case !strings.HasSuffix(file, "_test.go") && file != "internal/trackertest/harness.go":
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					names[folder+"."+n.Name.Name] = true
				}
			case *ast.BasicLit: // the suite names its checks by strings
				if text, err := strconv.Unquote(n.Value); err == nil && file == "internal/trackertest/harness.go" {
					names[folder+"."+text] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
