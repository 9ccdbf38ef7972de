package action

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// delimiter ends a value in the file of outputs. The library's is fixed, so
// an author who knows it could end a value early and forge other outputs.
const delimiter = "_GitHubActionsFileCommandDelimeter_"

var outputName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Output sets an output of the step. It fails with [ErrOutput] if the runner would read
// another name or value, and with [ErrCommandFile] when the file cannot be written.
// Outside Actions it does nothing.
func (r *Runtime) Output(name, value string) error {
	operation := fmt.Sprintf("set output %.80q", name)
	switch {
	case !outputName().MatchString(name):
		return fmt.Errorf("%s: %w: use a letter or _, then letters, digits, - or _", operation, ErrOutput)
	case strings.Contains(value, delimiter):
		return fmt.Errorf("%s: %w: its value would end early and could forge other outputs; leave out %q", operation, ErrOutput, delimiter)
	case !r.inActions:
		return nil
	}
	if err := try(func() { r.lib.SetOutput(name, value) }); err != nil {
		return file(operation, "GITHUB_OUTPUT", err)
	}
	return nil
}
