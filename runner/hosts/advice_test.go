package hosts

import "testing"

// TestOutputWithoutANetworkSaysWhichLineIsMissing has the last words of package managers in a
// sandbox without a network.
func TestOutputWithoutANetworkSaysWhichLineIsMissing(t *testing.T) {
	t.Parallel()
	const why = "it runs in the sandbox, without a network for that: "
	const advice = why + "name the hosts that it fetches from in hooks.network"
	line := func(set string) string { return why + "write `network: [" + set + "]` in the section hooks" }
	for output, want := range map[string]string{
		"npm error code EAI_AGAIN\nnpm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN":                     line("node"),
		"WARNING: Retrying after connection broken by 'NewConnectionError([Errno -3] Temporary failure in name resolution)': /simple/requests/": line("python"),
		"go: example.org/x@v1: Get \"https://proxy.golang.org/x\": dial tcp: lookup proxy.golang.org: no such host":                             line("go"),
		"go: github.com/a/b@v1.2.3: module lookup disabled by GOPROXY=off":                                                                      line("go"),
		"error: failed to get `serde`\n  [6] Could not resolve host: index.crates.io":                                                           line("rust"),
		"Could not transfer artifact from central (https://repo.maven.apache.org/maven2): repo.maven.apache.org: Name or service not known":     line("java"),
		"fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com":                                                 line("github"),
		"curl: (7) Couldn't connect: Network is unreachable":                                                                                    advice,
		"curl: (56) CONNECT tunnel failed, response 403":                                                                                        advice,
		"make: *** No rule to make target 'deps'":                                                                                               "",
		"npm error Missing script: \"build\"":                                                                                                   "",
	} {
		if got := Advice(output, false); got != want {
			t.Errorf("%s: %q, want %q", output, got, want)
		}
	}
	if got := Advice("npm error CONNECT tunnel failed, response 403", true); got != advice {
		t.Errorf("beside other hosts: %q", got)
	}
}
