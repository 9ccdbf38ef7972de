package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/lfstest"
)

// TestRaidReachesForGitLFS lets agents leave things in the place of objects, pointers and
// attributes. The program goes on working on what they left: nothing outside changes, the
// server gets no object that is not a file of the work, and another issue is worked on.
func TestRaidReachesForGitLFS(t *testing.T) {
	t.Parallel()
	stolen := "mine\n"
	oid := lfstest.OID(stolen)
	folder := ".git/lfs/objects/" + oid[:2] + "/" + oid[2:4]
	pointer := "printf '" + strings.ReplaceAll(lfstest.Pointer(stolen), "\n", `\n`) + "' > model.bin; "
	for name, does := range map[string]string{
		"a link as an object":         pointer + "mkdir -p " + folder + "; ln -s OUTSIDE/file " + folder + "/" + oid,
		"a link to the objects":       pointer + "rm -rf .git/lfs; mkdir -p OUTSIDE/x; ln -s OUTSIDE .git/lfs",
		"a link as a file":            pointer + "git add -A; git commit -qm x; rm model.bin; ln -s OUTSIDE/file model.bin; git update-index --assume-unchanged model.bin",
		"a pipe as an object":         pointer + "mkdir -p " + folder + "; mkfifo " + folder + "/" + oid,
		"an object of somebody else":  pointer + "true",
		"a path in a pointer":         "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:../../../../../../../../../../../../../../../../OUTSIDE/file\\nsize 5\\n' > model.bin",
		"a path in what was fetched":  "rm -rf .git/lfs/objects; mkdir -p .git/lfs/objects; ln -s OUTSIDE .git/lfs/objects/aa; ln -s OUTSIDE .git/lfs/tmp; printf x > model.bin",
		"settings of Git LFS":         "printf '[lfs]\\n\\turl = http://127.0.0.1:1/evil\\n' > .lfsconfig; printf x > model.bin",
		"every file, and no filter":   "printf '* filter=lfs\\n' > .gitattributes; printf '* -filter\\n' > .git/info/attributes; printf x > model.bin",
		"a filter that leaves a mark": "git config filter.lfs.clean 'touch OUTSIDE/ran; cat'; git config filter.lfs.smudge 'touch OUTSIDE/ran; cat'; printf x > model.bin",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLFSShop(t, "", "Run `true`")
			outside := filepath.Join(s.dir, "outside")
			s.write("outside/file", stolen)
			s.write("issues/A-1.md", task("Run `"+strings.ReplaceAll(does, "OUTSIDE", outside)+"; rm -f "+outside+"/ran`"))
			before, main := s.lfs.Objects(), s.hub.Head("main")
			s.run("--once") // may refuse the work
			after := slices.DeleteFunc(s.lfs.Objects(), func(content string) bool { return content == "x" || slices.Contains(before, content) })
			for _, content := range after {
				if content != "*.bin filter=lfs diff=lfs merge=lfs -text\n" && !strings.HasPrefix(content, "version ") && content != "* filter=lfs\n" {
					t.Errorf("the server got %q", content)
				}
			}
			if s.lfs.Has(stolen) || s.read("outside/file") != stolen {
				t.Error("the file outside has come out, or has changed")
			}
			if left, _ := filepath.Glob(outside + "/*"); len(left) > 2 || len(left) == 2 && left[1] != outside+"/x" {
				t.Errorf("outside: %q", left)
			}
			// The next session goes on with what is there, and another issue has none of it.
			s.run("state", "retry", "A-1")
			s.write("issues/A-2.md", task("Run `test \"$(cat model.bin)\" = 'the old model' && printf fine > fine.bin`"))
			r := s.run("--once")
			if got, _ := s.hub.File("symphony/A-2", "fine.bin"); got != lfstest.Pointer("fine") || !s.lfs.Has("fine") {
				t.Errorf("the other issue has %q", got)
			}
			if s.lfs.Has(stolen) || s.read("outside/file") != stolen || s.hub.Head("main") != main {
				t.Errorf("the next session changed what is not its own\n%s\n%s", r.stdout, r.stderr)
			}
		})
	}
}
