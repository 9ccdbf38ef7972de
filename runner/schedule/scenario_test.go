package schedule_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// # How to read and write a scenario
//
// A file of testdata/plan holds one scenario. It begins with a sentence about what
// it shows, and has these sections:
//
//	-- policy --   settings, over the settings of [simple]: concurrent, per-state, batch,
//	               active, terminal, labels, backoff, stall, attempts, idle,
//	               issue-tokens, tick-tokens, day-tokens, issue-usd, tick-usd, day-usd,
//	               price (of a model's output, model:usd), delivers, hands-over (to which
//	               state), rounds, check-rounds, open, open-by-label (label:limit), hosts,
//	               per-host
//	-- issues --   one issue a line: its identifier, then title, text, state, priority,
//	               created, labels, blocked (by which issues); Todo by default
//	-- claims --   one claim a line: its issue, phase, then owner, lease, since, due,
//	               attempt, tokens, thread, why
//	-- story --    the steps, each with its results on indented lines below
//
// Lists are separated by commas, words with a space are quoted, times are durations
// from now, the scenario begins at noon, and "#" begins a comment. The steps:
//
//	plan                            plan and apply; prints the decisions
//	explain                         prints the verdict on each issue, applies nothing
//	heartbeat ABC-1 [alive] [turn=begins] [tokens=500] [of=model:500,…] [turns=1] [thread=t]
//	exit ABC-1 CLASS ["why"] [tokens=500] [turns=0] [thread=t] [idle] [unread] [retry=1h] [delivered] [refused="why"] [question="why?"]
//	tracker ABC-2 state=Done …      somebody edits an issue; "gone" and "back" hide and show it
//	tracker down | list-down | up   reads fail: all, only the list, none
//	policy batch=1 …                somebody edits WORKFLOW.md
//	hold "why" | hold off           nothing may start, until the hold is off
//	advance 10s                     time passes
//	tick                            a tick begins
//	crash                           the run is replaced by another one, which plans from now on
//	adopt dead | alive | unknown    sets the status of all other runs
//	retry ABC-1, release ABC-1      commands of an operator
//	deliver ABC-1 [branch=b] [head=c] [pushing=c] [number=7] [url=u]
//	                                a session publishes work, or is about to
//	say ABC-1 kim "text"            somebody comments on the issue; the word of a stranger does not count
//	pull ABC-1 open | merged | closed [by=kim] [fails=lint,test] [conflicts]
//	                                the pull request, with what it is like now
//	conversations down | up         comments cannot be read, or can
//	finished ABC-1                  the runner has performed its finish
//	queue                           a run notes which issues lack nothing but room
//	hosts                           prints the worker hosts that have failed
//	ends                            prints the recorded ends of the work on issues
//	claims, deliveries, talks, wake prints the claims, the deliveries and the completed issues, the conversations, the time of the next plan
//
// After each step the claims must be legal, and after a plan there must be
// nothing more to plan. Rewrite the indented lines with
//
//	go test ./runner/schedule -run TestScenarios -update
//
// and commit only what you can explain.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(text)
			got := play(t, archive)
			if *update && !bytes.Equal(text, got) {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(text), string(got)); diff != "" {
				t.Errorf("%s (-file +now):\n%s", file, diff)
			}
		})
	}
}

var update = flag.Bool("update", false, "rewrite what the scenarios print")

// play performs the steps and returns the file with their results.
func play(t *testing.T, archive *txtar.Archive) []byte {
	s := &story{t: t, fixture: simple()}
	for i, file := range archive.Files {
		for line := range strings.Lines(string(file.Data)) {
			step := strings.TrimRight(line, "\n")
			words := split(step)
			switch {
			case file.Name == "story" && strings.HasPrefix(step, "\t"): // results of the last update
			case file.Name == "story":
				fmt.Fprintln(&s.out, step)
				s.step(words)
			case len(words) == 0:
			case file.Name == "policy":
				s.settings(words, s.setPolicy)
			case file.Name == "issues":
				s.addIssue(words)
			case file.Name == "claims":
				s.addClaim(words)
			default:
				t.Fatalf("no such section: %s", file.Name)
			}
		}
		if file.Name == "story" {
			archive.Files[i].Data = []byte(s.out.String())
		}
	}
	return txtar.Format(archive)
}

