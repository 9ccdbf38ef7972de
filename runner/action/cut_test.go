package action

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// genUnits makes Markdown in parts that must not be torn.
func genUnits() *rapid.Generator[[]string] {
	word := rapid.StringMatching(`[a-z #|<>*-]{1,30}[a-z]`)
	return rapid.Custom(func(t *rapid.T) []string {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return []string{"a" + word.Draw(t, "text") + "\nb" + word.Draw(t, "text") + "\n\n"}
		case 1:
			units := []string{"| a | b |\n|---|---|\n| first | row |\n"}
			for range rapid.IntRange(0, 5).Draw(t, "rows") {
				units = append(units, "| "+rapid.StringMatching(`[a-z]{1,20}`).Draw(t, "cell")+" | x |\n")
			}
			units[len(units)-1] += "\n"
			return units
		case 2:
			var units []string
			for i := range rapid.IntRange(1, 5).Draw(t, "items") {
				marker := rapid.SampledFrom([]string{"- ", strconv.Itoa(i+1) + ". "}).Draw(t, "marker")
				units = append(units, marker+"item "+rapid.SampledFrom([]string{"\n", "\n  more\n", "\n\n  - below\n", "\n  ```\n  - code\n  ```\n"}).Draw(t, "more"))
			}
			units[len(units)-1] += "\n"
			return units
		case 3:
			mark := rapid.SampledFrom([]string{"```", "~~~~", "````go"}).Draw(t, "fence")
			end := strings.TrimSuffix(mark, "go")
			return []string{mark + "\n- not an item\n\n| a |\n|---|\n| b |\n| c |\n| d |\n\n``\ntext\n" + end + "\n\n"}
		case 4:
			return []string{"<details><summary>more</summary>\n\ninside\n\n- a\n- b\n\n</details>\n\n"}
		case 5:
			return []string{"## Heading\n\nfirst paragraph\n\n"}
		default:
			return []string{"> quoted\n> ```\n> | x |\n> ```\n\n"}
		}
	})
}

var leftOut = regexp.MustCompile(`_(\d+) more lines were left out: GitHub shows 1 MiB at most\._$`)

func TestACutTearsNothingApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var units []string
		for _, block := range rapid.SliceOfN(genUnits(), 1, 12).Draw(t, "units") {
			units = append(units, block...)
		}
		whole := strings.Join(units, "")
		room := rapid.IntRange(0, len(whole)+10).Draw(t, "room")
		got, ok := cut(whole, room)
		if len(whole) <= room {
			if got != whole || !ok {
				t.Fatalf("%q was changed to %q", whole, got)
			}
			return
		}
		if !ok {
			if room >= maxNotice {
				t.Fatalf("no room in %d bytes", room)
			}
			return
		}
		m := leftOut.FindStringSubmatch(got)
		if m == nil || len(got) > room {
			t.Fatalf("%d bytes, %d allowed: %q", len(got), room, got)
		}
		kept := strings.TrimSuffix(got, m[0])
		// As many units as fit, each of them whole.
		used := 0
		for _, u := range units {
			if used+len(u) > room-maxNotice {
				break
			}
			used += len(u)
		}
		want := whole[:used]
		if strings.TrimRight(kept, "\n") != strings.TrimRight(want, "\n") {
			t.Fatalf("of\n%s\nthis was kept in %d bytes:\n%s\ninstead of:\n%s", whole, room, kept, want)
		}
		if left := strings.Count(whole[used:], "\n"); m[1] != strconv.Itoa(left) {
			t.Fatalf("%s lines are said to be left out instead of %d", m[1], left)
		}
	})
}

func TestNothingIsKeptOfABlockThatNeverEnds(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"```\n", "<details>\n\n", "text\n", "# heading\n\n"} {
		got, ok := cut(start+strings.Repeat("text\n", 100), 300)
		if !ok || leftOut.FindString(got) != got {
			t.Errorf("%q: %q", start, got)
		}
	}
}
