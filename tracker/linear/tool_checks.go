package linear

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/symphony-runner/symphony/internal/text"
)

// allowedMutations are the mutations that linear_graphql sends. They change the content of a
// workspace. Every other one is refused, including those that Linear will add: people and their
// access, keys, webhooks, applications, integrations, settings, and mutations that carry data
// out of Linear. The names are grouped by the objects that they change. Every new name gives
// more power to an agent that reads text by outsiders.
var allowedMutations = nameSet(
	// Issues and what belongs to them.
	`attachmentCreate attachmentDelete attachmentLinkGitHubIssue attachmentLinkGitHubPR attachmentLinkGitLabMR
		attachmentLinkJiraIssue attachmentLinkURL attachmentUpdate commentCreate commentDelete commentResolve
		commentUnresolve commentUpdate entityExternalLinkCreate entityExternalLinkDelete entityExternalLinkUpdate
		favoriteCreate favoriteDelete favoriteUpdate fileUpload issueAddLabel issueArchive issueBatchCreate
		issueBatchUpdate issueCreate issueDelete issueLabelCreate issueLabelDelete issueLabelRestore issueLabelRetire
		issueLabelUpdate issueRelationCreate issueRelationDelete issueRelationUpdate issueReminder issueRemoveLabel
		issueSubscribe issueToReleaseCreate issueToReleaseDelete issueToReleaseDeleteByIssueAndRelease issueUnarchive
		issueUnsubscribe issueUpdate reactionCreate reactionDelete`,
	// Projects, initiatives and documents.
	`createInitiativeUpdateReminder createProjectUpdateReminder documentCreate documentDelete documentUnarchive
		documentUpdate initiativeAddLabel initiativeArchive initiativeCreate initiativeDelete initiativeLabelCreate
		initiativeLabelDelete initiativeLabelRestore initiativeLabelRetire initiativeLabelUpdate initiativeLeadTeamUpdate
		initiativeRelationCreate initiativeRelationDelete initiativeRelationUpdate initiativeRemoveLabel
		initiativeToProjectCreate initiativeToProjectDelete initiativeToProjectUpdate initiativeUnarchive initiativeUpdate
		initiativeUpdateArchive initiativeUpdateCreate initiativeUpdateUnarchive initiativeUpdateUpdate projectAddLabel
		projectArchive projectCreate projectDelete projectLabelCreate projectLabelDelete projectLabelRestore
		projectLabelRetire projectLabelUpdate projectMilestoneCreate projectMilestoneDelete projectMilestoneMove
		projectMilestoneUpdate projectRelationCreate projectRelationDelete projectRelationUpdate projectRemoveLabel
		projectUnarchive projectUpdate projectUpdateArchive projectUpdateCreate projectUpdateDelete projectUpdateUnarchive
		projectUpdateUpdate roadmapArchive roadmapCreate roadmapDelete roadmapToProjectCreate roadmapToProjectDelete
		roadmapToProjectUpdate roadmapUnarchive roadmapUpdate`,
	// Planning.
	`customViewCreate customViewDelete customViewUpdate cycleArchive cycleCreate cycleShiftAll
		cycleStartUpcomingCycleToday cycleUpdate releaseArchive releaseComplete releaseCreate releaseDelete
		releaseNoteCreate releaseNoteDelete releaseNoteUpdate releaseSync releaseUnarchive releaseUpdate
		releaseUpdateByPipeline`,
	// Customers' requests.
	`customerCreate customerDelete customerMerge customerNeedArchive customerNeedCreate
		customerNeedCreateFromAttachment customerNeedDelete customerNeedUnarchive customerNeedUpdate customerUpdate
		customerUpsert`,
)

// refusedFields are the fields that no operation may select, at any depth: they hold
// secrets, give access, or belong to the administration of the workspace. A team's
// webhooks, for example, can be reached from every issue.
var refusedFields = nameSet(
	// Secrets and access.
	`calendarHash clientSecret inviteHash secret token webhookSecret latestReleaseByAccessKey recentReleasesByAccessKey
		releasePipelineByAccessKey`,
	// Administration.
	`applicationInfo archivedIntegrations auditEntries auditEntryTypes authenticationSessions emailIntakeAddress
		failuresForOauthWebhooks identityProvider integration integrationHasScopes integrationTemplate integrationTemplates
		integrations integrationsSettings ipRestrictions oauthApplication oauthApplications organizationDomainClaimRequest
		organizationInvite organizationInviteDetails organizationInvites organizationMeta partnerOfferDetails
		pushSubscriptionTest scimSettings slackProjectChannelIntegration ssoUrlFromEmail subscription userSessions userSettings
		verifyGitHubEnterpriseServerInstallation webhook webhooks`,
	// A query in natural language, whose answer may contain any of these.
	`fetchData`,
)

func nameSet(lists ...string) map[string]bool {
	set := make(map[string]bool)
	for _, name := range strings.Fields(strings.Join(lists, " ")) {
		set[name] = true
	}
	return set
}

// checkOperation returns the reason why the one operation of a document is refused, nil when it
// is allowed. Fields count by their names and not by their aliases, also those in
// fragments.
func checkOperation(document *ast.QueryDocument) error {
	operation := document.Operations[0]
	if operation.Operation == ast.Mutation {
		roots := make(map[string]bool)
		if err := collectRootFields(document, operation.SelectionSet, roots, make(map[string]bool)); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(roots)) {
			if !allowedMutations[name] && name != "__typename" {
				return fmt.Errorf("the mutation %s is refused: this tool changes issues and other content, and nothing about people, "+
					"access, keys, webhooks, integrations or settings", shortName(name))
			}
		}
	}
	sets := []ast.SelectionSet{operation.SelectionSet}
	for _, fragment := range document.Fragments {
		sets = append(sets, fragment.SelectionSet)
	}
	for _, set := range sets {
		if name := firstRefusedField(set); name != "" {
			return fmt.Errorf("the field %s is refused: it belongs to the administration of the workspace, or may hold a secret", name)
		}
	}
	return nil
}

// collectRootFields adds the names of the root fields that a selection selects to
// roots. It visits each fragment once, so that fragments which spread each other
// cost no more than their length.
func collectRootFields(document *ast.QueryDocument, set ast.SelectionSet, roots, seen map[string]bool) error {
	for _, selection := range set {
		var inner ast.SelectionSet
		switch s := selection.(type) {
		case *ast.Field:
			roots[s.Name] = true
		case *ast.InlineFragment:
			inner = s.SelectionSet
		case *ast.FragmentSpread:
			fragment := document.Fragments.ForName(s.Name)
			if fragment == nil {
				return fmt.Errorf("the fragment %s is not defined", shortName(s.Name))
			}
			if !seen[s.Name] {
				seen[s.Name] = true
				inner = fragment.SelectionSet
			}
		}
		if err := collectRootFields(document, inner, roots, seen); err != nil {
			return err
		}
	}
	return nil
}

// firstRefusedField returns the first refused field in a selection, or "". The
// fields of a fragment that is spread there are checked where it is defined.
func firstRefusedField(set ast.SelectionSet) string {
	for _, selection := range set {
		var inner ast.SelectionSet
		switch s := selection.(type) {
		case *ast.Field:
			if refusedFields[s.Name] {
				return s.Name
			}
			inner = s.SelectionSet
		case *ast.InlineFragment:
			inner = s.SelectionSet
		}
		if name := firstRefusedField(inner); name != "" {
			return name
		}
	}
	return ""
}

// shortName returns a name that the agent wrote, cut to fit into an error.
func shortName(name string) string { return text.OneLine(name, 60) }
