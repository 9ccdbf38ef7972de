package fleet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// The limits of a shard's part of the report: of texts in characters, of addresses, file
// names and reasons in bytes. A longer text is cut. A longer address or file name is left
// out, because a part of it would name something else.
const (
	maxRows    = 256
	maxNotes   = 100  // of one kind
	maxNote    = 2000 // of one note
	maxName    = 256
	maxTitle   = 1000
	maxAddress = 2000
	maxWhy     = 4000
	maxReasons = 16 << 10 // of why work was refused: a list in Markdown

	maxRowWarnings  = 20
	maxKeptCommands = 8

	maxCount = 1<<31 - 1
)

// tickFile represents a shard's part of the report: what collect cannot find out from its
// own state. To add a field, add it in newTick and in restore. A test fails for each field
// of [report.Tick] and [report.Row] that is neither in a tickFile nor in the test's list of
// exceptions.
type tickFile struct {
	Rows     []rowFile    `json:"rows,omitempty"`
	Parked   []tracker.ID `json:"parked,omitempty"`
	Notices  []string     `json:"notices,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
	Errors   []string     `json:"errors,omitempty"`
	Stopped  string       `json:"stopped,omitempty"`
	Spent    spentFile    `json:"spent,omitzero"`
	Faults   []faultFile  `json:"faults,omitempty"`
	// Stored holds what package store checks and bounds: the deliveries of rows, and the
	// claims before their faults. It is an encoded state; empty if there are none.
	Stored string `json:"stored,omitempty"`
}

type rowFile struct {
	ID          tracker.ID             `json:"id"`
	Identifier  string                 `json:"identifier,omitempty"`
	Title       string                 `json:"title,omitempty"`
	URL         string                 `json:"url,omitempty"`
	State       string                 `json:"state,omitempty"`
	Attempt     int                    `json:"attempt,omitempty"`
	Sessions    int                    `json:"sessions,omitempty"`
	Class       schedule.Class         `json:"class,omitempty"`
	Status      schedule.AttemptStatus `json:"status,omitempty"`
	Why         string                 `json:"why,omitempty"`
	Warnings    []string               `json:"warnings,omitempty"`
	Turns       int                    `json:"turns,omitempty"`
	Usage       schedule.Usage         `json:"usage,omitzero"`
	Took        time.Duration          `json:"took_ns,omitempty"`
	Next        nextFile               `json:"next,omitzero"`
	Delivered   bool                   `json:"delivered,omitempty"`
	Refused     string                 `json:"refused,omitempty"`
	PullRequest string                 `json:"pull_request,omitempty"`
	Kept        keptFile               `json:"kept,omitzero"`
	Log         logFile                `json:"log,omitzero"`
}

type nextFile struct {
	Phase  schedule.Phase  `json:"phase,omitempty"`
	Reason schedule.Reason `json:"reason,omitempty"`
	Detail string          `json:"detail,omitempty"`
	Due    time.Time       `json:"due,omitzero"`
}

type keptFile struct {
	Folder   string   `json:"folder,omitempty"`
	Artifact string   `json:"artifact,omitempty"`
	Commands []string `json:"commands,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
}

// IsZero reports whether no work was kept.
func (k keptFile) IsZero() bool {
	return k.Folder == "" && k.Artifact == "" && len(k.Commands) == 0 && !k.Secret
}

type logFile struct {
	File     string `json:"file,omitempty"`
	Artifact string `json:"artifact,omitempty"`
}

type spentFile struct {
	Sessions int            `json:"sessions,omitempty"`
	Usage    schedule.Usage `json:"usage,omitzero"`
	Time     time.Duration  `json:"time_ns,omitempty"`
	Paused   bool           `json:"paused,omitempty"`
	HadTurn  bool           `json:"had_turn,omitempty"`
}

type faultFile struct {
	ID      tracker.ID `json:"id"`
	Kind    string     `json:"kind"`
	Why     string     `json:"why,omitempty"`
	Excused bool       `json:"excused,omitempty"`
}

// newTick returns the part of a tick that a result holds, within its limits. Spending and
// faults are those of the state.
func newTick(t report.Tick, s *schedule.State) (tickFile, error) {
	f := tickFile{
		Parked: t.Parked, Stopped: text.OneLine(t.Stopped, maxWhy),
		Notices: notes(t.Notices, maxNotes), Warnings: notes(t.Warnings, maxNotes), Errors: notes(t.Errors, maxNotes),
		Spent: spentFile(s.Tick).clamped(),
	}
	stored := schedule.New(schedule.Owner{})
	for _, r := range t.Rows {
		f.Rows = append(f.Rows, newRow(r).clamped())
		if r.Delivery != (schedule.Delivery{}) {
			if stored.Deliveries == nil {
				stored.Deliveries = map[tracker.ID]schedule.Delivery{}
			}
			stored.Deliveries[r.ID] = r.Delivery
		}
	}
	for _, fault := range s.Faults {
		f.Faults = append(f.Faults, faultFile{fault.Before.ID, text.OneLine(fault.Kind, maxWhy), text.OneLine(fault.Why, maxWhy), fault.Excused})
		stored.Claims[fault.Before.ID] = fault.Before
	}
	if len(stored.Claims)+len(stored.Deliveries) == 0 {
		return f, nil
	}
	data, err := store.Encode(stored, 0)
	f.Stored = string(data)
	return f, err
}

