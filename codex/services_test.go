package codex_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// echo is a service of this machine that sends back what it gets.
type echo struct {
	port int

	mu         sync.Mutex
	open, most int        // connections now, and at most at once
	changed    *sync.Cond // tells of a change of open
	got        strings.Builder
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives each command a loopback of its own")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	e := &echo{port: listener.Addr().(*net.TCPAddr).Port}
	e.changed = sync.NewCond(&e.mu)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			e.count(1)
			go func() {
				defer e.count(-1)
				defer connection.Close()
				_, _ = io.Copy(connection, io.TeeReader(connection, e)) // until the client ends
			}()
		}
	}()
	return e
}

func (e *echo) count(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open += n
	e.most = max(e.most, e.open)
	e.changed.Broadcast()
}

// Write records bytes of a client.
func (e *echo) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.Write(p)
}

// received returns the bytes of all clients.
func (e *echo) received() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.String()
}

// await waits until so many connections are open. The test ends if it takes too long.
func (e *echo) await(t *testing.T, open int) {
	t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.open = -1
		e.changed.Broadcast()
	})
	defer late.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.open != open {
		if e.open < 0 {
			t.Fatalf("there are never %d connections", open)
		}
		e.changed.Wait()
	}
}

// asks returns a command that sends a word to a port of its loopback, and prints "got WORD" if it
// comes back, and otherwise "no WORD".
func asks(port int, word string) string {
	return fmt.Sprintf(`( exec 3<>/dev/tcp/127.0.0.1/%d && echo %s >&3 && read -r -t 20 line <&3 && echo "got $line" ) 2>/dev/null || echo no %[2]s`, port, word)
}

// deadPort returns a port that nobody else gets and on which nobody listens.
func deadPort(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		t.Cleanup(func() { syscall.Close(fd) })
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return address.(*syscall.SockaddrInet4).Port
}

