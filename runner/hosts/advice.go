package hosts

import "strings"

// withoutNetwork are pieces of messages of programs that cannot reach a host, in small letters.
var withoutNetwork = []string{
	"eai_again", "enotfound", "could not resolve", "couldn't resolve", "temporary failure in name resolution", "name or service not known",
	"no such host", "network is unreachable", "failed to lookup address", "unknownhostexception", "network access is disabled",
	"module lookup disabled by goproxy=off", "tunnel failed, response 403", "domain not in allowlist",
}

// Advice returns the advice for a hook that failed because it reached no host, by the
// end of its output; empty for another failure. has says that hooks have a network of their own.
func Advice(output string, has bool) string {
	output = strings.ToLower(output)
	for _, text := range withoutNetwork {
		if strings.Contains(output, text) {
			advice := "name the hosts that it fetches from in hooks.network"
			if set := ecosystem(output); set != "" && !has {
				advice = "write `network: [" + set + "]` in the section hooks"
			}
			return "it runs in the sandbox, without a network for that: " + advice
		}
	}
	return ""
}

// clients are words by which the output of package managers shows which set of hosts they
// need, in small letters; the first that is found counts.
var clients = []struct{ word, set string }{
	{"npm", "node"}, {"yarn", "node"}, {"pypi", "python"}, {"/simple/", "python"}, {"poetry", "python"},
	{"proxy.golang.org", "go"}, {"goproxy", "go"}, {"go.mod", "go"}, {"crates.io", "rust"}, {"cargo", "rust"},
	{"rubygems", "ruby"}, {"packagist", "php"}, {"composer", "php"}, {"maven", "java"}, {"gradle", "java"},
	{"nuget", "dotnet"}, {"deb.debian.org", "debian"}, {"github.com", "github"},
}

// ecosystem returns the set of hosts that a program seems to need, by its output in small
// letters; empty if nothing shows it.
func ecosystem(output string) string {
	for _, c := range clients {
		if strings.Contains(output, c.word) {
			return c.set
		}
	}
	return ""
}