// story represents a scenario file that is being played.
type story struct {
	fixture
	t      *testing.T
	issues []*shownIssue
	down   string // which reads fail: "", "down", "list-down"
	talks  bool   // conversations are read
	unread bool   // but they cannot be read now
	out    strings.Builder
}

type shownIssue struct {
	tracker.Issue
	blocked []string
	gone    bool
	said    feedback.Said
}

func (s *story) step(words []string) {
	if len(words) == 0 {
		return
	}
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	switch words[0] {
	case "plan":
		s.planAndApply()
	case "explain":
		for _, v := range schedule.Explain(s.state, s.read(), s.policy, s.now) {
			s.print(v.Issue.Identifier, string(orDash(v.Phase)), string(orDash(v.Action)), because(v.Why))
		}
	case "heartbeat":
		s.heartbeat(name, words[2:])
	case "exit":
		s.exit(name, words[2:])
	case "tracker":
		s.editTracker(name, words[2:])
	case "policy":
		s.settings(words[1:], s.setPolicy)
	case "hold":
		s.snap.Hold = schedule.Why{}
		if name != "off" {
			s.snap.Hold = schedule.Why{Reason: schedule.OnHold, Detail: name}
		}
	case "advance":
		s.now = s.now.Add(s.duration(name))
		s.print(clock(s.now))
	case "tick":
		s.state.NewTick()
	case "crash":
		s.state.Self.Attempt++
		s.state.NewTick()
	case "adopt":
		s.adopt(name)
	case "retry":
		s.found(name, s.state.Retry(s.id(name), s.now))
	case "release":
		s.found(name, s.state.Release(s.id(name)))
	case "claims":
		for _, issue := range s.issues {
			s.printClaim(issue.ID)
		}
	case "deliver":
		s.deliver(name, words[2:])
	case "deliveries":
		for _, issue := range s.issues {
			s.printDelivery(issue.ID)
		}
	case "say":
		s.say(name, words[2], words[3])
	case "pull":
		s.pull(name, words[2], words[3:])
	case "conversations":
		s.unread = name == "down"
	case "finished":
		s.state.Finished(s.id(name), s.issue(name).said.Pull.State, s.now)
	case "talks":
		for _, issue := range s.issues {
			s.printTalk(issue)
		}
	case "queue":
		queued := schedule.QueuedBy(schedule.Explain(s.state, s.read(), s.policy, s.now), s.now)
		queued.Apply(s.state, s.policy)
		s.print(fmt.Sprintf("%d issues lack nothing but room", len(queued.IDs)))
	case "ends":
		ends, _ := s.state.AllEnds()
		for _, e := range ends {
			s.printEnd(e)
		}
	case "hosts":
		for _, host := range slices.Sorted(maps.Keys(s.state.Hosts)) {
			h := s.state.Hosts[host]
			s.print(host, "until="+clock(h.Until), fmt.Sprint("failures=", h.Failures), ": "+h.Why)
		}
	case "wake":
		if at, ok := s.state.Wake(s.policy, s.now); ok {
			s.print(clock(at))
		} else {
			s.print("never")
		}
	default:
		s.t.Fatalf("no such step: %q", words)
	}
	for _, c := range s.state.Claims {
		checkShape(s.t, c)
	}
	checkTalks(s.t, s.state)
}

