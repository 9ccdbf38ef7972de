package transcript

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// recordings are sessions with the real Codex that show what others do not.
var recordings = []string{
	"apply_patch_turn", "auto_compaction", "background_command_left_running", "code_mode_dynamic_tool_and_exec", "command_approval_decline",
	"dynamic_tool_failure", "exec_command_turn", "file_change_approval_decline", "goal_autonomous_turns", "recommended_posture_full_turn",
	"request_user_input_async", "resume_part2_new_process", "sub_agent_spawn", "turn_failed_401", "turn_interrupt", "two_turn_continuation",
}

// read returns the entries of a log.
func read(t testing.TB, log string, redact func(string) string) []Entry {
	t.Helper()
	r := &Reader{Redact: redact}
	return append(r.Feed([]byte(log)), r.End()...)
}

func content(entries []Entry, s Style) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(Text(e, s))
	}
	return b.String()
}

func page(t testing.TB, entries []Entry) string {
	t.Helper()
	var b strings.Builder
	if err := WritePage(&b, "GH-7 · session 1", entries); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

func TestRecordedSessionsReadAsAPersonWouldTellThem(t *testing.T) {
	t.Parallel()
	for _, name := range recordings {
		log, err := os.ReadFile("../../codex/testdata/transcripts/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", content(read(t, string(log), nil), Style{Width: 100}))
	}
}

// A line that begins with -- or ++, as a comment of SQL does, is no name of a file.
func TestALineOfADiffThatLooksLikeANameIsALine(t *testing.T) {
	t.Parallel()
	var got []string
	for _, line := range diffLines("--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n--- a comment\n-select 1\n+++ more\n") {
		got = append(got, line.Class)
	}
	if diff := cmp.Diff([]string{"file", "file", "hunk", "del", "del", "add"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
