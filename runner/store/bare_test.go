package store

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

// bare is a real bare repository. Objects are written in git's own format, read
// back by git, and checked by git in the end; every move of a ref is git's.
type bare struct {
	dir string

	mu  sync.Mutex // one question at a time
	in  io.WriteCloser
	out *bufio.Reader
}

// newBare makes a repository with code on its default branch, main.
func newBare(t testing.TB) *bare {
	t.Helper()
	r := &bare{dir: t.TempDir()}
	r.must(t, "init", "--quiet", "--bare", "--initial-branch=main", ".")
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
		r.in.Close()
		if err := cat.Wait(); err != nil {
			t.Error(err)
		}
		r.must(t, "fsck", "--strict", "--no-dangling")
	})
	code := r.write("commit", commitText(r.tree(map[string]string{"main.go": r.write("blob", "package main\n")}), "Begin"))
	r.must(t, "update-ref", "refs/heads/main", code)
	return r
}

func (r *bare) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_DIR="+r.dir)
	return cmd
}

func (r *bare) must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := r.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// read is the object that a name stands for; kind is empty when there is none.
func (r *bare) read(name string) (id, kind, content string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.in, name)
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
func (r *bare) head(branch string) string {
	id, _, _ := r.read("refs/heads/" + branch)
	return id
}

// write stores an object.
func (r *bare) write(kind, content string) string {
	full := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	sum := sha1.Sum([]byte(full))
	id := hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	io.WriteString(z, full)
	z.Close()
	folder := filepath.Join(r.dir, "objects", id[:2])
	if err := os.MkdirAll(folder, 0o755); err != nil {
		panic(err)
	}
	draft, err := os.CreateTemp(folder, "draft")
	if err != nil {
		panic(err)
	}
	draft.Write(packed.Bytes())
	draft.Close()
	if err := os.Rename(draft.Name(), filepath.Join(folder, id[2:])); err != nil {
		panic(err)
	}
	return id
}

// tree stores a tree of files, given as blobs by path.
func (r *bare) tree(files map[string]string) string {
	var content strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		raw, _ := hex.DecodeString(files[path])
		fmt.Fprintf(&content, "100644 %s\x00%s", path, raw)
	}
	return r.write("tree", content.String())
}

// files is the tree of a commit as blobs by path.
func (r *bare) files(commit string) map[string]string {
	files := map[string]string{}
	_, _, content := r.read(commit + "^{tree}")
	for content != "" {
		mode, rest, _ := strings.Cut(content, "\x00")
		_, path, _ := strings.Cut(mode, " ")
		files[path], content = hex.EncodeToString([]byte(rest[:20])), rest[20:]
	}
	return files
}

func commitText(tree, message string, parents ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&text, "parent %s\n", p)
	}
	const who = "Symphony <symphony@example.com> 1772366400 +0000"
	fmt.Fprintf(&text, "author %s\ncommitter %s\n\n%s", who, who, message)
	return text.String()
}

// move lets git move a branch: from one commit, or from none. Without force the
// move has to be a fast-forward, in git's judgement.
func (r *bare) move(branch, from, to string, force bool) bool {
	if from == "" {
		from = strings.Repeat("0", 40)
	} else if !force && r.command("merge-base", "--is-ancestor", from, to).Run() != nil {
		return false
	}
	return r.command("update-ref", "refs/heads/"+branch, to, from).Run() == nil
}