func (s *story) planAndApply() {
	s.snap = s.read()
	decisions := s.plan()
	for _, d := range decisions {
		name := d.Issue.Identifier
		if c, claimed := s.state.Claims[d.ID]; claimed {
			name = c.Identifier
		}
		switch {
		case d.Action == schedule.Observe && d.Issue.ID == "":
			s.print("hear", s.identifier(d.ID))
		case d.Move:
			s.print(string(d.Action), name, because(d.Why), "[clean, move]")
		case d.Action == schedule.Observe:
			s.print("observe", name, fmt.Sprintf("%q", d.Issue.State))
		case d.Clean:
			s.print(string(d.Action), name, because(d.Why), "[clean]")
		case d.Host != "":
			s.print(string(d.Action), name, "on", d.Host, because(d.Why))
		default:
			s.print(string(d.Action), name, because(d.Why))
		}
		s.state.Apply(d, s.now)
	}
	if len(decisions) == 0 {
		s.print("nothing")
	}
	s.snap.Feedback = s.read().Feedback
	if again := s.plan(); len(again) > 0 {
		s.t.Fatalf("planned again with what was known: %+v", again)
	}
	s.snap = s.read()
	if again := s.plan(); len(again) > 0 {
		s.t.Fatalf("planned again: %+v", again)
	}
}

// read returns the tracker's answers.
func (s *story) read() schedule.Snapshot {
	snap := schedule.Snapshot{Claimed: map[tracker.ID]*tracker.Issue{}, Hold: s.snap.Hold}
	if s.talks {
		snap.Feedback = map[tracker.ID]schedule.Feedback{}
	}
	active := func(state string) bool {
		return slices.ContainsFunc(s.policy.ActiveStates, func(a string) bool {
			return tracker.NormalState(a) == tracker.NormalState(state)
		})
	}
	for _, shown := range s.issues {
		issue := shown.Issue
		for _, name := range shown.blocked {
			blocker := s.issue(name)
			issue.BlockedBy = append(issue.BlockedBy, tracker.Blocker{Identifier: name, State: blocker.State})
		}
		if s.down == "" && !shown.gone && active(issue.State) {
			snap.Candidates = append(snap.Candidates, issue)
		}
		_, claimed := s.state.Claims[issue.ID]
		_, delivered := s.state.Deliveries[issue.ID]
		if s.talks && !s.unread && (claimed || delivered) {
			snap.Feedback[issue.ID] = feedback.Judge(shown.said, s.state.Conversations[issue.ID], feedback.Rules{}, s.now).Feedback
		}
		if (claimed || delivered && s.talks) && s.down != "down" {
			snap.Claimed[issue.ID] = &issue
			if shown.gone {
				snap.Claimed[issue.ID] = nil
			}
		}
	}
	return snap
}

func (s *story) adopt(word string) {
	life, known := map[string]schedule.OwnerStatus{
		"dead": schedule.Dead, "alive": schedule.Alive, "unknown": schedule.Unknown,
	}[word]
	if !known {
		s.t.Fatalf("no such status: %s", word)
	}
	adopted := s.state.Adopt(all(s.state, life), s.policy, s.now)
	if len(adopted) == 0 {
		s.print("nothing")
	}
	for _, issue := range s.issues {
		if slices.ContainsFunc(adopted, func(a schedule.Adopted) bool { return a.ID == issue.ID }) {
			s.printClaim(issue.ID)
		}
	}
}

func (s *story) found(name string, found bool) {
	if !found {
		s.print("nothing")
		return
	}
	s.printClaim(s.id(name))
}

