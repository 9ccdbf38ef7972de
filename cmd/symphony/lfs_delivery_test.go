package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/lfstest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// lfsShop is a project that delivers to a repository with files in Git LFS.
type lfsShop struct {
	*project
	hub *githubtest.GitHub
	lfs *lfstest.Server
}

const listObjects storetest.Op = "POST /info/lfs/objects/batch"

// newLFSShop returns a shop with one issue. model.bin and data/big.bin are in Git LFS.
func newLFSShop(t *testing.T, settings string, steps ...string) *lfsShop {
	t.Helper()
	const token = "ghs_0123456789abcdefTOKEN"
	s := &lfsShop{hub: githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token}), lfs: lfstest.New(t)}
	s.hub.HandleFor("contents: read", listObjects, "POST /acme/shop.git/info/lfs/objects/batch", http.HandlerFunc(s.lfs.Batch))
	s.hub.Commit("main", map[string]string{
		".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
		"model.bin":      s.lfs.Put("the old model\n"), "data/big.bin": s.lfs.Put("big\n"),
	})
	s.project = newProject(t, agentCommand(t), map[string]string{"A-1": task(steps...)})
	s.env = append(append(s.env, s.hub.Env()...), "OPENAI_API_KEY="+agentKey, "GITHUB_TOKEN="+token)
	s.replace("codex:\n", "repository: {url: "+s.hub.CloneURL()+", lfs: true}\ndelivery: {"+settings+"hand_over: {state: Review}}\nagent: {max_turns: 1}\ncodex:\n")
	return s
}

// A file in Git LFS is one like any other for the agent, and a pointer with an object on
// the server for everybody else.
func TestFilesInGitLFSAreDelivered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings string
		commit   string
	}{
		"not committed":    {"", "true"},
		"the agent's own":  {"history: keep, ", "git add -A && git commit -qm work && printf 'a newer model' > model.bin && git commit -qam again"},
		"signed by GitHub": {"commits: verified, ", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLFSShop(t, test.settings,
				"Run `grep -Fqx 'the old model' model.bin && git diff --quiet && printf 'a new model' > model.bin && mkdir weights && printf w > weights/w.bin && "+test.commit+"`",
				"Call `deliver` with `{\"title\": \"Train it\", \"body\": \"Longer.\"}`")
			if r := s.ok("validate"); !strings.Contains(r.stdout, ", with the contents of files in Git LFS\n") {
				t.Errorf("validate says\n%s", r.stdout)
			}
			before := len(s.hub.Log())
			r := s.ok("--once")
			if !strings.Contains(r.stdout, "1 completed") {
				t.Fatalf("the report:\n%s\n%s", r.stdout, r.stderr)
			}
			model := "a new model"
			if strings.Contains(test.settings, "keep") {
				model = "a newer model"
			}
			for file, want := range map[string]string{"model.bin": model, "weights/w.bin": "w", "data/big.bin": "big\n"} {
				if got, _ := s.hub.File("symphony/A-1", file); got != lfstest.Pointer(want) || !s.lfs.Has(want) {
					t.Errorf("%s is %q, and its object is there: %v", file, got, s.lfs.Has(want))
				}
			}
			if strings.Contains(test.settings, "keep") && !s.lfs.Has("a new model") {
				t.Error("a commit in between has no object")
			}
			if files := s.hub.Git("diff", "--name-only", "main", "symphony/A-1"); files != "model.bin\nweights/w.bin" {
				t.Errorf("the branch changes %q", files)
			}
			if r := s.lfs.Requests(); r[0] != "LIST download 2" || !slices.ContainsFunc(r, func(line string) bool { return strings.HasPrefix(line, "LIST upload") }) {
				t.Errorf("the server of Git LFS got %q", r)
			}
			log := s.hub.Log()[before:]
			downloaded := slices.IndexFunc(log, func(line string) bool { return strings.Contains(line, "/info/lfs/") })
			uploaded := downloaded + 1 + slices.IndexFunc(log[downloaded+1:], func(line string) bool { return strings.Contains(line, "/info/lfs/") })
			pushed := slices.IndexFunc(log, func(line string) bool { return strings.Contains(line, "git-receive-pack") })
			if uploaded == downloaded || pushed < uploaded {
				t.Errorf("the push came before the objects: %q", log)
			}
		})
	}
}

