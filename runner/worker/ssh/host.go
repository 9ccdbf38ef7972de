package ssh

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// ErrHost: the text names no host. The text may hold a password, so no error repeats it.
var ErrHost = errors.New("must be HOST, USER@HOST, HOST:PORT or [IPv6]:PORT")

// Host is a machine that ssh knows: a name, an address, or an alias of ~/.ssh/config. The zero value is
// none.
type Host struct {
	User string // empty for the user that ssh takes
	Name string // IPv6 without brackets
	Port uint16 // 0 for the port that ssh takes
}

var (
	isName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$`)
	isUser = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9._+@-]{0,99}$`)
)

// Parse reads a host as people write it, also as ssh://USER@HOST:PORT. Nothing that it returns can be an
// option of ssh or more than one word of a shell. The error is [ErrHost].
func Parse(text string) (Host, error) {
	var h Host
	rest, isURL := strings.CutPrefix(text, "ssh://")
	if isURL {
		rest = strings.TrimSuffix(rest, "/")
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		h.User, rest = rest[:at], rest[at+1:]
		if strings.Contains(h.User, ":") {
			return Host{}, fmt.Errorf("%w, without a password: ssh takes keys", ErrHost)
		}
		if !isUser().MatchString(h.User) {
			return Host{}, fmt.Errorf("%w: the user begins with a letter, a digit or _, and has only them and . + @ -", ErrHost)
		}
	}
	h.Name = rest
	if inside, ok := strings.CutPrefix(rest, "["); ok {
		address, port, closed := strings.Cut(inside, "]")
		ip, err := netip.ParseAddr(address)
		if !closed || err != nil || !ip.Is6() || ip.Zone() != "" {
			return Host{}, fmt.Errorf("%w: in brackets stands an IPv6 address without a zone", ErrHost)
		}
		h.Name = ip.String()
		return h.withPort(port)
	}
	name, port, _ := strings.Cut(rest, ":")
	if strings.Contains(port, ":") {
		return Host{}, fmt.Errorf("%w: write an IPv6 address in brackets", ErrHost)
	}
	if h.Name = name; !isName().MatchString(name) {
		return Host{}, fmt.Errorf("%w: the host begins with a letter, a digit or _, and has only them and . -", ErrHost)
	}
	return h.withPort(rest[len(name):])
}

// withPort returns the host with a port as it stands behind the name, with its colon.
func (h Host) withPort(text string) (Host, error) {
	if text == "" {
		return h, nil
	}
	port, err := strconv.ParseUint(strings.TrimPrefix(text, ":"), 10, 16)
	if err != nil || port == 0 || text[0] != ':' {
		return Host{}, fmt.Errorf("%w: the port is a number from 1 to 65535", ErrHost)
	}
	h.Port = uint16(port)
	return h, nil
}

// String returns the host as [Parse] reads it.
func (h Host) String() string {
	text := h.Name
	if strings.Contains(text, ":") {
		text = "[" + text + "]"
	}
	if h.Port != 0 {
		text = net.JoinHostPort(h.Name, strconv.Itoa(int(h.Port)))
	}
	if h.User != "" {
		text = h.User + "@" + text
	}
	return text
}

// arguments returns the arguments of ssh that name the host.
func (h Host) arguments() []string {
	var args []string
	if h.Port != 0 {
		args = append(args, "-p", strconv.Itoa(int(h.Port)))
	}
	if h.User != "" {
		args = append(args, "-l", h.User)
	}
	return append(args, "--", h.Name)
}

// command returns the command with which a person connects to the host.
func (h Host) command() string {
	command := "ssh "
	if h.Port != 0 {
		command += fmt.Sprintf("-p %d ", h.Port)
	}
	if h.User != "" {
		command += h.User + "@"
	}
	return command + h.Name
}
