package git

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// newSettings returns a delivery whose origin has files of agents: in .codex, and behind
// the link .agents. The branch newer changes them.
func newSettings(t *testing.T) *delivery {
	t.Helper()
	history := "commit refs/heads/main\nmark :1\ncommitter A <a@b> 1700000000 +0000\ndata 5\nfirst\n" +
		"M 120000 inline .agents\ndata 3\nlib\n"
	for _, file := range []string{".codex/old", ".codex/x", "app/a", "lib/c", "root"} {
		history += "M 100644 inline " + file + "\ndata 4\nold\n\n"
	}
	history += "commit refs/heads/newer\ncommitter A <a@b> 1700000000 +0000\ndata 5\nnewer\nfrom :1\nD .codex/old\n"
	for _, file := range []string{".codex/x", ".codex/new", ".aws/new", "app/b"} {
		history += "M 100644 inline " + file + "\ndata 4\nnew\n\n"
	}
	history += "commit refs/heads/plain\ncommitter A <a@b> 1700000000 +0000\ndata 5\nplain\nfrom :1\nD .codex\nD .agents\n"
	m := newMachine(t)
	return m.deliver(t, m.imported(t, history))
}

func (d *delivery) settingsCheckout(t *testing.T, paths ...string) Checkout {
	t.Helper()
	readOnly, err := d.store.ReadOnly(t.Context(), nil, d.from.Start, ObjectID{})
	if err != nil {
		t.Fatal(err)
	}
	return Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person, Paths: paths, ReadOnly: readOnly}
}

// inSandbox returns a command that runs another one where all folders that a sandbox may
// keep read-only are mount points, as Codex's sandbox makes them. Where the system does
// not allow that, the test is skipped.
func inSandbox(t testing.TB, c Command) Command {
	t.Helper()
	const mount = `mkdir -p .agents .aws .codex; for f in .agents .aws .codex; do mount -t tmpfs -o ro,mode=555 none "$f" || exit; done; "$@"; e=$?
umount .agents .aws .codex; rmdir .agents .aws .codex 2>/dev/null; exit $e`
	unshare := []string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"}
	probe := exec.Command(unshare[0], append(unshare[1:], "true")...)
	if probe.Dir = t.TempDir(); probe.Run() != nil {
		t.Skip("this system lets nobody make mount points")
	}
	return Command{Args: append(unshare, c.Args...), Env: c.Env}
}

// fillInSandbox fills a workspace as Codex's sandbox does, and returns its folder and what
// the checkout has left out.
func (d *delivery) fillInSandbox(t *testing.T, c Checkout) (folder string, leftOut []string) {
	t.Helper()
	folder = filepath.Join(d.workspaces, "GH-1")
	populateGit(t, d.store, folder, c)
	var printed string
	for _, command := range d.host.CheckoutCommands(c) {
		printed += runAsAgent(t, folder, "", inSandbox(t, command))
	}
	return folder, LeftOut(strings.Fields(printed))
}

func TestFilesInFoldersThatTheSandboxKeepsReadOnlyStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const all = ".agents .aws .codex"
	d := newSettings(t)
	for name, test := range map[string]struct {
		paths []string
		agent string // shell commands; app/a is changed after them
		want  string
	}{
		"a commit":              {nil, "git commit -q --allow-empty -m x; echo more > root; git commit -qam all; git add -A", "*app/a *root"},
		"a merge":               {nil, "git merge -q -m merge NEWER && test -e app/b", "+.aws/new +.codex/new -.codex/old *.codex/x *app/a +app/b"},
		"another branch":        {nil, "git checkout -q NEWER && git checkout -q - && test ! -e app/b", "*app/a"},
		"a rebase":              {nil, "echo x > n; git add n; git commit -qm n; git rebase -q NEWER", "+.aws/new +.codex/new -.codex/old *.codex/x *app/a +app/b +n"},
		"a stash":               {nil, "echo x > app/a; git stash -q; git stash pop -q", "*app/a"},
		"a hard reset":          {nil, "echo x > root; git reset -q --hard", "*app/a"},
		"all files":             {nil, "git sparse-checkout disable || git reset -q --hard || true", "*app/a"},
		"a deletion by commit":  {nil, "git rm -rq --cached --sparse .codex .agents; git commit -qm less", "-.agents -.codex/old -.codex/x *app/a"},
		"a file by commit":      {nil, "git update-index --add --cacheinfo 100644,$(git rev-parse :root),.codex/n; git commit -qm more", "+.codex/n *app/a"},
		"a file in the index":   {nil, "git update-index --add --cacheinfo 100644,$(git rev-parse :root),.codex/n", "*app/a"},
		"paths and a merge":     {[]string{"app"}, "git merge -q -m merge NEWER && test -e app/b", "+.aws/new +.codex/new -.codex/old *.codex/x *app/a +app/b"},
		"paths of the sandbox":  {[]string{".codex", "app"}, "test ! -e lib", "*app/a"},
		"paths in such a place": {[]string{".codex/deep", "app"}, "test ! -e lib", "*app/a"},
	} {
		t.Run(name, func(t *testing.T) {
			defer remove(t, filepath.Join(d.workspaces, "GH-1"))
			folder, leftOut := d.fillInSandbox(t, d.settingsCheckout(t, test.paths...))
			want := "app/a lib/c root"
			if test.paths != nil {
				want = "app/a root"
			}
			if got := filesIn(t, folder); got != want || strings.Join(leftOut, " ") != all {
				t.Fatalf("the workspace has %s, left out is %v", got, leftOut)
			}
			agent := func(script string) string {
				return runAsAgent(t, folder, "", inSandbox(t, Command{Args: []string{"sh", "-ec", script}, Env: sandboxEnv}))
			}
			if status := agent("git status --porcelain"); status != "" {
				t.Errorf("the agent sees changes:\n%s", status)
			}
			newer := git(t, d.origin, "rev-parse", "newer")
			git(t, folder, "fetch", "-q", d.origin, "newer")
			agent(strings.ReplaceAll(test.agent, "NEWER", newer) + "; echo new > app/a")
			harvest := d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{Paths: test.paths, LeftOut: leftOut})
			if got := d.changesOf(t, inSandbox(t, harvest), folder); got != test.want {
				t.Errorf("the work is %q, want %q", got, test.want)
			}
			if got := d.changesOf(t, harvest, folder); got != test.want { // as of a server whose sandbox has fewer such folders
				t.Errorf("outside of the sandbox the work is %q, want %q", got, test.want)
			}
		})
	}
}

