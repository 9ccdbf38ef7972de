package codex

import (
	"net"
	"runtime"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/internal/shell"
)

// The variables that name proxies, and those that name hosts for which a client asks none. Codex
// sets them in each command, for a proxy of its own that refuses everything. A request that it
// refuses ends the whole command, so that the tests of a project would die of an update check.
var (
	proxyVariables = []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "WS_PROXY", "WSS_PROXY", "http_proxy", "https_proxy", "all_proxy", "ws_proxy", "wss_proxy",
		"npm_config_proxy", "npm_config_https_proxy", "NPM_CONFIG_PROXY", "NPM_CONFIG_HTTPS_PROXY",
		"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "BUNDLE_HTTP_PROXY", "BUNDLE_HTTPS_PROXY", "PIP_PROXY", "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY",
	}
	directVariables = []string{"NO_PROXY", "no_proxy", "npm_config_noproxy", "NPM_CONFIG_NOPROXY", "BUNDLE_NO_PROXY"}
	otherVariables  = []string{"npm_config_http_proxy", "NPM_CONFIG_HTTP_PROXY", "FTP_PROXY", "ftp_proxy", "ELECTRON_GET_USE_PROXY", "NODE_USE_ENV_PROXY"}
)

// certificateVariables are the variables by which clients know the certificate of the proxy.
var certificateVariables = []string{
	"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
	"CARGO_HTTP_CAINFO", "BUNDLE_SSL_CA_CERT", "npm_config_cafile", "NPM_CONFIG_CAFILE", "CODEX_CA_CERTIFICATE",
}

// ownLoopback are the names of a command's own loopback, for which clients ask no proxy.
const ownLoopback = "localhost,127.0.0.1,::1,[::1]"

// ShellStart returns the text of the file that bash reads before each command of the agent,
// named by BASH_ENV. On Linux it ends a command that has another network than its own
// loopback. It unsets the proxies, or in a network with hosts leads clients to the proxy of this
// program and to its certificates, see Options.Certificates.
func ShellStart() string {
	text := "# Read by bash before each command.\n" +
		"unset " + strings.Join(slices.Concat(proxyVariables, directVariables, otherVariables), " ") + "\n" +
		"case $" + door.Variable + " in " + withHosts + "*)\n" + leadToHosts() + ";; esac\n"
	if runtime.GOOS != "linux" {
		return text
	}
	return text + `refuse() { echo "symphony: the command was not run: it would have the network of this machine ($1)" >&2; exit 126; }
` + onlyLoopback + `unset -f refuse
unset interface
`
}

// leadToHosts returns a piece of bash for a command that reaches hosts. Java takes the proxy and
// the certificates by options alone.
func leadToHosts() string {
	host, port, _ := net.SplitHostPort(door.Address)
	return "  export" + assign(proxyVariables, "http://"+door.Address) + assign(directVariables, shell.Quote(ownLoopback)) + ` NODE_USE_ENV_PROXY=1 ELECTRON_GET_USE_PROXY=1
  java="-Dhttp.proxyHost=` + host + ` -Dhttp.proxyPort=` + port + ` -Dhttps.proxyHost=` + host + ` -Dhttps.proxyPort=` + port + `"
  if [ "$` + certificatesVariable + `" ]; then
    export` + assign(certificateVariables, `"$`+certificatesVariable+`"`) + `
    java="$java -Djavax.net.ssl.trustStoreType=JKS -Djavax.net.ssl.trustStore='${` + certificatesVariable + `%.pem}.jks'"
  fi
  case $JAVA_TOOL_OPTIONS in *"$java") ;; *) export JAVA_TOOL_OPTIONS="${JAVA_TOOL_OPTIONS:+$JAVA_TOOL_OPTIONS }$java" ;; esac
  unset java
`
}

// assign returns assignments of one value, in a form of the shell, to variables.
func assign(names []string, value string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(" " + name + "=" + value)
	}
	return b.String()
}
