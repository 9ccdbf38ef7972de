package store

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBranchNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"symphony-state", "a/b", "état", "v1.0", "x@y", "lock", strings.Repeat("a", maxBranchName)} {
		if err := validateBranchName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", " ", "a b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[b", `a\b`, "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.",
		"@", "a@{1}", "-a", "HEAD", "refs/heads/a", "a\x00", "a\n", "a\x7f", "a\xff", strings.Repeat("0", 40), strings.Repeat("a", maxBranchName+1),
	} {
		if err := validateBranchName(name); !errors.Is(err, ErrRefused) {
			t.Errorf("%q is allowed", name)
		}
	}
}

// What is allowed is a branch to git, which may allow more.
func TestGitAgreesWithEveryNameThatIsAllowed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("ab.@{}~^:/\\-? lockHEAD\x7f\té")), 1, 8, -1).Draw(t, "name")
		if validateBranchName(name) == nil {
			if err := exec.Command("git", "check-ref-format", "--branch", name).Run(); err != nil {
				t.Fatalf("git refuses %q", name)
			}
		}
	})
}
