package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"iter"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

const deliverStep = "- [ ] Call `deliver` with `{\"title\":\"A file\",\"body\":\"It is there.\"}`\n"

func TestASessionOnAHostDeliversItsWork(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `work`\n"+deliverStep+"- [ ] Move this issue to `Done`\n")
	f.job.Repository.Verify = []string{"grep -q work a.txt"}
	f.job.Repository.Hooks.BeforeRun = "echo hooked > hooked.txt"
	var sent lockedBuffer
	dial := f.hosts.Dial
	f.hosts.Dial = func(ctx context.Context, host string) (Conn, error) {
		conn, err := dial(ctx, host)
		return recorded{conn, &sent}, err
	}
	got := f.run(t.Context())
	if got.Class != schedule.Done || !got.Delivered || got.Issue == nil || got.Issue.State != "Done" || len(got.Warnings) > 0 {
		t.Errorf("%+v\n%s", got, f.log.String())
	}
	if text := f.git(f.origin, "show", f.branch.String()+":a.txt") + " " + f.git(f.origin, "show", f.branch.String()+":hooked.txt"); text != "work hooked" {
		t.Errorf("delivered: %q", text)
	}
	if !strings.Contains(f.git(f.origin, "log", "-1", "--format=%B", f.branch.String()), "A file") {
		t.Error("the title of the agent is lost")
	}
	workspaces, err := filepath.Glob(f.path("host-home/work/" + issueName + "/a.txt"))
	if err != nil || len(workspaces) != 1 {
		t.Errorf("the workspace is not in the home of the host: %v", err)
	}
	if text := sent.String(); strings.Contains(text, f.dir+"/issues") || strings.Contains(text, f.dir+"/stores") {
		t.Error("paths of this machine went to the host")
	}
	f.nothingIsLeft()
}

// recorded notes what goes to the host.
type recorded struct {
	Conn
	sent io.Writer
}

func (r recorded) Write(text []byte) (int, error) {
	_, _ = r.sent.Write(text)
	return r.Conn.Write(text)
}

// nothingIsLeft fails the test if the session has left a process or a temporary file on the host, or a
// quarantine here.
func (f *fixture) nothingIsLeft() {
	f.t.Helper()
	for _, pattern := range []string{"stores/*/incoming/*", "host-home/work/.symphony/*.git-*", "host-home/work/.scratch-*", "host-home/.local/state/symphony/*/codex/tmp/*", "symphony-*"} {
		left, err := filepath.Glob(f.path(pattern))
		f.check(err)
		if len(left) > 0 {
			f.t.Errorf("left: %v", left)
		}
	}
	for _, pid := range processesIn(f.path("host-home")) {
		f.t.Errorf("process %s is left", pid)
	}
}