func newRow(r report.Row) rowFile {
	return rowFile{
		ID: r.ID, Identifier: r.Identifier, Title: r.Title, URL: r.URL, State: r.State,
		Attempt: r.Attempt, Sessions: r.Sessions, Class: r.Class, Status: r.Status, Why: r.Why, Warnings: r.Warnings,
		Turns: r.Turns, Usage: r.Usage, Took: r.Took,
		Next:      nextFile{r.Next.Phase, r.Next.Why.Reason, r.Next.Why.Detail, r.Next.Due.UTC()},
		Delivered: r.Delivered, Refused: r.Refused, PullRequest: r.PullRequest,
		Kept: keptFile{r.Kept.Folder, r.Kept.Artifact, r.Kept.Commands, r.Kept.Secret},
		Log:  logFile{r.Log.File, r.Log.Artifact},
	}
}

// clamped returns the row with its texts and numbers within their limits. It drops shell
// commands that this program would not write.
func (r rowFile) clamped() rowFile {
	r.Identifier, r.State = text.OneLine(r.Identifier, maxName), text.OneLine(r.State, maxName)
	r.Title, r.Why = text.OneLine(r.Title, maxTitle), text.OneLine(r.Why, maxWhy)
	r.URL = wholeOrEmpty(r.URL, maxAddress) // a part of a link leads elsewhere
	r.Warnings = notes(r.Warnings, maxRowWarnings)
	r.Next.Detail = text.OneLine(r.Next.Detail, maxWhy)
	r.Refused = strings.TrimSpace(text.TruncateBytes(text.Lines(r.Refused), maxReasons))
	r.PullRequest = text.OneLine(r.PullRequest, maxName)
	r.Kept.Folder, r.Kept.Artifact = wholeOrEmpty(r.Kept.Folder, maxAddress), wholeOrEmpty(r.Kept.Artifact, maxName)
	if _, ok := publish.KeptBranch(r.Kept.Commands); !ok || len(r.Kept.Commands) > maxKeptCommands {
		r.Kept.Commands = nil
	}
	r.Log.File, r.Log.Artifact = wholeOrEmpty(r.Log.File, maxAddress), wholeOrEmpty(r.Log.Artifact, maxName)
	r.Attempt, r.Sessions, r.Turns = clampCount(r.Attempt), clampCount(r.Sessions), clampCount(r.Turns)
	r.Usage, r.Took = clampUsage(r.Usage), clampTime(r.Took)
	return r
}

// restore returns the tick that f holds, and sets the spending and the faults of s. The
// slice says which issues are the shard's. It fails with [ErrRefused] if f names another one.
func (f tickFile) restore(slice, s *schedule.State) (report.Tick, error) {
	if err := f.validate(slice); err != nil {
		return report.Tick{}, fmt.Errorf("its report: %w", err)
	}
	s.Tick = schedule.Spent(f.Spent)
	t := report.Tick{Parked: f.Parked, Stopped: f.Stopped, Notices: f.Notices, Warnings: f.Warnings, Errors: f.Errors, Spent: s.Tick}
	stored := schedule.New(schedule.Owner{})
	if f.Stored != "" {
		var err error
		if stored, _, err = store.Decode([]byte(f.Stored)); err != nil {
			return report.Tick{}, fmt.Errorf("its report: %w", err)
		}
	}
	for _, r := range f.Rows {
		row := r.toReport()
		row.Delivery = stored.Deliveries[r.ID]
		t.Rows = append(t.Rows, row)
	}
	for _, fault := range f.Faults {
		before, stored := stored.Claims[fault.ID]
		if !stored {
			return report.Tick{}, fmt.Errorf("its report: the claim before the fault of issue %q is missing", fault.ID)
		}
		s.Faults = append(s.Faults, schedule.Fault{Kind: fault.Kind, Why: fault.Why, Before: before, Excused: fault.Excused})
	}
	return t, nil
}

