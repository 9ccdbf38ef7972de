package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/file"
)

func TestAPathBecomesAbsolute(t *testing.T) {
	t.Parallel()
	env := with(map[string]string{"BASE": "/data", "NAME": "ws", "TILDE": "~/x", "REL": "sub"})
	for text, want := range map[string]string{
		"/abs/../abs2/": "/abs2", "ws": "/repo/ws", "./a/b": "/repo/a/b", "../ws": "/ws",
		"~": "/home/ada", "~/ws": "/home/ada/ws", "$TILDE": "/home/ada/x",
		"$BASE": "/data", "${BASE}": "/data", "$REL": "/repo/sub", "$BASE/$NAME-${NAME}2": "/data/ws-ws2",
		"a$": "/repo/a$", "a$1": "/repo/a$1", "${": "/repo/${", "a~b": "/repo/a~b", "a b": "/repo/a b",
	} {
		s := parse(t, "tracker: {kind: file, provider: {path: '"+text+"'}}\nworkspace: {root: '"+text+"'}", env).Settings
		if path := s.Tracker.Config.(*file.Config).Path; s.Workspace.Root != want || path != want {
			t.Errorf("%s: root %q, path %q, want %q", text, s.Workspace.Root, path, want)
		}
	}
}

func TestAPathThatCannotBeExpandedIsAProblem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"$NONE/ws"`:  `line 3: workspace.root is "$NONE/ws": needs the environment variable NONE, which is not set or empty; set it`,
		`"~bob/ws"`:   `line 3: workspace.root is "~bob/ws": begins with ~ and a name; only ~ and ~/ are expanded, write the folder itself`,
		`"/a\0b"`:     `line 3: workspace.root is "/a\x00b": must not contain a NUL character`,
		`[/ws]`:       `line 3: workspace.root is a list: must be a path; put it in quotes if it is`,
		`2020-01-01 `: `line 3: workspace.root is 2020-01-01 00:00:00 +0000 UTC: must be a path; put it in quotes if it is`,
	} {
		wantProblem(t, "workspace: {root: "+text+"}", want)
	}
	want := []string{`line 2: tracker.provider.path is "$NONE/x": needs the environment variable NONE, which is not set or empty; set it`}
	if diff := cmp.Diff(want, problems(t, "tracker: {kind: file, provider: {path: $NONE/x}}", with(nil))); diff != "" {
		t.Error(diff)
	}
	env := with(nil)
	env.Home = ""
	want = []string{`line 3: workspace.root is "~/ws": needs a home folder, and none is known; write the folder itself`}
	if diff := cmp.Diff(want, problems(t, "tracker: {kind: file}\nworkspace: {root: ~/ws}", env)); diff != "" {
		t.Error(diff)
	}
}

func TestARootWithoutAValueIsTheDefaultWithAWarning(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]string{"$NONE": `"$NONE"`, "' '": `" "`} {
		wf := parse(t, "tracker: {kind: file}\nworkspace: {root: "+text+"}", with(nil))
		if want := []string{"workspace.root is " + shown + ", which is empty: the default is used instead"}; !cmp.Equal(want, wf.Warnings) || wf.Settings.Workspace.Root != "/var/tmp/symphony_workspaces" {
			t.Errorf("%q %q", wf.Warnings, wf.Settings.Workspace.Root)
		}
	}
}

func TestInsideActionsTheRootIsInTheFolderOfTheJob(t *testing.T) {
	t.Parallel()
	env := workflow.Env{Trackers: trackers(), TempDir: "/tmp", Actions: true, RunnerTemp: "/home/runner/_temp"}
	if root := parse(t, "tracker: {kind: file}", env).Settings.Workspace.Root; root != "/home/runner/_temp/symphony_workspaces" {
		t.Error(root)
	}
	const warning = "workspace.root is under /tmp, which a sandboxed agent may write; use a folder under $RUNNER_TEMP, or remove the key"
	for root, want := range map[string][]string{"/tmp": {warning}, "/tmp/ws": {warning}, "/tmp/../srv": nil, "/tmpfs": nil} {
		if diff := cmp.Diff(want, parse(t, "tracker: {kind: file}\nworkspace: {root: "+root+"}", env).Warnings); diff != "" {
			t.Errorf("%s\n%s", root, diff)
		}
	}
	env.Actions = false
	if warnings := parse(t, "tracker: {kind: file}\nworkspace: {root: /tmp/ws}", env).Warnings; warnings != nil {
		t.Error(warnings)
	}
}

func TestWithoutATemporaryFolderTheRootMustBeWritten(t *testing.T) {
	t.Parallel()
	for env, want := range map[*workflow.Env]string{
		{Trackers: trackers()}:                                 "workspace.root: there is no default, because the temporary folder of the system is not known; write the folder",
		{Trackers: trackers(), TempDir: "/tmp", Actions: true}: "workspace.root: there is no default, because $RUNNER_TEMP is not known; write the folder",
	} {
		if diff := cmp.Diff([]string{want}, problems(t, "tracker: {kind: file}", *env)); diff != "" {
			t.Error(diff)
		}
		parse(t, "tracker: {kind: file}\nworkspace: {root: ws}", *env)
	}
}

func TestCommandsAndScriptsAreNotExpanded(t *testing.T) {
	t.Parallel()
	s := parse(t, "tracker: {kind: file}\ncodex: {command: $BASE/codex ~/x}\nhooks: {before_run: $BASE}", with(map[string]string{"BASE": "/data"})).Settings
	if s.Codex.Command != "$BASE/codex ~/x" || s.Workspace.Hooks.BeforeRun != "$BASE" {
		t.Errorf("%q %q", s.Codex.Command, s.Workspace.Hooks.BeforeRun)
	}
}

func TestDeniedPathsAreExpandedAsPathsAre(t *testing.T) {
	t.Parallel()
	wf := parse(t, "tracker: {kind: file}\ncodex: {deny: [~/keys, $VAULT, /a/../b, secrets]}", with(map[string]string{"VAULT": "/vault"}))
	if diff := cmp.Diff([]string{"/home/ada/keys", "/vault", "/b", "/repo/secrets"}, wf.Settings.Codex.Deny); diff != "" {
		t.Error(diff)
	}
}
