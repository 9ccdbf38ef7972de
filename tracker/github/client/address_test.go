package client

import "testing"

func TestServersAndAPIsOfGitHubLeadToEachOther(t *testing.T) {
	t.Parallel()
	for server, api := range map[string]string{
		"https://github.com": "https://api.github.com", "https://acme.ghe.com": "https://api.acme.ghe.com",
		"https://ghe.example.org:8443": "https://ghe.example.org:8443/api/v3", "http://127.0.0.1:1": "http://127.0.0.1:1/api/v3",
		"https://api.example.org": "https://api.example.org/api/v3",
	} {
		if got := APIOf(server); got != api {
			t.Errorf("the API of %s is at %s", server, got)
		}
		if got := ServerOf(api); got != server {
			t.Errorf("the server of %s is at %s", api, got)
		}
	}
}

func TestARepositoryIsANameOrAnAddressThatGitTakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"acme/shop":                                {DefaultServer, "acme/shop"},
		"https://github.com/acme/shop.git":         {DefaultServer, "acme/shop"},
		"https://kim:secret@github.com/acme/shop/": {DefaultServer, "acme/shop"},
		"git@github.com:acme/shop.git":             {DefaultServer, "acme/shop"},
		"ssh://git@GitHub.com:22/acme/shop":        {DefaultServer, "acme/shop"},
		"https://ghe.example.org:8443/acme/shop":   {"https://ghe.example.org:8443", "acme/shop"},
	} {
		if server, name, ok := ParseRepository(text); !ok || server != want[0] || name != want[1] {
			t.Errorf("%q is %q on %q, %v", text, name, server, ok)
		}
	}
	for _, text := range []string{"", "shop", "../shop", "/srv/git/shop", "file:///srv/shop", "acme/shop/x", "https://github.com/acme", "a/b; rm -rf /", "git@[::1]:a/b", "https://$(id)/a/b", "acme/shop\nx: y"} {
		if server, name, ok := ParseRepository(text); ok {
			t.Errorf("%q is accepted as %q on %q", text, name, server)
		}
	}
}
