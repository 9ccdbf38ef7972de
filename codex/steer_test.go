package codex

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is the server's notification of a text that it has taken into the turn.
func said(thread, turn, kind, name string) string {
	return `{"method":"item/completed","params":{"threadId":"` + thread + `","turnId":"` + turn + `","item":{"type":"` + kind + `","clientId":"` + name + `","text":"Stop."}}}`
}

func TestATextIsGivenOnlyWhenTheTurnHasTakenIt(t *testing.T) {
	t.Parallel()
	taken := said("thread-1", "turn-1", "userMessage", "symphony-steer-1")
	for name, test := range map[string]struct {
		refused string
		lines   []string
		given   bool
	}{
		"taken":                      {"", []string{taken}, true},
		"taken twice":                {"", []string{taken, taken}, true},
		"the turn ends before":       {"", nil, false},
		"refused":                    {"no active turn to steer", nil, false},
		"another text":               {"", []string{said("thread-1", "turn-1", "userMessage", "symphony-steer-2")}, false},
		"another turn":               {"", []string{said("thread-1", "turn-2", "userMessage", "symphony-steer-1")}, false},
		"another thread":             {"", []string{said("thread-2", "turn-1", "userMessage", "symphony-steer-1")}, false},
		"the agent prints the name":  {"", []string{said("thread-1", "turn-1", "commandExecution", "symphony-steer-1")}, false},
		"taken in the last moment":   {"", []string{taken, completed}, true},
		"the end overtakes the text": {"", []string{completed, taken}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{})
			s, _ := begin(t, Options{}, func(p *fakeServer) {
				p.turn()
				close(begun)
				m := p.expect("turn/steer")
				var got any
				if err := json.Unmarshal(m.Params, &got); err != nil {
					t.Error(err)
				}
				want := map[string]any{"threadId": "thread-1", "expectedTurnId": "turn-1", "clientUserMessageId": "symphony-steer-1", "input": []any{map[string]any{"type": "text", "text": "Stop."}}}
				if diff := cmp.Diff(any(want), got); diff != "" {
					t.Error(diff)
				}
				if test.refused != "" {
					p.refuse(m, -32600, test.refused)
				} else {
					p.reply(m, `{"turnId":"turn-1"}`)
				}
				p.send(test.lines...)
				p.send(completed)
				p.drain()
			})
			ended := make(chan error, 1)
			go func() {
				_, err := s.Turn(t.Context(), Input{Text: "go"})
				ended <- err
			}()
			<-begun
			err := s.Steer(t.Context(), "Stop.")
			for err != nil && strings.Contains(err.Error(), "no turn is in progress") { // its id is on the way
				err = s.Steer(t.Context(), "Stop.")
			}
			if given := err == nil; given != test.given || !given && !errors.Is(err, ErrNotSteered) {
				t.Errorf("got %v", err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestThereIsNothingToSteerBetweenTurns(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, Options{}, func(p *fakeServer) { p.handshake(); p.drain() })
	if err := s.Steer(t.Context(), "Stop."); !errors.Is(err, ErrNotSteered) {
		t.Errorf("got %v", err)
	}
}

func TestAStopEndsTheWaitForTheTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the run is over")
	begun := make(chan struct{})
	s, _ := begin(t, Options{}, func(p *fakeServer) {
		p.turn()
		close(begun)
		p.reply(p.expect("turn/steer"), `{"turnId":"turn-1"}`)
		cancel(over)
		p.drain()
	})
	go s.Turn(t.Context(), Input{Text: "go"})
	<-begun
	err := s.Steer(ctx, "Stop.")
	for errors.Is(err, ErrNotSteered) {
		err = s.Steer(ctx, "Stop.")
	}
	if !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
}
