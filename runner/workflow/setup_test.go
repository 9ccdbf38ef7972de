package workflow_test

import "testing"

// TestASetupThatCannotBeIsRefused names the key and the line.
func TestASetupThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	const repository = "repository: {url: .}\n"
	for front, problem := range map[string]string{
		"setup: {run: npm ci}":                                                     "line 3: setup.run is \"npm ci\": prepares a checkout, and there is none: write the section repository, or remove setup",
		repository + "setup: {run: npm ci, keep: [../x]}":                          `line 4: setup.keep[0] is "../x": leads out of the checkout; write a path below its top, such as node_modules`,
		repository + "setup: {run: npm ci, keep: [.GIT/hooks]}":                    `line 4: setup.keep[0] is ".GIT/hooks": is git's own folder; remove it`,
		repository + "setup: {run: npm ci, keep: ['*']}":                           `line 4: setup.keep[0] is "*": must be the path of a file or folder, without wildcards; remove setup.keep for all that git ignores`,
		repository + "setup: {run: npm ci, inputs: [/x]}":                          `line 4: setup.inputs[0] is "/x": the pattern begins with a slash or a dot; write it from the top of the repository, for example docs/**`,
		repository + "setup: {run: npm ci, for_agent: always}":                     `line 4: setup.for_agent is "always": must be offline or network`,
		repository + "setup: {run: npm ci, network_mode: open}":                    `line 4: setup.network_mode is "open": must be limited or full`,
		repository + "setup: {run: npm ci, env: [NPM]}\ncodex: {env: [PATH, NPM]}": `line 4: setup.env is a list: it names NPM, which codex.env gives to the agent as well; remove it from one of them`,
	} {
		wantProblem(t, front, problem)
	}
	wf := parse(t, "tracker: {kind: file}\nsetup: {network: [registry.npmjs.org]}", with(nil))
	if len(wf.Warnings) != 1 || wf.Warnings[0] != "setup.run is missing, so nothing is prepared; write the script, such as npm ci" {
		t.Errorf("%q", wf.Warnings)
	}
}
