package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func fingerprint(t testing.TB, r *Root) string {
	t.Helper()
	got, err := r.Fingerprint(t.Context(), r.workspace(issue))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// step is a script for a workspace; changes tells whether it must change the
// fingerprint.
type step struct {
	does    string
	script  string
	changes bool
}

func checkSteps(t *testing.T, steps []step) {
	t.Helper()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	before := fingerprint(t, r)
	for _, step := range steps {
		cmd := exec.Command("bash", "-ec", step.script)
		cmd.Dir = ws.Path
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step.does, err, out)
		}
		after := fingerprint(t, r)
		if (before != after) != step.changes {
			t.Errorf("%s: changed is %v", step.does, before != after)
		}
		before = after
	}
}

func TestTheFingerprintChangesWithTheWork(t *testing.T) {
	t.Parallel()
	checkSteps(t, []step{
		{"nothing", ":", false},
		{"a file", "echo 1 > f; touch -d 2020-01-01 f", true},
		{"other content of the same size", "echo 2 > f", true},
		{"a mode", "chmod 700 f", true},
		{"a folder", "mkdir -p a/b", true},
		{"a file deep down", "touch a/b/c", true},
		{"a file that comes and goes", "touch a/t; rm a/t", false},
		{"a look", "ls -lR; cat f", false},
		{"another name", "mv f g", true},
		{"a link", "ln -s g l", true},
		{"another target", "ln -sfn h l", true},
		{"a link to the outside", "ln -s / top", true},
		{"a named pipe, that nobody writes to", "mkfifo p", true},
		{"a deletion", "rm g", true},
	})
}

func TestTheFingerprintOfARepositoryIsItsTreeAndItsBranches(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	const commit = "git -c user.name=n -c user.email=e commit -qm m --allow-empty"
	checkSteps(t, []step{
		{"a repository", "git init -q; touch f; git add f; " + commit, true},
		{"a look", "git status; git log; git diff", false},
		{"an empty commit", commit, true},
		{"a branch", "git branch b", true},
		{"a checkout", "git checkout -q b", true},
		{"an object", "echo x | git hash-object -w --stdin", false},
		{"a named pipe for a HEAD", "rm .git/HEAD; mkfifo .git/HEAD", true},
	})
}

func TestTheFingerprintIsBounded(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := makeFolders(t, r, 100)
	look := func() string {
		got, err := r.fingerprint(t.Context(), ws, 50)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := look()
	if before != look() {
		t.Error("two looks at the same differ")
	}
	for i := range 100 {
		write(t, filepath.Join(ws.Path, "a", "b", strconv.Itoa(i), "deep"), "")
	}
	if before != look() {
		t.Error("a change far down is seen")
	}
	write(t, filepath.Join(ws.Path, "a", "top"), "")
	if before == look() {
		t.Error("a change near the top goes unseen")
	}
}

// makeFolders prepares a workspace with n folders two levels down.
func makeFolders(t testing.TB, r *Root, n int) Workspace {
	t.Helper()
	ws := prepare(t, r)
	for i := range n {
		if err := os.MkdirAll(filepath.Join(ws.Path, "a", "b", strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

func BenchmarkFingerprint(b *testing.B) {
	r := open(b, Hooks{})
	ws := makeFolders(b, r, 200)
	for i := range 200 {
		for j := range 24 {
			write(b, filepath.Join(ws.Path, "a", "b", strconv.Itoa(i), strconv.Itoa(j)), "")
		}
	}
	b.ReportMetric(5000, "entries")
	for b.Loop() {
		fingerprint(b, r)
	}
}
