package githubtest

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// mutations returns the root of mutations. g.mu must be held while it is used.
func (g *graph) mutations() trackertest.Object {
	mutation := func(permission string, do func(input map[string]any) any) trackertest.Resolver {
		return func(arguments map[string]any) any {
			if g.Denies(permission) {
				return forbidden
			}
			input, _ := arguments["input"].(map[string]any)
			return do(input)
		}
	}
	const pulls, issues, contents, projects = "pull-requests: write", "issues: write", "contents: write", "projects: write"
	return trackertest.Object{
		"markPullRequestReadyForReview": mutation(pulls, func(input map[string]any) any {
			for _, t := range g.threads {
				if t.pull != nil && pullNodeID(t.Number) == input["pullRequestId"] {
					t.pull.Draft, t.Updated = false, g.tick()
					return trackertest.Object{"pullRequest": g.pullNode(t)}
				}
			}
			return unknown("Could not resolve to a node.")
		}),
		"updateIssueComment": mutation(issues, func(input map[string]any) any {
			_, c := g.find(fmt.Sprint(input["id"]))
			if c == nil || c.kind != "IC" {
				return unknown("Could not resolve to a node.")
			}
			c.body, _ = input["body"].(string)
			c.edited, c.editor = g.tick(), g.as
			return trackertest.Object{"issueComment": trackertest.Object{"id": input["id"]}}
		}),
		"addPullRequestReviewThreadReply": mutation(pulls, func(input map[string]any) any {
			c := g.reply(input["pullRequestReviewThreadId"], g.as, fmt.Sprint(input["body"]))
			if c == nil {
				return unknown("Could not resolve to a node.")
			}
			return trackertest.Object{"comment": trackertest.Object{"id": c.node()}}
		}),
		"resolveReviewThread": mutation(pulls, func(input map[string]any) any {
			_, d := g.discussion(input["threadId"])
			if d == nil {
				return unknown("Could not resolve to a node.")
			}
			d.resolved = true
			return trackertest.Object{"thread": trackertest.Object{"id": d.node()}}
		}),
		"addReaction": mutation(issues, func(input map[string]any) any {
			_, c := g.find(fmt.Sprint(input["subjectId"]))
			if c == nil {
				return unknown("Could not resolve to a node.")
			}
			c.react(g.as, fmt.Sprint(input["content"]))
			return trackertest.Object{"subject": trackertest.Object{"id": c.node()}}
		}),
		"updateRefs":                    mutation(contents, g.updateRefs),
		"addProjectV2ItemById":          mutation(projects, g.addItem),
		"updateProjectV2ItemFieldValue": mutation(projects, g.setStatus),
		"clearProjectV2ItemFieldValue":  mutation(projects, g.setStatus),
	}
}

// updateRefs moves or deletes branches that are where they were to be.
func (g *graph) updateRefs(input map[string]any) any {
	updates, _ := input["refUpdates"].([]any)
	if input["repositoryId"] != repositoryID {
		return unknown("Could not resolve to a node.")
	}
	for _, one := range updates {
		update, _ := one.(map[string]any)
		name, after := fmt.Sprint(update["name"]), fmt.Sprint(update["afterOid"])
		branch, _ := strings.CutPrefix(name, "refs/heads/")
		switch before := update["beforeOid"]; {
		case before != nil && before != g.Head(branch):
			return trackertest.Failure{Type: "UNPROCESSABLE", Text: "Reference cannot be updated: it is not where it was to be."}
		case strings.Trim(after, "0") == "":
			g.Git("update-ref", "-d", name)
		default:
			g.Git("update-ref", name, after)
		}
	}
	return trackertest.Object{"clientMutationId": nil}
}
