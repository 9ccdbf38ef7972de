package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestWorkerHostsTakeThePlaceOfThisMachine(t *testing.T) {
	t.Parallel()
	const front = "tracker: {kind: file}\nworker: {ssh_hosts: [build1, ' me@build2:2222 '], max_concurrent_agents_per_host: '2'}\n"
	for root, want := range map[string]string{
		"": "", "workspace: {root: ~/ws}": "~/ws", "workspace: {root: $HERE/NOT/SET}": "$HERE/NOT/SET", "workspace: {root: /srv/ws}": "/srv/ws",
	} {
		s := parse(t, front+root, with(nil)).Settings
		if diff := cmp.Diff(workflow.Worker{Hosts: []string{"build1", "me@build2:2222"}, PerHost: 2, Root: want}, s.Worker); diff != "" {
			t.Errorf("%s: %s", root, diff)
		}
		if diff := cmp.Diff(s.Worker.Hosts, s.Policy.Hosts); diff != "" || s.Policy.PerHost != 2 {
			t.Errorf("the policy has %v and %d", s.Policy.Hosts, s.Policy.PerHost)
		}
		if s.Workspace.Root != "" {
			t.Errorf("%s: the workspaces are at %s of this machine", root, s.Workspace.Root)
		}
	}
	if s := parse(t, front+"codex: {deny: [~/x, $SECRETS]}", with(nil)).Settings; strings.Join(s.Codex.Deny, " ") != "~/x $SECRETS" {
		t.Errorf("the hosts are to expand %q", s.Codex.Deny)
	}
	if s := parse(t, "tracker: {kind: file}\nworker: {ssh_hosts: []}", with(nil)).Settings; s.Worker.Hosts != nil || s.Workspace.Root == "" {
		t.Errorf("without hosts: %+v in %q", s.Worker, s.Workspace.Root)
	}
}

func TestWorkerHostsThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 201 {
		many = append(many, fmt.Sprint("h", i))
	}
	const shape, both = ": must be HOST, USER@HOST, HOST:PORT or [IPv6]:PORT: the host begins with a letter, a digit or _, and has only them and . -", ": cannot be used with worker.ssh_hosts: "
	for _, test := range []struct{ front, want string }{
		{`worker: {ssh_hosts: [-oProxyCommand=x]}`, `line 3: worker.ssh_hosts[0] is "-oProxyCommand=x"` + shape},
		{`worker: {ssh_hosts: [a, "b c"]}`, `line 3: worker.ssh_hosts[1] is "b c"` + shape},
		{`worker: {ssh_hosts: ["b\0"]}`, `line 3: worker.ssh_hosts[0] is "b\x00"` + shape},
		{`worker: {ssh_hosts: [""]}`, `line 3: worker.ssh_hosts[0] is ""` + shape},
		{`worker: {ssh_hosts: [` + strings.Repeat("a", 257) + `]}`, `line 3: worker.ssh_hosts[0] is "` + strings.Repeat("a", 59) + `…"` + shape},
		{`worker: {ssh_hosts: [a, b, a]}`, `line 3: worker.ssh_hosts[2] is "a": names its host a second time; remove one of the two`},
		{`worker: {ssh_hosts: [` + strings.Join(many, ", ") + `]}`, `line 3: worker.ssh_hosts is a list: must have at most 200 hosts`},
		{"worker: {ssh_hosts: [a]}\nworkspace: {root: ws}", `line 4: workspace.root is "ws": is relative, and the hosts of worker.ssh_hosts do not have the folder of this file; write a path that begins with /, ~/ or $NAME`},
		{"worker: {ssh_hosts: [a]}\nworkspace: {root: ~bob/ws}", `line 4: workspace.root is "~bob/ws": begins with ~ and a name; only ~ and ~/ are expanded, write the folder itself`},
		{"worker: {ssh_hosts: [a]}\nworkspace: {root: \"/a\\0\"}", `line 4: workspace.root is "/a\x00": must not contain a NUL character`},
		{"worker: {ssh_hosts: [a]}\ncodex: {deny: [x]}", `line 4: codex.deny[0] is "x": is relative, and the hosts of worker.ssh_hosts do not have the folder of this file; write a path that begins with /, ~/ or $NAME`},
		{"worker: {ssh_hosts: [a]}\ncodex: {endpoint: 'unix:///s'}", `line 4: codex.endpoint is "unix:///s"` + both + `each session starts an app-server on its host; remove one of the two`},
		{"worker: {ssh_hosts: [a]}\nrepository: {url: ., lfs: true}", `line 4: repository.lfs is true` + both + `the objects of Git LFS do not go to other machines; remove one of the two`},
		{"worker: {ssh_hosts: [a]}\nrepository: {url: ., submodules: true}", `line 4: repository.submodules is true` + both + `submodules do not go to other machines; remove one of the two`},
	} {
		if got := problems(t, "tracker: {kind: file}\n"+test.front, with(nil)); len(got) != 1 || got[0] != test.want {
			t.Errorf("%s\n got %q\nwant %q", test.front, got, test.want)
		}
	}
	parse(t, "tracker: {kind: file}\nworker: {ssh_hosts: [a]}\nrepository: {url: ., lfs: false, submodules: false}", with(nil))
	const empty = "tracker: {kind: file}\nworker: {ssh_hosts: [a]}\nworkspace: {root: ' '}"
	if want := []string{`workspace.root is " ", which is empty: the default is used instead`}; !cmp.Equal(want, parse(t, empty, with(nil)).Warnings) {
		t.Error("an empty root is not warned of")
	}
}
