package scriptedagent

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

var (
	errNoRollout    = errors.New("no rollout")
	errActiveWriter = errors.New("rollout has an active writer")
)

// rollout is the file that stores a thread: a line of memory and then a line for each
// change. The process that has it open is its only writer. A nil rollout stores nothing.
type rollout struct{ file *os.File }

// record is one line of a rollout. One field is set; PartDone may be set with Ended. A
// turn is recorded when it begins and again when it ends, so that a killed turn counts.
type record struct {
	Memory *memory `json:"session_meta,omitempty"`
	Name   string  `json:"thread_name,omitempty"`
	Begun  object  `json:"turn_begun,omitempty"`
	Ended  object  `json:"turn_ended,omitempty"`

	PartDone bool `json:"part_done,omitempty"` // the turn did its part of the script

	Tokens *tokenUsage `json:"token_usage,omitempty"`
}

// rolloutPath returns the path at which Codex would store the thread.
func rolloutPath(home string, m memory) string {
	created := time.Unix(m.Created, 0)
	return filepath.Join(home, "sessions", created.Format("2006/01/02"),
		fmt.Sprintf("rollout-%s-%s.jsonl", created.Format("2006-01-02T15-04-05"), m.ID))
}

// createRollout creates the rollout of a new thread.
func createRollout(home string, m memory) (*rollout, error) {
	path := rolloutPath(home, m)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	r, err := lockRollout(path, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	return r, r.add(record{Memory: &m})
}

// openRollout finds the rollout of a thread and restores the thread.
func openRollout(home, id string) (*thread, error) {
	path, err := findRollout(home, id)
	if err != nil {
		return nil, err
	}
	r, err := lockRollout(path, 0)
	if err != nil {
		return nil, err
	}
	t := &thread{home: home, rollout: r}
	if err := t.recall(); err != nil || t.ID != id {
		r.close()
		return nil, fmt.Errorf("%s: %w", path, cmp.Or(err, errNoRollout))
	}
	return t, nil
}

// recall replays the thread's rollout. It removes an incomplete last line, left by a
// killed process, so that the next line is complete.
func (t *thread) recall() error {
	var whole int64
	for lines := bufio.NewReader(t.rollout.file); ; {
		line, err := lines.ReadBytes('\n')
		var rec record
		if err != nil || json.Unmarshal(line, &rec) != nil {
			return t.rollout.file.Truncate(whole)
		}
		whole += int64(len(line))
		t.replay(rec)
	}
}

func (t *thread) replay(rec record) {
	switch {
	case rec.Memory != nil:
		t.memory = *rec.Memory
	case rec.Name != "":
		t.name = rec.Name
	case rec.Begun != nil:
		rec.Begun["status"] = "interrupted" // unless its end follows
		t.turns = append(t.turns, rec.Begun)
	case rec.Ended != nil && len(t.turns) > 0:
		t.turns[len(t.turns)-1] = rec.Ended
		if rec.PartDone {
			t.parts++
		}
	case rec.Tokens != nil:
		t.tokens = *rec.Tokens
	}
}

// findRollout searches all of sessions, because a rollout may have been copied from
// another home.
func findRollout(home, id string) (string, error) {
	if home == "" || id == "" {
		return "", errNoRollout
	}
	var found string
	err := filepath.WalkDir(filepath.Join(home, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, "-"+id+".jsonl") {
			found = path
			return filepath.SkipAll
		}
		return err
	})
	if found == "" && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return "", errNoRollout
	}
	return found, err
}

func lockRollout(path string, flag int) (*rollout, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w: %w", path, errActiveWriter, err)
	}
	return &rollout{f}, nil
}

// add appends one line in one write.
func (r *rollout) add(rec record) error {
	if r == nil {
		return nil
	}
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(line, '\n'))
	return err
}

// close lets another process use the thread. It unlocks explicitly, because a child
// that is being started may keep the file open a moment longer.
func (r *rollout) close() {
	if r != nil {
		syscall.Flock(int(r.file.Fd()), syscall.LOCK_UN)
		r.file.Close()
	}
}
