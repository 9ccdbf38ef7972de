package workflow_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServicesArePortsOfTheLoopback(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	s := parse(t, "tracker: {kind: file}\nservices: [localhost:5432, ' 127.0.0.1:1 ', localhost:65535]", with(nil)).Settings
	if diff := cmp.Diff([]int{5432, 1, 65535}, s.Services); diff != "" {
		t.Error(diff)
	}
	if s := parse(t, "tracker: {kind: file}\nservices:\nserver: {port: 5432}", with(nil)).Settings; len(s.Services) > 0 {
		t.Errorf("%v", s.Services)
	}
}

func TestServicesThatCannotBeConnectedAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each list is refused")
	}
	const (
		elsewhere = ": is not a port of this machine's loopback, which alone can be named: write localhost:PORT, and have the service publish its port there, as the service of a job does with `ports: [5432:5432]`"
		noPort    = ": has no port: write localhost:PORT with a number from 1 to 65535, such as localhost:5432"
	)
	var many []string
	for port := range 17 {
		many = append(many, fmt.Sprintf("localhost:%d", 5000+port))
	}
	for _, test := range []struct {
		front    string
		problems []string
	}{
		{"services: ['db:5432', '0.0.0.0:5432', '[::1]:5432', '127.0.0.2:5432', 'LOCALHOST:5432', '5432', 'localhost.:1', '']", []string{
			`line 3: services[0] is "db:5432"` + elsewhere, `line 3: services[1] is "0.0.0.0:5432"` + elsewhere, `line 3: services[2] is "[::1]:5432"` + elsewhere,
			`line 3: services[3] is "127.0.0.2:5432"` + elsewhere, `line 3: services[4] is "LOCALHOST:5432"` + elsewhere, `line 3: services[5] is "5432"` + elsewhere,
			`line 3: services[6] is "localhost.:1"` + elsewhere, `line 3: services[7] is ""` + elsewhere,
		}},
		{"services: [localhost, 'localhost:', 'localhost:0', 'localhost:65536', 'localhost:+1', 'localhost:01', 'localhost:5432/tcp', 'localhost:1:2', 'localhost:postgres']", []string{
			`line 3: services[0] is "localhost"` + noPort, `line 3: services[1] is "localhost:"` + noPort, `line 3: services[2] is "localhost:0"` + noPort,
			`line 3: services[3] is "localhost:65536"` + noPort, `line 3: services[4] is "localhost:+1"` + noPort, `line 3: services[5] is "localhost:01"` + noPort,
			`line 3: services[6] is "localhost:5432/tcp"` + noPort, `line 3: services[7] is "localhost:1:2"` + noPort, `line 3: services[8] is "localhost:postgres"` + noPort,
		}},
		{"services: [localhost:5432, 127.0.0.1:5432]", []string{`line 3: services[1] is "127.0.0.1:5432": names a port that the list has already; remove it`}},
		{"services: [localhost:61080]", []string{`line 3: services[0] is "localhost:61080": is the port of the proxy by which commands reach hosts; let the service publish another one`}},
		{"services: [" + strings.Join(many, ", ") + "]", []string{`line 3: services[16] is "localhost:5016": is one too many: at most 16 services can be named; remove those that no test needs`}},
		{"services: localhost:5432", []string{`line 3: services is "localhost:5432": must be a list, such as [one, two]`}},
		{"services: {localhost: 5432}", []string{`line 3: services is a map: must be a list, such as [one, two]`}},
		{"services: [localhost:8080]\nserver: {port: 8080}", []string{"line 3: services is a list: names the port of this program's status page (server.port); choose another one for it"}},
		{"services: [localhost:1]\nsandbox: {loopback: false}", []string{"line 3: services is a list: needs the network that sandbox.loopback gives; remove one of the two keys"}},
		{"services: [localhost:1]\ncodex: {thread_sandbox: read-only}", []string{"line 3: services is a list: has no effect beside codex.thread_sandbox or codex.turn_sandbox_policy, which are a sandbox of their own; remove one of the keys"}},
	} {
		if diff := cmp.Diff(test.problems, problems(t, "tracker: {kind: file}\n"+test.front, with(nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.front, diff)
		}
	}
}
