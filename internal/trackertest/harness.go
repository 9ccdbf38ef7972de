package trackertest

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

// check is a part of the suite.
type check struct {
	name string
	run  func(*probe)
}

// Run checks an adapter. Each check is a subtest with a Harness of its own, which
// open makes, empty and closed by t.Cleanup. In no check may the adapter show its
// credential.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	checks := []check{
		{"NothingAskedIsAnsweredWithoutARequest", nothingAsked},
		{"StatesMatchWhateverTheirCaseAndOuterSpace", statesMatch},
		{"AListKeepsTheTrackersOrderOverPages", listOrder},
		{"IssuesAreReadInTheOrderAskedEachOnce", readOrder},
		{"WhatIsNotVisibleIsLeftOut", notVisible},
		{"AnIssueIsFoundByItsNamesInAnyState", findsByName},
		{"ARefusalFailsEveryFind", findsNothingRefused},
		{"AChangeIsSeenByTheNextRead", changeIsSeen},
		{"AnswersAreTheCallersOwn", answersAreOwn},
		{"ReadsMayRunAtTheSameTime", readsTogether},
		{"IssuesAreNormalized", normalized},
		{"ABlockerCarriesItsState", blockerState},
		{"AMalformedRecordIsDroppedFromAListWithAWarning", malformedListed},
		{"AListOfNothingButMalformedRecordsFails", malformedAll},
		{"MalformedRecordsFailAReadByIDThatNamesThem", malformedRead},
		{"ARefusalFailsEveryRead", refusal},
		{"AFailureMidwayGivesNothing", midway},
		{"ACanceledReadFails", canceledBefore},
		{"AReadCanceledAtAnyMomentIsCompleteOrFails", canceledAnywhere},
		{"ACanceledReadDoesNotWaitForTheTracker", canceledWaiting},
		{"AStateOfTheHandOverThatDoesNotExistIsFoundBeforeAnythingStarts", handOverStates},
		{"ToolsDescribeThemselves", toolsDescribe},
		{"ToolsRefuseNonsenseWithoutARequest", toolsRefuse},
		{"ToolsDoWhatTheyAreAsked", toolsDo},
		{"ACanceledToolDoesNothing", toolsCanceled},
	}
	writes := []check{
		{"AMoveIsSeenByTheNextRead", moves},
		{"AMoveToTheStateOfTheIssueChangesNothing", movesOnce},
		{"AFinishedIssueIsNotMovedBack", finishedStays},
		{"UnknownStatesAndLabelsAreMistakesOfTheSettings", unknownNames},
		{"LabelsAreAddedAndRemovedOnce", labels},
		{"ACommentIsReplacedByTheNextWithItsKey", commentsInPlace},
		{"TextCannotPassForAnotherComment", forgedMarkers},
		{"CommentsAreCheckedBeforeARequest", invalidComments},
		{"AWriteToAnIssueThatIsNotVisibleSaysSo", writesNotVisible},
		{"ARefusalFailsEveryWrite", writesRefused},
		{"ACanceledWriteDoesNothing", writesCanceled},
		{"ACanceledWriteDoesNotWaitForTheTracker", writesCanceledWaiting},
		{"ACommentWhoseAnswerIsLostIsPostedOnce", lostAnswer},
	}
	h := open(t)
	if h.Put == nil || h.Delete == nil || h.Comments == nil {
		t.Fatal("Put, Delete or Comments of the Harness is nil: the checks make, remove and read issues with them; what else a tracker cannot do may be nil")
	}
	if h.Adapter.Find == nil || h.Adapter.Writer == nil {
		t.Fatal("Find or Writer of the adapter is nil: the program finds issues by name, comments, moves and labels with them; only Conversation, Tools, Warnings and Check may be missing")
	}
	for _, check := range append(checks, writes...) {
		t.Run(check.name, func(t *testing.T) {
			p := &probe{Harness: open(t), t: t}
			defer p.checkSecret()
			check.run(p)
		})
	}
	runConversation(t, open)
}

