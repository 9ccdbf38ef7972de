package ssh

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain is also the program on a host.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "host" {
		os.Exit(m.Run())
	}
	switch strings.Join(os.Args[2:], " ") {
	case "": // answers in capitals
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadString('\n')
			fmt.Print(strings.ToUpper(line))
			if err != nil {
				os.Exit(0)
			}
		}
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "fail":
		fmt.Fprintln(os.Stderr, "panic: no")
		os.Exit(3)
	case "stay": // does not read its input
		fmt.Println("here")
		select {}
	}
	os.Exit(0)
}