func (r rowFile) toReport() report.Row {
	return report.Row{
		ID: r.ID, Identifier: r.Identifier, Title: r.Title, URL: r.URL, State: r.State,
		Attempt: r.Attempt, Sessions: r.Sessions, Class: r.Class, Status: r.Status, Why: r.Why, Warnings: r.Warnings,
		Turns: r.Turns, Usage: r.Usage, Took: r.Took,
		Next:      schedule.Next{Phase: r.Next.Phase, Why: schedule.Why{Reason: r.Next.Reason, Detail: r.Next.Detail}, Due: r.Next.Due},
		Delivered: r.Delivered, Refused: r.Refused, PullRequest: r.PullRequest,
		Kept: report.Kept{Folder: r.Kept.Folder, Artifact: r.Kept.Artifact, Commands: r.Kept.Commands, Secret: r.Kept.Secret},
		Log:  report.Log{File: r.Log.File, Artifact: r.Log.Artifact},
	}
}

// validate returns an error if newTick cannot have returned f for a shard that works on the
// issues of the slice.
func (f tickFile) validate(slice *schedule.State) error {
	owns := func(id tracker.ID) bool { _, owned := slice.Claims[id]; return owned }
	if len(f.Rows) > maxRows || len(f.Parked) > maxRows || len(f.Faults) > maxRows {
		return fmt.Errorf("it has more than %d rows", maxRows)
	}
	for _, list := range [][]string{f.Notices, f.Warnings, f.Errors} {
		if !slices.Equal(notes(list, maxNotes), list) {
			return errors.New("a note is too long or not plain, or there are too many")
		}
	}
	if f.Stopped != text.OneLine(f.Stopped, maxWhy) || f.Spent != f.Spent.clamped() {
		return errors.New("a text is too long or not plain, or a number is out of range")
	}
	seen := map[tracker.ID]bool{}
	for _, r := range f.Rows {
		if !owns(r.ID) || seen[r.ID] {
			return fmt.Errorf("%w: it has a row of issue %.40q, which is not the shard's or comes twice", ErrRefused, r.ID)
		}
		seen[r.ID] = true
		if err := r.validate(); err != nil {
			return fmt.Errorf("the row of issue %q: %w", r.ID, err)
		}
	}
	for _, id := range f.Parked {
		if !owns(id) {
			return fmt.Errorf("%w: it parked issue %.40q, which is not the shard's", ErrRefused, id)
		}
	}
	clear(seen)
	for _, fault := range f.Faults {
		if !owns(fault.ID) || seen[fault.ID] {
			return fmt.Errorf("%w: it has a fault of issue %.40q, which is not the shard's or comes twice", ErrRefused, fault.ID)
		}
		seen[fault.ID] = true
		if fault.Kind != text.OneLine(fault.Kind, maxWhy) || fault.Why != text.OneLine(fault.Why, maxWhy) {
			return fmt.Errorf("the fault of issue %q: a text is too long or not plain", fault.ID)
		}
	}
	return nil
}

func (r rowFile) validate() error {
	switch {
	case !isWord(string(r.Class)) || !isWord(string(r.Status)) || !isWord(string(r.Next.Phase)) || !isWord(string(r.Next.Reason)):
		return errors.New("its class, status, phase or reason is not a plain word")
	case !r.Next.Due.IsZero() && r.Next.Due.Location() != time.UTC:
		return errors.New("a time is not in UTC")
	case !reflect.DeepEqual(r.clamped(), r):
		return errors.New("a text is too long or not plain, a number is out of range, or a command is not one of this program")
	}
	return nil
}

// clamped returns the spending with its numbers within their limits.
func (s spentFile) clamped() spentFile {
	s.Sessions, s.Usage, s.Time = clampCount(s.Sessions), clampUsage(s.Usage), clampTime(s.Time)
	return s
}

func clampCount(n int) int { return min(max(n, 0), maxCount) }

func clampUsage(u schedule.Usage) schedule.Usage {
	return schedule.Usage{Input: min(max(u.Input, 0), schedule.MaxTokens), Output: min(max(u.Output, 0), schedule.MaxTokens)}
}

// clampTime returns the time of all sessions of a shard within its limits. The time is
// negative if the clock was set back.
func clampTime(d time.Duration) time.Duration {
	return min(max(d, 0), schedule.MaxSlots*schedule.MaxShardTime)
}

// notes returns at most n notes, each one line within its limits.
func notes(list []string, n int) []string {
	var out []string
	for _, note := range list[:min(len(list), n)] {
		out = append(out, text.OneLine(note, maxNote))
	}
	return out
}

// wholeOrEmpty returns s if it is one line of at most n bytes, and "" otherwise.
func wholeOrEmpty(s string, n int) string {
	if !isPlain(s, n) {
		return ""
	}
	return s
}

// isWord reports whether s can be the name of a class, status, phase or reason, or is empty.
func isWord(s string) bool {
	return len(s) <= maxName && strings.Trim(s, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