// Without a sandbox an agent may change these files, and take its changes back.
func TestFilesInFoldersThatCanBeWrittenAreWorkAsOthers(t *testing.T) {
	t.Parallel()
	d := newSettings(t)
	for _, test := range []struct {
		paths       []string
		agent, want string
	}{
		{nil, "true", ""},
		{nil, "echo new > .codex/x; rm .codex/old", "-.codex/old *.codex/x"},
		{[]string{".codex", "app", "lib"}, "rm -r .codex .agents", "-.agents -.codex/old -.codex/x"},
		{[]string{".codex", "app", "lib"}, "mkdir .aws; echo new > .aws/n; chmod 755 .aws", "+.aws/n"},
		{nil, "echo new > .codex/n; git add -A; git commit -qm new; git reset -q --hard origin/main", ""},
		{nil, "ln -sfn /nonexistent .agents", "*.agents"},
		{nil, "rm .agents; mkdir .agents; echo new > .agents/n", "-.agents +.agents/n"},
	} {
		folder := populateFrom(t, d.machine, d.store, "GH-1", d.settingsCheckout(t, test.paths...))
		if got := filesIn(t, folder); got != ".agents .codex/old .codex/x app/a lib/c root" {
			t.Fatalf("the workspace has %s", got)
		}
		runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", test.agent}, Env: sandboxEnv})
		if got := d.changesOf(t, d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{Paths: test.paths}), folder); got != test.want {
			t.Errorf("paths %q: %s: the work is %q, want %q", test.paths, test.agent, got, test.want)
		}
		remove(t, folder)
	}
}

// A kept workspace may come from a session with another sandbox.
func TestAKeptWorkspaceIsFilledInAndOutOfASandbox(t *testing.T) {
	t.Parallel()
	d := newSettings(t)
	c := d.settingsCheckout(t)
	folder := populateFrom(t, d.machine, d.store, "GH-1", c)
	remove(t, filepath.Join(folder, ".agents")) // Codex does not start behind a link
	write(t, filepath.Join(folder, ".codex/x"), "hostile\n")
	for range 2 {
		remove(t, filepath.Join(folder, ".git"))
		_, leftOut := d.fillInSandbox(t, c)
		if strings.Join(leftOut, " ") != ".agents .aws .codex" {
			t.Errorf("left out: %v", leftOut)
		}
		harvest := d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{LeftOut: leftOut})
		if got := d.changesOf(t, inSandbox(t, harvest), folder); got != "" {
			t.Errorf("the work is %q", got)
		}
	}
	remove(t, filepath.Join(folder, ".git"))
	populateFrom(t, d.machine, d.store, "GH-1", c)
	if got := filesIn(t, folder); got != ".agents .codex/old .codex/x app/a lib/c root" || read(t, filepath.Join(folder, ".codex/x")) != "old\n" {
		t.Errorf("the workspace has %s", got)
	}
}

func TestOnlyRepositoriesThatHaveSuchFoldersAreSparse(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder, _ := d.fillInSandbox(t, d.settingsCheckout(t))
	if exists(filepath.Join(folder, ".git/info/sparse-checkout")) || strings.Contains(read(t, filepath.Join(folder, ".git/config")), "sparseCheckout") {
		t.Error("the checkout is sparse")
	}
	d = newSettings(t)
	for commits, want := range map[string]bool{"main": true, "plain": false, "plain newer": true, "": false} {
		var ids []ObjectID
		for name := range strings.FieldsSeq(commits) {
			git(t, d.store.repository(), "fetch", "-q", d.origin, name)
			ids = append(ids, id(t, git(t, d.origin, "rev-parse", name)))
		}
		if got, err := d.store.ReadOnly(t.Context(), nil, append(ids, ObjectID{})...); err != nil || got != want {
			t.Errorf("%s: %v, %v", commits, got, err)
		}
	}
	d = newDelivery(t)
	for file, want := range map[string]bool{".aws/x": true, "aws/.aws/x": false} {
		in := d.receive(t, d.harvestOf(t, file))
		if got, err := d.store.ReadOnly(t.Context(), in, in.Start, in.Tip); err != nil || got != want {
			t.Errorf("work with %s: %v, %v", file, got, err)
		}
	}
}

// harvestOf returns the harvest of an agent that makes a file.
func (d *delivery) harvestOf(t *testing.T, file string) []byte {
	t.Helper()
	folder := d.workspace(t, "GH-"+strconv.Itoa(len(file)))
	write(t, filepath.Join(folder, file), "new\n")
	return d.harvest(t, folder)
}
