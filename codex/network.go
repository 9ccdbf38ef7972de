package codex

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// A command has the loopback of its own, see loopback.go, and reaches in addition the hosts
// of its [Network], by the proxy of Codex alone: its namespace has no other way out. Each
// network of a program of the host is a permission profile of its own in the same server. It
// has the files of the profile of the turns.
//
// In the limited mode the proxy ends each TLS connection with a certificate of its own, so
// that it can read the method and the host of each request. Codex makes the key for that in
// its memory, and puts the certificate into its home, which no command may read. So the
// session copies it to Options.Certificates, and ShellStart names that file to all clients.

// Network names the hosts that commands reach besides their own loopback. Its zero value is
// none of them.
type Network struct {
	Hosts   []string // exact names
	Private bool     // the names may stand for private addresses
	Full    bool     // every method and protocol, unread; otherwise GET, HEAD and OPTIONS, read by the proxy of Codex
}

// networkVariable tells ShellStart that there are hosts to reach: by the path of the
// certificates, or fullNetwork.
const (
	networkVariable = "SYMPHONY_NETWORK"
	fullNetwork     = "full"

	networkAdvice   = "remove the keys `network` from WORKFLOW.md" // the remedy where no network can be given
	maxCertificates = 8 << 20                                      // bytes of the proxy's certificates
	maxBlocked      = 10                                           // hosts that one command reports
)

// networkName is the form of the names in Options.Networks. A dot would end a name in the
// settings of Codex.
var networkName = lazy.Regexp(`^[a-z][a-z0-9_]*$`)

func (n Network) hasHosts() bool { return len(n.Hosts) > 0 }

func (n Network) isRead() bool { return n.hasHosts() && !n.Full }

// rules returns the table "network" of a permission profile, with Unix sockets or without.
func (n Network) rules(unixSockets bool) map[string]any {
	rules := map[string]any{"enabled": true, "allow_local_binding": true}
	if unixSockets {
		rules["dangerously_allow_all_unix_sockets"] = true
	}
	if !n.hasHosts() {
		return rules
	}
	domains := make(map[string]any, len(n.Hosts))
	for _, host := range n.Hosts {
		domains[host] = "allow"
	}
	mode := "limited"
	if n.Full {
		mode = "full"
	}
	// The setting of Codex allows private addresses too. For their own loopback commands need
	// NO_PROXY alone, which ShellStart sets.
	rules["allow_local_binding"], rules["domains"], rules["mode"] = n.Private, domains, mode
	return rules
}

// variable returns the value of networkVariable for commands in this network; empty for none.
func (n Network) variable(o Options) string {
	switch {
	case !n.hasHosts():
		return ""
	case n.Full:
		return fullNetwork
	}
	return o.Certificates
}

// profileOf returns the name of the permission profile of a network; the profile of the turns
// if the name is empty.
func (o Options) profileOf(network string) string {
	name := profile
	if o.Shared != "" {
		name += "-" + o.Shared
	}
	if network != "" {
		name += "-" + network
	}
	return name
}

// profiles returns the networks by the names of their permission profiles.
func (o Options) profiles() map[string]Network {
	all := map[string]Network{o.profileOf(""): o.Network}
	if o.ReviewWork != "" {
		all[o.profileOf(reviewName)] = Network{}
	}
	for name, network := range o.Networks {
		all[o.profileOf(name)] = network
	}
	return all
}

func (o Options) anyHosts() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(o.profiles())), Network.hasHosts)
}

func noNetwork(why string) error {
	return fmt.Errorf("%w: no network of named hosts: %s: %s", ErrNoSandbox, text.OneLine(why, messageRunes), networkAdvice)
}

// checkNetworks fails if the options ask for hosts that this server or system cannot hold
// commands to.
func (s *sandbox) checkNetworks() error {
	for name := range s.o.Networks {
		if !networkName().MatchString(name) {
			return fmt.Errorf("the network %q: %w: a name has small letters, digits and _", name, ErrSettings)
		}
	}
	key, _, _ := s.o.Config.sandbox()
	switch {
	case !s.o.anyHosts():
		return nil
	case runtime.GOOS != "linux":
		return noNetwork("only Linux gives each command a network of its own")
	case !s.o.Loopback:
		return noNetwork("it needs sandbox.loopback: true")
	case s.o.Network.hasHosts() && s.posture.sandbox != nil:
		return noNetwork(key + " sets a sandbox of its own for the turns")
	case s.o.SaveProfile == nil && !s.o.ProfileGiven:
		return noNetwork("codex.command is not one simple command like `codex app-server` that does not set permissions")
	case s.o.Certificates == "" && slices.ContainsFunc(slices.Collect(maps.Values(s.o.profiles())), Network.isRead):
		return noNetwork("the session has no folder of its own for the certificates of Codex's proxy")
	}
	return nil
}

