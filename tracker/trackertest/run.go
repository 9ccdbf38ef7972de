package trackertest

import "testing"

// Harness makes a new, empty World for one check. What it opens it closes by
// t.Cleanup.
type Harness func(t *testing.T) World

// Run checks an adapter: each check has its name, its own World, and fails on
// its own. No check may make the adapter show its credential.
func Run(t *testing.T, h Harness) {
	checks := []struct {
		name string
		run  func(*probe)
	}{
		{"NothingAskedIsAnsweredWithoutARequest", nothingAsked},
		{"StatesMatchWhateverTheirCaseAndOuterSpace", statesMatch},
		{"AListKeepsTheTrackersOrderOverPages", listOrder},
		{"IssuesAreReadInTheOrderAskedEachOnce", readOrder},
		{"WhatIsNotVisibleIsLeftOut", notVisible},
		{"AChangeIsSeenByTheNextRead", changeIsSeen},
		{"AnswersAreTheCallersOwn", answersAreOwn},
		{"ReadsMayRunAtTheSameTime", readsTogether},
		{"IssuesAreNormalised", normalised},
		{"ABlockerCarriesItsState", blockerState},
		{"AMalformedRecordIsDroppedFromAListWithAWarning", malformedListed},
		{"AListOfNothingButMalformedRecordsFails", malformedAll},
		{"MalformedRecordsFailAReadByIDThatNamesThem", malformedRead},
		{"ARefusalFailsEveryRead", refusal},
		{"AFailureMidwayGivesNothing", midway},
		{"ACancelledReadFails", cancelledBefore},
		{"AReadCancelledAtAnyMomentIsCompleteOrFails", cancelledAnywhere},
		{"ACancelledReadDoesNotWaitForTheTracker", cancelledWaiting},
		{"ToolsDescribeThemselves", toolsDescribe},
		{"ToolsRefuseNonsenseWithoutARequest", toolsRefuse},
		{"ToolsDoWhatTheyAreAsked", toolsDo},
		{"ACancelledToolDoesNothing", toolsCancelled},
	}
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) {
			p := &probe{World: h(t), t: t}
			defer p.secretIsKept()
			check.run(p)
		})
	}
}
