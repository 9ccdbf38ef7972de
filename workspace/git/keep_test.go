package git

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestAKeptTarIsBounded has a sparse file that fits into the bound, and one that does not. The
// bound of a shell counts blocks.
func TestAKeptTarIsBounded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const bound = 1 << 20
	for name, test := range map[string]struct {
		size int64
		want string
	}{
		"fits":     {bound * 3 / 4, ""},
		"too much": {bound + 1, "(more than 1048576 bytes): have the script remove some, or keep less (setup.keep)"},
	} {
		folder, home, to := m.path(name, "work"), m.path(name, "home"), m.path(name, "to")
		for _, dir := range []string{folder, home, to} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		git(t, folder, "init", "-q")
		write(t, folder+"/.gitignore", "big\n")
		git(t, folder, "add", "-A")
		git(t, folder, "commit", "-qm", "one")
		write(t, folder+"/big", "")
		if err := os.Truncate(folder+"/big", test.size); err != nil {
			t.Fatal(err)
		}
		command := m.host.KeepCommand(to, home, bound, nil)
		cmd := exec.Command(command.Args[0], command.Args[1:]...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), command.Env...)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (test.want != "") || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
