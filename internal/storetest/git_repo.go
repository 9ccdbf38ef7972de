package storetest

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// gitRepo is a real bare repository. It writes objects in git's own format. git reads
// them back, checks them at the end of the test, and makes every move of a ref.
type gitRepo struct {
	t   testing.TB
	dir string

	cat *exec.Cmd
	mu  sync.Mutex // guards a request over in and its answer over out
	in  io.WriteCloser
	out *bufio.Reader
}

// lazyGitRepo returns a function that makes a repository when it is first called, since many
// tests need none.
func lazyGitRepo(t testing.TB) func() *gitRepo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var made *gitRepo
	t.Cleanup(func() { // after the server has ended, which is begun later
		if made != nil {
			made.close()
		}
	})
	return sync.OnceValue(func() *gitRepo {
		made = newGitRepo(t, dir)
		return made
	})
}

// newGitRepo makes a repository with code on its default branch, main.
func newGitRepo(t testing.TB, dir string) *gitRepo {
	t.Helper()
	r := &gitRepo{t: t, dir: dir}
	r.run("init", "--quiet", "--bare", "--initial-branch=main", "--template=", ".") // without the samples of hooks
	r.cat = r.command("cat-file", "--batch")
	in, err := r.cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out = in, bufio.NewReader(out)
	if err := r.cat.Start(); err != nil {
		t.Fatal(err)
	}
	code := r.writeObject("commit", formatCommit(r.writeTree(map[string]string{"main.go": r.writeObject("blob", "package main\n")}), "Begin"))
	r.run("update-ref", "refs/heads/main", code)
	return r
}

// close ends what reads the objects, and checks the repository.
func (r *gitRepo) close() {
	_ = r.in.Close() // Wait returns the result
	if err := r.cat.Wait(); err != nil {
		r.t.Error(err)
	}
	r.run("fsck", "--strict", "--no-dangling")
}

// command returns a git command in the repository that reads only the repository's
// own configuration.
func (r *gitRepo) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_DIR="+r.dir)
	return cmd
}

// run runs git and returns its trimmed output. If git fails, so does the test. Any
// goroutine may call it.
func (r *gitRepo) run(args ...string) string {
	r.t.Helper()
	out, err := r.command(args...).CombinedOutput()
	if err != nil {
		r.t.Errorf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// readObject reads the object with a name; kind is empty if there is no such object.
func (r *gitRepo) readObject(name string) (id, kind, content string) {
	if strings.ContainsAny(name, "\r\n") {
		return "", "", ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintln(r.in, name) // a failure leaves nothing to read
	head, err := r.out.ReadString('\n')
	if err != nil {
		return "", "", ""
	}
	var size int
	if n, _ := fmt.Sscanf(head, "%s %s %d", &id, &kind, &size); n < 3 {
		return "", "", ""
	}
	data := make([]byte, size+1) // a newline follows
	if _, err := io.ReadFull(r.out, data); err != nil {
		return "", "", ""
	}
	return id, kind, string(data[:size])
}

// head returns the commit of a branch, "" if there is no such branch.
func (r *gitRepo) head(branch string) string {
	id, _, _ := r.readObject("refs/heads/" + branch)
	return id
}

// writeObject stores an object and returns its name.
func (r *gitRepo) writeObject(kind, content string) string {
	full := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	sum := sha1.Sum([]byte(full))
	id := hex.EncodeToString(sum[:])
	if err := r.writeLooseObject(id, full); err != nil {
		r.t.Error(err)
	}
	return id
}

// writeLooseObject writes the file of an object: its header and content.
func (r *gitRepo) writeLooseObject(id, full string) error {
	name := filepath.Join(r.dir, "objects", id[:2], id[2:])
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.NoCompression) // the cheapest
	if err != nil {
		return err
	}
	if _, err := io.WriteString(z, full); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	draft, err := os.CreateTemp(r.dir, "draft")
	if err != nil {
		return err
	}
	if _, err = draft.Write(packed.Bytes()); err != nil {
		return err
	}
	if err := draft.Close(); err != nil {
		return err
	}
	return os.Rename(draft.Name(), name)
}

// moveBranch moves a branch from one commit, or creates it if from is empty. It
// reports whether git accepts the move, which must be a fast-forward.
func (r *gitRepo) moveBranch(branch, from, to string) bool {
	if from == "" {
		from = strings.Repeat("0", 40)
	} else if r.command("merge-base", "--is-ancestor", from, to).Run() != nil {
		return false
	}
	return r.command("update-ref", "refs/heads/"+branch, to, from).Run() == nil
}

// writeTree stores a tree of files, given as blobs by path, and returns its name.
func (r *gitRepo) writeTree(files map[string]string) string {
	folders := map[string]map[string]string{}
	entries := map[string]string{} // entries by name in git's order, in which a folder ends in a slash
	for path, blob := range files {
		folder, rest, nested := strings.Cut(path, "/")
		if !nested {
			entries[path] = blob
			continue
		}
		if folders[folder] == nil {
			folders[folder] = map[string]string{}
		}
		folders[folder][rest] = blob
	}
	for folder, files := range folders {
		entries[folder+"/"] = r.writeTree(files)
	}
	var content strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		id, _ := hex.DecodeString(entries[name]) // it is the name of an object
		mode := "100644"
		folder, nested := strings.CutSuffix(name, "/")
		if nested {
			mode = "40000"
		}
		fmt.Fprintf(&content, "%s %s\x00%s", mode, folder, id)
	}
	return r.writeObject("tree", content.String())
}

// readTree returns the files of a commit, as blobs by path.
func (r *gitRepo) readTree(commit string) map[string]string {
	files := map[string]string{}
	_, _, content := r.readObject(commit + "^{tree}")
	for content != "" {
		head, rest, _ := strings.Cut(content, "\x00")
		mode, name, _ := strings.Cut(head, " ")
		id := hex.EncodeToString([]byte(rest[:20]))
		content = rest[20:]
		if mode != "40000" {
			files[name] = id
			continue
		}
		for path, blob := range r.readTree(id) {
			files[name+"/"+path] = blob
		}
	}
	return files
}

// formatCommit returns the content of a commit object.
func formatCommit(tree, message string, parents ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&text, "parent %s\n", p)
	}
	const who = "Symphony <symphony@example.com> 1772366400 +0000"
	fmt.Fprintf(&text, "author %s\ncommitter %s\n\n%s", who, who, message)
	return text.String()
}
