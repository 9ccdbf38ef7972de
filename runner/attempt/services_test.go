package attempt

import (
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/symphony-runner/symphony/runner/setup"
)

// TestEveryPartOfASessionReachesTheServices has the real Codex. The service is a server of the test
// that hears one word on each connection.
func TestEveryPartOfASessionReachesTheServices(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives each command a loopback of its own")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var mu sync.Mutex
	var heard []string
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			var word string
			if _, err := fmt.Fscanln(c, &word); err == nil { // the probes say nothing
				mu.Lock()
				heard = append(heard, word)
				mu.Unlock()
				fmt.Fprintln(c, "heard")
			}
			c.Close()
		}
	}()
	tell := `tell() { exec 3<>/dev/tcp/127.0.0.1/` + portOf(listener) + ` && echo "$1" >&3 && read -r -t 20 answer <&3 && test "$answer" = heard; }` + "\n"
	f := newCodexRepository(t, map[string]string{"tell": tell, "package-lock.json": "{}"}, runs(t, ". ./tell; tell turn && echo done > a.txt"), done)
	f.job.Services = []int{listener.Addr().(*net.TCPAddr).Port}
	f.job.Repository.Hooks.BeforeRun = ". ./tell; tell hook"
	f.job.Repository.Setup = &Setup{Config: setup.Config{Run: ". ./tell; tell setup && mkdir made", Timeout: forever}, Preparations: NewPreparations(f.path("packs"))}
	f.job.Repository.Verify = []string{". ./tell; tell verify && test -e a.txt"}
	f.delivers()
	mu.Lock()
	defer mu.Unlock()
	for _, word := range []string{"setup", "hook", "turn", "verify"} {
		if !slices.Contains(heard, word) {
			t.Errorf("nobody told it %q: %q", word, heard)
		}
	}
}
