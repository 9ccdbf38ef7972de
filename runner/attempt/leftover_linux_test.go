package attempt

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// On other systems a process that left the agent's group survives; see package
// workspace.
func TestWhatAnAgentLeavesRunningDiesWithIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rest  string
		class schedule.Class
	}{
		"when it is stopped":  {"- [ ] Ignore signals and EOF\n" + hangs, schedule.Stopped},
		"when it is done":     {"", schedule.Done},
		"when it exits":       {"- [ ] Exit `7`\n", schedule.IssueFailed},
		"when it is killed":   {"- [ ] Run `kill -KILL $PPID`\n", schedule.IssueFailed},
		"when the turn fails": {"- [ ] Fail with `other`\n", schedule.IssueFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
			pid := quote(f.path("left.pid"))
			running := quote(f.fifo("running"))
			f.setScript("- [ ] Leave `trap '' TERM HUP; echo $$ > " + pid + "; echo > " + running + "; while :; do sleep 3600; done` running\n" +
				"- [ ] Run `cat " + running + "`\n" + test.rest)
			f.grace = impatient
			f.hooks.AfterRun += "\nkill -0 $(cat " + pid + ") && " + f.trace("alive")
			if got := f.run(f.stopWhen("ready", schedule.Stalled)); got.Class != test.class {
				t.Errorf("%+v", got)
			}
			if diff := cmp.Diff(fullRun, f.traces()); diff != "" {
				t.Error(diff)
			}
			left, started := f.readPID("left.pid")
			if !started {
				t.Fatal("nothing was left")
			}
			f.assertDead(left)
		})
	}
}
