package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/statuspage"
)

// serve starts the status page of the long-running mode, if the command line or the workflow
// asks for one. The port stays the first one: a later change of server.port needs a restart.
// The returned function ends it.
func (x *tickRun) serve() (stop func(), err error) {
	port := x.wf.Settings.Port
	if x.port != nil {
		port = x.port
	}
	if port == nil || x.Once || x.dryRun {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w: port %d is in use; choose another --port", wiring.ErrUsage, *port)
	case err != nil:
		return nil, fmt.Errorf("serve status: %w: %w; choose another --port", wiring.ErrUsage, err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok && slices.Contains(x.wf.Settings.Services, at.Port) {
		listener.Close()
		return nil, fmt.Errorf("%w: port %d is one of the key services, by which agents would reach the status page; choose another --port", wiring.ErrUsage, at.Port)
	}
	refresh := make(chan struct{}, 1) // holds one: a second request is served by the same poll
	x.Refresh = refresh
	page := statuspage.New(x.redactor, refresh)
	token := ""
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() { // nobody else is offered the commands
		token = rand.Text()
		requests := make(chan progress.Request)
		x.Requests = requests
		page.Take(statuspage.Control{Token: token, Requests: requests})
	}
	display := x.Progress
	x.Progress = func(p progress.Progress) {
		page.Show(x.placed(p))
		if display != nil {
			display(p)
		}
	}
	stop = page.Serve(listener)
	fmt.Fprintf(x.console, "status on http://%s\n", listener.Addr())
	if token != "" {
		fmt.Fprintf(x.console, "to answer there: http://%s/#token=%s\n", listener.Addr(), token)
	}
	return stop, nil
}
