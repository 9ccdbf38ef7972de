package workspace

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hidden makes this test binary a process that hides itself, if its value is
// "yes", and then lets a child read its environment.
const hidden = "WORKSPACE_TEST_HIDDEN"

func TestAChildCannotReadTheEnvironmentOfAProcessThatHides(t *testing.T) {
	if value, set := os.LookupEnv(hidden); set {
		if value == "yes" {
			if err := HideFromChildren(); err != nil {
				t.Fatal(err)
			}
		}
		// The folder of a child is named by one of our descriptors.
		dir, err := os.Open(".")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("cat /proc/%d/environ; cat /proc/$$/environ >/dev/null && echo readable itself", os.Getpid()))
		cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
		out, _ := cmd.CombinedOutput() // cat may fail: that is the point
		fmt.Printf("<%s>", out)
		return
	}
	for value, want := range map[string]bool{"no": true, "yes": false} {
		cmd := exec.Command(nobodysCopy(t), "-test.run=^"+t.Name()+"$")
		cmd.Dir = "/"
		cmd.Env = []string{hidden + "=" + value, "SECRET=s3cret", "PATH=" + os.Getenv("PATH")}
		if os.Getuid() == 0 { // the superuser reads everything
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := strings.Contains(string(out), "s3cret"); got != want {
			t.Errorf("hidden %s: the child reads our environment: %v\n%q", value, got, out)
		}
		if !strings.Contains(string(out), "readable itself") {
			t.Errorf("hidden %s: the child did not run as it should\n%q", value, out)
		}
	}
}

// nobodysCopy is this test binary where every user can run it.
func nobodysCopy(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "hidden")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(folder, "test")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
		to.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
