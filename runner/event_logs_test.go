package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// eventLogs returns the event logs below a folder, the oldest first.
func eventLogs(t *testing.T, folder string) []transcript.File {
	t.Helper()
	files, err := transcript.List(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEverySessionLeavesATranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("B/2", "Todo"))
		folder := filepath.Join(t.TempDir(), "sessions")
		shown := map[string]bool{}
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if job.EventLog == nil {
				t.Errorf("%s has no event log", job.Issue.Identifier)
			}
			report(attempt.Update{At: time.Now(), Event: "notification", Summary: "step"})
			passes(ctx, time.Second)
			return schedule.Outcome{Class: schedule.IssueFailed, Why: "it went wrong", Status: schedule.StatusFailed}
		}
		r := f.run()
		r.Transcripts = folder
		r.Progress = func(p progress.Progress) {
			for _, s := range p.Sessions {
				shown[s.Log] = true
			}
		}
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		files := eventLogs(t, folder)
		if len(files) < 2 {
			t.Fatalf("%v", files)
		}
		for _, file := range files {
			path := filepath.Join(folder, file.Path)
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), `"why":"it went wrong"`) || strings.Count(string(text), "\n") != 2 {
				t.Errorf("%s: %v\n%s", path, err, text)
			}
			if !shown[path] {
				t.Errorf("the display was not told of %s, but of %v", path, shown)
			}
		}
	})
}

// The folder may come with a repository of somebody else.
func TestADisplayReadsNoLogsBehindALink(t *testing.T) {
	for name, want := range map[string]bool{"a folder": true, "a link": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"))
				f.sessions = f.handOver
				r := f.run()
				r.Transcripts = filepath.Join(t.TempDir(), "sessions")
				if !want {
					if err := os.Symlink(t.TempDir(), r.Transcripts); err != nil {
						t.Fatal(err)
					}
				}
				r.Progress = func(p progress.Progress) {
					if got := p.Logs != ""; got != want {
						t.Errorf("the display reads the logs in %q", p.Logs)
					}
				}
				if _, err := r.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestOldTranscriptsArePruned(t *testing.T) {
	for name, logs := range map[string]bool{"by default": false, "not those of --logs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"))
				folder := t.TempDir()
				f.sessions = f.handOver
				for n := range 25 {
					log, err := transcript.Create(folder, transcript.Name("A-1", time.Now().Add(time.Duration(n-100)*time.Hour), n+1))
					if err != nil {
						t.Fatal(err)
					}
					log.Close()
				}
				r := f.run()
				want := 20
				if r.Transcripts = folder; logs {
					r.Logs, want = folder, 26
				}
				if _, err := r.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				files := eventLogs(t, folder)
				if len(files) != want || !files[len(files)-1].Began.After(time.Now().Add(-time.Hour)) {
					t.Errorf("%d are left, want %d: %+v", len(files), want, files)
				}
			})
		})
	}
}
