package attempt

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestRaidReadsADeniedPathThatIsAPatternForCodex reads files and folders with such names beside a
// program, also from /tmp, of which commands see the entries alone that are named.
func TestRaidReadsADeniedPathThatIsAPatternForCodex(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only the sandbox of Linux follows links")
	}
	temp := folderIn(t, "/tmp")
	inTmp := temp + "-[x]"
	t.Cleanup(func() { os.RemoveAll(inTmp) })
	for _, name := range []string{"a[1]/key", "a[1]/below/key", "a1/key", "f?[", "x]", "*"} {
		writeFile(t, filepath.Join(temp, name), "s3cret")
	}
	image, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(temp, "shot[1].png"), string(image))
	writeFile(t, filepath.Join(temp, "bin/program"), "")
	writeFile(t, filepath.Join(inTmp, "key"), "s3cret")
	try := func(t *testing.T, guarded, withKey bool) (printed string) {
		look := "cd " + quote(temp) + " && ls -d bin/program; grep -rs s3cret . " + quote(inTmp) + "; ls -A " + quote(inTmp) + " a*; echo the command ran"
		replies := []codextest.Reply{runs(t, look), calls(t, "view_image", map[string]string{"path": filepath.Join(temp, "shot[1].png")}), done}
		f, m := newCodexFixture(t, codextest.Lane{Replies: replies})
		if !withKey {
			f.inUsersHome(m)
		}
		f.job.Denied = room.Denied{Paths: []string{temp, inTmp}, Readable: []string{filepath.Join(temp, "bin")}}
		if !guarded {
			f.job.Codex.ThreadSandbox = []byte(`"danger-full-access"`)
		}
		if got := f.run(t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 {
			t.Fatalf("%+v\n%s", got, f.readLog())
		}
		for _, r := range m.Requests() {
			printed += string(r.Body)
		}
		if !strings.Contains(printed, "the command ran") || !strings.Contains(printed, `bin/program\n`) {
			t.Errorf("the program cannot be seen:\n%s", printed)
		}
		return printed
	}
	t.Run("guard off", func(t *testing.T) {
		printed := try(t, false, true)
		for _, text := range []string{"a[1]/key:s3cret", "a[1]/below/key:s3cret", "f?[:s3cret", "x]:s3cret", "*:s3cret", "-[x]/key:s3cret", "data:image/png"} {
			if !strings.Contains(printed, text) {
				t.Errorf("%s is not read without the guard, so this shows nothing:\n%s", text, printed)
			}
		}
	})
	for name, withKey := range map[string]bool{"in a home of its own": true, "in the user's home": false} {
		t.Run(name, func(t *testing.T) {
			printed := try(t, true, withKey)
			for _, text := range []string{":s3cret", "a[1]/below", `\nkey\n`, "data:image/png"} {
				if strings.Contains(printed, text) {
					t.Errorf("the agent sees %s:\n%s", text, printed)
				}
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "symphony-links-*")); len(left) > 0 {
		t.Errorf("a session left %q", left)
	}
}
