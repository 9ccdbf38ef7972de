package workflow_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex/endpoint"
)

func TestAnEndpointTakesThePlaceOfTheCommand(t *testing.T) {
	t.Parallel()
	wf := parse(t, "tracker: {kind: file}\ncodex: {endpoint: 'ws://127.0.0.1:4500', endpoint_token: $TOKEN}", with(map[string]string{"TOKEN": "s3cret"}))
	want := endpoint.Server{Address: "ws://127.0.0.1:4500", Token: "s3cret", SecretEnv: "TOKEN"}
	if diff := cmp.Diff(want, wf.Settings.Codex.Endpoint); diff != "" {
		t.Error(diff)
	}
	if s := wf.Settings; !slices.Contains(s.Credentials(), "s3cret") || !slices.Contains(s.SecretEnv(), "TOKEN") {
		t.Errorf("the token is no credential: %v", s.SecretEnv())
	}
	const both = "cannot be used with codex.endpoint, which names an app-server that runs already: "
	for _, test := range []struct{ front, want string }{
		{"codex: {endpoint: 'http://a'}", `line 3: codex.endpoint is "http://a": must be ws://HOST:PORT, wss://HOST:PORT or unix:///PATH`},
		{"codex: {endpoint: 'ws://user:pass@a'}", `line 3: codex.endpoint is "ws://***@a": must be ws://HOST:PORT, wss://HOST:PORT or unix:///PATH`},
		{"codex: {endpoint: 'unix:///s', endpoint_token: s3cret}", "line 3: codex.endpoint_token: is a secret, so it must be the name of an environment variable that holds it, such as $CODEX_ENDPOINT_TOKEN"},
		{"codex: {endpoint: 'unix:///s', endpoint_token: $NONE}", "line 3: codex.endpoint_token: is missing; set the environment variable NONE"},
		{"codex: {endpoint: 'ws://a.example', endpoint_token: $NONE}", "line 3: codex.endpoint_token: invalid_remote_auth_transport: a token to ws://a.example can be read on the way: write wss://, or an address of this machine"},
		{"codex: {endpoint_token: $NONE}", `line 3: codex.endpoint_token is "$NONE": needs codex.endpoint; remove it`},
		{"codex: {endpoint: 'unix:///s', command: codex app-server}", `line 3: codex.command is "codex app-server": ` + both + "nothing is started; remove one of the two"},
		{"codex: {endpoint: 'unix:///s', env: [A]}", `line 3: codex.env is a list: ` + both + "its environment is not the agent's, and values would stand in the logs of the connection; remove one of the two"},
		{"codex: {endpoint: 'unix:///s', network: [node]}", `line 3: codex.network is a list: ` + both + "it starts commands by itself, and they reach hosts and services through this program alone; remove one of the two"},
		{"codex: {endpoint: 'unix:///s'}\nservices: ['localhost:5432']", `line 4: services is a list: ` + both + "it starts commands by itself, and they reach hosts and services through this program alone; remove one of the two"},
		{"repository: {url: .}\ncodex: {endpoint: 'unix:///s'}\nsetup: {run: npm ci, for_agent: network}", `line 5: setup.for_agent is "network": ` + both + "it starts commands by itself, and they reach hosts and services through this program alone; remove one of the two"},
		{"codex: {endpoint: 'unix:///s'}\nsandbox: {unix_sockets: true}", `line 4: sandbox.unix_sockets is true: ` + both + "the sockets of its commands cannot be kept apart; remove one of the two"},
	} {
		if got := problems(t, "tracker: {kind: file}\n"+test.front, with(nil)); len(got) != 1 || got[0] != test.want {
			t.Errorf("%s\n got %q\nwant %q", test.front, got, test.want)
		}
	}
}
