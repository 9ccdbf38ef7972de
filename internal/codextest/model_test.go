package codextest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func model(t *testing.T, lanes ...Lane) *Model {
	m := NewModel(lanes...)
	t.Cleanup(m.Close)
	return m
}

// post asks the model, and returns the status, the types of the events and the
// error that ended the stream.
func post(t *testing.T, m *Model, body string) (status int, events []string, err error) {
	t.Helper()
	resp, err := http.Post(m.URL()+"/responses", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e struct{ Type string }
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Errorf("event %s: %v", data, err)
			}
			events = append(events, e.Type)
		}
	}
	return resp.StatusCode, events, lines.Err()
}

func TestAReplyIsAStreamOfEvents(t *testing.T) {
	t.Parallel()
	m := model(t, Lane{Replies: []Reply{{Items: []Item{
		Reasoning{"Thinking."}, Message{Text: "Two words."}, Call{Name: "f", Arguments: "{}"}, Custom{Name: "exec", Input: "1"},
		Raw(`{"type":"message"}`),
	}}}})
	status, events, err := post(t, m, "{}")
	equal(t, "stream", []any{200, nil}, []any{status, err})
	equal(t, "events", []string{"response.created",
		"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta", "response.output_item.done",
		"response.output_item.added", "response.output_text.delta", "response.output_text.delta", "response.output_item.done",
		"response.output_item.done", "response.output_item.done", "response.output_item.done",
		"response.completed"}, events)
}

func TestEachLaneHasItsOwnReplies(t *testing.T) {
	t.Parallel()
	m := model(t,
		Lane{Match: regexp.MustCompile("ABC-1"), Replies: []Reply{{Status: 401}, {Status: 402}}},
		Lane{Match: regexp.MustCompile("ABC-2"), Loop: true, Replies: []Reply{{Status: 403}}},
		Lane{Match: regexp.MustCompile("ABC-3"), PerThread: true, Replies: []Reply{{Status: 404}, {Status: 405}}})
	m.Add(Lane{Replies: []Reply{{Status: 406}}})
	var got []int
	for _, body := range []string{`"ABC-1"`, `"ABC-2"`, `"ABC-1"`, `"ABC-2"`, `"ABC-1"`,
		`{"prompt_cache_key":"a","x":"ABC-3"}`, `{"prompt_cache_key":"b","x":"ABC-3"}`, `{"prompt_cache_key":"a","x":"ABC-3"}`, "{}"} {
		status, _, err := post(t, m, body)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	equal(t, "statuses", []int{401, 403, 402, 403, 200, 404, 404, 405, 406}, got)
	equal(t, "requests", 9, len(m.Requests()))
	equal(t, "third", `"ABC-1"`, string(m.Requests()[2].Body))
}

func TestAReplyCanBreakOffInTheMiddle(t *testing.T) {
	t.Parallel()
	m := model(t, Lane{Replies: []Reply{
		{Failed: &Failed{Code: "context_length_exceeded"}}, {Incomplete: "max_output_tokens"},
		{End: Closed}, {End: Cut}, {End: Reset},
	}})
	for _, want := range []struct {
		last   string
		broken bool
	}{
		{"response.failed", false}, {"response.incomplete", false}, {"response.created", false}, {"response.created", true}, {"", true},
	} {
		_, events, err := post(t, m, "{}")
		last := ""
		if len(events) > 0 {
			last = events[len(events)-1]
		}
		if last != want.last || (err != nil) != want.broken {
			t.Errorf("got %q, %v; want %+v", last, err, want)
		}
	}
}

func TestAnErrorHasItsHeadersAndBody(t *testing.T) {
	t.Parallel()
	m := model(t, Lane{Replies: []Reply{{Status: 429, Header: http.Header{"Retry-After": {"1"}}, Body: `{"error":{}}`}}})
	resp, err := http.Post(m.URL()+"/responses", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	equal(t, "response", []any{429, "1", `{"error":{}}`, nil},
		[]any{resp.StatusCode, resp.Header.Get("Retry-After"), string(body), err})
}

func TestCloseEndsTheRepliesThatHang(t *testing.T) {
	t.Parallel()
	m := NewModel(Lane{Replies: []Reply{{End: Hang}, {Delay: time.Hour}}})
	ended := make(chan error)
	for range 2 {
		go func() {
			_, _, err := post(t, m, "{}")
			ended <- err
		}()
	}
	for len(m.Requests()) < 2 {
		if t.Context().Err() != nil {
			t.Fatal("the requests did not come")
		}
		runtime.Gosched()
	}
	m.Close()
	for range 2 {
		<-ended
	}
}

func TestWhatIsNoRequestForAnAnswerIsNotFound(t *testing.T) {
	t.Parallel()
	m := model(t)
	resp, err := http.Get(m.URL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	equal(t, "status", 404, resp.StatusCode)
	equal(t, "requests", 0, len(m.Requests()))
}
