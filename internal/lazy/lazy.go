// Package lazy prepares what not every run needs when it is first needed. Most runs find nothing to
// do, so they use few of the regular expressions of the program, and to compile all of them would
// take longer than the rest of the start.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the regular expression, and compiles it in its first call.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
