package storetest

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// gitRepo is a real gitRepo repository. Objects are written in git's own format, read
// back by git, and checked by git in the end; every move of a ref is git's.
type gitRepo struct {
	t   testing.TB
	dir string

	mu  sync.Mutex // one question at a time
	in  io.WriteCloser
	out *bufio.Reader
}

// newGitRepo makes a repository with code on its default branch, main.
func newGitRepo(t testing.TB) *gitRepo {
	t.Helper()
	r := &gitRepo{t: t, dir: t.TempDir()}
	r.run("init", "--quiet", "--bare", "--initial-branch=main", ".")
	cat := r.command("cat-file", "--batch")
	var err error
	if r.in, err = cat.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.in.Close() // Wait tells how it ended
		if err := cat.Wait(); err != nil {
			t.Error(err)
		}
		r.run("fsck", "--strict", "--no-dangling")
	})
	code := r.writeObject("commit", formatCommit(r.writeTree(map[string]string{"main.go": r.writeObject("blob", "package main\n")}), "Begin"))
	r.run("update-ref", "refs/heads/main", code)
	return r
}

// command is git in the repository, without any configuration but its own.
func (r *gitRepo) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_DIR="+r.dir)
	return cmd
}

// run runs git, which run not fail; it may be called from any goroutine.
func (r *gitRepo) run(args ...string) string {
	r.t.Helper()
	out, err := r.command(args...).CombinedOutput()
	if err != nil {
		r.t.Errorf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// readObject is the object that a name stands for; kind is empty when there is none.
func (r *gitRepo) readObject(name string) (id, kind, content string) {
	if strings.ContainsAny(name, "\r\n") {
		return "", "", ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintln(r.in, name) // or there is nothing to read
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

// head is the commit of a branch, empty when there is no such branch.
func (r *gitRepo) head(branch string) string {
	id, _, _ := r.readObject("refs/heads/" + branch)
	return id
}

// writeObject stores an object.
func (r *gitRepo) writeObject(kind, content string) string {
	full := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	sum := sha1.Sum([]byte(full))
	id := hex.EncodeToString(sum[:])
	if err := r.writeLooseObject(id, full); err != nil {
		r.t.Error(err)
	}
	return id
}

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

// moveBranch lets git moveBranch a branch: from one commit, or from none. The moveBranch has to be
// a fast-forward, in git's judgement.
func (r *gitRepo) moveBranch(branch, from, to string) bool {
	if from == "" {
		from = strings.Repeat("0", 40)
	} else if r.command("merge-base", "--is-ancestor", from, to).Run() != nil {
		return false
	}
	return r.command("update-ref", "refs/heads/"+branch, to, from).Run() == nil
}
