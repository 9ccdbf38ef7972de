package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestADeliveryHasTheDefaultsOfItsPolicy(t *testing.T) {
	t.Parallel()
	want := workflow.Delivery{Kind: workflow.KindBranch, Policy: delivery.Defaults(), VerifyRounds: 2, VerifyTimeout: 10 * time.Minute, Review: workflow.ReviewNone, ReviewRounds: 2, ReviewTimeout: 10 * time.Minute}
	if diff := cmp.Diff(want, settings(t, "repository: {url: .}", with(nil)).Delivery); diff != "" {
		t.Error(diff)
	}
}

func TestTheKindOfDeliveryFollowsFromTheAddress(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]workflow.DeliveryKind{
		"repository: {url: https://github.com/a/b}":                                          workflow.KindPullRequest,
		"repository: {url: https://git.test/a/b, token: $T}":                                 workflow.KindBranch,
		"repository: {url: .}":                                                               workflow.KindBranch,
		"repository: {url: .}\ndelivery: {kind: patch}":                                      workflow.KindPatch,
		"repository: {url: .}\ndelivery: {kind: none}":                                       workflow.KindNone,
		"repository: {url: https://git.test/a/b, token: $T}\ndelivery: {kind: pull_request}": workflow.KindPullRequest,
	} {
		env := with(map[string]string{"GITHUB_TOKEN": "t", "T": "t"})
		if got := settings(t, front, env).Delivery.Kind; got != want {
			t.Errorf("%s: %s, want %s", front, got, want)
		}
	}
}

func TestLimitsOfOpenPullRequestsAreForLabelsAndForPullRequests(t *testing.T) {
	t.Parallel()
	const github = "repository: {url: https://github.com/a/b, token: abc}\ndelivery: "
	env := with(nil)
	got := settings(t, github+"{max_open: '3', max_open_by_label: {\" Risky \": 1, 7: 2}}", env).Policy
	if diff := cmp.Diff(map[string]int{"risky": 1, "7": 2}, got.MaxOpenByLabel); diff != "" || got.MaxOpen != 3 {
		t.Errorf("max_open is %d; by label (-want +got):\n%s", got.MaxOpen, diff)
	}
	for written, want := range map[string]string{
		"3":                    "line 4: delivery.max_open_by_label is 3: must be a map from labels of issues to limits, such as {risky: 1}",
		"{' ': 3}":             "line 4: delivery.max_open_by_label is a map: must have labels of issues as its keys; write them out",
		"{risky: 0}":           "line 4: delivery.max_open_by_label.risky is 0: must be an integer from 1 to 500",
		"{risky: 1, RISKY: 2}": "line 4: delivery.max_open_by_label.RISKY is 2: names its label a second time; remove one of the two",
	} {
		wantProblem(t, github+"{max_open_by_label: "+written+"}", want)
	}
	for _, limit := range []string{"0", "-1", "501"} {
		wantProblem(t, github+"{max_open: "+limit+"}", "line 4: delivery.max_open is "+limit+": must be an integer from 1 to 500")
	}
	for _, kind := range []string{"branch", "patch", "none"} {
		wf := parse(t, "tracker: {kind: file}\n"+github+"{kind: "+kind+", max_open: 3, max_open_by_label: {a: 1}}", env)
		if p := wf.Settings.Policy; p.MaxOpen != 0 || p.MaxOpenByLabel != nil || !strings.Contains(strings.Join(wf.Warnings, "\n"),
			"delivery.kind is "+kind+", which does not use delivery.max_open, delivery.max_open_by_label; remove") {
			t.Errorf("%s: %+v with the warnings %q", kind, p, wf.Warnings)
		}
	}
}

