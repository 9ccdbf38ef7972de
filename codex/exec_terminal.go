package codex

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"time"
)

// TurnEnv returns the variables that Codex sets for each command of a turn, besides those about
// the turn itself. A program that a person looks at on a terminal has its own terminal, and
// colors and pages.
func TurnEnv(onTerminal bool) []string {
	env := []string{"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "LC_CTYPE=C.UTF-8", "CODEX_CI=1"}
	if onTerminal {
		return env
	}
	return append(env, "TERM=dumb", "COLORTERM=", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GH_PAGER=cat")
}

// Size is the size of a terminal, in characters.
type Size struct {
	Columns int `json:"cols"`
	Rows    int `json:"rows"`
}

// Terminal is a terminal of a program, which a person uses. All of its output is standard output.
// On Linux it is not the controlling terminal of the program: a key such as Ctrl-C makes no signal.
type Terminal struct {
	Size           // size that the terminal keeps
	Keys io.Reader // input of the person; its end ends the program. Exec does not wait for a Read
}

// inputPause is the time before input is sent again that the server refused: at first it may not
// have started the program.
const inputPause = 50 * time.Millisecond

// sendKeys sends the input of a person, until the program ends. At the end of the keys the
// person is gone, and the program is ended.
func (p *programs) sendKeys(ctx context.Context, id string, keys io.Reader, run *execOutput, answered <-chan struct{}) {
	piece := make([]byte, 32<<10)
	for {
		n, err := keys.Read(piece)
		if n > 0 && !p.sendPiece(ctx, id, piece[:n], answered) {
			return
		}
		if err != nil {
			run.refuse(ErrExecKilled, "nobody is at its terminal any more", err)
			return
		}
	}
}

// sendPiece sends a piece of the input of a person, again after a refusal. It reports whether
// the server has taken it before the program ended.
func (p *programs) sendPiece(ctx context.Context, id string, piece []byte, answered <-chan struct{}) bool {
	params := map[string]string{"processId": id, "deltaBase64": base64.StdEncoding.EncodeToString(piece)}
	for {
		err := p.conn.call(ctx, execGrace, "command/exec/write", params, nil)
		if _, refused := errors.AsType[*ResponseError](err); !refused {
			return err == nil
		}
		select {
		case <-time.After(inputPause):
		case <-answered:
			return false
		}
	}
}
