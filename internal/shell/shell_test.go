package shell

import "testing"

func TestACommandElsewhereStartsTheSameProgram(t *testing.T) {
	t.Parallel()
	const root = "/no/such/workspaces"
	for command, want := range map[string]struct{ elsewhere, inside string }{
		"codex app-server":                    {"codex app-server", ""},
		"/opt/codex app-server":               {"/opt/codex app-server", ""},
		"~/bin/codex app-server":              {"~/bin/codex app-server", ""},
		"$TOOLS/codex app-server":             {"$TOOLS/codex app-server", ""},
		"../../tools/codex app-server":        {"'/no/such/tools/codex' app-server", ""},
		"../codex app-server -c a=../codex":   {"'/no/such/workspaces/codex' app-server -c a=../codex", ""},
		" exec A=../x ../../codex app-server": {" exec A=../x '/no/such/codex' app-server", ""},
		"../../../../../../codex":             {"'/codex'", ""},
		"./codex app-server":                  {"", "./codex"},
		"node_modules/.bin/codex app-server":  {"", "node_modules/.bin/codex"},
		"sub/../../codex":                     {"'/no/such/workspaces/codex'", ""},
		"cd /opt && ./codex app-server":       {"cd /opt && ./codex app-server", ""},
		"cd /opt\n./codex app-server":         {"cd /opt\n./codex app-server", ""},
		"":                                    {"", ""},
	} {
		elsewhere, inside := Elsewhere(command, root)
		if elsewhere != want.elsewhere || inside != want.inside {
			t.Errorf("%q: %q, %q, want %q", command, elsewhere, inside, want)
		}
	}
}

func TestTheProgramOfACommandFollowsWhatSetsItsEnvironment(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"codex app-server": "codex", "exec env A=b /opt/codex -c x=y": "/opt/codex", "codex app-server\n": "codex", "A=b": "", "": "",
	} {
		if got := Program(command); got != want {
			t.Errorf("%q starts %q, want %q", command, got, want)
		}
	}
}

func TestAWordIsQuotedWhereAShellWouldReadMore(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"/opt/a-b.c": "/opt/a-b.c", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "": "''"} {
		if got := Word(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
