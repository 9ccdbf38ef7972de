package report_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAStatusPageHasABoundWhateverTheStateHolds(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"$", "@", "|", "\\", "修", "x\u0301\u0302\u0303", "🚀\U0001d165\U0001d166\U0001d167", "\U0001d15e\U0001d167\U0001d168\U0001d169", "word "} {
		text := strings.Repeat(piece, 250)
		s := schedule.New(schedule.Owner{})
		s.Deliveries = map[tracker.ID]schedule.Delivery{}
		for i := range 120 {
			id := tracker.ID(rune('a' + i))
			s.Claims[id] = schedule.Claim{
				ID: id, Identifier: text, Title: text, URL: "https://x.example/" + strings.Repeat("(", 580), State: text, Why: text,
				Phase: []schedule.Phase{schedule.Running, schedule.Waiting, schedule.Parked}[i%3], Owner: schedule.Owner{Run: text},
			}
			s.Deliveries[id] = schedule.Delivery{Identifier: text, Branch: text, Head: text, Refused: text, Number: i + 1, URL: "https://x.example/" + strings.Repeat("(", 580)}
			s.Days = append(s.Days, schedule.Day{Date: text})
			s.History = append(s.History, schedule.TickRecord{Run: text, Stopped: text})
		}
		s.Pause = schedule.Pause{Why: text}
		page := report.State(s, end).Markdown(links)
		if len(page) > report.MaxStatus {
			t.Errorf("%q: %d bytes", piece, len(page))
		}
		entries := strings.Count(page, "\n| ") - 6 // heads
		for _, more := range regexp.MustCompile(`… and ([0-9]+) more\n`).FindAllStringSubmatch(page, -1) {
			n, _ := strconv.Atoi(more[1])
			entries += n
		}
		if entries != 480 {
			t.Errorf("%q: %d of 480 entries are shown or said to be left out", piece, entries)
		}
	}
}

func TestRunsAreLinkedWhereTheyAreKnown(t *testing.T) {
	t.Parallel()
	plain := report.Links{Server: "https://github.com", Repository: "acme/shop"}
	const run = "https://github.com/acme/shop/actions/runs/12/attempts/3"
	for _, c := range []struct {
		links   report.Links
		run     string
		attempt int
		want    string
	}{
		{plain, "12", 3, run},
		{plain, "12", 0, "https://github.com/acme/shop/actions/runs/12"},
		{report.Links{Server: "https://ghe.example/", Repository: "a/b"}, "12", 1, "https://ghe.example/a/b/actions/runs/12/attempts/1"},
		{plain, "../../evil", 1, ""},
		{plain, "", 1, ""},
		{report.Links{}, "12", 1, ""},
		{report.Links{Server: "https://github.com"}, "12", 1, ""},
		{report.Links{Server: "https://github.com", Repository: "a/../b"}, "12", 1, ""},
		{report.Links{Server: "javascript://x", Repository: "a/b"}, "12", 1, ""},
	} {
		s := schedule.New(schedule.Owner{})
		s.History = []schedule.TickRecord{{Run: c.run, Attempt: c.attempt, Started: start, Ended: start.Add(time.Minute)}}
		got := ""
		if m := regexp.MustCompile(`\]\((.*?)\)`).FindStringSubmatch(report.State(s, end).Markdown(c.links)); m != nil {
			got = m[1]
		}
		if got != c.want {
			t.Errorf("%+v: run %q attempt %d leads to %q, not to %q", c.links, c.run, c.attempt, got, c.want)
		}
	}
}

