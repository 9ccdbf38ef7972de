package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzServerMessages lets a server say anything during a turn. The session must
// end when the server does, and every request that can be read, and no other
// line, must get exactly one answer.
func FuzzServerMessages(f *testing.F) {
	files, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	seen := make(map[string]bool) // one line for each method is enough to start from
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for text := range bytes.Lines(text) {
			var e exchange
			if json.Unmarshal(text, &e) != nil || json.Unmarshal(e.Msg, &e.msg) != nil || e.Dir != "<" || seen[e.msg.Method] {
				continue
			}
			seen[e.msg.Method] = true
			f.Add([]byte(e.Msg))
		}
	}
	f.Add([]byte(`{"id":0,"method":"item/tool/call","params":{"tool":"echo","arguments":"{}"}}` + "\n" + `{"id":"x","method":"nonsense"}` + "\n" + completed))
	f.Add([]byte("{\"id\":\"\\u003c\",\"method\":\"currentTime/read\"}\r\n\n[]\n{\"id\":3}\n{\"id\":4,\"error\":7}\n"))
	f.Add([]byte(`{"id":1,"method":"item/tool/requestUserInput"}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		if len(said) > 1<<16 {
			t.Skip("nothing new")
		}
		synctest.Test(t, func(t *testing.T) { sayAnything(t, said) })
	})
}

func sayAnything(t *testing.T, said []byte) {
	var want, answers []string
	for text := range bytes.Lines(said) {
		var m struct {
			ID     json.RawMessage
			Method *string
		}
		if json.Unmarshal(text, &m) == nil && m.Method != nil && len(m.ID) > 0 && (m.ID[0] == '"' || m.ID[0] == '-' || '0' <= m.ID[0] && m.ID[0] <= '9') {
			want = append(want, string(m.ID))
		}
	}
	hungUp := make(chan struct{})
	s, _ := begin(t, Options{Tools: []Tool{echoTool}}, func(p *fakeServer) {
		defer close(hungUp)
		p.turn()
		var wg sync.WaitGroup
		wg.Go(func() {
			p.send(string(said))
			<-time.After(time.Minute) // the bubble's clock stands still until nothing else can happen
			p.rwc.Close()
		})
		for {
			m, ok := p.next()
			if !ok {
				break
			}
			if m.Method == "" {
				answers = append(answers, string(m.ID))
			}
		}
		wg.Wait()
	})
	start := time.Now()
	_, _ = s.Turn(t.Context(), Input{Text: "go"}) // however it ends
	<-s.conn.done
	s.Close()
	<-hungUp
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
	slices.Sort(want)
	slices.Sort(answers)
	if diff := cmp.Diff(want, answers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzProgramOutput lets a server say anything while a program of the host runs. Exec
// must return when the server ends, and write no more than was asked for.
func FuzzProgramOutput(f *testing.F) {
	f.Add([]byte(output("exec-1", "stdout", "a") + "\n" + output("exec-1", "stderr", "b") + "\n" + output("exec-2", "stdout", "c") + "\n"))
	f.Add([]byte(output("exec-1", "stdout", "0123456789a") + "\n" + `{"id":6,"result":{"exitCode":0,"stdout":"","stderr":""}}`))
	f.Add([]byte(`{"method":"command/exec/outputDelta","params":{"processId":"exec-1","stream":"stdout","deltaBase64":"e","capReached":true}}`))
	f.Add([]byte(`{"id":6,"result":{"exitCode":0}}` + "\n" + output("exec-1", "stdout", "late")))
	f.Add([]byte(`{"id":6,"result":[]}` + "\n" + `{"id":6,"error":{"code":-32001,"message":"busy"}}`))
	folder, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		if len(said) > 1<<16 {
			t.Skip("nothing new")
		}
		synctest.Test(t, func(t *testing.T) {
			s, _ := beginExec(t, Options{Cwd: folder, ProfileGiven: true}, func(p *fakeServer) {
				p.exec()
				var wg sync.WaitGroup
				wg.Go(func() {
					p.send(string(said))
					<-time.After(time.Minute)
					p.rwc.Close()
				})
				p.drain()
				wg.Wait()
			})
			var out bytes.Buffer
			start := time.Now()
			_, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}, MaxOutput: 10, Stdout: &out})
			if took := time.Since(start); took > time.Minute || out.Len() > 10 {
				t.Errorf("%v after %v, %d bytes", err, took, out.Len())
			}
		})
	})
}
