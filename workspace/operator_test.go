package workspace

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAScriptOfTheOperatorHasTheWholeEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "ACTIONS_ID_TOKEN_REQUEST_TOKEN=t"}
	out, err := Output(t.Context(), "echo $ACTIONS_ID_TOKEN_REQUEST_TOKEN; echo noise >&2; pwd -P", dir, env)
	if err != nil || out != "t\n"+dir+"\n" {
		t.Errorf("%q, %v", out, err)
	}
	for script, want := range map[string]string{
		"echo no login >&2; exit 3":     `exit status 3; its last output: "no login"`,
		"no-such-program":               "no-such-program: command not found",
		"head -c 100000 /dev/zero":      "it printed more than 65536 bytes",
		"head -c 100000 /dev/zero >&2;": "",
	} {
		if out, err := Output(t.Context(), script, dir, env); want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && (err != nil || out != "") {
			t.Errorf("%s: %q, %v", script, out, err)
		}
	}
}

func TestAScriptOfTheOperatorEndsWithTheTimeForIt(t *testing.T) {
	t.Parallel()
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
	defer cancel()
	began := time.Now()
	_, err := Output(ctx, "sleep 100 & sleep 100", t.TempDir(), []string{"PATH=" + os.Getenv("PATH")})
	if !errors.Is(err, late) || time.Since(began) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
