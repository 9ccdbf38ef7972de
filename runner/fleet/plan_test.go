package fleet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	exchange := filepath.Join(t.TempDir(), "new", "folder")
	want := samplePlan(3)
	mustWritePlan(t, exchange, samplePlan(2)) // replaced
	mustWritePlan(t, exchange, want)
	got, err := ReadPlan(exchange)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s, ok := got.Slice(2); !ok || s.State.Self.Shard != 2 || s.RunsOn[1] != "gpu" {
		t.Errorf("shard 2 is %+v, %v", s, ok)
	}
	if _, ok := got.Slice(4); ok {
		t.Error("there is a shard 4")
	}
}

func TestAPlanThatBreaksARuleIsNotWritten(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(p *Plan){
		"its owner is not that of a fleet":              func(p *Plan) { p.Owner.Shard = 1 },
		"pid: it is negative":                           func(p *Plan) { p.Owner.PID = -1 },
		"the number 0 is not that of a shard":           func(p *Plan) { p.Shards[0].Number = 0 },
		"the number 257 is not that of a shard":         func(p *Plan) { p.Shards[1].Number = 257 },
		"shard 1 comes twice or out of order":           func(p *Plan) { p.Shards[1] = p.Shards[0] },
		"the claims of shard 2 belong to another owner": func(p *Plan) { p.Shards[1].State.Self.Run = "1701" },
		"a label of the runner of shard 2":              func(p *Plan) { p.Shards[1].RunsOn = []string{"gpu\n"} },
		"the issue \"1a\" is given to the shards 1":     func(p *Plan) { p.Shards[1].State.Claims = p.Shards[0].State.Claims },
		"state_invalid":                                 func(p *Plan) { p.Shards[1].State.Claims["\n"] = schedule.Claim{ID: "\n"} },
	} {
		p := samplePlan(2)
		spoil(&p)
		exchange := t.TempDir()
		if err := WritePlan(exchange, p); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if _, err := ReadPlan(exchange); err == nil {
			t.Errorf("%s: it was written", want)
		}
	}
}

func TestAMalformedPlanIsRefused(t *testing.T) {
	t.Parallel()
	good, err := encodePlan(samplePlan(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ old, new, want string }{
		{`"schema": 1`, `"schema": 2`, "plan, work and collect need the same version of symphony"},
		{`"schema": 1`, `"schema": 1, "path": "/etc"`, `unknown field "path"`},
		{`"limit": 18000`, `"limit": 18000, "extra": 1`, `unknown field "extra"`},
		{`"shard": 1`, `"shard": 2`, "comes twice or out of order"},
		{`"shard": 1`, `"shard": -1`, "the number -1 is not that of a shard"},
		{`"self-hosted"`, `"self-\u001b[2Jhosted"`, "a label of the runner of shard 2"},
		{`ABC-1a`, `ABC-1z`, "does not match its checksum"},
		{`"run": "1700"`, "\"run\": \"\xff\"", "not UTF-8"},
		{`"run": "1700"`, `"run": "17\n00"`, "run: it is too long or not plain text"},
		{"\n}", "\n} {}", "invalid character '{' after top-level value"},
		{string(good), "", "unexpected end of JSON input"},
		{string(good), "null", "it has schema 0"},
		{`"shards": [`, `"shards": [` + strings.Repeat(`{"shard": 1, "state": ""},`, schedule.MaxShards), "it has 258 shards, and 256 are allowed"},
	} {
		exchange := t.TempDir()
		text := strings.Replace(string(good), test.old, test.new, 1)
		if text == string(good) {
			t.Fatalf("%s is not in the plan", test.old)
		}
		writeText(t, filepath.Join(exchange, planName), text)
		if _, err := ReadPlan(exchange); !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40s -> %.40s:\n got %v\nwant %s", test.old, test.new, err, test.want)
		}
	}
}

func TestAPlanThatIsMissingIsCalledSo(t *testing.T) {
	t.Parallel()
	exchange := t.TempDir()
	want := "read the plan " + filepath.Join(exchange, "plan.json") + ": exchange_unreadable: open plan.json: no such file or directory: use the folder"
	if _, err := ReadPlan(exchange); !errors.Is(err, ErrUnreadable) || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func TestAPlanIsReadFromARegularFileOnly(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	mustWritePlan(t, filepath.Dir(elsewhere), samplePlan(1))
	if err := os.Rename(filepath.Join(filepath.Dir(elsewhere), planName), elsewhere); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) error{
		"a link":   func(path string) error { return os.Symlink(elsewhere, path) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"too large a file": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, maxPlan+1))
		},
		"nothing": func(path string) error { return nil },
		"a link inside": func(path string) error {
			return errors.Join(os.Rename(elsewhere, filepath.Join(filepath.Dir(path), "inside")), os.Symlink("inside", path))
		},
	} {
		exchange := t.TempDir()
		if err := put(filepath.Join(exchange, planName)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPlan(exchange); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: got %v", name, err)
		}
		if name == "a link inside" {
			_ = os.Rename(filepath.Join(exchange, "inside"), elsewhere) // for the others
		}
	}
}

// A plan of all shards is read in each of them, and twice in a tick.
func TestAPlanOfTheLargestFleetIsRead(t *testing.T) {
	t.Parallel()
	exchange := t.TempDir()
	began := time.Now()
	mustWritePlan(t, exchange, samplePlan(schedule.MaxShards))
	wrote := time.Since(began)
	p, err := ReadPlan(exchange)
	if err != nil || len(p.Shards) != schedule.MaxShards {
		t.Fatalf("%d shards, %v", len(p.Shards), err)
	}
	t.Logf("written in %v, written and read in %v", wrote, time.Since(began))
}
