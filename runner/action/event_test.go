package action_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/action"
)

func TestAnEventIsWhatTheRunnerSays(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for name, value := range map[string]string{
		"GITHUB_EVENT_NAME": "schedule", "GITHUB_ACTOR": "octo", "GITHUB_REF": "refs/heads/main", "GITHUB_REPOSITORY": "o/r",
		"GITHUB_RUN_ID": "12345678901", "GITHUB_RUN_ATTEMPT": "2", "GITHUB_JOB": "tick", "RUNNER_OS": "Linux",
		"GITHUB_EVENT_PATH": "/does/not/exist", "GITHUB_WORKFLOW_REF": "o/r/.github/workflows/tick.yml@refs/heads/main",
	} {
		r.env[name] = value
	}
	got, err := r.runtime().Event()
	want := action.Event{
		Name: "schedule", Actor: "octo", Ref: "refs/heads/main", Repository: "o/r",
		RunID: "12345678901", RunAttempt: 2, Job: "tick", RunnerOS: "Linux",
		File: ".github/workflows/tick.yml",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || action.Refuse(got) != nil {
		t.Error(diff, err, action.Refuse(got))
	}
}

func TestAWorkflowOfAnotherRepositoryHasNoFileHere(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.env["GITHUB_REPOSITORY"], r.env["GITHUB_WORKFLOW_REF"] = "o/r", "o/r2/.github/workflows/tick.yml@main"
	if e, err := r.runtime().Event(); e.File != "" || err != nil {
		t.Errorf("%q, %v", e.File, err)
	}
}

func TestAJobBeganWhenItsPayloadWasWritten(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	path := filepath.Join(t.TempDir(), "event.json")
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, began, began)); err != nil {
		t.Fatal(err)
	}
	r.env["GITHUB_EVENT_PATH"] = path
	if e, err := r.runtime().Event(); !e.Began.Equal(began) || err != nil {
		t.Errorf("%v, %v", e.Began, err)
	}
}

func TestAPullRequestFromAForkIsRefused(t *testing.T) {
	t.Parallel()
	const from = `{"action":"opened","pull_request":{"number":1,"head":{"ref":"x","repo":`
	for _, row := range []struct {
		name, event, payload string
		fork                 bool
		err                  error
	}{
		{"this repository", "pull_request", from + `{"full_name":"O/R"}}}}`, false, nil},
		{"a fork", "pull_request", from + `{"full_name":"x/r"}}}}`, true, nil},
		{"a fork, with our secrets", "pull_request_target", from + `{"full_name":"x/r"}}}}`, true, nil},
		{"a review of a fork", "pull_request_review", from + `{"full_name":"x/r"}}}}`, true, nil},
		{"a fork that is gone", "pull_request", from + `null}}}`, true, nil},
		{"an empty payload", "pull_request", `{}`, true, nil},
		{"no JSON", "pull_request", `{`, true, action.ErrEvent},
		{"other JSON", "pull_request", from + `"x"}}}`, true, action.ErrEvent},
		{"too large", "pull_request", `{"a":"` + strings.Repeat("a", 9<<20) + `",` + from[1:] + `{"full_name":"o/r"}}}}`, true, action.ErrEvent},
		{"no pull request", "schedule", `{`, false, nil},
	} {
		r := newRunner(t)
		path := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(path, []byte(row.payload), 0o600); err != nil {
			t.Fatal(err)
		}
		r.env["GITHUB_EVENT_PATH"], r.env["GITHUB_EVENT_NAME"], r.env["GITHUB_REPOSITORY"] = path, row.event, "o/r"
		e, err := r.runtime().Event()
		if e.Fork != row.fork || !errors.Is(err, row.err) {
			t.Errorf("%s: fork %t, %v", row.name, e.Fork, err)
		}
		if refused := action.Refuse(e); errors.Is(refused, action.ErrRefused) != row.fork {
			t.Errorf("%s: %v", row.name, refused)
		}
	}
}

func TestAPullRequestWithoutAPayloadCountsAsAFork(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.env["GITHUB_EVENT_NAME"], r.env["GITHUB_REPOSITORY"] = "pull_request", ""
	if e, err := r.runtime().Event(); !e.Fork || !errors.Is(err, action.ErrEvent) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestTheEventSaysWhoMayReadTheRepository(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"repository":{"private":true,"visibility":"private"}}`:  "private",
		`{"repository":{"private":true,"visibility":"internal"}}`: "private",
		`{"repository":{"private":true}}`:                         "private", // an older server's
		`{"repository":{"private":false}}`:                        "public",
		`{"repository":{"private":false,"visibility":"public"}}`:  "public",
		`{"repository":{"private":true,"visibility":"public"}}`:   "public", // in doubt
		`{"schedule":"7 * * * *"}`:                                "",
		`{"repository":{}}`:                                       "",
		`{"repository":{"private":"yes"}}`:                        "",
		`{`:                                                       "",
	} {
		r := newRunner(t)
		path := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(path, []byte(payload), 0o600); err != nil {
			t.Fatal(err)
		}
		r.env["GITHUB_EVENT_PATH"], r.env["GITHUB_EVENT_NAME"] = path, "schedule"
		if e, err := r.runtime().Event(); e.Visibility != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", payload, e.Visibility, err, want)
		}
	}
}

func TestWindowsIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Windows", "windows"} { // servers other than GitHub write it in their own way
		err := action.Refuse(action.Event{Name: "schedule", RunnerOS: name})
		if !errors.Is(err, action.ErrRefused) || !strings.Contains(err.Error(), "ubuntu") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheCauseOfARunIsTheEventItsSubjectAndItsActor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ event, payload, want string }{
		{"schedule", `{"schedule":"7 * * * *"}`, "schedule by kim"},
		{"schedule", `{`, "schedule by kim"},
		{"issues", `{"action":"labeled","issue":{"number":7,"title":"::error::x"}}`, "issues labeled on #7 by kim"},
		{"issue_comment", `{"action":"created","issue":{"number":7},"comment":{"body":"x"}}`, "issue_comment created on #7 by kim"},
		{"check_suite", `{"action":"completed","check_suite":{"head_branch":"symphony/GH-7"}}`, "check_suite completed on symphony/GH-7 by kim"},
		{"workflow_run", `{"action":"completed","workflow_run":{"head_branch":"a\nb\u202e"}}`, "workflow_run completed on a b by kim"},
		{"workflow_run", `{"action":"` + strings.Repeat("x", 1000) + `"}`, "workflow_run " + strings.Repeat("x", 59) + "… by kim"},
		{"", `{"action":"created"}`, ""},
	} {
		r := newRunner(t)
		path := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(path, []byte(row.payload), 0o600); err != nil {
			t.Fatal(err)
		}
		r.env["GITHUB_EVENT_PATH"], r.env["GITHUB_EVENT_NAME"], r.env["GITHUB_ACTOR"] = path, row.event, "kim"
		e, err := r.runtime().Event()
		if got := e.Cause(); got != row.want || err != nil {
			t.Errorf("%s %.80s: %q, %v; want %q", row.event, row.payload, got, err, row.want)
		}
	}
}
