package trackertest

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// defectEnv makes the test binary run the suite over an adapter with that defect.
const defectEnv = "TRACKERTEST_DEFECT"

func TestASoundAdapterPasses(t *testing.T) {
	t.Parallel()
	Run(t, func(t *testing.T) Harness { return (&memoryTracker{}).harness() })
}

// defects are the ways to be wrong, each with the check that must find it.
var defects = map[string]string{
	"asks for nothing":           "NothingAskedIsAnsweredWithoutARequest",
	"case":                       "StatesMatchWhateverTheirCaseAndOuterSpace",
	"disorder":                   "AListKeepsTheTrackersOrderOverPages",
	"twice":                      "IssuesAreReadInTheOrderAskedEachOnce",
	"unknown fails":              "WhatIsNotVisibleIsLeftOut",
	"finds exact names":          "AnIssueIsFoundByItsNamesInAnyState",
	"finds active issues":        "AnIssueIsFoundByItsNamesInAnyState",
	"finds nothing in an outage": "ARefusalFailsEveryFind",
	"stale":                      "AChangeIsSeenByTheNextRead",
	"shared":                     "AnswersAreTheCallersOwn",
	"raw labels":                 "IssuesAreNormalized",
	"no consent":                 "IssuesAreNormalized",
	"no blocker state":           "ABlockerCarriesItsState",
	"lists malformed":            "AMalformedRecordIsDroppedFromAListWithAWarning",
	"silent":                     "AMalformedRecordIsDroppedFromAListWithAWarning",
	"malformed is empty":         "AListOfNothingButMalformedRecordsFails",
	"skips malformed":            "MalformedRecordsFailAReadByIDThatNamesThem",
	"names one malformed":        "MalformedRecordsFailAReadByIDThatNamesThem",
	"names no malformed":         "MalformedRecordsFailAReadByIDThatNamesThem",
	"outage is empty":            "ARefusalFailsEveryRead",
	"no category":                "ARefusalFailsEveryRead",
	"leaks":                      "ARefusalFailsEveryRead",
	"partial":                    "AFailureMidwayGivesNothing",
	"partial when canceled":      "AReadCanceledAtAnyMomentIsCompleteOrFails",
	"deaf":                       "ACanceledReadFails",
	"no cause":                   "ACanceledReadDoesNotWaitForTheTracker",
	"hands over anywhere":        "AStateOfTheHandOverThatDoesNotExistIsFoundBeforeAnythingStarts",
	"hands over unchecked":       "AStateOfTheHandOverThatDoesNotExistIsFoundBeforeAnythingStarts",
	"no schema":                  "ToolsDescribeThemselves",
	"gullible":                   "ToolsRefuseNonsenseWithoutARequest",
	"idle tool":                  "ToolsDoWhatTheyAreAsked",
	"stubborn tool":              "ACanceledToolDoesNothing",
	"idle move":                  "AMoveIsSeenByTheNextRead",
	"touching move":              "AMoveToTheStateOfTheIssueChangesNothing",
	"reopens":                    "AFinishedIssueIsNotMovedBack",
	"makes states":               "UnknownStatesAndLabelsAreMistakesOfTheSettings",
	"makes labels":               "UnknownStatesAndLabelsAreMistakesOfTheSettings",
	"labels twice":               "LabelsAreAddedAndRemovedOnce",
	"replaces labels":            "LabelsAreAddedAndRemovedOnce",
	"comments twice":             "ACommentIsReplacedByTheNextWithItsKey",
	"one comment":                "ACommentIsReplacedByTheNextWithItsKey",
	"finds by text":              "TextCannotPassForAnotherComment",
	"posts anything":             "CommentsAreCheckedBeforeARequest",
	"writes nowhere":             "AWriteToAnIssueThatIsNotVisibleSaysSo",
	"refusal is not visible":     "ARefusalFailsEveryWrite",
	"deaf writer":                "ACanceledWriteDoesNothing",
	"no cause of a write":        "ACanceledWriteDoesNotWaitForTheTracker",
	"sure of a lost answer":      "ACommentWhoseAnswerIsLostIsPostedOnce",
	"posts again":                "ACommentWhoseAnswerIsLostIsPostedOnce",

	"asks about nothing":         "NoIssueIsAskedAboutWithoutARequest",
	"asks about each issue":      "WithoutNewsThereIsOneRequestForEachHundredIssues",
	"reads again what was read":  "ACommentAtTheTimeCostsNoMoreRequests",
	"newest first":               "CommentsSinceATimeAreReadOldestFirst",
	"deaf to the same moment":    "CommentsSinceATimeAreReadOldestFirst",
	"one time for all":           "EachIssueHasATimeOfItsOwn",
	"deaf to edits":              "AnEditedCommentIsReadAgainAndADeletedOneIsNot",
	"remembers what was deleted": "AnEditedCommentIsReadAgainAndADeletedOneIsNot",
	"hears of what is gone":      "CommentsOnAnIssueThatIsGoneAreLeftOut",
	"reads a flood":              "OfAFloodTheNewestTenThousandCommentsAreRead",
	"loses words in a flood":     "OfAFloodTheNewestTenThousandCommentsAreRead",
	"hears its agent":            "WhatTheProgramAndItsAgentSayIsTheirOwn",
	"trusts everybody":           "TheWordOfAStrangerDoesNotCount",
	"cleans text":                "TheTextOfACommentIsAsWritten",
	"believes markers":           "AMarkThatAPersonPastesHidesNothingSilently",
	"deaf to its owner":          "ThePersonWhoseCredentialTheProgramHasIsHeard",
	"reacts twice":               "AReactionThatIsRepeatedChangesNothing",
	"hides the limit":            "ARateLimitOfCommentsSaysHowLongToWait",
	"hears no refusal":           "ARefusalFailsEveryReadOfComments",
}

// TestEveryDefectIsFound runs the suite in a process of its own, because there it
// has to fail.
func TestEveryDefectIsFound(t *testing.T) {
	if defect, ok := os.LookupEnv(defectEnv); ok {
		Run(t, func(t *testing.T) Harness { return (&memoryTracker{defect: defect}).harness() })
		return
	}
	for _, defect := range slices.Sorted(maps.Keys(defects)) {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEveryDefectIsFound$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), defectEnv+"="+defect)
			output, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the suite passes an adapter that is wrong:\n%s", output)
			}
			if want := "--- FAIL: TestEveryDefectIsFound/" + defects[defect] + " "; !strings.Contains(string(output), want) {
				t.Errorf("want %q in:\n%s", want, output)
			}
		})
	}
}

// TestWhatATrackerCannotDoIsSkipped runs the suite over the smallest possible Harness.
func TestWhatATrackerCannotDoIsSkipped(t *testing.T) {
	t.Parallel()
	Run(t, func(t *testing.T) Harness {
		w := (&memoryTracker{}).harness()
		return Harness{Adapter: w.Adapter, Active: w.Active, Done: w.Done, Label: w.Label, Put: w.Put, Delete: w.Delete, Comments: w.Comments, Calls: w.Calls}
	})
}
