package redact_test

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/redact"
)

// The tokens are made up, and written in pieces so that nothing takes this file
// for a leak.
const (
	alnum20 = "0aB1cD2eF3gH4iJ5kL6m"
	alnum36 = alnum20 + "7nO8pQ9rS0tU1vW2"
	header  = "eyJhbGciOiJSUzI1NiJ9"
	payload = "eyJzdWIiOiIxMjM0NSJ9"
	sign    = "c2lnbmF0dXJlLW9mLWEtdG9rZW4"
	body    = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
	begin   = "-----BEGIN " + "PRIVATE KEY-----"
	end     = "-----END " + "PRIVATE KEY-----"
)

func TestTokensAreHiddenByTheirPatterns(t *testing.T) {
	t.Parallel()
	r := redact.New()
	for _, row := range []struct{ name, text, want string }{
		{"GitHub personal", "ghp_" + alnum36, "***"},
		{"GitHub OAuth", "gho_" + alnum36, "***"},
		{"GitHub user", "ghu_" + alnum36, "***"},
		{"GitHub installation", "ghs_" + alnum36, "***"},
		{"GitHub refresh", "ghr_" + alnum36, "***"},
		{"GitHub fine-grained", "github_pat_" + "11ABCDEFG0" + alnum20 + "_" + alnum36, "***"},
		{"OpenAI before 2024", "sk-" + alnum36, "***"},
		{"OpenAI project", "sk-proj-" + alnum20 + "_-" + alnum36, "***"},
		{"OpenAI service account", "sk-svcacct-" + alnum36, "***"},
		{"OpenAI admin", "sk-admin-" + alnum36, "***"},
		{"Anthropic", "sk-ant-api03-" + alnum36 + "-_AA", "***"},
		{"Linear personal", "lin_api_" + alnum36, "***"},
		{"Linear OAuth", "lin_oauth_" + alnum36, "***"},
		{"Slack legacy", "xoxa-2-123456789012", "***"},
		{"Slack bot", "xoxb-123456789012-" + alnum20, "***"},
		{"Slack cookie token", "xoxc-123456789012-" + alnum20, "***"},
		{"Slack cookie", "xoxd-" + alnum36, "***"},
		{"Slack refresh", "xoxe-1-" + alnum36, "***"},
		{"Slack OAuth", "xoxo-123456789012-" + alnum20, "***"},
		{"Slack person", "xoxp-123456789012-" + alnum20, "***"},
		{"Slack refreshed", "xoxr-123456789012-" + alnum20, "***"},
		{"Slack workspace", "xoxs-123456789012-" + alnum20, "***"},
		{"AWS user", "AKIA" + "IOSFODNN7EXAMPLE", "***"},
		{"AWS session", "ASIA" + "IOSFODNN7EXAMPLE", "***"},
		{"Google", "AIza" + "SyA-" + alnum36, "***"},
		{"npm", "npm_" + alnum36, "***"},
		{"signed web token", header + "." + payload + "." + sign, "***"},
		{"encrypted web token", header + "." + payload + "." + sign + "." + sign + "." + sign, "***"},
		{"web token in a sentence", "was " + header + "." + payload + "." + sign + ".", "was ***."},
		{"PEM", begin + "\n" + body + "\n" + body + "\nshort=\n" + end + "\nrest", "***\nrest"},
		{"PEM, indented", "  " + begin + "\n  " + body + "\n  " + end, "  ***"},
		{"PEM in JSON", `"` + begin + `\n` + body + `\nshort==\n` + end + `\n"`, `"***\n"`},
		{"PEM in JSON in JSON", `\"` + begin + `\\n` + body + `\\n` + end, `\"***`},
		{"PEM, encrypted", strings.ReplaceAll(begin, "BEGIN ", "BEGIN RSA ") + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00AA\n\n" + body + "\n" + end, "***"},
		{"PGP", strings.ReplaceAll(begin, "KEY", "KEY BLOCK") + "\nVersion: 1\n\n" + body + "\nab=\n=AbCd\n" + strings.ReplaceAll(end, "KEY", "KEY BLOCK"), "***"},
		{"PEM, cut off", begin + "\n" + body + "\n" + body[:40], "***"},
		{"PEM, a public one", strings.ReplaceAll(begin, "PRIVATE", "PUBLIC") + "\n" + body, strings.ReplaceAll(begin, "PRIVATE", "PUBLIC") + "\n" + body},
		{"PEM, only spoken of", "begins with " + begin + " and ends", "begins with " + begin + " and ends"},
		{"header, bearer", "Authorization: Bearer abcdefgh", "Authorization: Bearer ***"},
		{"header, basic", "authorization: basic YWxhZGRpbg==", "authorization: basic ***"},
		{"header, token", "AUTHORIZATION: token 0123456789abcdef", "AUTHORIZATION: token ***"},
		{"header in JSON", `{"Authorization":"Bearer abcdefgh"}`, `{"Authorization":"Bearer ***"}`},
		{"header in JSON in JSON", `{\"authorization\": \"Bearer abcdefgh\"}`, `{\"authorization\": \"Bearer ***\"}`},
		{"header in a map", "map[Authorization:[Bearer abcdefgh]]", "map[Authorization:[Bearer ***]]"},
		{"bearer alone", "Bearer " + alnum20, "Bearer ***"},
		{"bearer alone, small", "bearer " + alnum20, "bearer ***"},
		{"basic alone", "Basic dXNlcjpwYXNz" + "d29yZDE=", "Basic ***"},
		{"basic alone, small", "basic dXNlcjpwYXNz" + "d29yZDE=", "basic ***"},
		{"password in a URL", "https://user:" + "pa%20ss@example.com/x", "https://***@example.com/x"},
		{"password with an at sign", "postgres://me:" + "p@ss@db:5432/x?y", "postgres://***@db:5432/x?y"},
		{"token and password in a URL", "https://ghp_" + alnum36 + ":x@github.com", "https://***@github.com"},
		{"after an escaped line end", `first\nsk-` + alnum36, `first\n***`},
		{"after an escaped bracket", `\u003csk-` + alnum36, `\u003c***`},
		{"after an encoded space", `?q=a%20sk-` + alnum36, `?q=a%20***`},
		{"right after another one", "AKIA" + "IOSFODNN7EXAMPLE" + "sk-" + alnum36, "******"},
		{"AWS secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+" + "bPxRfiCYzzzzzzKEYq", "aws_secret_access_key = ***"},
		{"AWS secret in JSON", `"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG+` + `bPxRfiCYzzzzzzKEYq"`, `"SecretAccessKey": "***"`},
		{"AWS secret in code", `secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+` + `bPxRfiCYzzzzzzKEYq'`, `secretAccessKey: '***'`},
		{"Docker's login", `{"auths": {"https://index.docker.io/v1/": {"auth": "a2ltOmhv` + `cnNlLWJhdHRlcnk="}}}`, `{"auths": {"https://index.docker.io/v1/": {"auth": "***"}}}`},
		{"npm's login", "//registry.example.org/:_auth=a2ltOmhv" + "cnNlLWJhdHRlcnk=", "//registry.example.org/:_auth=***"},
		{"npm's token", "//registry.example.org/:_authToken=" + alnum36, "//registry.example.org/:***"},
		{".netrc", "machine api.example.org login kim password h0rse" + "battery", "machine api.example.org login kim password ***"},
		{".netrc in lines", "machine api.example.org\n  login kim\n  password h0rse" + "battery\n", "machine api.example.org\n  login kim\n  password ***\n"},
		{"a key in a kubeconfig", "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpN" + strings.Repeat("SUlFb3dJQkFBS0NBUUVB", 10), "client-key-data: ***"},
		{"a key of PuTTY", "Private-Lines: 1\n" + body + "\n" + body + "\nPrivate-MAC: 00", "Private-Lines: 1\n***\nPrivate-MAC: 00"},
		{"SendGrid", "SG." + alnum20 + "ab." + alnum36 + "abcdefg", "***"},
		{"Telegram", "1234567890:AA" + alnum36, "1234567890:***"},
		{"Mailchimp", "0123456789abcdef" + "0123456789abcdef-us12", "***"},
		{"Terraform", "aB1cD2eF3gH4iJ.atlasv1." + alnum36 + alnum20, "***"},
		{"Azure", "abc8Q~" + alnum36, "***"},
		{"one after the other", "ghp_" + alnum36 + "\nsk-" + alnum36 + " npm_" + alnum36, "***\n*** ***"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := r.String(row.text); got != row.want {
				t.Errorf("%s\nbecame %s\ninstead of %s", row.text, got, row.want)
			}
			if got := r.String("a " + row.text + " z"); got != "a "+row.want+" z" {
				t.Errorf("inside a line it became %s", got)
			}
		})
	}
}

