package client

import "gopkg.in/yaml.v3"

// TokenOfGH returns the token for a host, such as github.com, in the file hosts.yml of gh;
// empty if it has none: gh keeps tokens in the keyring of the system where there is one.
func TokenOfGH(hosts []byte, host string) string {
	var logins map[string]struct {
		Token string `yaml:"oauth_token"`
	}
	if yaml.Unmarshal(hosts, &logins) != nil {
		return ""
	}
	return logins[host].Token
}
