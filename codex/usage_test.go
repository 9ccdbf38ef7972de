package codex

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func spent(thread, turn string, total, last Usage) string {
	counts := func(u Usage) string {
		return fmt.Sprintf(`{"totalTokens":%d,"inputTokens":%d,"cachedInputTokens":%d,"cacheWriteInputTokens":7,"outputTokens":%d,"reasoningOutputTokens":%d}`,
			u.Total(), u.Input, u.Cached, u.Output, u.Reasoning)
	}
	return fmt.Sprintf(`{"method":"thread/tokenUsage/updated","params":{"threadId":%q,"turnId":%q,"tokenUsage":{"total":%s,"last":%s,"modelContextWindow":258400}}}`,
		thread, turn, counts(total), counts(last))
}

func TestUsageIsWhatTheSessionSpent(t *testing.T) {
	t.Parallel()
	one, two := Usage{100, 30, 20, 5}, Usage{250, 90, 45, 9}
	for name, test := range map[string]struct {
		stream []string
		want   Usage
	}{
		"nothing":             {nil, Usage{}},
		"a total":             {[]string{spent("thread-1", "turn-1", one, one)}, one},
		"the latest total":    {[]string{spent("thread-1", "turn-1", one, one), spent("thread-1", "turn-1", two, one)}, two},
		"duplicates":          {[]string{spent("thread-1", "turn-1", two, one), spent("thread-1", "turn-1", two, one)}, two},
		"a made up total":     {[]string{spent("thread-1", "turn-1", two, one), `{"method":"thread/tokenUsage/updated","params":{"threadId":"thread-1","tokenUsage":{"total":{"totalTokens":258400,"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0}}}}`}, two},
		"sub-agents":          {[]string{spent("thread-1", "turn-1", one, one), spent("child", "x", one, one), spent("child", "x", two, one)}, Usage{350, 120, 65, 14}},
		"no thread is ours":   {[]string{spent("thread-1", "turn-1", one, one), spent("", "", two, one)}, two},
		"snake case, wrapped": {[]string{`{"method":"codex/event/token_count","params":{"id":"e","conversationId":"thread-1","msg":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":30,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120},"last_token_usage":{"input_tokens":9999}}}}}`}, one},
		"camel case, wrapped": {[]string{`{"method":"codex/event/token_count","params":{"msg":{"info":{"totalTokenUsage":{"inputTokens":100,"cachedInputTokens":30,"outputTokens":20,"reasoningOutputTokens":5}}}}}`}, one},
		"both generations":    {[]string{spent("thread-1", "turn-1", one, one), `{"method":"codex/event/token_count","params":{"msg":{"info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":30,"output_tokens":20,"reasoning_output_tokens":5}}}}}`}, one},
		"limits alone":        {[]string{`{"method":"codex/event/token_count","params":{"msg":{"info":null,"rate_limits":{}}}}`}, Usage{}},
		"no numbers": {[]string{
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":-5,"outputTokens":"7","cachedInputTokens":1e400}}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":99999999999999999999,"outputTokens":9007199254740993}}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":[]}}}`, `{"method":"thread/tokenUsage/updated","params":7}`, `{"method":"thread/tokenUsage/updated"}`}, Usage{}},
		"a delta alone": {[]string{`{"method":"codex/event/token_count","params":{"msg":{"info":{"last_token_usage":{"input_tokens":9999}}},"usage":{"input_tokens":9999}}}`}, Usage{}},
	} {
		s, j, _, err := runTurn(t, Options{}, append(test.stream, completed)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, s.Usage()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var latest Usage
		for _, e := range j.all() {
			if e.Usage != nil {
				latest = *e.Usage
			}
		}
		if diff := cmp.Diff(test.want, latest); diff != "" {
			t.Errorf("%s, the events (-want +got):\n%s", name, diff)
		}
	}
}

func TestAResumedThreadStartsFromItsOldTotal(t *testing.T) {
	t.Parallel()
	old, one, now := Usage{1000, 300, 200, 50}, Usage{100, 30, 20, 5}, Usage{1100, 330, 220, 55}
	for name, stream := range map[string][]string{
		"it is repeated":        {spent("thread-1", "turn-0", old, one), spent("thread-1", "turn-1", now, one)},
		"it is repeated twice":  {spent("thread-1", "turn-0", old, one), spent("thread-1", "turn-0", old, one), spent("thread-1", "turn-1", now, one)},
		"it is never mentioned": {spent("thread-1", "turn-1", now, one), spent("thread-1", "turn-1", now, one)},
	} {
		s, _ := begin(t, Options{Resume: "thread-1"}, func(p *peer) {
			p.hello()
			p.reply(p.expect("thread/resume"), `{"thread":{"id":"thread-1"}}`)
			p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
			p.send(stream...)
			p.send(completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), "go"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(one, s.Usage()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever is reported, spending never falls, and it is the sum of the highest
// totals of each thread.
func TestSpendingNeverFalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := meter{threads: make(map[string]*tally)}
		highest := make(map[string]int64)
		var before Usage
		for range rapid.IntRange(1, 50).Draw(t, "reports") {
			thread := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "thread")
			total := Usage{Input: rapid.Int64Range(0, 1000).Draw(t, "input"), Output: rapid.Int64Range(0, 1000).Draw(t, "output")}
			m.report(thread, total, Usage{}, rapid.Bool().Draw(t, "ours"))
			highest[thread] = max(highest[thread], total.Input)
			now := m.spent()
			if now.Input < before.Input || now.Output < before.Output {
				t.Fatalf("fell from %+v to %+v", before, now)
			}
			before = now
		}
		if sum := highest["a"] + highest["b"] + highest["c"]; before.Input != sum {
			t.Fatalf("spent %d, the totals are %d", before.Input, sum)
		}
	})
}
