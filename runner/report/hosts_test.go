package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var down = schedule.DownHost{Name: "me@build2", HostState: schedule.HostState{
	Until: end.Add(time.Minute), Failures: 3, Why: "host_unreachable: ssh: connection refused: start sshd there",
}}

// onHosts returns a tick whose first issue was worked on by a worker host, and in which another host
// has failed.
func onHosts(t report.Tick) report.Tick {
	t.Rows[0].Host, t.Hosts = "build1:2222", []schedule.DownHost{down}
	return t
}

// stateOnHosts returns a state whose claims are of a worker host, and in which two hosts have
// failed, of which one may be tried again.
func stateOnHosts(s *schedule.State) *schedule.State {
	s.Hosts = map[string]schedule.HostState{down.Name: down.HostState, "build3": {Until: end, Failures: 1, Why: "x"}}
	for id, c := range s.Claims {
		c.Host = "build1:2222"
		s.Claims[id] = c
	}
	return s
}

func TestTheReportNamesWorkerHosts(t *testing.T) {
	t.Parallel()
	tick := tick(func(t *report.Tick) {
		t.Rows = []report.Row{row("ABC-1", "Work elsewhere", schedule.Done, handedOver), row("ABC-2", "Work here", schedule.Done, handedOver)}
	})
	state := &schedule.State{Issues: schedule.Issues{Claims: map[tracker.ID]schedule.Claim{"1": {ID: "1", Identifier: "ABC-1", Phase: schedule.Running, Since: end, Attempt: 1}}}}
	if got := report.Of(tick).Text(200) + report.State(state, end).Text(200); strings.Contains(got, "HOST") {
		t.Errorf("a host without any:\n%s", got)
	}
	tick, state = onHosts(tick), stateOnHosts(state)
	for name, text := range map[string]string{"report": report.Of(tick).Text(200), "page": report.Of(tick).Markdown(report.Links{}), "state": report.State(state, end).Text(200)} {
		text = strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"build1:2222", "build2 until ", "connection refused: start sshd there"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", name, want, text)
			}
		}
		if strings.Contains(text, "build3") || strings.Contains(text, "host_unreachable") {
			t.Errorf("%s: a host that may be tried again, or a category: %s", name, text)
		}
	}
	_, warnings, _ := report.Of(tick).Notes()
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0].Title, "Worker host me@build2 is left alone until") || warnings[0].Text != "ssh: connection refused: start sshd there" {
		t.Errorf("notes: %+v", warnings)
	}
	for name, document := range map[string]json.Marshaler{"report": report.Of(tick), "state": report.State(state, end)} {
		text, err := document.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		want := `"hosts_down":[{"worker_host":"me@build2","error":"host_unreachable: ssh: connection refused: start sshd there","until":"2025-11-21T12:01:04Z","failures":3}]`
		if !strings.Contains(string(text), want) || strings.Count(string(text), `"worker_host":"build1:2222"`) != 1 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAVerdictNamesItsWorkerHost(t *testing.T) {
	t.Parallel()
	starts, runs := verdictOn("8", schedule.Dispatch, ""), verdictOn("9", "", schedule.InProgress)
	runs.Phase = schedule.Running
	for _, here := range []bool{false, true} {
		if !here {
			starts.Host, runs.Host = "build1", "build1"
		} else {
			starts.Host, runs.Host = "", ""
		}
		for want, v := range map[string]schedule.Verdict{"GH-8 would be started now on worker host build1.": starts, "GH-9 is being worked on by worker host build1: so it is.": runs} {
			view := report.Verdict(v, schedule.Comments{}, "", "")
			text, err := view.MarshalJSON()
			if err != nil || strings.Contains(view.Text(200), want) == here || strings.Contains(string(text), `"worker_host":"build1"`) == here {
				t.Errorf("here %t: %s%s (%v)", here, view.Text(200), text, err)
			}
		}
	}
}
