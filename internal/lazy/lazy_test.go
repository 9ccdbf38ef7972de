package lazy_test

import (
	"testing"

	"github.com/symphony-runner/symphony/internal/lazy"
)

func TestAPatternIsCompiledOnceAndNotBefore(t *testing.T) {
	t.Parallel()
	lazy.Regexp("(") // would panic
	pattern := lazy.Regexp("^a+$")
	if first := pattern(); first != pattern() || !first.MatchString("aa") || first.MatchString("ab") {
		t.Error("it is another pattern")
	}
}
