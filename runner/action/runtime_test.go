package action_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/action"
)

func first[A, B any](a A, _ B) A { return a }

func buffer(s string) *bytes.Buffer { return bytes.NewBufferString(s) }

func TestASecretIsMaskedLineByLineAndOnce(t *testing.T) {
	t.Parallel()
	r := logRunner()
	rt := r.runtime()
	say(t, rt.Writer(), "no line end")
	for range 2 {
		rt.Mask("hunter2%hunter2")
		rt.Mask(" {\r\n\t\"key\": \"first\"\n}\u2028hunter2%hunter2\n::error::x\n")
		rt.Mask("short")
		rt.Mask("")
	}
	commands, shown := r.read()
	want := []command{{"add-mask", "", "hunter2%hunter2"}, {"add-mask", "", `"key": "first"`}, {"add-mask", "", "::error::x"}}
	if diff := cmp.Diff(want, commands); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"no line end"}, shown); diff != "" {
		t.Error(diff)
	}
}

func TestOutsideActionsThereArePlainLinesAndNoSecrets(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	rt := action.New(&out, func(string) string { return "" })
	rt.Mask("hunter2hunter2")
	rt.Group("GH-1\ntitle", "said\n\n")
	rt.Error("codex_not_found", "install it\nand again")
	rt.Warning("", "text")
	rt.Notice("title", "text")
	if err := errors.Join(rt.Output("name", "value"), rt.Summary("# Title"), rt.Close()); err != nil || rt.InActions() {
		t.Error(err, rt.InActions())
	}
	want := "GH-1 title\nsaid\nerror: codex_not_found: install it and again\nwarning: text\nnotice: title: text\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCommandsStartOnALineOfTheirOwnAndEndOnce(t *testing.T) {
	t.Parallel()
	r := logRunner()
	rt := r.runtime()
	say(t, rt.Writer(), "cut \xe2\x82")
	rt.Group("GH-1: 100%\r\n::error::x", ":\n##[error]y\n")
	say(t, rt.Writer(), ":error::x")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	want := "cut \xe2\x82\n::group::GH-1: 100%25 ::error::x\n:\n## [error]y\n::endgroup::\n:error::x\n"
	if diff := cmp.Diff(want, r.out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestAnAnnotationKeepsItsTitleAndLines(t *testing.T) {
	t.Parallel()
	r := logRunner()
	rt := r.runtime()
	rt.Error("a: b, 50%\n::c", "first\r\n::error::second\u2028##[x]")
	rt.Warning("", strings.Repeat("ä", 5000))
	commands, _ := r.read()
	want := []command{
		{"error", "a: b, 50% ::c", "first\n: :error::second\n## [x]"},
		{"warning", "", strings.Repeat("ä", 2046) + "…"},
	}
	if diff := cmp.Diff(want, commands); diff != "" {
		t.Error(diff)
	}
}

func TestTheTenthAnnotationHoldsTheRest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		notes, size, shown int
		title, last        string
	}{
		{9, 1, 9, "t8", "n8 x"},
		{10, 1, 10, "", "t9: n9 x"},
		{12, 1, 10, "3 more of this kind", "t9: n9 x\nt10: n10 x\nt11: n11 x"},
		{3000, 1, 10, "2991 more of this kind", "all of them in the log"},
		{12, 5000, 10, "3 more of this kind", "and 2 more, all of them in the log"},
	} {
		r := logRunner()
		rt := r.runtime()
		for i := range row.notes {
			rt.Warning(fmt.Sprintf("t%d", i), fmt.Sprintf("n%d %s", i, strings.Repeat("x", row.size)))
		}
		rt.Notice("", "another kind")
		before, shown := r.read()
		if want := max(0, row.notes-9); len(shown) != want && want > 0 {
			t.Errorf("%d notes: %d lines in the log instead of %d", row.notes, len(shown), want)
		}
		for range 2 {
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
		}
		after, _ := r.read()
		var warnings []command
		for _, c := range after {
			if c.Name == "warning" {
				warnings = append(warnings, c)
			}
		}
		if len(warnings) != row.shown || len(after)-len(before) > 1 {
			t.Fatalf("%d notes: %d annotations, %d by Close", row.notes, len(warnings), len(after)-len(before))
		}
		last := warnings[len(warnings)-1]
		if last.Title != row.title || !strings.HasSuffix(last.Data, row.last) || len(last.Data) > 4096 {
			t.Errorf("%d notes: the last one is %q", row.notes, last)
		}
	}
}

func TestALogLineHasNoTimeInsideActions(t *testing.T) {
	t.Parallel()
	for _, inside := range []string{"true", ""} {
		var out bytes.Buffer
		rt := action.New(&out, func(name string) string { return map[string]string{"GITHUB_ACTIONS": inside}[name] })
		log := slog.New(rt.Handler(rt.Writer(), slog.LevelInfo))
		log.Debug("hidden")
		log.Info("completed", "issue", "GH-1", slog.Group("g", "time", "kept"), "text", "##[error]x")
		line := out.String()
		if strings.HasPrefix(line, "time=") == (inside == "true") || !strings.Contains(line, "level=INFO msg=completed issue=GH-1 g.time=kept") {
			t.Errorf("inside %q: %s", inside, line)
		}
		if strings.Contains(line, "##[") == (inside == "true") || strings.Contains(line, "hidden") {
			t.Errorf("inside %q: %s", inside, line)
		}
	}
}

func TestLinesFromManySidesStayWhole(t *testing.T) {
	t.Parallel()
	r := logRunner()
	rt := r.runtime()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			log := slog.New(rt.Handler(rt.Writer(), slog.LevelInfo))
			for range 50 {
				log.Info("::x", "side", i)
				rt.Notice("title", "text")
				rt.Mask(fmt.Sprintf("secret-%d", i))
			}
		})
	}
	wg.Wait()
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	commands, shown := r.read()
	if len(commands) != 10+8 || len(shown) != 8*50+8*50-9 {
		t.Errorf("%d commands, %d lines", len(commands), len(shown))
	}
	for _, line := range shown {
		if !strings.HasPrefix(line, "level=INFO msg=::x side=") && line != "notice: title: text" {
			t.Errorf("line %q", line)
		}
	}
}

func TestABrokenOutputIsAnErrorNotAPanic(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	rt := action.New(brokenWriter{broken}, func(string) string { return "true" })
	rt.Mask("hunter2hunter2")
	rt.Group("title", "text")
	rt.Error("title", "text")
	if _, err := io.WriteString(rt.Writer(), "text"); !errors.Is(err, broken) {
		t.Errorf("the write: %v", err)
	}
	if err := rt.Close(); !errors.Is(err, broken) {
		t.Errorf("the end: %v", err)
	}
}

func TestAMistakeInTheProgramStaysAPanic(t *testing.T) {
	t.Parallel()
	var none map[string]func() string
	rt := action.New(&bytes.Buffer{}, func(name string) string {
		if name == "GITHUB_ACTIONS" {
			return "true"
		}
		return none[name]()
	})
	defer func() {
		if recover() == nil {
			t.Error("it was taken for an error of the file")
		}
	}()
	err := rt.Output("name", "value")
	t.Error(err)
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
