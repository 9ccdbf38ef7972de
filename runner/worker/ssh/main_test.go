package ssh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// onHost is the program that the tests start on hosts; it is larger than the smallest disk and limit of a test.
var onHost = `#!/bin/sh
case "$1 $2" in
"host ") exec cat ;;
"host env") exec env ;;
"host fail") echo "panic: no" >&2; echo "Permission denied (publickey)" >&2; exit 3 ;;
"host stay") echo here; exec sleep 1000 ;; # does not read its input
esac
` + strings.Repeat("#\n", 100_000)

// TestMain is also a program that dials and is killed, with the paths of ssh and of onHost, and a host; and one
// that another program takes the place of, which prints its own checksum.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "replaced" {
		err := os.Rename(os.Args[2], os.Args[0])
		p, unread := openProgram("")
		fmt.Print(p.sum, errors.Join(err, unread))
		return
	}
	if len(os.Args) != 5 || os.Args[1] != "dial" {
		os.Exit(m.Run())
	}
	host, err := Parse(os.Args[4])
	if err != nil {
		panic(err)
	}
	d := &Dialer{Program: os.Args[2], Binary: os.Args[3], Env: os.Environ(), Log: slog.New(slog.DiscardHandler)}
	c, err := d.Dial(context.Background(), host, "host", "stay")
	if err != nil {
		panic(err)
	}
	fmt.Println(c.command.Process.Pid)
	select {}
}
