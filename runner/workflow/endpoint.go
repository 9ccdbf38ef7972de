package workflow

// noDoor is the reason why the commands of such a server reach no hosts and no services.
const noDoor = "it starts commands by itself, and they reach hosts and services through this program alone"

// withoutEndpoint are the keys that cannot be used with codex.endpoint, and why.
var withoutEndpoint = []struct{ key, why string }{
	{"codex.command", "nothing is started"},
	{"codex.approval_policy", "an agent outside of the guard reaches that server, and by it everything"},
	{"codex.thread_sandbox", "an agent outside of the guard reaches that server, and by it everything"},
	{"codex.turn_sandbox_policy", "an agent outside of the guard reaches that server, and by it everything"},
	{"codex.max_processes", "the limits are those of whoever starts it"},
	{"codex.max_open_files", "the limits are those of whoever starts it"},
	{"codex.max_memory_mb", "the limits are those of whoever starts it"},
	{"codex.env", "its environment is not the agent's, and values would stand in the logs of the connection"},
	{"hooks.env", "its environment is not the hooks', and values would stand in the logs of the connection"},
	{"setup.env", "its environment is not the script's, and values would stand in the logs of the connection"},
	{"codex.network", noDoor},
	{"hooks.network", noDoor},
	{"services", noDoor},
	{"sandbox.unix_sockets", "the sockets of its commands cannot be kept apart"},
	{"identity.token_url", "it has a login of its own"},
	{"identity.command", "it has a login of its own"},
}

// checkEndpoint records the problems of codex.endpoint that depend on other keys, and reads its token.
func (d *decoder) checkEndpoint() {
	server := &d.settings.Codex.Endpoint
	at, written := d.written["codex.endpoint_token"]
	if server.Address == "" {
		if _, tried := d.written["codex.endpoint"]; written && !tried {
			d.reject(at, "needs codex.endpoint; remove it")
		}
		return
	}
	for _, other := range withoutEndpoint {
		if v, both := d.written[other.key]; both {
			d.reject(v, "cannot be used with codex.endpoint, which names an app-server that runs already: %s; remove one of the two", other.why)
		}
	}
	if d.settings.Setup.Online {
		d.reject(d.written["setup.for_agent"], "cannot be used with codex.endpoint, which names an app-server that runs already: %s; remove one of the two", noDoor)
	}
	if !written {
		return
	}
	p := Problem{Key: at.key, Line: at.line, Column: at.column} // never with the value
	name, isVariable := variableName(at.raw)
	switch err := server.Address.CheckToken(); {
	case !isVariable:
		p.Reason = "is a secret, so it must be the name of an environment variable that holds it, such as $CODEX_ENDPOINT_TOKEN"
	case err != nil:
		p.Reason = err.Error()
	default:
		if server.Token = d.lookupVariable(name); server.Token == "" {
			p.Reason = missingVariable(name, "")
		}
	}
	if isVariable {
		server.SecretEnv = name
	}
	if p.Reason != "" {
		d.add(p)
	}
}
