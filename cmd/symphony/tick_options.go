package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
)

// tickOptions are the flags of the commands that perform a tick or a part of one.
type tickOptions struct {
	once        bool
	dryRun      bool
	deadline    time.Duration // 0: none, or inside Actions the job's
	maxIssues   int           // 0: the limit of the workflow
	port        *int          // nil: not given
	logs        string        // a folder
	reportFile  string
	metricsFile string
	telemetry   bool
	failOn      string
	order       order
}

// The values of --fail-on.
const (
	failNever  = "never"
	failFailed = "failed" // or parked
	failParked = "parked"
)

func (o *tickOptions) addLogsFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.logs, "logs", "", "keep whole event logs in this `folder`, and never remove one (default .symphony/sessions, the latest)")
}

func (o *tickOptions) addReportFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.reportFile, "report", "", "write the report, as JSON, to this `file` too")
	flags.StringVar(&o.metricsFile, "metrics", "", "write the numbers of the tick, for Prometheus, to this `file`")
	flags.BoolVar(&o.telemetry, "telemetry", false, "send traces and metrics over OTLP, as telemetry.otlp does")
}

func (o *tickOptions) addFailOnFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.failOn, "fail-on", failNever, "`when` to exit 1 after a completed tick: never, failed (or parked), parked")
}

// check returns the path of the workflow that args name, or an error for flags that are not
// valid. It makes paths absolute.
func (o *tickOptions) check(p wiring.Process, args []string) (path string, err error) {
	if err := o.checkPort(p); err != nil {
		return "", err
	}
	if o.deadline < 0 || o.maxIssues < 0 {
		return "", fmt.Errorf("%w: %s and %s cannot be negative", wiring.ErrUsage, p.Option("deadline"), p.Option("max-issues"))
	}
	if !slices.Contains([]string{failNever, failFailed, failParked}, o.failOn) {
		return "", fmt.Errorf("%w: %s is %q: want never, failed or parked", wiring.ErrUsage, p.Option("fail-on"), o.failOn)
	}
	if err := o.order.check(p, o.once); err != nil {
		return "", err
	}
	path, err = workflowPath(args)
	for _, named := range []*string{&o.reportFile, &o.metricsFile, &o.logs} {
		if err == nil && *named != "" {
			*named, err = filepath.Abs(*named)
		}
	}
	return path, err
}

func (o *tickOptions) checkPort(p wiring.Process) error {
	switch {
	case o.port == nil:
		return nil
	case *o.port < 0 || *o.port > maxPort:
		return fmt.Errorf("%w: --port %d: want 0 (any free port) to %d", wiring.ErrUsage, *o.port, maxPort)
	case o.once || o.dryRun || p.Actions.InActions():
		return fmt.Errorf("%w: --port is for the long-running mode: leave it out with --once, --dry-run and inside Actions", wiring.ErrUsage)
	}
	return nil
}

// maxPort is the greatest port that can be served.
const maxPort = 1<<16 - 1