// processesIn returns the processes whose working folder is below a folder.
func processesIn(folder string) (pids []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && strings.HasPrefix(path, folder+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}

// TestTheRestOfAnEarlierSessionIsTaken lets the deliveries of a first session fail: the second one on the
// host goes on with the work that is there. The packs of the repository come once.
func TestTheRestOfAnEarlierSessionIsTaken(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	f.deliver = func(context.Context, attempt.Delivery) (attempt.Delivered, error) {
		return attempt.Delivered{}, fmt.Errorf("push: %w", git.ErrUnavailable)
	}
	got := f.run(t.Context())
	if got.Class != schedule.Systemic || got.Cause != schedule.CauseDelivery || !strings.Contains(got.Why, git.ErrUnavailable.Error()) {
		t.Errorf("%+v", got)
	}
	var sent atomic.Int64
	dial := f.hosts.Dial
	f.hosts.Dial = func(ctx context.Context, host string) (Conn, error) {
		conn, err := dial(ctx, host)
		return recorded{conn, packCounter{&sent}}, err
	}
	f.deliver = f.publish
	folders, err := filepath.Glob(f.path("host-home/.local/state/symphony/*/packs"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("folders of packs: %q (%v)", folders, err)
	}
	f.check(os.WriteFile(folders[0]+"/pack-stale.pack", []byte("of another repository"), 0o600))
	long := time.Now().Add(-24 * time.Hour)
	f.check(os.Chtimes(folders[0]+"/pack-stale.pack", long, long))
	f.write("issues/"+issueName+".md", "---\ntitle: A title\nstate: Todo\n---\n- [ ] Create `b.txt` containing `two`\n")
	f.job.Issue.Description = "- [ ] Create `b.txt` containing `two`\n"
	f.job.Attempt = 1
	if got = f.run(t.Context()); got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
		t.Errorf("%+v\n%s", got, f.log.String())
	}
	if files := f.git(f.origin, "ls-tree", "--name-only", f.branch.String()); files != "README.md\na.txt\nb.txt" {
		t.Errorf("delivered: %q", files)
	}
	if info, err := os.Stat(folders[0] + "/pack-stale.pack"); err != nil || info.ModTime().After(long) {
		t.Errorf("a pack that the repository does not have counts as needed (%v)", err)
	}
	if _, err := os.Stat(f.path("host-home/work/" + issueName + "/.git/objects/pack/pack-stale.pack")); err == nil {
		t.Error("the agent gets a pack of another repository")
	}
	if sent.Load() != 1 { // the work of the first session, which is in no pack of the repository
		t.Errorf("%d packs came in the second session", sent.Load())
	}
	f.nothingIsLeft()
}

// packCounter counts the beginnings of packs.
type packCounter struct{ n *atomic.Int64 }

func (p packCounter) Write(text []byte) (int, error) {
	p.n.Add(int64(bytes.Count(text, []byte("PACK\x00\x00\x00\x02"))))
	return len(text), nil
}

func TestWorkThatWasPutOnANewerBaseIsCheckedThere(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `work`\n")
	f.job.Repository.Verify = []string{"test -e a.txt; ls"}
	calls := 0
	f.deliver = func(ctx context.Context, d attempt.Delivery) (attempt.Delivered, error) {
		if calls++; calls > 1 {
			return f.publish(ctx, d)
		}
		f.write("seed/new.txt", "new\n")
		f.git("seed", "add", "-A")
		f.git("seed", "commit", "-q", "-m", "by a person")
		f.git("seed", "push", "-q", f.origin, "main")
		if _, err := f.store.Fetch(ctx, git.Source{Prefix: "symphony/"}); err != nil {
			return attempt.Delivered{}, err
		}
		who := git.Person{Name: "Symphony", Email: "symphony@example.com", When: time.Unix(1_700_000_000, 0)}
		if moved, err := d.Work.(*git.Incoming).MoveToBase(ctx, git.Commit{Author: who, Committer: who, Message: "x"}, false); !moved || err != nil {
			t.Errorf("moved: %t (%v)", moved, err)
		}
		return attempt.Delivered{}, attempt.ErrRenewed
	}
	if got := f.run(t.Context()); got.Class != schedule.Done || !got.Delivered || calls != 2 {
		t.Errorf("%+v after %d calls\n%s", got, calls, f.log.String())
	}
	if files := f.git(f.origin, "ls-tree", "--name-only", f.branch.String()); files != "README.md\na.txt\nnew.txt" {
		t.Errorf("delivered: %q", files)
	}
}

func TestASessionIsStoppedForItsReason(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `work`\n- [ ] Say `ready`\n- [ ] Hang\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	f.report = func(u attempt.Update) {
		if u.Summary == "ready" {
			cancel(schedule.StopError(schedule.Stalled))
		}
	}
	got := f.run(ctx)
	if got.Class != schedule.Stopped || got.Status != schedule.Stalled.Status() || got.Why != "stopped: "+string(schedule.Stalled) || !got.Delivered && got.Refused != "" {
		t.Errorf("%+v\n%s", got, f.log.String())
	}
	if f.git(f.origin, "show", f.branch.String()+":a.txt") != "work" {
		t.Error("the work of a session that was stopped is lost")
	}
	f.nothingIsLeft()
}

func TestTheHooksOfAHostRunThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Run `cat made.txt; touch worked`\n")
	f.hosts.Workspaces.Hooks = workspace.Hooks{
		AfterCreate: "echo made > made.txt", AfterRun: "echo \"$HOME\"; exit 3", Timeout: time.Minute,
	}
	f.hosts.Workspaces.Root = "$HOME/elsewhere"
	got := f.run(t.Context())
	if got.Class != schedule.Done || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "after_run") {
		t.Errorf("%+v\n%s", got, f.log.String())
	}
	if f.read("host-home/elsewhere/"+issueName+"/made.txt") != "made\n" {
		t.Error("the hook has not run on the host")
	}
	hooks := slices.DeleteFunc(f.lines(), func(l transcript.Line) bool { return l.Hook == nil })
	if len(hooks) != 1 || strings.TrimSpace(hooks[0].Hook.Output) != f.path("host-home") {
		t.Errorf("%+v", hooks[0].Hook)
	}
}

