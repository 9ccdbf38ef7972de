package ssh

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/sshtest"
)

func listen(t *testing.T, say string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if say == "close" {
				c.Close()
			} else {
				fmt.Fprint(c, say)
			}
		}
	}()
	return l.Addr().String()
}

func TestY(t *testing.T) {
	n := sshtest.New(t)
	try := func(name, host string) {
		d := dialer(t, n)
		d.ConnectTime = time.Second
		d.StartTime = 4 * time.Second
		begin := time.Now()
		c, err := d.Dial(t.Context(), parse(t, host), "host")
		fmt.Printf("%s: %v %v\n\n", name, time.Since(begin), err)
		if err == nil {
			c.Close()
			fmt.Println("END", c.Err())
		}
	}
	start := func(o sshtest.Options) string { return n.Start(t, o).Name }
	try("unknown name", "no-such.invalid")
	try("refused", "127.0.0.1:1")
	try("blackhole", "10.255.255.1")
	try("no banner", listen(t, ""))
	try("garbage", listen(t, "HTTP/1.1 400 Bad\r\n\r\n"))
	try("after banner", listen(t, "SSH-2.0-x\r\n"))
	try("closes", listen(t, "close"))
	try("banner and noise", start(sshtest.Options{Banner: "Hello\nthere\n", Profile: "echo noise; echo more >&2; printf half"}))
	try("unknown key", start(sshtest.Options{Unknown: true}))
	h := n.Start(t, sshtest.Options{})
	h.ChangeKey(t)
	try("changed key", h.Name)
	try("denied", start(sshtest.Options{Closed: true}))
	try("slow", start(sshtest.Options{Profile: "echo waiting for the lock; sleep 100"}))
	try("noisy", start(sshtest.Options{Profile: "head -c 2000000 /dev/zero | tr '\\0' x"}))
	try("exits", start(sshtest.Options{Profile: "echo This account is not available; exit 1"}))
	try("arch", start(sshtest.Options{Profile: "mkdir -p bin; printf '#!/bin/sh\necho Linux riscv64' >bin/uname; chmod 700 bin/uname; PATH=$PWD/bin:$PATH"}))
	try("full", start(sshtest.Options{Mounts: "mount -t tmpfs -o size=64k tmpfs $HOME/.cache"}))
	try("ro", start(sshtest.Options{Mounts: "mount --bind $HOME $HOME; mount -o remount,bind,ro $HOME"}))
	try("noexec", start(sshtest.Options{Mounts: "mount --bind $HOME $HOME; mount -o remount,bind,noexec $HOME"}))
	try("ulimit", start(sshtest.Options{Profile: "ulimit -f 100"}))
	try("killed", start(sshtest.Options{Profile: "kill -9 $$"}))
	try("cannot start", start(sshtest.Options{Shell: "bash", Profile: "s=$(ls $HOME/.cache/symphony/bin/symphony-* 2>/dev/null); [ -z \"$s\" ] || printf '#!/no/such' > $s"}))
}
