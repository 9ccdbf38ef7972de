package codex

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func spent(thread, turn string, total, last Usage) string {
	counts := func(u Usage) string {
		return fmt.Sprintf(`{"totalTokens":%d,"inputTokens":%d,"cachedInputTokens":%d,"cacheWriteInputTokens":%d,"outputTokens":%d,"reasoningOutputTokens":%d}`,
			u.Total(), u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning)
	}
	return fmt.Sprintf(`{"method":"thread/tokenUsage/updated","params":{"threadId":%q,"turnId":%q,"tokenUsage":{"total":%s,"last":%s,"modelContextWindow":258400}}}`,
		thread, turn, counts(total), counts(last))
}

func TestUsageIsWhatTheSessionSpent(t *testing.T) {
	t.Parallel()
	one, two := Usage{100, 30, 10, 20, 5}, Usage{250, 90, 25, 45, 9}
	noWrites := Usage{100, 30, 0, 20, 5} // older servers do not report them
	for name, test := range map[string]struct {
		stream []string
		want   Usage
	}{
		"nothing":             {nil, Usage{}},
		"a total":             {[]string{spent("thread-1", "turn-1", one, one)}, one},
		"the latest total":    {[]string{spent("thread-1", "turn-1", one, one), spent("thread-1", "turn-1", two, one)}, two},
		"duplicates":          {[]string{spent("thread-1", "turn-1", two, one), spent("thread-1", "turn-1", two, one)}, two},
		"a made up total":     {[]string{spent("thread-1", "turn-1", two, one), `{"method":"thread/tokenUsage/updated","params":{"threadId":"thread-1","tokenUsage":{"total":{"totalTokens":258400,"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0}}}}`}, two},
		"sub-agents":          {[]string{spent("thread-1", "turn-1", one, one), spent("child", "x", one, one), spent("child", "x", two, one)}, Usage{350, 120, 35, 65, 14}},
		"no thread is ours":   {[]string{spent("thread-1", "turn-1", one, one), spent("", "", two, one)}, two},
		"snake case, wrapped": {[]string{`{"method":"codex/event/token_count","params":{"id":"e","conversationId":"thread-1","msg":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":30,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120},"last_token_usage":{"input_tokens":9999}}}}}`}, noWrites},
		"camel case, wrapped": {[]string{`{"method":"codex/event/token_count","params":{"msg":{"info":{"totalTokenUsage":{"inputTokens":100,"cachedInputTokens":30,"outputTokens":20,"reasoningOutputTokens":5}}}}}`}, noWrites},
		"both generations":    {[]string{spent("thread-1", "turn-1", one, one), `{"method":"codex/event/token_count","params":{"msg":{"info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":30,"output_tokens":20,"reasoning_output_tokens":5}}}}}`}, one},
		"payload, wrapped":    {[]string{`{"method":"codex/event/token_count","params":{"msg":{"type":"token_count","payload":{"info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":30,"output_tokens":20,"reasoning_output_tokens":5}}}}}}`}, noWrites},
		"no info, wrapped":    {[]string{`{"method":"codex/event/token_count","params":{"msg":{"type":"token_count","total_token_usage":{"input_tokens":100,"cached_input_tokens":30,"output_tokens":20,"reasoning_output_tokens":5},"last_token_usage":{"input_tokens":9999}}}}`}, noWrites},
		"other names":         {[]string{`{"method":"codex/event/token_count","params":{"msg":{"info":{"total_token_usage":{"prompt_tokens":100,"cached_input_tokens":30,"completion_tokens":20,"reasoning_output_tokens":5}}}}}`}, noWrites},
		"a wrapped child":     {[]string{spent("thread-1", "turn-1", one, one), `{"method":"codex/event/token_count","params":{"msg":{"thread_id":"child","info":{"total_token_usage":{"input_tokens":7,"output_tokens":3}}}}}`}, Usage{107, 30, 10, 23, 5}},
		"a sum without parts": {[]string{`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"totalTokens":120}}}}`}, Usage{Input: 120}},
		"a sum, then parts":   {[]string{`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"totalTokens":120}}}}`, spent("thread-1", "turn-1", two, two)}, Usage{250, 90, 25, 45, 9}},
		"parts, then a sum":   {[]string{spent("thread-1", "turn-1", one, one), `{"method":"codex/event/token_count","params":{"msg":{"info":{"total_token_usage":{"total_tokens":200}}}}}`}, Usage{180, 30, 10, 20, 5}},
		"a sum and one part":  {[]string{`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"totalTokens":120,"outputTokens":20}}}}`}, Usage{Input: 100, Output: 20}},
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
		if diff := cmp.Diff(test.want, total(s.Tariffs())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var latest Usage
		for _, e := range j.all() {
			if e.Tariffs != nil {
				latest = total(e.Tariffs)
			}
		}
		if diff := cmp.Diff(test.want, latest); diff != "" {
			t.Errorf("%s, the events (-want +got):\n%s", name, diff)
		}
	}
}

func TestAResumedThreadStartsFromItsOldTotal(t *testing.T) {
	t.Parallel()
	old, one, now := Usage{1000, 300, 100, 200, 50}, Usage{100, 30, 10, 20, 5}, Usage{1100, 330, 110, 220, 55}
	for name, stream := range map[string][]string{
		"it is repeated":        {spent("thread-1", "turn-0", old, one), spent("thread-1", "turn-1", now, one)},
		"it is repeated twice":  {spent("thread-1", "turn-0", old, one), spent("thread-1", "turn-0", old, one), spent("thread-1", "turn-1", now, one)},
		"it is never mentioned": {spent("thread-1", "turn-1", now, one), spent("thread-1", "turn-1", now, one)},
	} {
		s, _ := begin(t, Options{Resume: "thread-1"}, func(p *fakeServer) {
			p.hello()
			p.reply(p.expect("thread/resume"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
			p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
			p.send(stream...)
			p.send(completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(one, total(s.Tariffs())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Only newer servers name the turn that used the tokens. Until our turn has started, a
// resumed thread reports its old total.
func TestAResumedThreadOfAServerThatNamesNoTurnStartsFromItsOldTotal(t *testing.T) {
	t.Parallel()
	wrapped := func(total, last string) string {
		return `{"method":"codex/event/token_count","params":{"conversationId":"thread-1","msg":{"info":{"total_token_usage":` + total + `,"last_token_usage":` + last + `}}}}`
	}
	for name, test := range map[string]struct{ before, during string }{
		"it is repeated":             {wrapped(`{"input_tokens":1000,"output_tokens":200}`, `{"input_tokens":5,"output_tokens":5}`), wrapped(`{"input_tokens":1100,"output_tokens":220}`, `{"input_tokens":100,"output_tokens":20}`)},
		"it is never mentioned":      {"", wrapped(`{"input_tokens":1100,"output_tokens":220}`, `{"input_tokens":100,"output_tokens":20}`)},
		"its sum is repeated":        {wrapped(`{"total_tokens":1200}`, `{"total_tokens":10}`), wrapped(`{"total_tokens":1320}`, `{"total_tokens":120}`)},
		"its sum is never mentioned": {"", wrapped(`{"total_tokens":1320}`, `{"total_tokens":120}`)},
	} {
		s, _ := begin(t, Options{Resume: "thread-1"}, func(p *fakeServer) {
			p.hello()
			p.reply(p.expect("thread/resume"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
			p.send(test.before)
			p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
			p.send(test.during, completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := total(s.Tariffs()).Total(); got != 120 {
			t.Errorf("%s: %d tokens spent, want 120", name, got)
		}
	}
}

// ledger holds what the threads of a server have used, and reports it in several ways.
type ledger struct {
	t    *rapid.T
	life map[string]Usage // of each thread, since it began
}

// counts returns a number of tokens in one of the shapes that servers use.
func (l *ledger) counts(u Usage) string {
	return fmt.Sprintf(rapid.SampledFrom([]string{
		`{"input_tokens":%[1]d,"output_tokens":%[2]d,"total_tokens":%[3]d}`,
		`{"inputTokens":%[1]d,"outputTokens":%[2]d}`,
		`{"prompt_tokens":%[1]d,"completion_tokens":%[2]d}`,
		`{"outputTokens":%[2]d,"totalTokens":%[3]d}`,
		`{"total_tokens":%[3]d}`,
	}).Draw(l.t, "counts"), u.Input, u.Output, u.Total())
}

// total returns a report of a thread's life, in one of the shapes.
func (l *ledger) total(thread, turn string, last Usage) (method, params string) {
	total := l.counts(l.life[thread])
	shape := rapid.SampledFrom([][2]string{
		{"thread/tokenUsage/updated", `{"threadId":%[1]q,"turnId":%[2]q,"tokenUsage":{"total":%[3]s,"last":%[4]s}}`},
		{"codex/event/token_count", `{"conversationId":%[1]q,"msg":{"turn_id":%[2]q,"info":{"total_token_usage":%[3]s,"last_token_usage":%[4]s}}}`},
		{"codex/event/token_count", `{"msg":{"thread_id":%[1]q,"turn_id":%[2]q,"payload":{"info":{"total_token_usage":%[3]s,"last_token_usage":%[4]s}}}}`},
		{"codex/event/token_count", `{"conversationId":%[1]q,"turnId":%[2]q,"msg":{"total_token_usage":%[3]s,"last_token_usage":%[4]s}}`},
	}).Draw(l.t, "shape")
	return shape[0], fmt.Sprintf(shape[1], thread, turn, total, l.counts(last))
}

// delta returns a report of what was spent last, which is not a total.
func (l *ledger) delta(thread string, last Usage) (method, params string) {
	shape := rapid.SampledFrom([][2]string{
		{"codex/event/token_count", `{"conversationId":%[1]q,"msg":{"info":{"last_token_usage":%[2]s}}}`},
		{"codex/event/token_count", `{"conversationId":%[1]q,"msg":{"input_tokens":500,"output_tokens":500},"usage":%[2]s}`},
		{"thread/tokenUsage/updated", `{"threadId":%[1]q,"tokenUsage":{"last":%[2]s}}`},
		{"turn/diff/updated", `{"threadId":%[1]q,"usage":%[2]s}`},
		{"thread/tokenUsage/updated", `{"threadId":%[1]q,"tokenUsage":{"total":{"totalTokens":258400,"inputTokens":0,"outputTokens":0}}}`},
	}).Draw(l.t, "delta")
	return shape[0], fmt.Sprintf(shape[1], thread, l.counts(last))
}

// Tokens are counted once, in any mix of reports about our thread, a resumed one and
// sub-agents: no part ever decreases, and the increases of the parts add up to them.
func TestTokensAreNeitherLostNorCountedTwiceInAnyMixOfReports(t *testing.T) {
	t.Parallel()
	tokens := rapid.Custom(func(t *rapid.T) Usage {
		return Usage{Input: rapid.Int64Range(0, 1000).Draw(t, "input"), Output: rapid.Int64Range(1, 300).Draw(t, "output")}
	})
	rapid.Check(t, func(t *rapid.T) {
		l := &ledger{t: t, life: map[string]Usage{}}
		var added, latest Usage
		s := newSession(&core{thread: "ours", turn: &turn{id: "turn-1"}})
		s.o.Events = func(e Event) {
			if e.Tariffs == nil {
				return
			}
			now := total(e.Tariffs)
			if now.Input < latest.Input || now.Output < latest.Output {
				t.Fatalf("from %+v to %+v", latest, now)
			}
			added = added.plus(now.minus(latest))
			latest = now
		}
		say := func(method, params string) {
			if err := s.notifications.handle(method, []byte(params)); err != nil {
				t.Fatalf("%s %s: %v", method, params, err)
			}
		}
		var want Usage
		spend := func(thread string) Usage {
			last := tokens.Draw(t, "tokens")
			l.life[thread], want = l.life[thread].plus(last), want.plus(last)
			return last
		}
		if rapid.Bool().Draw(t, "resumed") {
			s.spending.meter, s.o.Resume = newUsageMeter("ours"), "ours"
			old := tokens.Draw(t, "old")
			l.life["ours"] = old
			if rapid.Bool().Draw(t, "the old total is repeated") {
				say(l.total("ours", "turn-0", old))
			} else {
				say(l.total("ours", "turn-1", spend("ours")))
			}
		}
		for range rapid.IntRange(0, 30).Draw(t, "responses") {
			thread := rapid.SampledFrom([]string{"ours", "child", "grandchild"}).Draw(t, "thread")
			last := spend(thread)
			for range rapid.IntRange(0, 3).Draw(t, "reports") {
				if rapid.Bool().Draw(t, "absolute") {
					say(l.total(thread, "turn-1", last))
				} else {
					say(l.delta(thread, last))
				}
			}
		}
		for _, thread := range slices.Sorted(maps.Keys(l.life)) {
			say(l.total(thread, "turn-1", Usage{}))
		}
		if got := total(s.Tariffs()).Total(); got != want.Total() || added.Total() != want.Total() {
			t.Fatalf("spent %d, the increases add up to %d, want %d", got, added.Total(), want.Total())
		}
	})
}

// For any reports, spending never decreases and is the sum of the highest totals of the
// threads.
func TestSpendingNeverFalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newUsageMeter("")
		highest := make(map[string]int64)
		var before Usage
		for range rapid.IntRange(1, 50).Draw(t, "reports") {
			thread := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "thread")
			reported := Usage{Input: rapid.Int64Range(0, 1000).Draw(t, "input"), Output: rapid.Int64Range(0, 1000).Draw(t, "output")}
			m.report(thread, tokenCount{Usage: reported}, tokenCount{}, Tariff{Model: thread}, rapid.Bool().Draw(t, "ours"))
			highest[thread] = max(highest[thread], reported.Input)
			now := total(listed(m.spent))
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

// Each response is counted under the model that answered it, the service tier of its thread,
// and the tariff for its size.
func TestTokensAreCountedUnderTheTariffOfTheirResponse(t *testing.T) {
	t.Parallel()
	at := func(model, tier string, long bool, u Usage) TariffUsage {
		return TariffUsage{Tariff{model, tier, long}, u}
	}
	small, large := Usage{Input: 100, Output: 10}, Usage{Input: 272_001, Output: 10}
	rerouted := `{"method":"model/rerouted","params":{"threadId":"thread-1","turnId":"turn-1","fromModel":"gpt-6","toModel":"gpt-5.5","reason":"highRiskCyberActivity"}}`
	child := `{"method":"item/completed","params":{"threadId":"thread-1","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["child"],"model":"gpt-6-mini"}}}`
	for name, test := range map[string]struct {
		opened string
		long   map[string]int64
		stream []string
		want   []TariffUsage
	}{
		"the model of the thread": {`"model":"gpt-6","serviceTier":"flex"`, nil, []string{spent("thread-1", "turn-1", small, small)},
			[]TariffUsage{at("gpt-6", "flex", false, small)}},
		"a server that names none": {``, nil, []string{spent("thread-1", "turn-1", small, small)}, []TariffUsage{at("", "", false, small)}},
		"a long response": {`"model":"gpt-6","serviceTier":null`, nil, []string{spent("thread-1", "turn-1", small, small), spent("thread-1", "turn-1", small.plus(large), large)},
			[]TariffUsage{at("gpt-6", "", false, small), at("gpt-6", "", true, large)}},
		"many short responses": {`"model":"gpt-6"`, nil, []string{spent("thread-1", "turn-1", large, small)}, []TariffUsage{at("gpt-6", "", false, large)}},
		"a limit of the model": {`"model":"gpt-6"`, map[string]int64{"gpt-6": 99}, []string{spent("thread-1", "turn-1", small, small)}, []TariffUsage{at("gpt-6", "", true, small)}},
		"another model from then on": {`"model":"gpt-6"`, nil, []string{spent("thread-1", "turn-1", small, small), rerouted, spent("thread-1", "turn-1", small.plus(small), small),
			`{"method":"thread/settings/updated","params":{"threadId":"thread-1","threadSettings":{"model":"gpt-6"}}}`, spent("thread-1", "turn-1", small.plus(small).plus(small), small)},
			[]TariffUsage{at("gpt-5.5", "", false, small.plus(small)), at("gpt-6", "", false, small)}},
		"another model without a name": {`"model":"gpt-6"`, nil, []string{`{"method":"model/rerouted","params":{}}`, spent("thread-1", "turn-1", small, small)}, []TariffUsage{at("", "", false, small)}},
		"sub-agents": {`"model":"gpt-6","serviceTier":"fast"`, nil, []string{child, spent("child", "x", small, small), spent("other", "y", small, small)},
			[]TariffUsage{at("gpt-6", "fast", false, small), at("gpt-6-mini", "fast", false, small)}},
		"settings of the thread": {`"model":"gpt-6"`, nil, []string{`{"method":"thread/settings/updated","params":{"threadId":"thread-1","threadSettings":{"model":"gpt-6","serviceTier":"flex"}}}`, spent("thread-1", "turn-1", small, small)},
			[]TariffUsage{at("gpt-6", "flex", false, small)}},
	} {
		o := Options{LongInput: test.long, Config: Config{ThreadSandbox: []byte(`"read-only"`)}}
		s, _ := begin(t, o, func(p *fakeServer) {
			p.hello()
			opened := `{"thread":{"id":"thread-1"}}`
			if test.opened != "" {
				opened = `{"thread":{"id":"thread-1"},` + test.opened + `}`
			}
			p.reply(p.expect("thread/start"), opened)
			p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
			p.send(test.stream...)
			p.send(completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, s.Tariffs(), cmpopts.SortSlices(func(a, b TariffUsage) bool { return fmt.Sprint(a) < fmt.Sprint(b) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// total returns the sum of tokens.
func total(tariffs []TariffUsage) (sum Usage) {
	for _, u := range tariffs {
		sum = sum.plus(u.Usage)
	}
	return sum
}
