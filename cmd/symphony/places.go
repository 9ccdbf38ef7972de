package main

import (
	"fmt"
	"path/filepath"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// checkPlaces returns an error for a flag or a setting that names a place where this run
// cannot write. Otherwise that would be found when sessions have ended, or one by one by
// them. It creates nothing.
func (x *tickRun) checkPlaces() error {
	for name, file := range map[string]string{"report": x.reportFile, "metrics": x.metricsFile} {
		if err := workspace.CheckFile(file); err != nil {
			return fmt.Errorf("%w: %s: %w; name a file that can be written", wiring.ErrUsage, x.Option(name), err)
		}
	}
	if err := workspace.CheckWritable(x.logs); err != nil {
		return fmt.Errorf("%w: %s: %w; name a folder that can be written", wiring.ErrUsage, x.Option("logs"), err)
	}
	if x.dryRun {
		return nil
	}
	if x.store == nil {
		if err := workspace.CheckReplaced(x.statePlace().Path()); err != nil {
			return fmt.Errorf("%w: %s: %w; name a file that can be written", wiring.ErrUsage, x.statePlace().StateOption(), err)
		}
	}
	if x.readsOnly {
		return nil
	}
	s := x.wf.Settings
	if err := workspace.CheckWritable(s.Workspace.Root); err != nil {
		return fmt.Errorf("workspace.root of %s: %w: %w; name a folder that can be written", filepath.Base(x.wf.Path), workspace.ErrRoot, err)
	}
	if err := workspace.CheckWritable(s.Delivery.Folder); err != nil {
		return fmt.Errorf("delivery.folder of %s: %w: %w; name a folder that can be written", filepath.Base(x.wf.Path), workflow.ErrInvalid, err)
	}
	return nil
}
