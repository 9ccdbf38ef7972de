package codex

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// A command has the loopback of its own, see loopback.go, and reaches in addition the hosts of its
// [Network], by a proxy of this program alone (packages proxy and door): its namespace has no way
// out but a door, which the program before bubblewrap asks for. The door leads to Options.Services
// too, the same in all networks; a review has none of them. All networks have the same
// permission profile, and none of them names a host to Codex.
//
// In the limited mode the proxy ends each TLS connection with a certificate of its own, so that it
// can read the method and the host of each request. The session makes the key for that in its
// memory, and writes the certificate to Options.Certificates, and ShellStart names that file to all
// clients.

// Network names the hosts that commands reach besides their own loopback. Its zero value is
// none of them.
type Network struct {
	Hosts   []string // exact names
	Private bool     // the names may stand for private addresses
	Full    bool     // every method and protocol, unread; otherwise GET, HEAD and OPTIONS, read by the proxy
}

// networkName is the form of the names in Options.Networks.
var networkName = lazy.Regexp(`^[a-z][a-z0-9_]*$`)

func (n Network) hasHosts() bool { return len(n.Hosts) > 0 }

// certificatesVariable tells ShellStart the path of Options.Certificates, where clients need them.
const certificatesVariable = "SYMPHONY_CERTIFICATES"

// The values of [door.Variable] begin with one of these words, and the name of the network follows.
const (
	withHosts    = "hosts:"    // it has hosts
	withServices = "services:" // it has the services alone
)

// variables returns the variables of commands in the network of a name, for the program before
// bubblewrap and for ShellStart; none for a network without hosts and services.
func (o Options) variables(name string) map[string]string {
	n, known := o.networks()[name]
	switch {
	case n.hasHosts() && n.Full:
		return map[string]string{door.Variable: withHosts + name}
	case n.hasHosts():
		return map[string]string{door.Variable: withHosts + name, certificatesVariable: o.Certificates}
	case known && len(o.servicesIn(name)) > 0:
		return map[string]string{door.Variable: withServices + name}
	}
	return nil
}

// servicesIn returns the services that commands in the network of a name reach.
func (o Options) servicesIn(name string) []int {
	if name == reviewName {
		return nil
	}
	return o.Services
}

// networks returns the networks by their names. The turns have the one with the empty name; reviews
// have one without hosts.
func (o Options) networks() map[string]Network {
	all := map[string]Network{"": o.Network}
	maps.Copy(all, o.Networks)
	if o.ReviewWork != "" {
		all[reviewName] = Network{}
	}
	return all
}

// profileOf returns the name of the permission profile of the turns, if name is empty, or of reviews.
func (o Options) profileOf(name string) string {
	of := profile
	if o.Shared != "" {
		of += "-" + o.Shared
	}
	if name != "" {
		of += "-" + name
	}
	return of
}

// profileIn returns the name of the permission profile of programs in the network of a name.
func (o Options) profileIn(network string) string {
	if network == reviewName {
		return o.profileOf(reviewName)
	}
	return o.profileOf("")
}

// profiles returns the names of the permission profiles.
func (o Options) profiles() []string {
	names := []string{o.profileOf("")}
	if o.ReviewWork != "" {
		names = append(names, o.profileOf(reviewName))
	}
	return names
}

func (o Options) anyHosts() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(o.networks())), Network.hasHosts)
}

// ServiceNames returns the names of services by their ports, such as localhost:5432.
func ServiceNames(ports []int) []string {
	var names []string
	for _, port := range ports {
		names = append(names, fmt.Sprintf("localhost:%d", port))
	}
	return names
}

// hasDoors reports whether any command gets a door.
func (o Options) hasDoors() bool { return o.anyHosts() || len(o.Services) > 0 }

// noDoor returns the error for options whose hosts or services cannot be reached.
func (o Options) noDoor(why string) error {
	what, advice := "network of named hosts", "remove the keys `network` from WORKFLOW.md"
	switch {
	case len(o.Services) > 0 && o.anyHosts():
		what, advice = "services and no "+what, "remove the keys `services` and `network` from WORKFLOW.md"
	case len(o.Services) > 0:
		what, advice = "services", "remove the key `services` from WORKFLOW.md"
	}
	return fmt.Errorf("%w: no %s: %s: %s", ErrNoSandbox, what, text.OneLine(why, messageRunes), advice)
}

// checkNetworks fails if the options ask for hosts or services that this server or system cannot
// hold commands to.
func (s *sandbox) checkNetworks() error {
	for name := range s.o.Networks {
		if !networkName().MatchString(name) {
			return fmt.Errorf("the network %q: %w: a name has small letters, digits and _", name, ErrSettings)
		}
	}
	key, _, _ := s.o.Config.sandbox()
	switch {
	case !s.o.hasDoors():
		return nil
	case runtime.GOOS != "linux":
		return s.o.noDoor("only Linux gives each command a network of its own")
	case !s.o.Loopback:
		return s.o.noDoor("it needs sandbox.loopback: true")
	case (s.o.Network.hasHosts() || len(s.o.Services) > 0) && s.posture.sandbox != nil:
		return s.o.noDoor(key + " sets a sandbox of its own for the turns")
	case s.o.Shared != "":
		return s.o.noDoor("the app-server of codex.endpoint starts commands without this program")
	case s.o.SaveProfile == nil && !s.o.ProfileGiven:
		return s.o.noDoor("codex.command is not one simple command like `codex app-server` that does not set permissions")
	case s.o.Bubblewrap == nil || s.o.Bubblewrap.self == "" || s.o.Certificates == "":
		return s.o.noDoor("the session has no folder of its own")
	}
	return nil
}

func trustStorePath(certificates string) string {
	return strings.TrimSuffix(certificates, ".pem") + ".jks"
}

// Blocked is a request of a command of the agent that the proxy has refused, because the network
// of the turns does not name its host. Both texts come from the command.
type Blocked struct{ Host, Command string }