// printClaim prints the fields of a claim that are not zero.
func (s *story) printClaim(id tracker.ID) {
	c, claimed := s.state.Claims[id]
	if !claimed {
		return
	}
	var due, run string
	if c.Phase == schedule.Waiting {
		due = clock(c.Due)
	}
	if holdsSlot(c) {
		run = fmt.Sprintf("%s/%d", c.Owner.Run, c.Owner.Attempt)
	}
	line := []string{c.Identifier, string(c.Phase)}
	for _, field := range []struct {
		name  string
		value any
	}{
		{"cause", string(c.StopReason)}, {"run", run}, {"due", due}, {"attempt", c.Attempt}, {"failures", c.Failures},
		{"idle", c.Idle}, {"tokens", c.Tokens}, {"thread", c.Thread}, {"feedback", c.Feedback}, {"host", c.Host}, {"left", strings.Join(c.Left, ",")},
	} {
		if text := fmt.Sprint(field.value); text != "" && text != "0" && text != "false" {
			line = append(line, field.name+"="+text)
		}
	}
	if c.Why != "" {
		line = append(line, ": "+c.Why)
	}
	s.print(line...)
}

// printDelivery prints the fields of a delivery that are not zero, and whether the issue
// is completed.
func (s *story) printDelivery(id tracker.ID) {
	d, known := s.state.Deliveries[id]
	if !known {
		return
	}
	var number, at string
	if d.Number > 0 {
		number = fmt.Sprint(d.Number)
	}
	if !d.At.IsZero() {
		at = clock(d.At)
	}
	line := []string{d.Identifier}
	for _, field := range [][2]string{
		{"branch", d.Branch}, {"head", d.Head}, {"pushing", d.Pushing}, {"number", number}, {"url", d.URL}, {"at", at},
	} {
		if field[1] != "" {
			line = append(line, field[0]+"="+field[1])
		}
	}
	if slices.Contains(s.state.Completed, id) {
		line = append(line, "completed")
	}
	if d.Refused != "" {
		line = append(line, ": "+d.Refused)
	}
	s.print(line...)
}

// printTalk prints the fields of a conversation that are not zero.
func (s *story) printTalk(issue *shownIssue) {
	c, known := s.state.Conversations[issue.ID]
	if !known {
		return
	}
	line := []string{issue.Identifier}
	for _, field := range []struct {
		name  string
		value any
	}{
		{"rounds", c.Rounds}, {"check-rounds", c.CheckRounds}, {"closed", c.Closed}, {"thread", c.Thread},
		{"sessions", c.Sessions}, {"tokens", c.Tokens}, {"asked", c.Asked},
	} {
		if text := fmt.Sprint(field.value); text != "" && text != "0" && text != "false" {
			line = append(line, field.name+"="+text)
		}
	}
	s.print(line...)
}

// printEnd prints the fields of an end that are not zero.
func (s *story) printEnd(e schedule.IssueEnd) {
	line := []string{clock(e.At), e.Issue, string(e.End), string(e.Reason)}
	for _, field := range []struct {
		name string
		at   time.Time
	}{{"ready", e.Ready}, {"opened", e.Opened}} {
		if !field.at.IsZero() {
			line = append(line, field.name+"="+clock(field.at))
		}
	}
	for _, field := range []struct {
		name string
		n    int64
	}{{"sessions", int64(e.Sessions)}, {"failed", int64(e.Failed)}, {"rounds", int64(e.Rounds)}, {"tokens", e.Usage.Total()}} {
		if field.n > 0 {
			line = append(line, fmt.Sprint(field.name, "=", field.n))
		}
	}
	s.print(slices.DeleteFunc(line, func(s string) bool { return s == "" })...)
}

func (s *story) print(parts ...string) {
	line := strings.TrimRight(strings.Join(parts, " "), " ")
	fmt.Fprintf(&s.out, "\t%s\n", strings.ReplaceAll(line, " : ", ": "))
}

func because(why schedule.Why) string {
	if why.None() {
		return ""
	}
	return fmt.Sprintf("(%s): %v", why.Reason, why)
}

func orDash[S ~string](s S) S {
	if s == "" {
		return "-"
	}
	return s
}

// clock returns the time, with the date unless it is the first day.
func clock(t time.Time) string {
	if t.Format(time.DateOnly) == noon.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("Jan 2 15:04:05")
}
