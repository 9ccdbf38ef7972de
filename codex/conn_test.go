package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyTheRightReplyAnswersACall(t *testing.T) {
	t.Parallel()
	_, j, turn, err := runTurnAfter(t, func(p *fakeServer) {
		m := p.expect("turn/start")
		p.send(
			`{"id":9999,"result":{"turn":{"id":"never asked"}}}`,
			`{"id":"`+string(m.ID)+`","result":{"turn":{"id":"a string"}}}`,
			`{"id":`+string(m.ID)+`.0,"result":{"turn":{"id":"a fraction"}}}`,
			`{"id":null,"result":{"turn":{"id":"null"}}}`,
			`{"jsonrpc":"1.0","result":{"turn":{"id":"turn-1"}},"id":`+string(m.ID)+`}`,
			`{"id":`+string(m.ID)+`,"result":{"turn":{"id":"a duplicate"}}}`,
			completed)
		p.drain()
	})
	if err != nil || turn.ID != "turn-1" {
		t.Errorf("turn %q, %v", turn.ID, err)
	}
	if n := j.count(OtherMessage); n != 4 {
		t.Errorf("%d replies were counted as nobody's, want 4", n)
	}
	if n := j.count(Malformed); n != 1 {
		t.Errorf("%d lines were malformed, want the one without an id", n)
	}
}

// runTurnAfter opens thread-1, lets the script play one turn and closes.
func runTurnAfter(t *testing.T, script func(*fakeServer)) (*Session, *eventLog, Turn, error) {
	t.Helper()
	s, j := begin(t, Options{}, func(p *fakeServer) {
		p.handshake()
		script(p)
	})
	turn, err := s.Turn(t.Context(), Input{Text: "go"})
	s.Close()
	return s, j, turn, err
}

func TestRepliesMayComeOutOfOrder(t *testing.T) {
	t.Parallel()
	s, j := begin(t, Options{Name: "ABC-1: x"}, func(p *fakeServer) {
		p.handshake()
		name, start := p.expect("thread/name/set"), p.expect("turn/start")
		p.reply(start, `{"turn":{"id":"turn-1"}}`)
		p.send(completed)
		p.refuse(name, -32600, "no names here")
	})
	if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	<-s.conn.done
	s.Close()
	if !j.says(Notification, "the thread has no name: thread/name/set: response_error: Codex refused with -32600: no names here") {
		t.Errorf("no warning: %+v", j.all())
	}
}

func TestARequestToABusyServerIsRetried(t *testing.T) {
	t.Parallel()
	for busy, want := range map[int]error{0: nil, 1: nil, 3: nil, 4: ErrResponse} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, _, _, err := runTurnAfter(t, func(p *fakeServer) {
				for range busy {
					p.refuse(p.expect("turn/start"), codeOverloaded, "Server overloaded; retry later.")
				}
				if busy < overloadTries {
					p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
					p.send(completed)
				}
				p.drain()
			})
			if !errors.Is(err, want) {
				t.Errorf("busy %d times: %v", busy, err)
			}
			if took := time.Since(start); busy > 0 && took < overloadPause/2 || took >= defaultReadTimeout {
				t.Errorf("busy %d times: took %v", busy, took)
			}
			if refused, ok := errors.AsType[*ResponseError](err); want != nil && (!ok || refused.Code != codeOverloaded || refused.Method != "turn/start") {
				t.Errorf("busy %d times: %#v", busy, refused)
			}
		})
	}
}

func TestARequestWithoutAnAnswerTimesOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		silent string
		config time.Duration
		policy string // of the turn; empty is the guard's profile
		want   time.Duration
	}{
		{"initialize", time.Second, "", initializeTimeout},
		{"initialize", time.Minute, "", time.Minute},
		{"thread/start", time.Second, "", time.Second},
		{"turn/start", 2 * time.Second, `{"type":"readOnly"}`, 2 * time.Second},
		{"turn/start", 0, `{"type":"readOnly"}`, defaultReadTimeout},
		{"turn/start", time.Second, "", turnStartTimeout},
		{"turn/start", time.Hour / 2, "", time.Hour / 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			s, err := Open(t.Context(), dial(t, func(p *fakeServer) {
				for {
					m, ok := p.next()
					if !ok {
						return
					}
					if m.ID != nil && m.Method != test.silent {
						p.reply(m, `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
					}
				}
			}), Options{Config: Config{ReadTimeout: test.config, TurnSandboxPolicy: json.RawMessage(test.policy)}})
			if err == nil {
				_, err = s.Turn(t.Context(), Input{Text: "go"})
				s.Close()
			}
			if !errors.Is(err, ErrResponseTimeout) || !strings.Contains(err.Error(), test.silent) {
				t.Errorf("%s: %v", test.silent, err)
			}
			if errors.Is(err, ErrSlowStart) != (test.silent == "initialize") {
				t.Errorf("%s: %v", test.silent, err)
			}
			if cause, advice := strings.Index(err.Error(), "no answer in"), strings.Index(err.Error(), "login shell"); advice >= 0 && advice < cause {
				t.Errorf("%s: the advice stands before the cause: %v", test.silent, err)
			}
			if took := time.Since(start); took != test.want {
				t.Errorf("%s: after %v, want %v", test.silent, took, test.want)
			}
		})
	}
}

func TestAServerThatStopsReadingBlocksNoCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := begin(t, Options{}, func(p *fakeServer) {
			p.turn()
			for id := range 10 * outgoingLines { // and reads none of the answers
				p.send(fmt.Sprintf(`{"id":%d,"method":"currentTime/read","params":{}}`, id))
			}
		})
		start := time.Now()
		_, err := s.Turn(t.Context(), Input{Text: "go"})
		if !errors.Is(err, ErrResponseTimeout) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != defaultReadTimeout {
			t.Errorf("noticed after %v", took)
		}
		s.Close()
	})
}

func TestACallToAServerThatStopsReadingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s, _ := begin(t, Options{Config: Config{ReadTimeout: time.Hour}}, func(p *fakeServer) {
			p.handshake()
			<-hold
		})
		cause := errors.New("the issue is done")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		if _, err := s.Turn(ctx, Input{Text: "go"}); !errors.Is(err, cause) || !errors.Is(err, ErrTurnCancelled) {
			t.Errorf("got %v", err)
		}
		s.Close()
		close(hold)
	})
}

func TestTheIDOfARequestIsReturnedByteForByte(t *testing.T) {
	t.Parallel()
	ids := []string{`0`, `-7`, `12345678901234567890`, `1.50`, `1e3`, `""`, `"0"`, `"a\u003cb<&>\/\n"`, `"é\ud83d\ude00"`}
	var answered []string
	_, _, _, err := runTurnAfter(t, func(p *fakeServer) {
		p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
		for _, id := range ids {
			p.send(`{"id":` + id + `,"method":"currentTime/read"}`)
			m, _ := p.next()
			answered = append(answered, string(m.ID))
		}
		p.send(completed)
		p.drain()
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids, answered); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALineThatIsNotAMessageIsAnEvent(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000)
	malformed := []string{
		`not json`, `{"method":`, `null`, `true`, `7`, `"text"`, `{}`, `[]`,
		`[{"id":1,"method":"currentTime/read"},{"id":2,"method":"currentTime/read"}]`,
		`{"method":7}`, `{"method":null}`, `{"id":true,"method":"currentTime/read"}`, `{"id":{},"method":"x"}`, `{"id":[1],"result":{}}`,
		`{"method":"turn/completed","params":[]}`, `{"method":"turn/completed","params":{"turn":{"status":7}}}`, `{"method":"error","params":"x"}`,
		deep, `{"method":"x","params":` + deep + `}`, "\x00\x01\xff",
	}
	_, j, _, err := runTurn(t, Options{}, append(append(malformed, "", "\r", `{"method":"item/started","params":{"item":{"type":"reasoning `+"\xff\xfe"+`"}}}`), completed)...)
	if err != nil {
		t.Error(err)
	}
	if n := j.count(Malformed); n != len(malformed) {
		t.Errorf("%d malformed events for %d lines", n, len(malformed))
	}
	for _, e := range j.all() {
		if e.Kind == Malformed && e.Progress {
			t.Errorf("counted as progress: %s", e.Summary)
		}
	}
}

func TestALineBeyond16MiBEndsTheSession(t *testing.T) {
	t.Parallel()
	_, _, _, err := runTurn(t, Options{}, strings.Repeat("x", maxLine+1))
	if !errors.Is(err, ErrResponse) || !strings.Contains(err.Error(), "message longer than 16 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestALongMessageIsUnderstood(t *testing.T) {
	t.Parallel()
	if _, _, _, err := runTurn(t, Options{}, `{"method":"turn/completed","params":{"turn":{"id":"turn-1","items":["`+strings.Repeat("x", 2<<20)+`"]}}}`); err != nil {
		t.Error(err)
	}
}

func TestTheWireTapSeesBothDirections(t *testing.T) {
	t.Parallel()
	var sent, received bytes.Buffer // each direction has its goroutine
	_, _, _, err := runTurn(t, Options{Wire: func(dir byte, text []byte) {
		if dir == '>' {
			fmt.Fprintf(&sent, "%.24s\n", text)
		} else {
			fmt.Fprintf(&received, "%s\n", text)
		}
	}}, "not json", completed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"id":1,"method":"initia
{"method":"initialized"}
{"id":2,"method":"config
{"id":3,"method":"thread
{"id":4,"method":"turn/s
`, sent.String()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`{"id":1,"result":{}}
{"id":2,"error":{"code":-32600,"message":"Invalid request: unknown variant `+"`config/read`"+`"}}
{"id":3,"result":{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}}
{"id":4,"result":{"turn":{"id":"turn-1"}}}
not json
`+completed+"\n", received.String()); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

func TestAConnectionThatEndsIsAPortExit(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*fakeServer){
		"at once":               func(*fakeServer) {},
		"after the first call":  func(p *fakeServer) { p.expect("initialize") },
		"during the turn":       func(p *fakeServer) { p.turn() },
		"after a partial line":  func(p *fakeServer) { p.turn(); io.WriteString(p.rwc, `{"method":"turn/comp`) },
		"when asked for a turn": func(p *fakeServer) { p.handshake(); p.expect("turn/start") },
	} {
		s, err := Open(t.Context(), dial(t, script), Options{})
		if err == nil {
			_, err = s.Turn(t.Context(), Input{Text: "go"})
			s.Close()
		}
		if !errors.Is(err, ErrPortExit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheLastLineNeedsNoLineFeed(t *testing.T) {
	t.Parallel()
	_, _, _, err := runTurnAfter(t, func(p *fakeServer) {
		p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
		io.WriteString(p.rwc, completed)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestARefusalWithoutAMessageEndsWithItsCode(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":     "turn/start: response_error: Codex refused with -32000",
		" \n ": "turn/start: response_error: Codex refused with -32000",
		"busy": "turn/start: response_error: Codex refused with -32000: busy",
	} {
		if got := (&ResponseError{Method: "turn/start", Code: -32000, Message: message}).Error(); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
