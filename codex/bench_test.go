package codex

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime/metrics"
	"strings"
	"testing"
)

// BenchmarkDeltas follows one turn of 100,000 pieces of text of 200 bytes.
func BenchmarkDeltas(b *testing.B) {
	benchmarkTurn(b, func() io.Reader {
		return repeat(100_000, delta("item/agentMessage/delta", strings.Repeat("d", 200)))
	})
}

// BenchmarkCommandOutput follows one turn whose commands print 20 MB: each prints a
// megabyte in pieces of 7 KB, which the server then repeats as a whole.
func BenchmarkCommandOutput(b *testing.B) {
	piece := delta("item/commandExecution/outputDelta", strings.Repeat(`a\tline of output\n`, 400))
	whole := `{"method":"item/completed","params":{"threadId":"thread-1","turnId":"turn-1","item":{"type":"commandExecution","id":"c","command":"make","status":"completed","exitCode":0,"aggregatedOutput":"` +
		strings.Repeat(`a\tline of output\n`, 58_000) + `"}}}` + "\n"
	benchmarkTurn(b, func() io.Reader {
		var commands []io.Reader
		for range 20 {
			commands = append(commands, repeat(150, piece), strings.NewReader(whole))
		}
		return io.MultiReader(commands...)
	})
}

// benchmarkTurn compares a session with a loop that only reads and decodes.
func benchmarkTurn(b *testing.B, stream func() io.Reader) {
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		peak := newPeak()
		for b.Loop() {
			readAndDecode(b, peak.during(stream()))
		}
		peak.report(b)
	})
	b.Run("session", func(b *testing.B) {
		b.ReportAllocs()
		peak := newPeak()
		for b.Loop() {
			s, err := Open(b.Context(), newStreamServer(peak.during(stream())), Options{Events: func(Event) {}})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Turn(b.Context(), Input{Text: "go"}); err != nil {
				b.Fatal(err)
			}
			_ = s.Close()
		}
		peak.report(b)
	})
}

func readAndDecode(b *testing.B, stream io.Reader) {
	r := bufio.NewReader(stream)
	for {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(text, &m); err != nil {
			b.Fatal(err)
		}
	}
}

func delta(method, text string) string {
	return fmt.Sprintf(`{"method":%q,"params":{"threadId":"thread-1","turnId":"turn-1","itemId":"item-1","delta":"%s"},"emittedAtMs":1795252553571}`+"\n", method, text)
}

func repeat(n int, text string) io.Reader { return &repeated{text: text, left: n} }

type repeated struct {
	text      string
	left, off int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for r.left > 0 && n < len(p) {
		copied := copy(p[n:], r.text[r.off:])
		n, r.off = n+copied, r.off+copied
		if r.off == len(r.text) {
			r.left, r.off = r.left-1, 0
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// streamServer answers what a turn asks for and then streams the turn.
type streamServer struct {
	turn io.Reader
	next chan io.Reader // closed by Close
	now  io.Reader
}

func newStreamServer(turn io.Reader) *streamServer {
	return &streamServer{turn: turn, next: make(chan io.Reader, 4), now: strings.NewReader("")}
}

func (s *streamServer) Read(p []byte) (int, error) {
	for {
		if n, err := s.now.Read(p); err != io.EOF {
			return n, err
		}
		next, ok := <-s.next
		if !ok {
			return 0, io.EOF
		}
		s.now = next
	}
}

func (s *streamServer) Write(p []byte) (int, error) {
	var m struct {
		ID     int
		Method string
	}
	if err := json.Unmarshal(p, &m); err != nil || m.ID == 0 {
		return len(p), err
	}
	answer := func(format string) io.Reader { return strings.NewReader(fmt.Sprintf(format+"\n", m.ID)) }
	switch m.Method {
	case "thread/start":
		s.next <- answer(`{"id":%d,"result":{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}}`)
	case "turn/start":
		s.next <- io.MultiReader(
			answer(`{"id":%d,"result":{"turn":{"id":"turn-1"}}}`),
			s.turn,
			strings.NewReader(`{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-1","status":"completed"}}}`+"\n"))
	default:
		s.next <- answer(`{"id":%d,"result":{}}`)
	}
	return len(p), nil
}

func (s *streamServer) Close() error {
	close(s.next)
	return nil
}

// peak measures the largest amount of memory that objects used while a stream was read.
type peak struct {
	sample []metrics.Sample
	most   uint64
}

func newPeak() *peak {
	return &peak{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
}

func (p *peak) report(b *testing.B) { b.ReportMetric(float64(p.most)/(1<<20), "peak-heap-MiB") }

// during measures at every hundredth read.
func (p *peak) during(r io.Reader) io.Reader { return &peakReader{peak: p, r: r} }

type peakReader struct {
	*peak
	r     io.Reader
	reads int
}

func (p *peakReader) Read(b []byte) (int, error) {
	if p.reads%100 == 0 {
		metrics.Read(p.sample)
		p.most = max(p.most, p.sample[0].Value.Uint64())
	}
	p.reads++
	return p.r.Read(b)
}