// saveCertificates copies the certificate of the proxy from its folder in the Codex home, for the
// commands of this session. bundle is the file there that they have as SSL_CERT_FILE, with the
// certificates that this machine trusts, too. No command meets those behind the proxy, and to read
// them takes a client 20 ms, which npm does for each connection. They are copied as well if none
// is known to be the proxy's.
func (s *sandbox) saveCertificates(bundle string) error {
	folder, err := filepath.EvalSymlinks(filepath.Join(s.server.home, "proxy"))
	if err != nil || s.server.home == "" || filepath.Dir(bundle) != folder || !isBundle(bundle) {
		return noNetwork("Codex does not read what is sent, or has its certificates elsewhere: " + bundle)
	}
	trusted, err := readCertificates(bundle)
	if err != nil {
		return fmt.Errorf("copy the certificates of Codex's proxy: %w", err)
	}
	if len(trusted) == 0 {
		return noNetwork("Codex's proxy has no certificate in " + bundle)
	}
	if own := ownCertificates(folder, trusted); len(own) > 0 {
		trusted = own
	}
	var only bytes.Buffer
	for _, certificate := range trusted {
		_ = pem.Encode(&only, &pem.Block{Type: certificateBlock, Bytes: certificate}) // a buffer takes all
	}
	if saved, _ := os.ReadFile(s.o.Certificates); bytes.Equal(saved, only.Bytes()) { // a command may read it just now
		return nil
	}
	// The files exist, so that the profile can name them. They are the session's own.
	err = os.WriteFile(s.o.Certificates, only.Bytes(), 0o600)
	if err == nil {
		err = os.WriteFile(trustStorePath(s.o.Certificates), trustStore(trusted, time.Now()), 0o600)
	}
	if err != nil {
		return fmt.Errorf("copy the certificates of Codex's proxy: %w", err)
	}
	return nil
}

// isBundle reports whether a file of the proxy's folder has certificates of this machine, too.
func isBundle(path string) bool { return strings.HasPrefix(filepath.Base(path), "ca-bundle-") }

// ownCertificates returns the certificates that a file of the proxy's folder has apart from
// the certificates of this machine.
func ownCertificates(folder string, trusted [][]byte) (own [][]byte) {
	paths, _ := filepath.Glob(filepath.Join(folder, "ca*.pem")) // the pattern is well formed
	for _, path := range paths {
		if isBundle(path) {
			continue
		}
		certificates, _ := readCertificates(path) // one that another process removes is not ours
		for _, certificate := range certificates {
			if slices.ContainsFunc(trusted, func(t []byte) bool { return bytes.Equal(t, certificate) }) {
				own = append(own, certificate)
			}
		}
	}
	return own
}

// certificateBlock is the name of a certificate in PEM.
const certificateBlock = "CERTIFICATE"

// readCertificates returns the certificates of a file in PEM, each in DER.
func readCertificates(path string) (certificates [][]byte, err error) {
	text, err := readStart(path)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == certificateBlock {
			certificates = append(certificates, block.Bytes)
		}
	}
	return certificates, nil
}

func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxCertificates))
}

// Blocked is a request of a command that the proxy of Codex has refused, because the network
// of the turns does not name its host. Both texts come from the command.
type Blocked struct{ Host, Command string }

// blockedHost matches the message of Codex, or of its proxy, at the end of a refused command,
// inside JSON text.
var blockedHost = lazy.Regexp(`(?:Network access to \\"|\{\\"status\\":\\"blocked\\",\\"host\\":\\")([\w.:\[\]-]{1,253})\\"`)

// blockedBy returns the requests that a command was refused, each host once, by the
// notification that it has ended.
func blockedBy(params json.RawMessage) []Blocked {
	found := blockedHost().FindAllSubmatch(params, -1)
	if found == nil {
		return nil
	}
	var p struct{ Item item }
	decodeLenient(params, &p)
	var blocked []Blocked
	for _, match := range found {
		b := Blocked{string(match[1]), p.Item.command()}
		if len(blocked) < maxBlocked && !slices.Contains(blocked, b) {
			blocked = append(blocked, b)
		}
	}
	return blocked
}

// Java takes certificates from a file of its own format alone, JKS. This is the part of it that
// holds certificates: numbers are big-endian, and a digest with a password ends it.

// trustStorePassword is Java's own password for certificates, which are no secret.
const trustStorePassword = "changeit"

func trustStorePath(certificates string) string {
	return strings.TrimSuffix(certificates, ".pem") + ".jks"
}

// trustStore returns certificates, each in DER, as a file for Java.
func trustStore(certificates [][]byte, now time.Time) []byte {
	var b bytes.Buffer
	number := func(v any) { _ = binary.Write(&b, binary.BigEndian, v) } // a buffer takes all
	text := func(s string) {
		number(uint16(len(s)))
		b.WriteString(s)
	}
	number(uint32(0xfeedfeed))
	number(uint32(2)) // the version
	number(uint32(len(certificates)))
	for i, certificate := range certificates {
		number(uint32(2)) // a certificate, and no key
		text(fmt.Sprintf("certificate %d", i))
		number(now.UnixMilli())
		text("X.509")
		number(uint32(len(certificate)))
		b.Write(certificate)
	}
	digest := sha1.New()
	for _, unit := range utf16.Encode([]rune(trustStorePassword)) {
		digest.Write([]byte{byte(unit >> 8), byte(unit)})
	}
	digest.Write([]byte("Mighty Aphrodite")) // the magic words of the format
	digest.Write(b.Bytes())
	return digest.Sum(b.Bytes())
}
