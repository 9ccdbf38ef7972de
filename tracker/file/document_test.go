package file

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
	"pgregory.net/rapid"
)

func TestAStateInAnExoticFormIsChangedWithTheRestOfTheMeaning(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after string }{
		"block scalar":     {"state: >\n  In\n  Progress\ntitle: T # why\nx: [1, 2]\n", "state: Done\ntitle: T # why\nx: [1, 2]\n"},
		"two lines":        {"state: In\n  Progress\ntitle: T\n", "state: Done\ntitle: T\n"},
		"flow":             {"{title: T, state: Todo}\n", "{title: T, state: Done}\n"},
		"quoted key":       {"'state': Todo # c\n\"title\": T\n", "'state': Done # c\n\"title\": T\n"},
		"alias":            {"x: &s Todo\nstate: *s\ntitle: T\n", "x: &s Todo\nstate: Done\ntitle: T\n"},
		"twice by looks":   {"title: T\nx: \"\n\nstate: old\n\n\"\nstate: Todo\n", "title: T\nx: \"\\nstate: old\\n\"\nstate: Done\n"},
		"a value to quote": {"state: 7 # c\ntitle: T\n", "state: Done # c\ntitle: T\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, newline := range []string{"\n", "\r\n"} {
				content := strings.ReplaceAll("---\n"+test.before+"---\nbody\n", "\n", newline)
				got, err := change{state: "Done", at: modified}.apply([]byte(content))
				if err != nil {
					t.Fatal(err)
				}
				want := strings.ReplaceAll("---\n"+test.after+"---\nbody\n", "\n", newline)
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// written is the line of a state or a time: the text before and after its value
// belongs to people and must stay.
type written struct{ before, value, after string }

func drawValue(key string, values []string) *rapid.Generator[written] {
	return rapid.Custom(func(t *rapid.T) written {
		return written{
			before: key + rapid.SampledFrom([]string{": ", ":   ", ":\t", " : "}).Draw(t, "colon"),
			value:  rapid.SampledFrom(values).Draw(t, "value"),
			after:  rapid.SampledFrom([]string{"", "  ", " # a: 'note'", "\t# \"", " #"}).Draw(t, "after"),
		}
	})
}

// TestAnySequenceOfCallsKeepsEveryOtherByte builds the file from pieces, calls
// the tool, and expects the same pieces with other values and a longer end.
func TestAnySequenceOfCallsKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	others := []string{
		"# a comment", "", "mine: 'it''s'   # kept", "labels: [ a,   b ]", "x:\n    deep:   1", "y: |\n  state: not this\n  z",
		"\"quoted\":    \"\\u00e9\"", "priority: 0x1", "- ", "date: 2026-01-01",
	}
	rapid.Check(t, func(rt *rapid.T) {
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "newline")
		state := drawValue("state", []string{"Todo", "In Progress", "'To do'", `"a # b"`, "In#Progress", "7", `"\u00e9"`}).Draw(rt, "state")
		updated := drawValue("updated_at", []string{"2026-01-01", "2026-01-01T00:00:00Z", "'2026-01-01'", `"soon"`, "~"}).Draw(rt, "updated")
		extra := rapid.SliceOfNDistinct(rapid.SampledFrom(others[:len(others)-2]), 0, 4, rapid.ID[string]).Draw(rt, "extra")
		parts := rapid.Permutation(append(extra, "title: T", "STATE", "UPDATED")).Draw(rt, "parts")
		body := rapid.StringMatching(`([ -~é]|\n|---\n|## Comments\n|\x00){0,40}`).Draw(rt, "body")
		body = regexp.MustCompile(`#{3,}`).ReplaceAllString(body, "##") // a comment by hand, which gets its time: see README

		file := func(state, updated, tail string) string {
			matter := "---\n" + strings.Join(parts, "\n") + "\n---\n"
			matter = strings.NewReplacer("STATE", state, "UPDATED", updated).Replace(matter)
			return strings.ReplaceAll(matter+body+tail, "\n", newline)
		}
		f.put(t, "A.md", file(state.before+state.value+state.after, updated.before+updated.value+updated.after, ""))
		want := f.read(rt)

		for range rapid.IntRange(1, 3).Draw(rt, "calls") {
			asked := make(map[string]string)
			if rapid.Bool().Draw(rt, "with state") {
				asked["state"] = rapid.StringMatching(`[!-~é]([ -~é]{0,20}[!-~é])?`).Draw(rt, "new state")
				if tracker.NormalState(asked["state"]) != tracker.NormalState(want.State) {
					want.State = strings.Join(strings.Fields(asked["state"]), " ")
				}
			}
			if len(asked) == 0 || rapid.Bool().Draw(rt, "with comment") {
				asked["comment"] = rapid.StringMatching(`[a-z#]([ -~é]|\n|---\n){0,20}[a-z]`).Draw(rt, "comment")
			}
			arguments, err := json.Marshal(asked)
			if err != nil {
				rt.Fatal(err)
			}
			if result := f.call(t, "A", string(arguments)); !result.OK {
				rt.Fatalf("%s: %s\n%q", arguments, result.Text, f.content(t, "A.md"))
			}
		}

		got := f.read(rt)
		want.UpdatedAt = got.UpdatedAt
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("issue (-want +got):\n%s", diff)
		}
		// Cut the two values out of both files: what is left of the first
		// must be how the second begins.
		content := f.content(t, "A.md")
		stateNow := between(content, newline+state.before, state.after+newline)
		updatedNow := between(content, newline+updated.before, updated.after+newline)
		kept := file(state.before+stateNow+state.after, updated.before+updatedNow+updated.after, "")
		if !strings.HasPrefix(content, kept) {
			rt.Errorf("somebody's bytes changed:\n%q\nwant it to begin\n%q", content, kept)
		}
	})
}

func (f *folder) read(t *rapid.T) tracker.Issue {
	issues, err := f.IssuesByID(t.Context(), []tracker.ID{"A"})
	if err != nil || len(issues) != 1 {
		t.Fatalf("read: %v, %v", issues, err)
	}
	issues[0].UpdatedAt = issues[0].UpdatedAt.Truncate(time.Second)
	return issues[0]
}

// between returns the text after the first occurrence of before, up to after.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}