// TestTheEventLogIsTheSame compares the log of a session on a host with that of the same session here.
func TestTheEventLogIsTheSame(t *testing.T) {
	t.Parallel()
	const script = "- [ ] Say `hello`\n- [ ] Run `echo hi`\n- [ ] Call `issue_comment` with `{\"body\":\"done\"}`\n"
	shapes := func(f *fixture) (shapes []string) {
		for _, l := range f.lines() {
			shape := l.Dir
			switch {
			case l.Session != nil:
				shape += "session " + l.Session.Identifier
			case l.Outcome != nil:
				shape += "outcome " + l.Outcome.Class
			case l.Event != nil:
				shape += "event " + string(l.Event.Kind)
			default:
				method, _, _ := strings.Cut(strings.TrimPrefix(string(l.Msg), `{"method":"`), `"`)
				shape += method
			}
			if shape != "" && !strings.Contains(shape, "{") {
				shapes = append(shapes, shape)
			}
		}
		return shapes
	}
	there := newFixture(t, script)
	got := there.run(t.Context())
	here := newFixture(t, script)
	here.here()
	want := here.run(t.Context())
	if got.Class != want.Class || got.Turns != want.Turns || got.Said != want.Said || got.Idle != want.Idle {
		t.Errorf("there %+v, here %+v", got, want)
	}
	if a, b := shapes(there), shapes(here); !slices.Equal(a, b) || len(a) < 8 {
		t.Errorf("there\n%s\nhere\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

// TestTheClockOfTheHostIsNotBelieved gives updates with the time of this machine, and hides its secrets.
func TestTheClockOfTheHostIsNotBelieved(t *testing.T) {
	t.Parallel()
	job := attempt.Job{Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }}
	var got attempt.Update
	s := &remoteSession{job: job, report: func(u attempt.Update) { got = u }, desk: newDesk(job, t.TempDir())}
	began := time.Now()
	s.take(t.Context(), nil, message{Update: &attempt.Update{At: began.Add(-time.Hour), Doing: "s3cret", Summary: "s3cret", Warnings: []string{"s3cret"}}})
	if got.At.Before(began) || got.Doing != "***" || got.Summary != "***" || got.Warnings[0] != "***" {
		t.Errorf("%+v", got)
	}
	s.take(t.Context(), nil, message{Outcome: &schedule.Outcome{Class: schedule.Done, Why: "s3cret", Question: "s3cret", Refused: "s3cret", Said: "s3cret", LeftOut: "s3cret", Blocked: "s3cret", Warnings: []string{"s3cret"}}})
	if text := fmt.Sprintf("%+v", s.end(t.Context())); strings.Contains(text, "s3cret") || strings.Count(text, "***") != 7 {
		t.Errorf("%s", text)
	}
}

func TestConversationsReachTheSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.job.Issue.Description = "- [ ] Say `ready`\n- [ ] Run `until test -e " + f.path("go") + "; do sleep 0.01; done`\n- [ ] Call `reply` with `{\"to\":\"2\",\"text\":\"It is.\"}`\n"
	f.job.CanAsk, f.job.Steering = true, new(attempt.Steering)
	f.job.Redact = func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	f.job.Feedback = []prompt.Feedback{{ID: "1", Kind: prompt.FeedbackComment, Author: "kim", Text: "Use s3cret."}}
	var replies []string
	f.job.Reply = func(_ context.Context, id, text string, _ bool) error {
		replies = append(replies, id+" "+text)
		return errors.New("not now")
	}
	given := make(chan error, 1)
	var once sync.Once
	f.report = func(u attempt.Update) {
		if u.Summary == "ready" {
			once.Do(func() {
				go f.job.Steering.Give([]prompt.Feedback{{ID: "2", Kind: prompt.FeedbackComment, Author: "lee", Text: "Is it small, s3cret?"}}, func(err error) {
					f.write("go", "")
					given <- err
				})
			})
		}
	}
	got := f.run(t.Context())
	if got.Class != schedule.Done {
		t.Errorf("%+v\n%s", got, f.log.String())
	}
	if err := <-given; err != nil || len(replies) != 1 || replies[0] != "2 It is." {
		t.Errorf("not steered (%v), replies: %q", err, replies)
	}
	text := ""
	for _, l := range f.lines() {
		text += string(l.Msg)
	}
	if strings.Contains(text, "s3cret") || !strings.Contains(text, "Is it small, ***?") || !strings.Contains(text, "not now") {
		t.Errorf("%.3000s", text)
	}
	if f.job.Steering.IsReady() {
		t.Error("a session that has ended takes feedback")
	}
}

func TestPathsThatTheHostDoesNotKnowAreNamed(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*fixture){
		"worker host build1: invalid_workflow_config: workspace.root on the host: needs the environment variable NOWHERE, which is not set or empty; set it": func(f *fixture) {
			f.hosts.Workspaces.Root = "$NOWHERE/x"
		},
		"worker host build1: codex.deny names $NOWHERE, which is empty on the host: set it for logins without a terminal, or write the path": func(f *fixture) {
			f.job.Codex.Deny = []string{"$NOWHERE"}
		},
	} {
		f := newFixture(t, "- [ ] Say `never`\n")
		change(f)
		if got := f.run(t.Context()); got.Class != schedule.HostLost || got.Why != want || got.Turns != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// TestAnInterruptionOnTheHostIsItsFault ends the program there by a signal.
func TestAnInterruptionOnTheHostIsItsFault(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `ready`\n- [ ] Hang\n")
	there, interrupt := context.WithCancelCause(context.WithoutCancel(t.Context()))
	f.there = there
	f.report = func(u attempt.Update) {
		if u.Summary == "ready" {
			interrupt(schedule.ErrInterrupted)
		}
	}
	if got := f.run(t.Context()); got.Class != schedule.HostLost || got.Why != "worker host build1: the session was interrupted there" || got.Turns != 1 {
		t.Errorf("%+v\n%s", got, f.log.String())
	}
}

func TestAPanicIsTheErrorOfItsCall(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	var panics lockedBuffer
	l, err := newLink(here, true)
	if err != nil {
		t.Fatal(err)
	}
	l.serve(functions{"x": function(func(context.Context, none) (none, error) { panic("on purpose") })}, log.New(&panics, "", 0))
	defer l.close()
	other, err := newLink(there, false)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.call(t.Context(), "x", none{}, nil); !errors.Is(err, errLost) || !strings.Contains(panics.String(), "on purpose") {
		t.Errorf("%v\n%s", err, panics.String())
	}
	if err := other.call(t.Context(), "y", none{}, nil); err == nil || errors.Is(err, errLost) {
		t.Errorf("after a panic: %v", err)
	}
}

// TestPicturesComeFromHere reads pictures over the connection.
func TestPicturesComeFromHere(t *testing.T) {
	t.Parallel()
	shown := prompt.Feedback{Comment: "9", OnPull: true, Text: "![](a) ![](b) ![](c)"}
	d := newDesk(attempt.Job{Issue: tracker.Issue{ID: "1"}, PullPictures: fakePictures{}, Feedback: []prompt.Feedback{shown}}, t.TempDir())
	_, other := links(t, d.functions(), t.Output())
	from := remotePictures{other, true}
	if list, err := from.Attached(t.Context(), tracker.Issue{ID: "2"}); err != nil || len(list) != 1 || list[0].Address != "of 1" {
		t.Errorf("%+v (%v)", list, err)
	}
	var texts []string
	for content, err := range from.Read(t.Context(), tracker.Issue{}, []tracker.Picture{{Comment: "9", Address: "a"}, {Comment: "9", Address: "b"}, {Comment: "9", Address: "c"}, {Address: "of 1"}}, 7) {
		config, _, _ := image.DecodeConfig(bytes.NewReader(content))
		texts = append(texts, fmt.Sprintf("%d×%d %t", config.Width, config.Height, errors.Is(err, tracker.ErrTooLarge)))
	}
	if got := strings.Join(texts, ", "); got != "7×1 false, 0×0 true, 7×1 false, 7×1 false" {
		t.Errorf("%s", got)
	}
	if _, err := (remotePictures{other, false}).Attached(t.Context(), tracker.Issue{}); err == nil {
		t.Error("pictures of a tracker that has none")
	}
	if err := other.call(t.Context(), "work/close", 1, nil); err == nil {
		t.Error("a session without a repository has work")
	}
}

type fakePictures struct{}

func (fakePictures) Attached(_ context.Context, issue tracker.Issue) ([]tracker.Picture, error) {
	return []tracker.Picture{{Address: "of " + string(issue.ID)}}, nil
}

// Read yields pictures that are as wide as the limit, and as high as the number of the issue.
func (fakePictures) Read(_ context.Context, issue tracker.Issue, list []tracker.Picture, limit int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		high, _ := strconv.Atoi(string(issue.ID))
		for _, p := range list {
			var content bytes.Buffer
			err := png.Encode(&content, image.NewGray(image.Rect(0, 0, limit, high)))
			if p.Address == "b" {
				content, err = bytes.Buffer{}, tracker.ErrTooLarge
			}
			if !yield(content.Bytes(), err) {
				return
			}
		}
	}
}

// TestALostHostCostsNothing cuts connections at random: the session has ended on the host when Serve
// returns, the outcome blames the host alone, and the next session delivers the work once.
func TestALostHostCostsNothing(t *testing.T) {
	t.Parallel()
	const cuts = 12
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A; git commit -qm one || true`\n- [ ] Create `b.txt` containing `two`\n")
	deliveries := 0
	f.deliver = func(ctx context.Context, d attempt.Delivery) (attempt.Delivered, error) {
		got, err := f.publish(ctx, d)
		if err == nil {
			deliveries++
		}
		return got, err
	}
	dial, reads := f.hosts.Dial, 0
	f.hosts.Dial = func(ctx context.Context, host string) (Conn, error) {
		conn, err := dial(ctx, host)
		return &cutting{Conn: conn, left: math.MaxInt, reads: &reads}, err
	}
	counted := newRepositoryFixture(t, f.job.Issue.Description)
	counted.hosts.Dial, dial = f.hosts.Dial, counted.hosts.Dial
	if got := counted.run(t.Context()); !got.Delivered {
		t.Fatalf("%+v\n%s", got, counted.log.String())
	}
	dial = f.dial
	random := rand.New(rand.NewPCG(1, 2))
	lost := 0
	for range cuts {
		left := 1 + random.IntN(reads)
		f.hosts.Dial = func(ctx context.Context, host string) (Conn, error) {
			conn, err := dial(ctx, host)
			return &cutting{Conn: conn, left: left, reads: new(int)}, err
		}
		got := f.run(t.Context())
		switch {
		case got.Class == schedule.HostLost && strings.HasPrefix(got.Why, "worker host build1: "):
			lost++
		case got.Class == schedule.Done:
		default:
			t.Fatalf("after %d reads: %+v\n%s", left, got, f.log.String())
		}
		f.nothingIsLeft()
		f.fetch()
	}
	f.hosts.Dial = dial
	if got := f.run(t.Context()); got.Class != schedule.Done || !got.Delivered {
		t.Errorf("%+v\n%s", got, f.log.String())
	}
	if files := f.git(f.origin, "ls-tree", "--name-only", f.branch.String()); files != "README.md\na.txt\nb.txt" || deliveries == 0 {
		t.Errorf("delivered %d times: %q", deliveries, files)
	}
	if commits := f.git(f.origin, "rev-list", "--count", "main.."+f.branch.String()); commits != "1" {
		t.Errorf("%s commits", commits)
	}
	t.Logf("%d of %d sessions lost their host", lost, cuts)
	if lost < cuts/3 {
		t.Errorf("only %d of %d sessions lost their host", lost, cuts)
	}
}

// cutting closes a connection after a number of reads.
type cutting struct {
	Conn
	left  int
	reads *int
}

func (c *cutting) Read(text []byte) (int, error) {
	*c.reads++
	if c.left--; c.left <= 0 {
		c.Close()
	}
	return c.Conn.Read(text)
}
