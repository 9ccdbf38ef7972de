package room

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder is a temporary folder of a test.
type folder struct {
	t   testing.TB
	dir string // without links
}

func newFolder(t testing.TB) folder {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return folder{t, dir}
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f folder) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// write writes a file with its folder.
func (f folder) write(name, text string) {
	f.t.Helper()
	f.check(os.MkdirAll(filepath.Dir(f.path(name)), 0o700))
	f.check(os.WriteFile(f.path(name), []byte(text), 0o600))
}

// listenUnix makes a socket with its folder.
func listenUnix(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}

// TestSocketsAreFoundByEveryPath searches what /proc says of another machine.
func TestSocketsAreFoundByEveryPath(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	alone := listenUnix(t, f.path("alone/s"))
	shared := listenUnix(t, f.path("with blanks/s"))
	f.write("with blanks/note", "")
	listenUnix(t, f.path("cwd/below/s"))
	f.write("cwd/below/note", "")
	listenUnix(t, f.path("alias/alone/s"))                // as if alone were mounted there too
	inContainer := listenUnix(t, f.path("volume/docker")) // made by a program of another namespace
	mountOfSocket := listenUnix(t, f.path("api"))
	gone := f.path("gone")
	line := "0000000000000000: 00000002 00000000 00010000 0001 01 12345"
	f.write("proc/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path\n"+
		line+"\n"+line+" @abstract\n"+line+" "+alone+"\n"+line+" "+shared+"\n"+line+" below/s\n"+line+" "+gone+"\n")
	f.check(os.MkdirAll(f.path("proc/7"), 0o700))
	f.check(os.Symlink(f.path("cwd"), f.path("proc/7/cwd")))
	f.write("proc/self/mountinfo", "short\n1 0 8:1 / / rw - ext4 /dev/sda rw\n"+
		"2 1 8:1 "+f.path("alone")+" "+f.path("alias/alone")+" rw - ext4 /dev/sda rw\n"+
		"3 1 8:2 /v "+f.path("volume")+" rw - ext4 /dev/sdb rw\n4 1 8:3 /api.sock "+f.path("api")+" rw - tmpfs none rw\n"+
		`5 1 8:4 / `+strings.ReplaceAll(f.path("with blanks"), " ", `\040`)+" rw - ext4 /dev/sdc rw\n")
	got, err := hostSockets(f.path("proc"), func(name string) (string, bool) { return "/run/agent", name == "SSH_AUTH_SOCK" })
	f.check(err)
	for _, want := range []string{filepath.Dir(alone), shared, f.path("cwd/below/s"), f.path("alias/alone"), inContainer, mountOfSocket, "/tmp", "/run/agent"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not denied", want)
		}
	}
	for _, path := range got {
		if path == gone || strings.Contains(path, "abstract") || path == f.path("with blanks") {
			t.Errorf("%s is denied", path)
		}
	}
	if _, err := hostSockets(f.path("nothing"), nil); err == nil {
		t.Error("a search that is not possible finds nothing")
	}
}

// TestABindMountHasItsSocketsDenied mounts a folder at a second place, where this is allowed.
func TestABindMountHasItsSocketsDenied(t *testing.T) {
	t.Parallel()
	if exec.Command("unshare", "-m", "true").Run() != nil {
		t.Skip("no mount namespace can be made here")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := newFolder(t)
	listenUnix(t, f.path("a/x/s"))
	f.write("a/x/note", "")
	f.check(os.Mkdir(f.path("b"), 0o700))
	look := exec.Command("unshare", "-m", "sh", "-c", `mount --bind "$1/a" "$1/b" && exec "$2" -test.run '^TestHelperSearches$' -test.v`, "sh", f.dir, program)
	look.Env = append(os.Environ(), searchHere+"=1")
	found, err := look.CombinedOutput()
	if err != nil || !strings.Contains(string(found), f.path("b/x/s\n")) || !strings.Contains(string(found), f.path("a/x/s\n")) {
		t.Errorf("%v:\n%s", err, found)
	}
}

// searchHere is the environment variable that makes TestHelperSearches search.
const searchHere = "SEARCH_HERE"

// TestHelperSearches prints what is denied on this machine.
func TestHelperSearches(t *testing.T) {
	if os.Getenv(searchHere) == "" {
		t.Skip("it runs in other mounts")
	}
	paths, err := hostSockets("/proc", os.LookupEnv)
	fmt.Println(strings.Join(paths, "\n"), err)
}
