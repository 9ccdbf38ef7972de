package codextest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// object is a JSON object of the Responses API.
type object map[string]any

// Reply is the model's answer to one request: items and then, unless a field says
// otherwise, the end of the response.
type Reply struct {
	Items []Item
	Usage *Usage // nil: 100 in, 20 out

	Delay  time.Duration // time before anything is sent
	Header http.Header   // headers of the response besides the usual ones
	Status int           // HTTP status of an error with this Body instead of a stream; 0 for a stream
	Body   string

	Failed     *Failed // the stream ends with response.failed
	Incomplete string  // the stream ends with response.incomplete, for this reason
	End        End     // the stream ends before its end
}

// Usage holds the cost of a response, in tokens. Cached is part of Input, and
// Reasoning of Output.
type Usage struct{ Input, Cached, CacheWrite, Output, Reasoning int }

// Failed is the error of a response, such as context_length_exceeded.
type Failed struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// End is the end of the stream of a response.
type End int

const (
	Whole  End = iota // completely
	Closed            // ends cleanly after the items, but without response.completed
	Cut               // ends after the items, in the middle of the stream
	Hang              // sends nothing after the items until the client disconnects
	Reset             // ends before the response has a status
)

// Item is one item of a response: Message, Reasoning, Call, Custom or Raw.
type Item interface {
	// item returns the finished item, and the events that come before it in a stream,
	// without their item_id and output_index.
	item(id string) (done object, early []object)
}

// Message is text for the user. Phase may be commentary or final_answer.
type Message struct{ Text, Phase string }

// Reasoning is a summary of the model's reasoning.
type Reasoning struct{ Summary string }

// Call calls a function: a tool of Codex such as exec_command, or a dynamic
// tool. Arguments is JSON text, as models write it, and is sent unchanged.
type Call struct{ Namespace, Name, Arguments string }

// Custom calls a tool with free text as its input: apply_patch, or exec in code mode.
type Custom struct{ Name, Input string }

// Raw is an item that is sent unchanged.
type Raw json.RawMessage

func (m Message) item(id string) (object, []object) {
	done := object{"type": "message", "id": id, "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": m.Text, "annotations": []string{}}}}
	begun := object{"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []string{}}
	if m.Phase != "" {
		done["phase"], begun["phase"] = m.Phase, m.Phase
	}
	early := []object{{"type": "response.output_item.added", "item": begun}}
	for _, word := range strings.SplitAfter(m.Text, " ") {
		early = append(early, object{"type": "response.output_text.delta", "content_index": 0, "delta": word})
	}
	return done, early
}

func (r Reasoning) item(id string) (object, []object) {
	done := object{"type": "reasoning", "id": id, "encrypted_content": "none",
		"summary": []object{{"type": "summary_text", "text": r.Summary}}}
	begun := object{"type": "reasoning", "id": id, "encrypted_content": "none", "summary": []string{}}
	return done, []object{
		{"type": "response.output_item.added", "item": begun},
		{"type": "response.reasoning_summary_part.added", "summary_index": 0},
		{"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": r.Summary},
	}
}

func (c Call) item(id string) (object, []object) {
	done := object{"type": "function_call", "id": id, "call_id": "call_" + id, "name": c.Name, "arguments": c.Arguments}
	if c.Namespace != "" {
		done["namespace"] = c.Namespace
	}
	return done, nil
}

func (c Custom) item(id string) (object, []object) {
	return object{"type": "custom_tool_call", "id": id, "call_id": "call_" + id, "name": c.Name, "input": c.Input}, nil
}

func (r Raw) item(string) (object, []object) {
	var done object
	if err := json.Unmarshal(r, &done); err != nil {
		panic(fmt.Sprintf("codextest: a raw item is a JSON object: %v", err))
	}
	return done, nil
}

// events returns the events of the n-th response.
func (r Reply) events(n int) []object {
	id := fmt.Sprintf("resp_%d", n)
	events := []object{{"type": "response.created", "response": object{"id": id}}}
	for k, it := range r.Items {
		itemID := fmt.Sprintf("item_%d_%d", n, k)
		done, early := it.item(itemID)
		for _, e := range early {
			e["item_id"], e["output_index"] = itemID, k
			events = append(events, e)
		}
		events = append(events, object{"type": "response.output_item.done", "output_index": k, "item": done})
	}
	switch {
	case r.End != Whole:
		return events
	case r.Failed != nil:
		return append(events, object{"type": "response.failed", "response": object{"id": id, "error": r.Failed}})
	case r.Incomplete != "":
		return append(events, object{"type": "response.incomplete", "response": object{
			"id": id, "incomplete_details": object{"reason": r.Incomplete}}})
	}
	u := Usage{Input: 100, Output: 20}
	if r.Usage != nil {
		u = *r.Usage
	}
	return append(events, object{"type": "response.completed", "response": object{
		"id": id, "output": []string{}, "usage": object{
			"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
			"total_tokens": u.Input + u.Output}}})
}

// serve sends the reply as the n-th response of a model, as server-sent events. It
// returns when stopped is closed or the client disconnects.
func (r Reply) serve(w http.ResponseWriter, req *http.Request, stopped <-chan struct{}, n int) {
	if r.Delay > 0 {
		select {
		case <-time.After(r.Delay):
		case <-req.Context().Done():
			return
		case <-stopped:
			return
		}
	}
	if r.End == Reset {
		panic(http.ErrAbortHandler) // the server's way to close the connection without an answer
	}
	maps.Copy(w.Header(), r.Header)
	if r.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.Status)
		io.WriteString(w, r.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range r.events(n) {
		data, err := json.Marshal(e)
		if err != nil {
			panic(fmt.Sprintf("codextest: %v", err)) // only our own types get here
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], data)
	}
	http.NewResponseController(w).Flush()
	switch r.End {
	case Cut:
		panic(http.ErrAbortHandler)
	case Hang:
		select {
		case <-req.Context().Done():
		case <-stopped:
		}
	}
}
