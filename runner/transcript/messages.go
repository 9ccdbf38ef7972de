package transcript

import (
	"encoding/json"
	"slices"
	"strings"
)

// message is a message of the app-server protocol. Fields that it does not have, or that
// have another type, are zero.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`

	omitted int // bytes that the log leaves out of it
}

func (r *Reader) onSent(m message) []Entry {
	if m.Method != "turn/start" {
		return nil
	}
	var p struct {
		ThreadID string
		Cwd      string
		Input    []struct{ Text string }
	}
	_ = json.Unmarshal(m.Params, &p) // a field that cannot be read stays empty
	if p.Cwd != "" {
		r.cwd = p.Cwd
	}
	r.thread = p.ThreadID
	if r.turn.id != "" || r.turn.number == 0 { // a request that is repeated begins no other turn
		r.turn = turn{number: r.turn.number + 1, open: true}
	}
	r.turn.began, r.turn.before = r.now, r.spent
	var texts []string
	for _, in := range p.Input {
		texts = append(texts, in.Text)
	}
	e := r.entry(KindPrompt, "prompt of turn "+grouped(int64(r.turn.number)))
	e.Text, e.Omitted = r.bounded(strings.Join(texts, "\n"))
	e.Omitted = max(e.Omitted, m.omitted)
	return []Entry{e}
}

func (r *Reader) onReceived(m message) []Entry {
	switch m.Method {
	case "":
		r.onAnswer(m)
	case "turn/started", "turn/completed", "turn/failed", "turn/cancelled":
		return r.onTurn(m)
	case "item/started", "item/completed":
		return r.onItem(m)
	case "thread/tokenUsage/updated":
		r.onUsage(m)
	case "error":
		return r.onError(m)
	case "warning", "guardianWarning", "configWarning", "deprecationNotice":
		var p struct{ Message, Summary string }
		_ = json.Unmarshal(m.Params, &p)
		return r.noticeEntries(strings.TrimSpace(p.Message+" "+p.Summary), false)
	}
	return nil
}

// onAnswer learns the workspace and the thread from the answer to the request that opened
// it.
func (r *Reader) onAnswer(m message) {
	var p struct {
		Cwd    string
		Thread struct{ ID string }
	}
	if json.Unmarshal(m.Result, &p) == nil && p.Thread.ID != "" {
		r.thread, r.cwd = p.Thread.ID, p.Cwd
	}
}

// onTurn takes the start or the end of a turn. The agent may begin turns of its own, and
// sub-agents have turns on other threads.
func (r *Reader) onTurn(m message) []Entry {
	var p struct {
		ThreadID string
		Turn     struct {
			ID, Status string
			Error      struct{ Message string }
		}
	}
	_ = json.Unmarshal(m.Params, &p)
	if p.ThreadID != "" && p.ThreadID != r.thread && r.thread != "" {
		return nil
	}
	switch {
	case m.Method == "turn/started" && r.turn.open && r.turn.id == "":
		r.turn.id = p.Turn.ID
	case m.Method == "turn/started":
		r.turn = turn{number: r.turn.number + 1, id: p.Turn.ID, open: true, began: r.now, before: r.spent}
	case r.turn.open && (r.turn.id == "" || p.Turn.ID == "" || r.turn.id == p.Turn.ID):
		if r.turn.id == "" {
			r.turn.id = p.Turn.ID
		}
		status := p.Turn.Status
		if status == "" {
			status = strings.TrimPrefix(m.Method, "turn/")
		}
		var cut []Entry
		if status == "interrupted" { // Codex does not say that the items of the turn end with it
			cut = r.unfinished(func(it item) bool { return it.turn == r.turn.id })
		}
		return append(cut, r.endTurn(status == "completed", status, p.Turn.Error.Message)...)
	}
	return nil
}

// onUsage counts tokens. The agent reports the totals of a thread, which can be older
// than the session.
func (r *Reader) onUsage(m message) {
	var p struct {
		ThreadID, TurnID string
		TokenUsage       struct{ Total, Last tokens }
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	total, last := p.TokenUsage.Total, p.TokenUsage.Last
	before, known := r.totals[p.ThreadID]
	if r.totals == nil {
		r.totals = map[string]tokens{}
	}
	r.totals[p.ThreadID] = total.each(before, func(a, b int64) int64 { return max(a, b) })
	switch {
	case known:
		last = total.minus(before)
	case p.ThreadID == r.thread && (!r.turn.open || r.turn.id == "" || r.turn.id != p.TurnID):
		return // usage from before the session: Codex may repeat it when the turn is asked for
	}
	r.spent = r.spent.each(last, func(a, b int64) int64 { return a + max(b, 0) })
}

func (r *Reader) onError(m message) []Entry {
	var p struct {
		Error     struct{ Message, AdditionalDetails string }
		WillRetry bool
	}
	_ = json.Unmarshal(m.Params, &p)
	text := p.Error.Message
	if p.Error.AdditionalDetails != "" && p.Error.AdditionalDetails != text {
		text += ": " + p.Error.AdditionalDetails
	}
	return r.noticeEntries(text, !p.WillRetry)
}

// onItem takes the start or the end of an item. It is shown at its end.
func (r *Reader) onItem(m message) []Entry {
	var p struct {
		ThreadID, TurnID string
		Item             item
	}
	_ = json.Unmarshal(m.Params, &p)
	it := p.Item
	it.began, it.turn, it.omitted = r.now, p.TurnID, m.omitted
	it.byOther = p.ThreadID != "" && r.thread != "" && p.ThreadID != r.thread
	at := slices.IndexFunc(r.begun, func(b item) bool { return b.ID == it.ID })
	if m.Method == "item/started" {
		if at < 0 && it.acts() && len(r.begun) < maxBegun {
			r.begun = append(r.begun, it)
		}
		return nil
	}
	if at >= 0 {
		it.began = r.begun[at].began
		r.begun = slices.Delete(r.begun, at, at+1)
	}
	if !it.shown() {
		return nil
	}
	return []Entry{r.itemEntry(it)}
}

// maxBegun bounds how many items are remembered that have not ended.
const maxBegun = 100
