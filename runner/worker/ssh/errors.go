package ssh

import (
	"errors"
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// The errors of this package.
var (
	// ErrNoSSH: there is no ssh on this machine.
	ErrNoSSH = errors.New("ssh_not_found")
	// ErrRefused: a person has to change something, here or on the host.
	ErrRefused = errors.New("worker_host_refused")
	// ErrUnreachable: the host does not answer, or the connection to it was lost. Another try may work.
	ErrUnreachable = errors.New("worker_host_unreachable")
)

// fail returns an error of a host, with its cause and the remedy.
func (h Host) fail(kind error, what string) error {
	return fmt.Errorf("worker host %s: %w: %s", h, kind, what)
}

// maxSaid bounds the output of others in an error, in bytes.
const maxSaid = 300

// quoted returns the end of an output for an error, behind a name for it; empty for none.
func quoted(name, output string) string {
	if output = text.Output(output, maxSaid); output == "" {
		return ""
	}
	return "; " + name + ": " + output
}

// causes are the messages of ssh, in the order in which they are looked for, with the kind of error
// and the remedy. In the remedy, {ssh} stands for the command with which a person connects.
var causes = []struct {
	says   string
	kind   error
	remedy string
}{
	{"has changed and you have requested strict checking", ErrRefused, "it has another key than in known_hosts: was it installed anew? Then remove the old key by ssh-keygen -R and run `{ssh}` once"},
	{"host key is known for", ErrRefused, "its key is not in known_hosts: run `{ssh}` once and compare the fingerprint"},
	{"Host key verification failed", ErrRefused, "its key cannot be verified: run `{ssh}` once and do what it says"},
	{"Too many authentication failures", ErrRefused, "the agent offers too many keys: set IdentityFile and IdentitiesOnly for it in ~/.ssh/config"},
	{"Permission denied (", ErrRefused, "it takes no key without a question: load the key into the agent or set IdentityFile in ~/.ssh/config, until `{ssh}` asks nothing"},
	{"Bad configuration option", ErrRefused, "ssh does not take its settings: correct ~/.ssh/config"},
	{"Bad owner or permissions", ErrRefused, "ssh does not take its settings: make them writable for their user alone, as by chmod 600 ~/.ssh/config"},
	{"Unable to negotiate", ErrRefused, "it and ssh here have no cipher or kind of key in common: update the older one"},
	{"Could not resolve hostname", ErrUnreachable, "its name is unknown: compare it with ~/.ssh/config and the DNS"},
	{"during banner exchange", ErrUnreachable, "it does not answer as sshd does: compare the port, and look at the load of the host"},
	{"banner line contains invalid characters", ErrUnreachable, "something else than sshd answers: compare the port"},
	{"kex_exchange_identification", ErrUnreachable, "it closed the connection before the login: look into the log of its sshd for MaxStartups or a ban"},
	{"Connection refused", ErrUnreachable, "nobody listens: start sshd there, or correct the port"},
	{"No route to host", ErrUnreachable, "there is no way to it: is it on, and is the network or VPN up?"},
	{"Network is unreachable", ErrUnreachable, "there is no way to it: is the network or VPN up?"},
	{"timed out", ErrUnreachable, "it does not answer: is it on, and does a firewall let the port through?"},
}

// explain returns the error for the messages of an ssh that started nothing, with the one that says why.
func (h Host) explain(stderr string) error {
	for _, c := range causes {
		for line := range strings.Lines(stderr) {
			if strings.Contains(line, c.says) {
				return h.fail(c.kind, strings.ReplaceAll(c.remedy, "{ssh}", h.command())+quoted("ssh says", line))
			}
		}
	}
	return h.fail(ErrUnreachable, "the connection was lost before anything ran there"+quoted("ssh says", stderr))
}

// refuse returns the error for an answer with which nothing can be started.
func (h Host) refuse(answer string) error {
	word, rest, _ := strings.Cut(answer, " ")
	rest = text.OneLine(rest, maxSaid)
	const elsewhere = "another folder in XDG_CACHE_HOME there"
	switch word {
	case answerSystem:
		return h.fail(ErrRefused, fmt.Sprintf("it runs %s, and this program is for %s: hosts need the system and the processor of this machine", rest, system()))
	case answerMissing:
		return h.fail(ErrRefused, "this program was stored there and is gone again: give the user a home folder that stays, or name "+elsewhere)
	case answerNoExec:
		return h.fail(ErrRefused, "no program can be run from "+rest+": mount its file system without noexec, or name "+elsewhere)
	case answerFailed:
		step, said, _ := strings.Cut(rest, " ")
		remedy := "make the folder writable, or name " + elsewhere
		switch {
		case step == stepCompare:
			return h.fail(ErrUnreachable, "another program has arrived there than was sent: try again, and look at the disk there; "+said)
		case step == stepWrite || strings.Contains(said, "No space left"):
			remedy = "make room there, or name " + elsewhere
		}
		return h.fail(ErrRefused, "this program cannot be stored there: "+remedy+"; "+said)
	}
	return h.fail(ErrUnreachable, "its shell gives an answer that nobody understands"+quoted("it said", answer))
}
