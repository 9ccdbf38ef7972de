package codex

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestAServerOfAnotherUserIsRefused has servers that see all files, as one of root does.
func TestAServerOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux a server that runs already is used")
	}
	other := 1 // of root
	if os.Geteuid() == 0 {
		of := exec.Command("cat")
		of.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		in, err := of.StdinPipe()
		if err == nil {
			err = of.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); of.Wait() })
		other = of.Process.Pid
	}
	refused := fmt.Sprintf("does not run as user %d, as this program does: start the app-server on this machine, as the same user", os.Geteuid())
	for pid, want := range map[int]string{os.Getpid(): "", other: refused} {
		server := dial(t, func(p *fakeServer) {
			for m, ok := p.next(); ok; m, ok = p.next() {
				var file struct{ Path string }
				json.Unmarshal(m.Params, &file)
				content, err := os.ReadFile(strings.Replace(file.Path, "/self/", fmt.Sprintf("/%d/", pid), 1))
				if err != nil {
					t.Error(err)
				}
				p.reply(m, fmt.Sprintf(`{"dataBase64":%q}`, base64.StdEncoding.EncodeToString(content)))
			}
		})
		s := newSession(&core{o: Options{Temp: t.TempDir(), Config: Config{ReadTimeout: defaultReadTimeout}}, conn: newConn(server, defaultReadTimeout, nil)})
		s.conn.start(t.Context(), s.handleLine)
		err := s.sharing.isHere(t.Context())
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrNoSandbox) || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("process %d: %v, want %q", pid, err, want)
		}
		server.Close()
	}
}
