package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesThatOnlyTheScriptMayKnowAreSecrets(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"TOKEN": "t0ken-of-the-registry", "REGISTRY": "https://registry.example/npm", "PROXY": "https://user:password@proxy.example",
		"SIGNED": "https://files.example/x?signature=1", "CACHE": "/var/cache/npm", "FLAG": "yes",
	}
	lookup := func(name string) (string, bool) { value, ok := values[name]; return value, ok }
	c := Config{Env: []string{"TOKEN", "REGISTRY", "PROXY", "SIGNED", "CACHE", "FLAG", "UNSET"}}
	want := []string{"t0ken-of-the-registry", "https://user:password@proxy.example", "https://files.example/x?signature=1"}
	if diff := cmp.Diff(want, c.Secrets(lookup)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.Secrets(nil); got != nil {
		t.Errorf("without variables: %q", got)
	}
}
