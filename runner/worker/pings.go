package worker

import (
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// pingGuard is a connection of yamux whose other side may send a ping each second. yamux starts a goroutine for the
// answer to each, which waits while the other side reads nothing.
type pingGuard struct {
	io.ReadWriteCloser
	began time.Time

	header [12]byte // of the frame that is being read: version, type, flags (2 bytes), stream (4), length (4)
	read   int      // bytes of it
	body   uint32   // bytes of its content that have not been read
	pings  int
}

// The types of a frame that matter here, and the pings before each needs its second.
const (
	dataFrame  = 0
	pingFrame  = 2
	freePings  = 10
	pingPeriod = time.Second
)

var errPings = errors.New("the other side floods the connection with pings")

// Read implements [io.Reader]. One goroutine of yamux calls it.
func (g *pingGuard) Read(p []byte) (int, error) {
	n, err := g.ReadWriteCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if g.body > 0 {
			skipped := min(g.body, uint32(len(rest)))
			g.body, rest = g.body-skipped, rest[skipped:]
			continue
		}
		copied := copy(g.header[g.read:], rest)
		g.read, rest = g.read+copied, rest[copied:]
		if g.read < len(g.header) {
			break
		}
		g.read = 0
		switch g.header[1] {
		case dataFrame:
			g.body = binary.BigEndian.Uint32(g.header[8:])
		case pingFrame:
			if g.pings++; g.pings > freePings+int(time.Since(g.began)/pingPeriod) {
				return 0, errPings
			}
		}
	}
	return n, err
}
