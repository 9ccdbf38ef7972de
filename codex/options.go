package codex

import (
	"crypto/x509"
	"encoding/json"
	"time"

	"github.com/symphony-runner/symphony/codex/endpoint"
)

// The defaults of Config (SPEC §5.3.6), and the least time that two answers get.
// Before the first answer the server may have to be unpacked. Before it answers a
// turn/start with our profile it reads the skills of the repository, through a
// sandbox for each file that it looks at (see permissions): half a second of CPU time
// for each skill.
const (
	defaultReadTimeout = 5 * time.Second
	defaultTurnTimeout = time.Hour
	DefaultToolCalls   = 200
	initializeTimeout  = 30 * time.Second
	turnStartTimeout   = 2 * time.Minute
)

// Config is the codex section of WORKFLOW.md (SPEC §5.3.6). The three policy values
// belong to Codex: they are passed on unchanged, and nil means that the workflow sets
// none.
type Config struct {
	Command           string // run by `bash -lc` in the workspace, unless there is an Endpoint
	ApprovalPolicy    json.RawMessage
	ThreadSandbox     json.RawMessage
	TurnSandboxPolicy json.RawMessage
	Choice                     // choice of this session
	ByLabel           []Choice // codex.by_label in its order, each entry complete, and then the choice of all other issues; nil without it
	Review            Choice   // model and effort of reviews; "" for the session's own
	Endpoint          endpoint.Server
	TurnTimeout       time.Duration // time for a whole turn
	ReadTimeout       time.Duration // time for one request; the slowest two get more
	StallTimeout      time.Duration // longest silence; not positive means no limit
	MaxToolCalls      int           // tool calls of one session; not positive means the default
	Env               []string      // names of environment variables that the agent sees besides the plain ones
	Deny              []string      // absolute paths that the agent may not read, besides the paths of [Options]
}

// Options are the parameters of a session.
type Options struct {
	Version string // version of this program for the server's log
	PID     int    // id of the app-server's process for events
	Cwd     string // the workspace, absolute
	Name    string // name of the thread, such as "ABC-1: Title"
	Config  Config // timeouts and bounds that are not positive mean the default
	Tools   []Tool
	Resume  string // the thread to continue; "" starts a new one
	Prompt  string // prompt of the workflow; Check looks for the skills that it names
	// LongInput holds, by model, the input tokens of a response above which another tariff
	// applies; [LongInput] for a model that is not in it.
	LongInput map[string]int64

	Key  string // an API key to log in with; "" uses the server's own login
	Home string // the Codex home that the server must have; "" accepts any
	Temp string // a folder, absolute, that the agent may write and gets as TMPDIR; "" means none
	// Bubblewrap is set if the app-server was started by [Bubblewrap.Command]. The probe of the
	// sandbox writes to /tmp, and networks with hosts need it.
	Bubblewrap *Bubblewrap
	// Set holds variables of the agent's commands, by name, besides those that Codex passes on.
	Set map[string]string
	// ShellStart is the path of a file inside Temp that holds [ShellStart]. The agent may not
	// write it. "" means none.
	ShellStart string
	// Loopback gives each command a network of its own, in which it reaches its own loopback
	// and nothing else; see loopback.go. Without it no command may open a socket.
	Loopback bool
	// Network names the hosts that the agent's commands reach besides; see network.go. A server
	// or a system that cannot hold them to these is refused with [ErrNoSandbox].
	Network Network
	// Networks are the networks of programs of the host, by the name in [Exec.Network]. No turn
	// has any of them.
	Networks map[string]Network
	// Services are ports of this machine's loopback that all commands reach on their own loopback,
	// but no review does; see network.go. They are refused as Network is.
	Services []int
	// ReviewWork is the name of the folder in [Review.Dir] that holds the work. The commands of reviews
	// can write neither that nor a .git beside it. "" means that the session makes no reviews.
	ReviewWork string
	// Certificates is the path of a file inside Temp, besides ShellStart, whose name ends in
	// .pem. It exists and is empty, as does one with the end .jks, for Java. The session writes
	// the certificate there by which clients in a network know its proxy. The agent may not write
	// them. A network with hosts needs them.
	Certificates string
	// Roots are the authorities that the hosts of networks are known by; nil for this machine's.
	Roots *x509.CertPool
	// UnixSockets opens the Unix sockets of the commands themselves; see loopback.go. It needs
	// Loopback. Codex then also opens each socket of the machine whose path is not denied.
	UnixSockets bool
	// HostSocket is the path of a Unix socket of this program that Deny keeps from the agent, to
	// try with UnixSockets whether it does.
	HostSocket string
	// Deny returns the paths that the agent may not read. They are absolute and contain
	// no links, because Codex cannot deny a link. It is called once, with the server's
	// Codex home and, with Shared, the id of its process, when it is running. nil denies only
	// that home. Cwd and Temp remain readable.
	Deny func(home string, pid int) []string
	// Link returns the path of a link to a path of Deny that Codex takes for a pattern, by which
	// the sandbox hides it; "" if there is none. No agent may write the link. nil has none.
	Link       func(path string) string
	Repository bool // the workspace is a git repository in which the agent may commit

	// SaveProfile adds lines to the top of config.toml in a Codex home that is the
	// session's own: the permission profile, which [Session.Exec] needs. It is called
	// once, before a thread is opened. nil saves nothing.
	SaveProfile func(lines string) error
	// ProfileGiven reports that the app-server was started by the command of
	// [CommandWithProfile].
	ProfileGiven bool
	// Shared is set if the server runs already and goes on running: a word of letters and digits
	// that no other session has. The names of the permission profiles have it. See shared.go.
	Shared string
	// Environment holds the environment of the commands, NAME=value, in place of the server's; only
	// with Shared.
	Environment []string
	// NeedsExec has Check fail with [ErrNoExec] if Exec will not work.
	NeedsExec bool

	// Events is called for every event, one call at a time. Calls for messages of the server
	// come from the read loop. Events must return at once.
	Events func(Event)
	// Wire is called with every line that is read ('<') or written ('>'), for the two
	// directions at the same time. The line is valid during the call. It contains all messages
	// of the two sides, secrets too, but never the Key.
	Wire func(dir byte, line []byte)
}