func TestAStatePageNamesAndLinksTheShards(t *testing.T) {
	t.Parallel()
	inOrder(t, report.State(states()["fleet"], end).Markdown(links),
		"| [shard 1 of run 4711](https://github.com/acme/shop/actions/runs/4711/attempts/1) |",
		"| [shard 2 of run 4712 (attempt 2)](https://github.com/acme/shop/actions/runs/4712/attempts/2) |",
		"| shard 1 |", "Reserved for 7 shards without a result: 165k tokens.")
	forged := schedule.New(schedule.Owner{})
	forged.Claims["1"] = schedule.Claim{ID: "1", Phase: schedule.Running, Owner: schedule.Owner{Run: "../../evil", Attempt: 1, Shard: 3}}
	if page := report.State(forged, end).Markdown(links); strings.Contains(page, "](https://github.com/acme/shop/actions/runs/..") || !strings.Contains(page, "| shard 3 of run ../../evil |") {
		t.Errorf("a run that is none is linked:\n%s", page)
	}
	lost := schedule.New(schedule.Owner{})
	for id, why := range map[tracker.ID]string{"1": "shard 3 of run 4711 ended before its session did", "2": "shard 3 of run ../../evil ended before its session did"} {
		lost.Claims[id] = schedule.Claim{ID: id, Phase: schedule.Waiting, Why: why}
	}
	inOrder(t, report.State(lost, end).Markdown(links),
		"| [shard 3 of run 4711](https://github.com/acme/shop/actions/runs/4711) ended before its session did |", "| shard 3 of run ../../evil ended")
	reserved := schedule.New(schedule.Owner{})
	reserved.Reserves = map[schedule.Owner]schedule.Reserve{{Run: "1", Shard: 2}: {Tokens: 120_000}}
	if text := report.State(reserved, end).Text(80); !strings.Contains(text, "Reserved for 1 shard without a result: 120k tokens.") {
		t.Errorf("a state with a reserve alone does not tell of it:\n%s", text)
	}
}

func TestWorkThatALostShardMayHavePushedIsNotListedAsDelivered(t *testing.T) {
	t.Parallel()
	lost := map[tracker.ID]schedule.Delivery{"1": {Identifier: "A-1", Lost: true}}
	view := report.State(&schedule.State{Issues: schedule.Issues{Deliveries: lost}}, time.Now())
	state, err1 := view.MarshalJSON()
	tick, err2 := json.Marshal(report.Of(report.Tick{Deliveries: lost}))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"the text": view.Text(80), "its JSON": string(state), "the report": string(tick)} {
		if strings.Contains(text, "Delivered:") || strings.Contains(text, "A-1") {
			t.Errorf("%s has it:\n%s", name, text)
		}
	}
}

func TestAParkedRefusalIsOneSentenceInTheState(t *testing.T) {
	t.Parallel()
	s := schedule.New(schedule.Owner{})
	s.Claims["1"] = schedule.Claim{ID: "1", Identifier: "ABC-1", Phase: schedule.Parked, Since: end, Why: parkedWork}
	s.Deliveries = map[tracker.ID]schedule.Delivery{"1": {Identifier: "ABC-1", Refused: refusal}}
	text := strings.Join(strings.Fields(report.State(s, end).Text(400)), " ")
	if !strings.Contains(text, "deliver the work: .github/workflows/deploy.yml: the path is protected") {
		t.Error(text)
	}
}

// A command that is cut cannot be followed. A shell joins the lines of a long one.
func TestTheCommandUnderParkedIssuesIsWholeOnEveryTerminal(t *testing.T) {
	t.Parallel()
	s := schedule.New(schedule.Owner{})
	s.Claims["1"] = schedule.Claim{ID: "1", Identifier: "ABC-1", Phase: schedule.Parked, Since: end, Why: "it asks"}
	place := "file:/home/somebody" + strings.Repeat("/a-folder", 14) + "/state.json"
	for _, width := range []int{40, 80, 160} {
		view := report.State(s, end)
		view.Place = place
		text := strings.ReplaceAll(view.Text(width), "\\\n", "")
		if got := strings.Join(strings.Fields(text), " "); !strings.Contains(got, "symphony state retry ABC-1 --state "+place) {
			t.Errorf("at %d columns:\n%s", width, text)
		}
	}
}
