package workspace

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// openLimited opens a root whose agents have limits.
func openLimited(t *testing.T, l Limits) *Root {
	t.Helper()
	return openWith(t, Config{Root: filepath.Join(t.TempDir(), "root"), Limits: l}, nil, slog.New(slog.DiscardHandler))
}

// agentOutput returns what an agent prints until it ends.
func agentOutput(t *testing.T, r *Root, script string) string {
	t.Helper()
	_, lines := start(t, r, script)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
	}
	return strings.Join(all, "\n")
}

func TestAnAgentIsBounded(t *testing.T) {
	t.Parallel()
	r := openLimited(t, Limits{Processes: 3000, OpenFiles: 200, Memory: 512})
	script := "ulimit -n; ulimit -Hn; ulimit -Hu; ulimit -Hd"
	if os.Getuid() != 0 { // the superuser may raise a limit again
		script = "ulimit -n 100000 2>/dev/null; ulimit -u 100000 2>/dev/null; ulimit -d unlimited 2>/dev/null; " + script
	}
	const want = "200\n200\n3000\n524288"
	if got := agentOutput(t, r, script); got != want {
		t.Errorf("the limits are %q, want %q", got, want)
	}
}

// By default an agent has three quarters of the memory. A program that reserves more than it
// uses may raise that.
func TestByDefaultAnAgentHasMostOfTheMemory(t *testing.T) {
	t.Parallel()
	var have syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &have); err != nil || machineMemory() == 0 || have.Cur <= machineMemory() {
		t.Skip("this system bounds no memory, or by another limit")
	}
	r := openLimited(t, Limits{Memory: DefaultMemory})
	want := strconv.FormatUint(machineMemory()/4*3/1024, 10)
	if got := agentOutput(t, r, "ulimit -d; ulimit -Hd; ulimit -d unlimited; ulimit -d"); got != want+"\nunlimited\nunlimited" {
		t.Errorf("the limits are %q, want %s and unlimited twice", got, want)
	}
	if got := agentOutput(t, openLimited(t, Limits{}), "ulimit -d"); got != "unlimited" {
		t.Errorf("without a bound the limit is %s", got)
	}
}

func TestAnAgentCannotOpenMoreFiles(t *testing.T) {
	t.Parallel()
	got := agentOutput(t, openLimited(t, Limits{OpenFiles: 40}), `touch f; bash -c 'for i in $(seq 10 60); do eval "exec $i<f" || exit; echo $i; done' 2>/dev/null | tail -n 1`)
	if got != "39" {
		t.Errorf("the last file that could be opened was %q", got)
	}
}

func TestAnAgentCannotStartMoreProcesses(t *testing.T) {
	t.Parallel()
	script := `bash -c 'for i in $(seq 1 60); do sleep 5 & done; wait' 2>&1 | grep -m 1 -o "Resource temporarily unavailable"; kill $(jobs -p) 2>/dev/null; true`
	if os.Getuid() != 0 {
		t.Skip("the processes of this user are not this test's alone")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("the superuser is not bound, and there is no setpriv to become another user")
	}
	script = "exec setpriv --reuid 54321 --clear-groups " + script
	if got := agentOutput(t, openLimited(t, Limits{Processes: 20}), script); !strings.Contains(got, "temporarily unavailable") {
		t.Errorf("60 processes were started under a bound of 20: %q", got)
	}
}

func TestAnAgentCannotAllocateMoreMemory(t *testing.T) {
	t.Parallel()
	got := agentOutput(t, openLimited(t, Limits{Memory: 64}), `x=$(head -c 200000000 /dev/zero | tr '\0' x) 2>/dev/null; echo "has ${#x}"`)
	if got == "has 200000000" {
		t.Error("200 MB were allocated under a bound of 64 MiB")
	}
}

func TestAnAgentIsKilledFirstWhenMemoryRunsOut(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Skip("this system has no such thing")
	}
	mine, err := strconv.Atoi(strings.TrimSpace(string(own)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := strconv.Atoi(agentOutput(t, openLimited(t, Limits{}), "cat /proc/self/oom_score_adj"))
	if err != nil || got <= mine && mine < 500 {
		t.Errorf("it is at %d, and we are at %d: %v", got, mine, err)
	}
}

func TestALowerLimitStays(t *testing.T) {
	t.Parallel()
	if got := (Limits{OpenFiles: 1 << 40}).ulimitScript(); strings.Contains(got, strconv.Itoa(1<<40)) {
		t.Errorf("a limit is raised:\n%s", got)
	}
}

func TestHooksAreNotBounded(t *testing.T) {
	t.Parallel()
	r := openWith(t, Config{
		Root: filepath.Join(t.TempDir(), "root"), Limits: Limits{OpenFiles: 40}, Hooks: Hooks{AfterCreate: "ulimit -Hn > limit"},
	}, nil, slog.New(slog.DiscardHandler))
	if got := read(t, filepath.Join(prepare(t, r).Path, "limit")); strings.TrimSpace(got) == "40" {
		t.Error("a hook runs under the limits of an agent")
	}
}