func TestTheFolderOfPatchesIsAbsoluteAndOutOfTheReachOfAgents(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"":                  "/repo/.symphony/patches",
		", folder: patches": "/repo/patches",
		", folder: ~/p":     "/home/ada/p",
	} {
		if got := settings(t, "repository: {url: .}\ndelivery: {kind: patch"+key+"}", with(nil)).Delivery.Folder; got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
	if got := settings(t, "repository: {url: .}\ndelivery: {folder: patches}", with(nil)).Delivery.Folder; got != "/repo/patches" {
		t.Errorf("beside a branch: %q", got)
	}
	const below = "is below workspace.root, where agents can write; name another folder"
	wantProblem(t, "workspace: {root: ws}\nrepository: {url: .}\ndelivery: {kind: patch, folder: ws/a}", "line 5: delivery.folder: "+below)
	wantProblem(t, "workspace: {root: .symphony}\nrepository: {url: .}\ndelivery: {kind: patch}", "line 5: delivery.folder: "+below)
	wantProblem(t, "repository: {url: .}\ndelivery: {kind: patch, folder: ''}", `line 4: delivery.folder is "": is empty; name a folder, or remove the key for the default`)
	wantProblem(t, "repository: {url: .}\ndelivery: {kind: patch, folder: 3}", `line 4: delivery.folder is 3: must be a path; put it in quotes if it is`)
}

func TestTheAgentsOwnCommitsAreKeptOrMadeOneThatGitHubSigns(t *testing.T) {
	t.Parallel()
	env := with(map[string]string{"GITHUB_TOKEN": "t"})
	const front = "repository: {url: https://github.com/a/b}\ndelivery: "
	if d := settings(t, front+"{history: keep}", env).Delivery; !d.KeepHistory || d.Verified {
		t.Errorf("keep: %+v", d)
	}
	if d := settings(t, front+"{commits: verified}", env).Delivery; d.KeepHistory || !d.Verified {
		t.Errorf("verified: %+v", d)
	}
	want := `line 4: delivery.commits is "verified": GitHub signs the commit that it makes, not the agent's own, which delivery.history keep publishes; remove one of the keys`
	if diff := cmp.Diff([]string{want}, problems(t, "tracker: {kind: file}\n"+front+"{history: keep, commits: verified}", env)); diff != "" {
		t.Error(diff)
	}
}

