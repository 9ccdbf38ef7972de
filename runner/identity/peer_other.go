//go:build !linux

package identity

import (
	"errors"
	"net"
)

// canProve returns an error where nothing proves which process asks.
func canProve() error {
	return refused("make the channel for tokens", "only Linux proves which process asks for a token: let the job run on Linux, or use an API key")
}

func prove(*net.UnixConn, int) error { return errors.New("this system does not say who asks") }