// TestCommandsReachTheServices has turns and programs of all networks ask a service, another port,
// and a service that is not there.
func TestCommandsReachTheServices(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	service, other, dead := newEcho(t), newEcho(t), deadPort(t)
	eachModel(t, func(t *testing.T, model string) {
		c := newTestbed(t, model)
		c.services = []int{service.port, dead}
		c.networks = map[string]codex.Network{"setup": {}, "hosts": {Hosts: []string{"other.example"}}}
		s := c.connect(false)
		defer c.close(s)
		for _, network := range []string{"", "setup", "hosts"} {
			output := c.bash(s, network, asks(service.port, "service")+"\n"+asks(other.port, "other")+"\n"+asks(dead, "dead")+"\necho \"by $HTTP_PROXY\"")
			mustSay(t, output, "got service", "no other", "no dead")
			if strings.Contains(output, "by http") != (network == "hosts") {
				t.Errorf("clients of %q ask a proxy, or none:\n%s", network, output)
			}
		}
		if err := s.OpenThread(t.Context()); err != nil {
			t.Fatal(err)
		}
		output := c.turn(s, asks(service.port, "service")+"\n"+asks(other.port, "other")+"\n"+asks(dead, "dead"))
		mustSay(t, output, "got service", "no other", "no dead")
		service.await(t, 0)

		c.tryTurn(s, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; sleep 1000", service.port), map[string]any{"yield_time_ms": 250})
		service.await(t, 1) // the command goes on
		if err := s.CleanTerminals(t.Context()); err != nil {
			t.Fatal(err)
		}
		service.await(t, 0)
	})
	if got := other.received(); got != "" {
		t.Errorf("the other port got %q", got)
	}
}

// TestAServiceThatDoesNotAnswerIsReportedOnce asks for it by the probe and by two commands.
func TestAServiceThatDoesNotAnswerIsReportedOnce(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	newEcho(t)
	c := newTestbed(t, plainModel)
	dead := deadPort(t)
	c.services = []int{dead}
	s := c.connect(true)
	mustSay(t, c.bash(s, "", asks(dead, "one")+"\n"+asks(dead, "two")), "no one", "no two")
	c.close(s)
	events, _ := c.seen()
	reported := 0
	for _, e := range events {
		if e.Summary == fmt.Sprintf("the service localhost:%d does not answer", dead) {
			reported++
		}
	}
	if reported != 1 {
		t.Errorf("it is reported %d times", reported)
	}
}

// TestAReviewReachesNoService has the command of a review ask one.
func TestAReviewReachesNoService(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	service := newEcho(t)
	c := newTestbed(t, plainModel)
	c.reviews, c.services = true, []int{service.port}
	c.build()
	c.write("workspaces/scratch/work/work.txt", "work")
	c.write("workspaces/scratch/work/.git/empty", "")
	s := c.connect(false)
	defer c.close(s)
	arguments, _ := json.Marshal(map[string]any{"cmd": asks(service.port, "review") + "; echo the command ran", "yield_time_ms": 30000})
	c.model.Add(codextest.Lane{Match: regexp.MustCompile("Look at the work"), Replies: []codextest.Reply{
		reviewReply(codextest.Call{Name: "exec_command", Arguments: string(arguments)}),
		reviewReply(codextest.Message{Text: `{"verdict":"fine"}`}),
	}}, codextest.Lane{})
	if err := s.OpenThread(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Review(t.Context(), codex.Review{
		Dir: c.path("workspaces/scratch"), Set: map[string]string{"HOME": "/tmp", "TMPDIR": c.path("workspaces/scratch"), "BASH_ENV": ""},
		Timeout: time.Minute, Prompt: "Look at the work.", Schema: json.RawMessage(reviewSchema),
	})
	output := strings.Join(c.outputs, "\n")
	if err != nil || !strings.Contains(output, "no review\nthe command ran") {
		t.Errorf("%v\n%s", err, output)
	}
}

// floodPort is the environment variable that makes TestHelperFloods connect to a port.
const floodPort = "FLOOD_PORT"

// TestHelperFloods opens many connections, and prints whether enough of them answer.
func TestHelperFloods(t *testing.T) {
	port := os.Getenv(floodPort)
	if port == "" {
		t.Skip("it is a program that the red team runs")
	}
	answered := 0
	for range 300 {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := c.Write([]byte("f")); err != nil {
			continue
		}
		if n, _ := c.Read(make([]byte, 1)); n == 1 {
			answered++
		}
	}
	fmt.Println("half of the bound or more answered:", answered >= 32)
}

// TestRaidUsesTheBridgeToAService has a command ask the service's end for other ports, in the words
// of proxies, flood it, and leave a process with a connection.
func TestRaidUsesTheBridgeToAService(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	service, other := newEcho(t), newEcho(t)
	c := newTestbed(t, plainModel)
	c.services = []int{service.port}
	var scan strings.Builder
	for _, text := range []string{
		`CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n`, `GET http://127.0.0.1:%d/ HTTP/1.1\r\n\r\n`, `\005\001\000\005\001\000\003\011localhost%d`, `PROXY TCP4 127.0.0.1 127.0.0.1 1 %d\r\n`,
	} {
		fmt.Fprintf(&scan, `exec 3<>/dev/tcp/127.0.0.1/%d; printf '`+text+`other' >&3; echo "$(timeout 1 cat <&3)"; exec 3>&-`+"\n", service.port, other.port)
	}
	for _, host := range []string{"127.0.0.2", "0.0.0.0", "::1", "169.254.1.1"} {
		fmt.Fprintf(&scan, "( echo other >/dev/tcp/%s/%d ) 2>&1\n", host, other.port)
	}
	s := c.open(codex.Config{}, "")
	defer c.close(s)
	output := c.turn(s, scan.String()+fmt.Sprintf("%s=%d '%s' -test.run '^TestHelperFloods$' -test.v\n", floodPort, service.port, self(t)))
	mustSay(t, output, "CONNECT 127.0.0.1:", "half of the bound or more answered: true")
	if got := other.received(); got != "" {
		t.Errorf("the other port got %q", got)
	}
	service.await(t, 0)
	mustSay(t, c.turn(s, asks(service.port, "again")), "got again")
	c.turn(s, fmt.Sprintf("(exec 3<>/dev/tcp/127.0.0.1/%d; setsid sleep 1000 >/dev/null 2>&1 </dev/null &)", service.port))
	if err := s.CleanTerminals(t.Context()); err != nil {
		t.Fatal(err)
	}
	service.await(t, 0)
	if service.most > 64 {
		t.Errorf("%d connections at once", service.most)
	}

	without := newTestbed(t, plainModel)
	ask := asks(service.port, "stranger")
	mustSay(t, without.run(codex.Config{}, "export SYMPHONY_NETWORK=services: SYMPHONY_PROBE_SERVICES="+strconv.Itoa(service.port)+"\n"+ask+"\nbash -c '"+strings.ReplaceAll(ask, "'", `'\''`)+"'"), "no stranger\nno stranger")
	if got := service.received(); strings.Contains(got, "stranger") {
		t.Errorf("the service of another session got %q", got)
	}
}
