package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAChildSeesThePlainVariablesAndTheNamedOnes(t *testing.T) {
	env := Env{
		Parent: []string{
			"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "https_proxy=p", "OTHER=1", "NAMED=2", "NAMED2=3", "SSH_AUTH_SOCK=s",
			"CODEX_HOME=/c", "BASH_ENV=/evil", "LD_PRELOAD=/evil", "EMPTY=", "odd",
		},
	}
	want := []string{"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "https_proxy=p", "NAMED=2", "EMPTY=", "SET=a=b"}
	if diff := cmp.Diff(want, env.child([]string{"NAMED", "EMPTY", "ABSENT", "SET=a=b"})); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAndTheActionsRuntimeAreKeptFromChildrenEvenWhenNamed(t *testing.T) {
	names := []string{"GITHUB_TOKEN", "GITHUB_ENV", "ACTIONS_RUNTIME_TOKEN", "INPUT_KEY", "RUNNER_TRACKING_ID", "SYMPHONY_SESSION", "LINEAR_API_KEY", "HTTP_PROXY"}
	env := Env{Deny: []string{"LINEAR_API_KEY", "HTTP_PROXY"}}
	extra := append([]string{"LINEAR_API_KEY=again"}, names...)
	for _, name := range names {
		env.Parent = append(env.Parent, name+"=secret")
	}
	if got := env.child(extra); len(got) != 0 {
		t.Errorf("children see %q", got)
	}
}