func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	t.Parallel()
	r := redact.New("hunter2hunter2")
	for _, text := range []string{
		"The quick brown fox jumps over the lazy dog; basic authentication is a bearer of risk-free-transportation-2024.",
		"Basic understanding of bearer authentication/authorization, Authorization: required. Basic packages/foo/v2/bar-baz-qux",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 d41d8cd98f00b204e9800998ecf8427e",
		"commit 0eb16dc1f4a5b6c7d8e9f00112233445566778899 (HEAD -> main), 6f1ed002ab5595859014ebf0951522d9",
		"123e4567-e89b-12d3-a456-426614174000 sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"/home/runner/work/_temp/symphony/workspaces/GH-12/node_modules/sk-learn/index.js:12:34",
		"https://github.com/org/repo/pull/12#issuecomment-1 http://127.0.0.1:8080/a?b=c&d=e ssh://git@github.com:22/x.git git@github.com:a/b",
		"https://[::1]:8080/@scope/package@1.2.3 see http://host:80 or mail me@example.com",
		"disk-0123456789abcdef01234 task-550e8400e29b41d4a716 mask-0a1b2c3d4e5f60718293 ghp_short npm_config_user_agent npm_package_json",
		"github_pat_ and ghs_ are prefixes, sk- too, xoxb-what-is-this, AKIA, AIza, lin_api_key, eyJ, eyJhbGciOiJSUzI1NiJ9, eyJ.eyJ.eyJ",
		"hf_hub_download_the_model_from_cache_v2 hf_transformersModelConfigurationLoaderImpl cioLabelsForEverybody gsk_ xai-helpers pat-na1-test glpat-short",
		"sk_live_ and sk_test_xxxxxxxxxxxxxxxxxxxxxxxx secret_key = os.environ['SECRET'] secret_access_key: ${{ secrets.AWS_SECRET_ACCESS_KEY }} secretKey: 0123456789",
		"machine example.org login USER password <token> machine learning login page password reset machine host login me password secret",
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY _auth: true \"auth\": \"required\" \"auth\": \"dG9rZW4tb25seQ==\" _authToken=${NPM_TOKEN}",
		"dapixyz pul-request ops_team shpat_ rubygems_org AccountKey=<key>;EndpointSuffix tskey-auth-... v1.0-beta hvs.example 12:30:AAA -us1 x.atlasv1. LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=",
		"| a | b |\n|-----|-----|\n-----------------\n--- a/file\n+++ b/file\n@@ -1,2 +1,3 @@\n-----BEGIN CERTIFICATE-----",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"日本語のテキスト, ελληνικά, עברית, emoji 👩‍👩‍👧‍👦, \x00\xff\xfe broken bytes",
		"*** already *** hidden *** https://***@example.com https://user:***@example.com Authorization: Bearer ***",
		"",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%s\nbecame %s", text, got)
		}
	}
}

// Each format of the table is found alone and is left alone where a name goes on, where only
// its prefix stands, and where an example stands for a token.
func TestEachFormatOfAnIssuerIsFound(t *testing.T) {
	t.Parallel()
	r := redact.New()
	hexadecimal := strings.Repeat("0a1b2c3d4e5f6789", 20)
	letters := strings.Repeat("0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3", 8)
	for _, prefix := range redact.IssuedPrefixes() {
		found := false
		for _, token := range []string{prefix + letters, prefix + hexadecimal, prefix + strings.ToUpper(hexadecimal)} {
			text := "key: \"" + token + "\"\n"
			for _, secret := range r.Find([]byte(text)) {
				found = found || text[secret.Start:secret.End] == token && !secret.Known
			}
		}
		if !found {
			t.Errorf("%s: its tokens are not found", prefix)
		}
		for _, text := range []string{prefix, prefix + "x", "`" + prefix + "...`", prefix + "<token>", "$" + prefix + "{TOKEN}"} {
			if found := r.Find([]byte(text)); len(found) > 0 {
				t.Errorf("%q is taken for a token", text)
			}
		}
	}
}
