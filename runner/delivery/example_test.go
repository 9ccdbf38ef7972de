package delivery_test

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// What an agent changed is checked before it leaves the machine.
func ExampleSettings_Check() {
	file := func(path string) delivery.Change {
		return delivery.Change{Path: path, New: delivery.Entry{Mode: git.ModeFile, Size: 120}}
	}
	verdict := delivery.Defaults().Check(delivery.Work{Commits: 1, Changes: []delivery.Change{file("login.go"), file(".github/workflows/release.yml")}})
	fmt.Print(verdict.Reasons())
	// Output:
	// - .github/workflows/release.yml: the path is protected (.github/**); leave it as it is on the base branch
}
