package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheTimeOfAShardCountsFromTheBeginningOfItsJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ gone, want time.Duration }{
		{2 * time.Minute, 58 * time.Minute},
		{0, time.Hour},
		{-time.Minute, time.Hour}, // clocks that differ
		{2 * time.Hour, time.Second},
	} {
		if got := timeLeft(time.Hour, now.Add(-c.gone), now); got != c.want {
			t.Errorf("%v after the beginning %v are left, want %v", c.gone, got, c.want)
		}
	}
	if got := timeLeft(time.Hour, time.Time{}, now); got != time.Hour {
		t.Errorf("of a job whose beginning is not known %v are left", got)
	}
}

// In a workflow that is called by another one, GITHUB_WORKFLOW_REF names the caller's file,
// which has none of the fleet's jobs.
func TestPlanAndCollectNeedNoTimeoutOfTheirJob(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.issues(nil)
	m.write(workflowFile, "jobs:\n  fleet:\n    uses: "+strings.TrimPrefix(fleetCall, "uses: ")+"\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exchange := filepath.Join(m.home, "exchange")
	symphony := filepath.Join(m.home, "symphony")
	if err := os.Symlink(self, symphony); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plan"}, {"collect"}} {
		code, said := m.runProgram([]string{"GITHUB_JOB=" + args[0]}, symphony, append(args, "--exchange", exchange, "--state", "branch:symphony-state")...)
		if warned := annotations("warning", said); code != 0 || strings.Contains(strings.Join(warned, "\n"), "timeout-minutes") {
			t.Errorf("%s: exit status %d, warnings %q\n%s", args[0], code, warned, said)
		}
	}
}
