package client

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// UserLogin finds the tokens of a user in the environment and in the folder of gh. gh keeps tokens
// in the keyring of the system where there is one; no process is started to ask for it.
type UserLogin struct {
	Getenv func(name string) string
	Server string // the address of the server of the job; empty for none
}

// Token returns the token of the user for a host of GitHub, and where it is from: a variable of
// the environment, or the folder of gh.
func (l UserLogin) Token(host string) (token, from string) {
	for _, name := range l.Variables(host) {
		if token := l.Getenv(name); token != "" {
			return token, name
		}
	}
	return TokenOfGH(l.logins(), host), "the token of gh"
}

// Variables returns the environment variables whose tokens are for a host of GitHub, as gh has
// them: GH_TOKEN is for GitHub's own hosts, and GH_ENTERPRISE_TOKEN for a server that the user,
// and not WORKFLOW.md alone, has named. GITHUB_TOKEN is the token of the job, so it is for the
// server of the job where there is one. No other host may get any of them.
func (l UserLogin) Variables(host string) (names []string) {
	own := HostOf(l.Server)
	switch {
	case host == "":
		return nil
	case IsCloud(host):
		names = []string{"GH_TOKEN"}
	case host == own, host == strings.ToLower(l.Getenv("GH_HOST")), IsHostOfGH(l.logins(), host):
		names = []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
	}
	if host == own || own == "" && IsCloud(host) {
		names = append(names, "GITHUB_TOKEN")
	}
	return names
}

// logins returns the file of gh with its logins; empty for none.
func (l UserLogin) logins() []byte {
	folder := l.Getenv("GH_CONFIG_DIR")
	if folder == "" {
		config := cmp.Or(l.Getenv("XDG_CONFIG_HOME"), filepath.Join(l.Getenv("HOME"), ".config"))
		folder = filepath.Join(config, "gh")
	}
	text, err := os.ReadFile(filepath.Join(folder, "hosts.yml"))
	if err != nil {
		return nil
	}
	return text
}

// LoginAdvice returns the variables to set for a token of a host.
func LoginAdvice(host string) string {
	if IsCloud(host) {
		return "GH_TOKEN, as with GH_TOKEN=" + TokenCommand(host)
	}
	return fmt.Sprintf("GH_HOST to %s, if you trust it, and GH_ENTERPRISE_TOKEN, as with GH_ENTERPRISE_TOKEN=%s", host, TokenCommand(host))
}

// TokenCommand returns the words of a shell that stand for gh's token for a host.
func TokenCommand(host string) string {
	if host == HostOf(DefaultServer) {
		return "$(gh auth token)"
	}
	return "$(gh auth token --hostname " + host + ")"
}

// loginOfGH is an entry of the file hosts.yml of gh.
type loginOfGH struct {
	Token string `yaml:"oauth_token"`
}

// TokenOfGH returns the token for a host, such as github.com, in the file hosts.yml of gh;
// empty if it has none: gh keeps tokens in the keyring of the system where there is one.
func TokenOfGH(hosts []byte, host string) string { return loginsOfGH(hosts)[host].Token }

// IsHostOfGH reports whether the file hosts.yml of gh has a login on a host, whose token may
// be elsewhere.
func IsHostOfGH(hosts []byte, host string) bool {
	_, has := loginsOfGH(hosts)[host]
	return has
}

func loginsOfGH(hosts []byte) map[string]loginOfGH {
	var logins map[string]loginOfGH
	if yaml.Unmarshal(hosts, &logins) != nil {
		return nil
	}
	return logins
}
