package ssh

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/sshtest"
)

// dialer returns a dialer in a network.
func dialer(t *testing.T, n *sshtest.Network) *Dialer {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Dialer{Program: n.Client, Binary: binary, Env: os.Environ(), Log: slog.New(slog.DiscardHandler)}
}

func parse(t *testing.T, text string) Host {
	t.Helper()
	h, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return h
}

func TestX(t *testing.T) {
	n := sshtest.New(t)
	h := n.Start(t, sshtest.Options{})
	d := dialer(t, n)
	d.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for range 5 {
		begin := time.Now()
		c, err := d.Dial(t.Context(), parse(t, h.Name), "host")
		if err != nil {
			t.Fatal(err, h.Log(t))
		}
		fmt.Println(time.Since(begin), h.Processes())
		io.WriteString(c, "hello\n")
		fmt.Println(bufio.NewReader(c).ReadString('\n'))
		fmt.Println(c.Close(), c.Err())
	}
}
