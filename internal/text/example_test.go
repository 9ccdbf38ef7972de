package text_test

import (
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// Text from outside is one harmless line, however it was written.
func ExampleOneLine() {
	fmt.Println(text.OneLine("broken\n\x1b[31mred\u202e text", 40))
	// Output:
	// broken [31mred text
}

// Numbers and durations are shown in few digits.
func ExampleDuration() {
	fmt.Println(text.Duration(63*time.Second), text.Number(12_345), text.Count(2, "issue"))
	// Output:
	// 1m03s 12.3k 2 issues
}

// Of a long list of names the first are shown.
func ExampleSome() {
	fmt.Println(text.Some([]string{"go.mod", "go.sum", "package.json"}, 2))
	// Output:
	// go.mod, go.sum and 1 more
}
