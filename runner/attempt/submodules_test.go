package attempt

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/lfstest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// addSubmodule gives the remote a submodule at deps/lib, with the file page.
func (f *repositoryFixture) addSubmodule() {
	f.t.Helper()
	f.job.Repository.Submodules = true
	writeFile(f.t, f.path("lib", "page"), "first\n")
	f.git("lib", "init", "-q", "-b", "main")
	f.git("lib", "add", "-A")
	f.git("lib", "commit", "-q", "-m", "first")
	f.git(".", "clone", "-q", "--bare", "lib", "lib.git")
	writeFile(f.t, f.path("seed", ".gitmodules"), "[submodule \"lib\"]\n\tpath = deps/lib\n\turl = ../lib.git\n")
	f.git("seed", "add", ".gitmodules")
	f.git("seed", "update-index", "--add", "--cacheinfo", "160000,"+f.git("lib", "rev-parse", "HEAD")+",deps/lib")
	f.git("seed", "commit", "-q", "-m", "add a submodule")
	f.git("seed", "push", "-q", f.origin, "main")
}

// assertChanges checks what the issue's branch changes.
func (f *repositoryFixture) assertChanges(want string) {
	f.t.Helper()
	if got := strings.ReplaceAll(f.git(f.origin, "diff", "--name-status", "main", f.branch.String()), "\t", " "); got != want {
		f.t.Errorf("the branch changes %q, want %q", got, want)
	}
}

const (
	insideIsLeftOut = "Changes inside submodules are left out: deps/lib."
	callDeliver     = "- [ ] Call `deliver` with `{\"title\":\"a\",\"body\":\"b\"}`\n"
)

func TestASessionHasSubmodulesAndDoesNotDeliverThem(t *testing.T) {
	t.Parallel()
	const begin = "- [ ] Run `test \"$(cat deps/lib/page)\" = first && test -z \"$(git status --porcelain --ignore-submodules=none)\"`\n"
	for name, test := range map[string]struct {
		steps   string
		changes string
		left    bool
		class   schedule.Class
	}{
		"work beside it":        {"- [ ] Create `deps/a.txt` containing `one`\n", "A deps/a.txt", false, schedule.Done},
		"work in it and beside": {"- [ ] Create `a.txt` containing `one`\n- [ ] Run `echo new > deps/lib/page`\n", "A a.txt", true, schedule.Done},
		"work in it alone":      {"- [ ] Run `cd deps/lib && echo new > page && git -c user.name=x -c user.email=x@y commit -qam new`\n", "", true, schedule.Done},
		"its commit is changed": {"- [ ] Run `cd deps/lib && git -c user.name=x -c user.email=x@y commit -q --allow-empty -m new && cd ../.. && git commit -qam new`\n", "M deps/lib", true, schedule.Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, begin+test.steps+callDeliver)
			f.addSubmodule()
			got := f.session(t.Context())
			if got.Class != test.class || got.Delivered != (test.changes != "") {
				t.Errorf("%+v", got)
			}
			if test.changes != "" {
				f.assertChanges(test.changes)
			}
			if told := strings.Contains(f.readLog(), " "+insideIsLeftOut); told != test.left {
				t.Errorf("the agent is told: %v", told)
			}
			if reported := len(got.Warnings) == 1 && got.Warnings[0] == insideIsLeftOut; reported != test.left || !test.left && len(got.Warnings) > 0 {
				t.Errorf("warnings %q", got.Warnings)
			}
			// The next session begins with fresh submodules, whatever the last one left.
			f.job.Issue.Title = "Again"
			if test.changes == "M deps/lib" {
				f.git(f.origin, "update-ref", "-d", "refs/heads/"+f.branch.String())
			}
			f.setScript(begin + "- [ ] Create `b.txt` containing `two`\n")
			f.delivers()
		})
	}
}

// A commit of the branch that is nowhere leaves its submodule empty, and the session goes on.
func TestASessionGoesOnWithoutASubmoduleThatOnlyItsBranchLacks(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `test ! -e deps/lib/page`\n- [ ] Create `a.txt` containing `one`\n")
	f.addSubmodule()
	f.git("seed", "update-index", "--cacheinfo", "160000,"+strings.Repeat("7", 40)+",deps/lib")
	f.git("seed", "commit", "-q", "-m", "name a commit that is nowhere")
	f.git("seed", "push", "-q", f.origin, "HEAD:refs/heads/"+f.branch.String())
	got := f.session(t.Context())
	if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "a submodule was left empty: submodule deps/lib: ") {
		t.Errorf("%+v", got)
	}
	f.assertChanges("A a.txt\nM deps/lib") // the last by the person who pushed it
}

// The real Codex works in a workspace with submodules and with files in Git LFS, of which its own
// git makes the pointers, twice, and cannot leave anything in a submodule that the next session
// meets.
func TestCodexWorksWithSubmodulesAndGitLFS(t *testing.T) {
	t.Parallel()
	const begin = `test "$(cat deps/lib/page)" = first && test -z "$(git status --porcelain --ignore-submodules=none)" && git submodule status | grep -q '^ ' && `
	f := newCodexRepository(t, nil,
		runs(t, begin+`test "$(cat model.bin)" = old && printf new > model.bin && git commit -qam new && git show HEAD:model.bin | grep -q oid && printf newer > more.bin && `+
			`git checkout -q HEAD~ && git checkout -q - && test "$(cat model.bin)" = new && echo new > deps/lib/page && echo the command ran`),
		calls(t, "deliver", map[string]string{"title": "Add a", "body": "It is there."}),
		runs(t, "rm -f deps/lib/.git; git init -q deps/lib; git -C deps/lib config core.fsmonitor 'touch ran; true'; mkfifo deps/lib/pipe; echo hostile $?"), done,
		runs(t, begin+"test ! -e deps/lib/pipe && echo two > b.txt && echo the second worked"), done,
	)
	f.inLFS()
	f.addSubmodule()
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered || len(got.Warnings) != 1 || got.Warnings[0] != insideIsLeftOut {
		t.Fatalf("%+v", got)
	}
	if log := f.readLog(); !strings.Contains(log, "the command ran") || !strings.Contains(log, insideIsLeftOut) || !strings.Contains(log, "hostile 0") {
		t.Error("the commands did not run, or the agent was not told what is left out")
	}
	f.assertChanges("M model.bin\nA more.bin")
	f.assertModel("new")
	if got := f.git(f.origin, "show", f.branch.String()+":more.bin"); got+"\n" != lfstest.Pointer("newer") {
		t.Errorf("more.bin is %q", got)
	}
	f.delivers()
	if !strings.Contains(f.readLog(), "the second worked") {
		t.Error("the second session did not work")
	}
	f.assertChanges("A b.txt\nM model.bin\nA more.bin")
}