func TestProtectedPathsKeepTheOrderInWhichTheyAreWritten(t *testing.T) {
	t.Parallel()
	s := settings(t, "x: &a allow\nrepository: {url: .}\ndelivery:\n  protected:\n    z/**: *a\n    \"*\": draft\n    a/**: refuse\n    7: review", with(nil))
	want := []delivery.Rule{
		{Pattern: "z/**", Protection: delivery.Allow}, {Pattern: "*", Protection: delivery.Draft},
		{Pattern: "a/**", Protection: delivery.Refuse}, {Pattern: "7", Protection: delivery.Review},
	}
	if diff := cmp.Diff(want, s.Delivery.Policy.Protected); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongValueOfADeliveryIsAProblem(t *testing.T) {
	t.Parallel()
	const number = "must be an integer from 1 to 2147483647"
	const policy = "write refuse, review, draft or allow"
	for key, want := range map[string]string{
		"kind: merge":                            `delivery.kind is "merge": must be pull_request, branch, patch or none`,
		"kind: pull_request":                     `delivery.kind is "pull_request": a pull request needs a repository on GitHub, and repository.url is a path; write branch or patch, or another url`,
		"max_files: 0":                           `delivery.max_files is 0: ` + number,
		"max_commits: many":                      `delivery.max_commits is "many": ` + number,
		"max_bytes: 0":                           `delivery.max_bytes is 0: must be an integer from 1 to 9223372036854775807`,
		"max_lfs_bytes: 1073741825":              `delivery.max_lfs_bytes is 1073741825: must be an integer from 1 to 1073741824`,
		"max_binary_bytes: -1":                   `delivery.max_binary_bytes is -1: must be an integer from 0 to 9223372036854775807`,
		"allowed: docs":                          `delivery.allowed is "docs": must be a list, such as [one, two]`,
		"allowed: [a, /docs]":                    `delivery.allowed[1] is "/docs": the pattern begins with a slash or a dot; write it from the top of the repository, for example docs/**`,
		"protected: [docs]":                      `delivery.protected is a list: must be a map from patterns to policies, such as {docs/**: review}`,
		"protected: {'a[': refuse}":              `delivery.protected.a[: the pattern is not a valid glob; write for example docs/**`,
		"protected: {docs/**: deny}":             `delivery.protected.docs/**: "deny" is not a policy; ` + policy,
		"protected: {docs/**: Allow}":            `delivery.protected.docs/**: "Allow" is not a policy; ` + policy,
		"protected: {docs/**: }":                 `delivery.protected.docs/**: "" is not a policy; ` + policy,
		"protected: {docs/**: [allow]}":          `delivery.protected.docs/**: "" is not a policy; ` + policy,
		"protected: {<<: {docs/**: allow}}":      `delivery.protected: must have patterns as its keys; write them out`,
		"tokens: ignore":                         `delivery.tokens is "ignore": must be refuse, review, draft or allow`,
		"history: rebase":                        `delivery.history is "rebase": must be squash or keep`,
		"commits: signed":                        `delivery.commits is "signed": must be git or verified`,
		"commits: verified":                      `delivery.commits is "verified": only GitHub signs commits, so it needs delivery.kind pull_request, and that is branch; remove the key`,
		"verify: {a: b}":                         `delivery.verify is a map: must be text; put it in quotes if it is`,
		"verify: [make, 5]":                      `delivery.verify[1] is 5: must be text; put it in quotes if it is`,
		"verify: ['']":                           `delivery.verify[0] is "": must not be empty; remove it`,
		"verify_rounds: -1":                      `delivery.verify_rounds is -1: must be an integer from 0 to 2147483647`,
		"review: always":                         `delivery.review is "always": must be none, fresh or fork`,
		"review_rounds: -1":                      `delivery.review_rounds is -1: must be an integer from 0 to 2147483647`,
		"review_prompt: 5":                       `delivery.review_prompt is 5: must be the path of a file; put it in quotes if it is`,
		"verify_timeout_ms: 0":                   `delivery.verify_timeout_ms is 0: must be an integer from 1 to ` + maxMillis,
		"draft: maybe":                           `delivery.draft is "maybe": must be true or false`,
		"hand_over: Review":                      `delivery.hand_over: must be a map of settings`,
		"hand_over: {}":                          `delivery.hand_over is a map: must name one change of the issue, such as {state: In Review} or {remove_label: symphony}`,
		"hand_over: {state: A, remove_label: b}": `delivery.hand_over is a map: must name one change of the issue, such as {state: In Review} or {remove_label: symphony}`,
		"hand_over: {comment: hi}":               `delivery.hand_over.comment is "hi": is unknown; write state or remove_label`,
		"hand_over: {state: 3}":                  `delivery.hand_over.state is 3: must be text; put it in quotes if it is`,
		"hand_over: {state: in PROGRESS}":        `delivery.hand_over.state is "in PROGRESS": is one of tracker.active_states, so the issue would be worked on again; name a state in which people look at it`,
		"merged_state: In Review":                `delivery.merged_state is "In Review": is not one of tracker.terminal_states, so the issue would not be finished; name one of them`,
		"hand_over: {remove_label: agent}":       `delivery.hand_over.remove_label is "agent": is not one of tracker.required_labels, so the issue would be worked on again without it; add it there, or name one of them`,
	} {
		wantProblem(t, "repository: {url: .}\ndelivery:\n  "+key, "line 5: "+want)
	}
	github := "tracker: {kind: github}\nrepository: {url: https://github.com/a/b}\ndelivery: {hand_over: {state: Review}}"
	got := problems(t, github, with(map[string]string{"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "a/b"}))
	want := "line 4: delivery.hand_over.state is \"Review\": invalid_tracker_config: is not a state that an issue can have; without tracker.provider.state_label_prefix or project there are open and closed alone"
	if diff := cmp.Diff([]string{want}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAHandOverNamesAStateOrARequiredLabel(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]workflow.HandOver{
		"tracker: {kind: file}\ndelivery: {hand_over: {state: ' In Review'}}":                                        {State: "In Review"},
		"tracker: {kind: file}\ndelivery: {hand_over: {state: Done}}":                                                {State: "Done"},
		"tracker: {kind: file, required_labels: [agent, Symphony]}\ndelivery: {hand_over: {remove_label: symphony}}": {RemoveLabel: "symphony"},
	} {
		if got := parse(t, front+"\nrepository: {url: .}", with(nil)).Settings.Delivery.HandOver; got != want {
			t.Errorf("%s: %+v", front, got)
		}
	}
}

func TestADeliveryWithoutAHandOverIsWarnedOf(t *testing.T) {
	t.Parallel()
	for front, warned := range map[string]bool{
		"repository: {url: .}":                                         true,
		"delivery: {kind: branch}\nrepository: {url: .}":               true,
		"delivery: {hand_over: {state: Review}}\nrepository: {url: .}": false,
		"delivery: {kind: none}\nrepository: {url: .}":                 false,
		"agent: {max_turns: 1}":                                        false,
	} {
		warnings := strings.Join(parse(t, "tracker: {kind: file}\n"+front, with(nil)).Warnings, "\n")
		if strings.Contains(warnings, "delivery.hand_over is missing") != warned {
			t.Errorf("%s: %s", front, warnings)
		}
	}
}

func TestKeysThatTheKindOfDeliveryDoesNotUseAreWarnedOf(t *testing.T) {
	t.Parallel()
	for front, want := range map[string][]string{
		"kind: branch, draft: true, labels: [a], verify: make, folder: p": {"delivery.kind is branch, which does not use delivery.draft, delivery.labels; remove what is not used, or write another kind"},
		"kind: none, verify: make, max_files: 3":                          {"delivery.kind is none, which does not use delivery.max_files, delivery.verify; remove what is not used, or write another kind"},
		"kind: patch, verify: make, folder: p":                            nil,
		"kind: none":                                                      nil,
	} {
		if front != "kind: none" && !strings.HasPrefix(front, "kind: none,") {
			front += ", hand_over: {state: Review}"
		}
		wf := parse(t, "tracker: {kind: file}\nrepository: {url: .}\ndelivery: {"+front+"}", with(nil))
		if diff := cmp.Diff(want, wf.Warnings); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
	}
}

func TestAnIssueIsFinishedInTheStateThatItsTrackerHasForThat(t *testing.T) {
	t.Parallel()
	const repository = "repository: {url: https://github.com/a/b, token: t}\n"
	for settings, want := range map[string]string{
		"tracker: {kind: github, provider: {repo: a/b}}\n" + repository + "delivery: {hand_over: {state: closed}}":                                       "closed",
		"tracker: {kind: file}\n" + repository + "delivery: {hand_over: {state: In Review}}":                                                             "Done",
		"tracker: {kind: file, terminal_states: [Shipped, Dropped]}\n" + repository + "delivery: {hand_over: {state: In Review}}":                        "Shipped",
		"tracker: {kind: file, terminal_states: [Shipped, Dropped]}\n" + repository + "delivery: {hand_over: {state: In Review}, merged_state: dropped}": "dropped",
		"tracker: {kind: file}\n" + repository + "delivery: {kind: branch, hand_over: {state: In Review}}":                                               "",
		"tracker: {kind: file}": "",
	} {
		got := parse(t, settings, with(map[string]string{"GITHUB_TOKEN": "t"})).Settings
		if got.Delivery.MergedState != want {
			t.Errorf("%s: %q, want %q", settings, got.Delivery.MergedState, want)
		}
		if on := got.Repository != nil; got.Policy.HandsOver != on || on && got.Policy.HandedOver == "" {
			t.Errorf("%s: hands over %t to %q", settings, got.Policy.HandsOver, got.Policy.HandedOver)
		}
	}
}

func TestTheModelOfAReviewCountsOnlyIfThereIsOne(t *testing.T) {
	t.Parallel()
	budget := "\ncodex: {model: m}\nbudget: {max_usd_per_tick: 5, prices: {m: {input: 1, cached_input: 1, output: 1}}}"
	for section, want := range map[string]int{
		"review: fresh, review_model: other":             1,
		"review: none, review_model: other":              0,
		"kind: none, review: fresh, review_model: other": 0,
	} {
		_, err := workflow.Parse(path, []byte("---\ntracker: {kind: file}\nrepository: {url: .}\ndelivery: {"+section+"}"+budget+"\n---\nx\n"), with(nil))
		if got := strings.Count(fmt.Sprint(err), "needs the price of delivery.review_model other"); got != want || want == 0 && err != nil {
			t.Errorf("%s: %v", section, err)
		}
	}
	wf, err := workflow.Parse(path, []byte("---\ntracker: {kind: file}\nrepository: {url: .}\ndelivery: {review_rounds: 3, hand_over: {state: Review}}\n---\nx\n"), with(nil))
	if want := "delivery.review_rounds is not used, because delivery.review is none: write fresh or fork there, or remove the key"; err != nil || !slices.Contains(wf.Warnings, want) {
		t.Errorf("%v, %q", err, wf.Warnings)
	}
}
