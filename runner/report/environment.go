package report

import (
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/room"
)

// Environment is the variables of the agent's commands and the services that they reach, as
// `symphony explain --environment` prints them.
type Environment struct {
	Variables []room.Variable `json:"variables"`
	Services  []string        `json:"services,omitempty"` // such as localhost:5432
}

// Text returns one variable in each line, with its reason on the lines below it. A line with the
// services follows.
func (e Environment) Text(width int) string {
	var b strings.Builder
	for _, v := range e.Variables {
		b.WriteString(v.Name + "=" + v.Value + "\n")
		for _, line := range text.Wrap(v.Why, max(width-4, minWidth), maxItem) {
			b.WriteString("    " + line + "\n")
		}
	}
	if len(e.Services) > 0 {
		b.WriteString("services of this machine: " + strings.Join(e.Services, ", ") + "\n")
	}
	return b.String()
}
