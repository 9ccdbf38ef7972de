package client

import "gopkg.in/yaml.v3"

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
