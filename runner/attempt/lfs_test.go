package attempt

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/lfstest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// inLFS puts model.bin into the Git LFS of the remote, whose content is "old", and has the
// sessions deliver with their objects.
func (f *repositoryFixture) inLFS() {
	f.t.Helper()
	writeFile(f.t, f.path("seed", ".gitattributes"), "*.bin filter=lfs\n")
	writeFile(f.t, f.path("seed", "model.bin"), lfstest.Pointer("old"))
	f.git("seed", "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false", "add", "-A")
	f.git("seed", "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false", "commit", "-q", "-m", "model")
	f.git("seed", "push", "-q", f.origin, "main")
	writeFile(f.t, f.object("old"), "old")
	f.job.Repository.LFS = &LFS{MaxBytes: 1000}
	f.deliver = func(d Delivery) error { return d.Work.(*git.Incoming).UploadObjects(f.t.Context(), f.branch) }
}

// object returns where the remote has an object.
func (f *repositoryFixture) object(content string) string {
	oid := lfstest.OID(content)
	return filepath.Join(f.origin, "lfs", "objects", oid[:2], oid[2:4], oid)
}

// assertModel fails the test unless the branch of the issue has a content of model.bin.
func (f *repositoryFixture) assertModel(content string) {
	f.t.Helper()
	if got := f.git(f.origin, "show", f.branch.String()+":model.bin"); got+"\n" != lfstest.Pointer(content) || f.readText(f.object(content)) != content {
		f.t.Errorf("model.bin is %q", got)
	}
}

func TestWorkInGitLFSThatWasLeftIsContinued(t *testing.T) {
	t.Parallel()
	for name, commit := range map[string]string{"committed": "git add -A && git commit -qm new", "not committed": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Run `test \"$(cat model.bin)\" = old && git diff --quiet && printf new > model.bin && "+commit+"`\n")
			f.inLFS()
			upload := f.deliver
			f.deliver = func(Delivery) error { return git.ErrTimeout }
			if got := f.session(t.Context()); got.Class != schedule.Transient {
				t.Fatalf("%+v", got)
			}
			f.deliver = upload
			f.setScript("- [ ] Run `test \"$(cat model.bin)\" = new && printf newer > more.bin`\n")
			f.delivers()
			f.assertModel("new")
			// The work goes on from the branch, with what is in Git LFS there.
			f.setScript("- [ ] Run `test \"$(cat model.bin more.bin)\" = newnewer && printf newest > model.bin`\n")
			f.delivers()
			f.assertModel("newest")
		})
	}
}

// The sessions between that which made the work and that which merges it have its objects no
// longer in their workspaces: they stay beside, with the work.
func TestObjectsOfGitLFSStayWithWorkBesideThatOfAPerson(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `printf new > model.bin && git commit -qam new && printf more > more.bin`\n")
	f.inLFS()
	upload := f.deliver
	f.moves("person.txt")
	if got := f.session(t.Context()); got.Delivered {
		t.Fatalf("%+v", got)
	}
	f.deliver = upload
	f.stopInCheckout()
	f.setScript("- [ ] Run `test \"$(cat model.bin)\" = old && rm -rf .git`\n- [ ] Exit `7`\n")
	f.session(t.Context())
	f.setScript("- [ ] Say `ready`\n- [ ] Hang\n")
	f.sessionUntil("ready", schedule.Interrupted)
	f.setScript("- [ ] Run `test \"$(cat model.bin)\" = old && git merge -q --no-edit unpublished && test \"$(cat model.bin more.bin)\" = newmore`\n")
	f.delivers()
	f.assertModel("new")
	if got := f.readText(f.object("more")); got != "more" {
		t.Errorf("the object of more.bin is %q", got)
	}
	f.assertNothingAside()
}

// The bounds may change between the sessions: what is published is within those of now.
func TestSavedObjectsOfGitLFSAreWithinTheLimitsOfNow(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `printf new > model.bin`\n")
	f.inLFS()
	upload := f.deliver
	f.moves("person.txt")
	f.session(t.Context())
	f.deliver = upload
	f.setScript("- [ ] Say `ready`\n- [ ] Hang\n")
	f.sessionUntil("ready", schedule.Interrupted)
	f.job.Repository.LFS = &LFS{MaxBytes: 2}
	f.setScript("- [ ] Run `git merge -q --no-edit unpublished && grep -q oid model.bin`\n")
	if got := f.session(t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
}

// A workspace that was filled without the contents has other files than one with them.
func TestPointersDoNotCountAsWorkWhenLFSIsSwitched(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `grep -q oid model.bin && echo x > x`\n")
	f.inLFS()
	lfs := f.job.Repository.LFS
	f.job.Repository.LFS = nil
	upload := f.deliver
	f.deliver = func(Delivery) error { return git.ErrTimeout }
	f.session(t.Context())
	f.job.Repository.LFS, f.deliver = lfs, upload
	f.setScript("- [ ] Run `test \"$(cat model.bin)\" = old && test ! -e x && echo y > y`\n")
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered || !strings.Contains(strings.Join(got.Warnings, " "), "repository.paths or repository.lfs has changed") {
		t.Errorf("%+v", got)
	}
	if files, _ := f.published(); strings.Join(files, " ") != ".gitattributes .gitignore README.md model.bin y" {
		t.Errorf("published: %q", files)
	}
	f.assertModel("old")
}

// An object that only the branch of an issue needs, and nobody has, is that issue's trouble.
func TestAMissingObjectOfABranchFailsItsIssue(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `echo x > x`\n")
	f.inLFS()
	f.session(t.Context())
	writeFile(t, f.path("seed", "model.bin"), lfstest.Pointer("lost"))
	f.git("seed", "fetch", "-q", f.origin, f.branch.String())
	f.git("seed", "checkout", "-q", "-f", "FETCH_HEAD")
	writeFile(t, f.path("seed", "model.bin"), lfstest.Pointer("lost"))
	f.git("seed", "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false", "commit", "-q", "-a", "-m", "lost")
	f.git("seed", "push", "-q", f.origin, "HEAD:"+f.branch.String())
	if got := f.session(t.Context()); got.Class != schedule.IssueFailed || !strings.Contains(got.Why, "lfs_object_unusable: the repository does not have the object of model.bin") {
		t.Errorf("%+v", got)
	}
}