func TestAPushWithoutItsObjectsNeverHappens(t *testing.T) {
	t.Parallel()
	s := newLFSShop(t, "", "Run `printf 'a new model' > model.bin`")
	s.lfs.Disturb(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusInsufficientStorage)
		}
		return r.Method == http.MethodPut
	})
	r := s.run("--once")
	if said := oneSpaced(r.stdout + r.stderr); !strings.Contains(said, "nothing was pushed: upload objects of Git LFS to "+s.hub.CloneURL()+": remote_forbidden") {
		t.Errorf("the report:\n%s\n%s", r.stdout, r.stderr)
	}
	if branches := s.hub.Branches(); len(branches) != 1 || len(s.hub.Pulls()) > 0 {
		t.Errorf("branches %v, pull requests %+v", branches, s.hub.Pulls())
	}
	s.lfs.Disturb(nil)
	s.ok("state", "resume")
	if r := s.ok("--once"); !strings.Contains(r.stdout, "1 completed") || !s.lfs.Has("a new model") || s.hub.Branches()["symphony/A-1"] == "" {
		t.Errorf("the next run:\n%s\n%s", r.stdout, r.stderr)
	}
}

// What is refused of a file in Git LFS.
func TestWhatMustNotLeaveInGitLFSIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ settings, does, says string }{
		"a secret":             {"", "printf 'x\\0" + agentKey + "' > model.bin", "model.bin: line 1 holds a secret of this run"},
		"content in its place": {"", "rm .gitattributes && printf 'a new model' > model.bin", "model.bin: it is a pointer of Git LFS on the base branch"},
		"in a patch":           {"kind: patch, ", "printf 'a new model' > model.bin", "model.bin: it is in Git LFS, and a patch (delivery.kind) cannot hold its content"},
		"a lost one between":   {"history: keep, ", "printf 'a new model' > model.bin && git add -A && git commit -qm work && rm -rf .git/lfs/objects/* && printf 'a newer model' > model.bin && git add -A && git commit -qm work", "it is a pointer of Git LFS whose object was not taken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLFSShop(t, test.settings, "Run `"+test.does+"`")
			r := s.run("--once")
			if said := oneSpaced(r.stdout + r.stderr); !strings.Contains(said, test.says) {
				t.Errorf("nothing says %q:\n%s\n%s", test.says, r.stdout, r.stderr)
			}
			if len(s.hub.Branches()) != 1 || len(s.lfs.Objects()) != 2 {
				t.Errorf("branches %v, objects %q", s.hub.Branches(), s.lfs.Objects())
			}
		})
	}
}

// Work that is refused is kept with its objects, and the commands that the report names
// bring both into a clone.
func TestRefusedWorkInGitLFSCanBeTakenByHand(t *testing.T) {
	t.Parallel()
	s := newLFSShop(t, "", "Run `printf 'a new model' > model.bin; mkdir -p .github; echo x > .github/x`")
	s.run("--once")
	clone := filepath.Join(s.dir, "clone")
	s.hub.Git("clone", "-q", "--no-checkout", ".", clone)
	for _, command := range []string{
		"cp -R " + s.dir + "/.symphony/refused/A-1/. .", "mkdir -p .git/lfs && cp -R objects .git/lfs",
		"git fetch -q work.bundle refs/heads/out:refs/heads/symphony/A-1",
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = clone
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	oid := lfstest.OID("a new model")
	if got := s.read("clone/.git/lfs/objects/" + oid[:2] + "/" + oid[2:4] + "/" + oid); got != "a new model" {
		t.Errorf("the object is %q", got)
	}
}

// On a laptop the objects are in the user's own repository.
func TestFilesInGitLFSOfALocalRepository(t *testing.T) {
	t.Parallel()
	p := newProject(t, agentCommand(t), map[string]string{"A-1": task("Run `grep -Fqx 'the old model' model.bin && printf 'a new model' > model.bin`")})
	p.env = append(p.env, "OPENAI_API_KEY="+agentKey, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	p.write("shop/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	p.write("shop/model.bin", lfstest.Pointer("the old model\n"))
	git := p.makeRepository("shop")
	object := func(content string) string {
		oid := lfstest.OID(content)
		return filepath.Join("shop/.git/lfs/objects", oid[:2], oid[2:4], oid)
	}
	p.replace("codex:", "repository: {url: ./shop, lfs: true}\ndelivery: {hand_over: {state: Review}}\nagent: {max_turns: 1}\ncodex:")
	r := p.run("--once")
	if said := oneSpaced(r.stdout + r.stderr); !strings.Contains(said, "the repository does not have the object of model.bin; run git lfs fetch there") {
		t.Errorf("the report:\n%s\n%s", r.stdout, r.stderr)
	}
	p.write(object("the old model\n"), "the old model\n")
	if r := p.ok("--once"); !strings.Contains(r.stdout, "1 completed") {
		t.Fatalf("the report:\n%s\n%s", r.stdout, r.stderr)
	}
	if got := git("show", "symphony/A-1:model.bin"); got+"\n" != lfstest.Pointer("a new model") || p.read(object("a new model")) != "a new model" {
		t.Errorf("model.bin is %q", got)
	}
}