// Harness is an adapter and the tracker behind it. Its functions report their own
// failures to the test they were made for.
type Harness struct {
	Adapter tracker.Adapter

	// Active and Done are two states of the tracker, as it writes them. Done is a
	// terminal state of the adapter's options.
	Active, Done string
	// Label is a label of the tracker that no issue carries yet.
	Label string
	// FreeNames says that people write any state and label, so that none is unknown.
	FreeNames bool

	// HandOver opens the adapter again with a state of the hand-over. It is nil when
	// every state is known without the tracker.
	HandOver func(state string) tracker.Adapter

	// Put creates an issue when its ID is empty, replaces it otherwise, and returns
	// its id. It sets title, description, state, priority, labels, blockers (by id)
	// and times; the tracker chooses ID and Identifier. The tracker must list issues
	// in the order of their creation.
	Put func(tracker.Issue) tracker.ID
	// Delete makes an issue invisible.
	Delete func(tracker.ID)

	// Comments returns the comments of an issue in the order of their creation, as the
	// tracker keeps them.
	Comments func(tracker.ID) []string

	// Discussion lets accounts talk about issues; nil when the adapter has no conversations.
	Discussion *Discussion

	// Corrupt makes the record of an issue malformed without moving it.
	Corrupt func(tracker.ID)
	// Refuse makes every request fail from now on, in a way that a retry does not
	// change.
	Refuse func()
	// Limit makes every request fail from now on because of a rate limit of a minute.
	Limit func()
	// FailMidway makes every read of more than one page fail from now on, after its
	// first page.
	FailMidway func()
	// Hang leaves every request unanswered from now on until its client gives up.
	// The channel is closed when the next request waits.
	Hang func() <-chan struct{}
	// LoseAnswer makes the tracker lose the answer to the next comment that is posted,
	// after it has posted it.
	LoseAnswer func()
	// Requests returns the number of requests that have reached the tracker.
	Requests func() int

	// Calls has, for each tool by name, arguments that it accepts for an active issue.
	Calls map[string]string

	// Secret is the adapter's credential, "" when it has none. Log returns the log of the
	// adapter so far.
	Secret string
	Log    func() string
}

// probe is the Harness of one check. It collects errors and tool results, to search
// them for the secret.
type probe struct {
	Harness
	t      *testing.T
	output strings.Builder
}

func (p *probe) byState(states ...string) ([]tracker.Issue, error) {
	issues, err := p.Adapter.IssuesByState(p.t.Context(), states)
	p.recordError(err)
	return issues, err
}

func (p *probe) byID(ids ...tracker.ID) ([]tracker.Issue, error) {
	issues, err := p.Adapter.IssuesByID(p.t.Context(), ids)
	p.recordError(err)
	return issues, err
}

func (p *probe) recordError(err error) {
	if err != nil {
		p.output.WriteString(err.Error() + "\n")
	}
}

// mustList and mustRead end the test when the read fails.
func (p *probe) mustList(states ...string) []tracker.Issue {
	p.t.Helper()
	issues, err := p.byState(states...)
	if err != nil {
		p.t.Fatalf("list %q: %v", states, err)
	}
	return issues
}

func (p *probe) mustRead(ids ...tracker.ID) []tracker.Issue {
	p.t.Helper()
	issues, err := p.byID(ids...)
	if err != nil {
		p.t.Fatalf("read %q: %v", ids, err)
	}
	return issues
}

// put creates an active issue with a title.
func (p *probe) put(title string) tracker.ID {
	return p.Put(tracker.Issue{Title: title, State: p.Active})
}

// checkSecret fails the test when an error, a tool result or the log has the secret.
func (p *probe) checkSecret() {
	p.t.Helper()
	if p.Secret == "" {
		return
	}
	if strings.Contains(p.output.String(), p.Secret) {
		p.t.Error("an error or a tool's answer holds the credential")
	}
	if p.Log != nil && strings.Contains(p.Log(), p.Secret) {
		p.t.Error("the log holds the credential")
	}
}

func ids(issues []tracker.Issue) []tracker.ID {
	list := make([]tracker.ID, 0, len(issues))
	for _, issue := range issues {
		list = append(list, issue.ID)
	}
	return list
}
