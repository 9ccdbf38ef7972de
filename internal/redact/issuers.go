package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
)

// The formats of tokens that services issue. Which there are was taken from gitleaks' default
// rules (config/gitleaks.toml at 009e025ad410, read in November 2026) and from what the
// issuers document; the expressions are our own. A service is left out if its tokens are no
// more than a hash or a UUID: those cannot be told from ordinary code.

// issued is a family of tokens that have a prefix and then at least n bytes of a class.
type issued struct {
	prefixes []string
	n        int
	in       func(byte) bool
	// mixed says that a token has to look like chance, because names of programs begin in the
	// same way.
	mixed bool
}

var issuedTokens = []issued{
	// Forges and CI.
	{[]string{"glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glimt-", "glagent-", "glffct-", "GR1348941"}, 20, isBase64URL, false}, // GitLab
	{[]string{"ATATT3", "ATCTT3"}, 80, isBase64Any, false}, // Atlassian
	{[]string{"ATBB"}, 28, isAlnum, true},                  // Bitbucket
	{[]string{"bkua_"}, 40, isHex, false},                  // Buildkite
	{[]string{"CCIPAT_", "CCIPRJ_"}, 30, isWord, false},    // CircleCI
	{[]string{"sqp_", "squ_", "sqa_"}, 40, isHex, false},   // SonarQube
	{[]string{"sgp_"}, 40, isWord, false},                  // Sourcegraph
	{[]string{"sntrys_eyJ"}, 60, isBase64Any, false},       // Sentry
	{[]string{"sntryu_"}, 64, isHex, false},

	// Registries of packages and images.
	{[]string{"pypi-AgE"}, 50, isBase64URL, false},
	{[]string{"dckr_pat_", "dckr_oat_"}, 20, isBase64URL, false},
	{[]string{"rubygems_"}, 48, isHex, false},
	{[]string{"packagist_ort_", "packagist_uut_", "packagist_out_"}, 40, isAlnum, false},
	{[]string{"CLOJARS_"}, 60, isAlnum, false},
	{[]string{"AKCp"}, 60, isAlnum, true},     // Artifactory
	{[]string{"cmVmdGtu"}, 50, isAlnum, true}, // the same, in base64
	{[]string{"_authToken="}, 20, isBase64URL, true},

	// Clouds and hosting.
	{[]string{"ABSK"}, 100, isBase64, true},       // AWS, for models
	{[]string{"GOCSPX-"}, 24, isBase64URL, false}, // Google
	{[]string{"ya29."}, 30, isBase64URL, true},
	{[]string{"dop_v1_", "doo_v1_", "dor_v1_"}, 64, isHex, false}, // DigitalOcean
	{[]string{"HRKU-AA"}, 50, isBase64URL, false},                 // Heroku
	{[]string{"nfp_"}, 36, isAlnum, true},                         // Netlify
	{[]string{"vercel_blob_rw_"}, 30, isWord, false},
	{[]string{"fo1_", "fm1a_", "fm1r_", "fm2_"}, 40, isBase64Any, true},                   // Fly.io
	{[]string{"v1.0-"}, 150, isHyphened, false},                                           // Cloudflare
	{[]string{"hvs.", "hvb.", "hvr."}, 24, isBase64URL, true},                             // Vault
	{[]string{"pul-"}, 40, isHex, false},                                                  // Pulumi
	{[]string{"dp.pt.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}, 40, isAlnum, false}, // Doppler
	{[]string{"dapi"}, 32, isHex, false},                                                  // Databricks
	{[]string{"sbp_"}, 40, isHex, false},                                                  // Supabase
	{[]string{"sb_secret_"}, 30, isBase64URL, false},
	{[]string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, 30, isBase64URL, false}, // PlanetScale
	{[]string{"napi_"}, 60, isAlnum, false},                                          // Neon
	{[]string{"tskey-"}, 30, isHyphened, false},                                      // Tailscale
	{[]string{"AccountKey=", "SharedAccessKey="}, 43, isBase64, true},                // Azure

	// Models.
	{[]string{"hf_", "api_org_"}, 30, isAlnum, true}, // Hugging Face
	{[]string{"sk-or-v1-"}, 60, isHex, false},        // OpenRouter
	{[]string{"gsk_"}, 48, isAlnum, true},            // Groq
	{[]string{"xai-"}, 70, isAlnum, true},
	{[]string{"pplx-"}, 40, isAlnum, true}, // Perplexity
	{[]string{"r8_"}, 35, isAlnum, true},   // Replicate
	{[]string{"pcsk_"}, 50, isWord, true},  // Pinecone
	{[]string{"lsv2_pt_", "lsv2_sk_"}, 32, isWord, false},

	// Money and shops.
	{[]string{"sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"}, 16, isAlnum, true}, // Stripe
	{[]string{"whsec_"}, 24, isBase64, true},
	{[]string{"sq0atp-", "sq0csp-"}, 22, isBase64URL, false}, // Square
	{[]string{"shpat_", "shpca_", "shppa_", "shpss_"}, 32, isHex, false},
	{[]string{"shippo_live_", "shippo_test_"}, 40, isHex, false},
	{[]string{"EZAK", "EZTK"}, 54, isAlnum, true}, // EasyPost
	{[]string{"duffel_live_", "duffel_test_"}, 40, isBase64URL, false},
	{[]string{"FLWSECK_TEST-", "FLWSECK-"}, 12, isAlnum, true},

	// Messages, telemetry, and tools of teams.
	{[]string{"xapp-"}, 30, isHyphened, true}, // Slack
	{[]string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"}, 30, isPath, true},
	{[]string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, 60, isPath, true},
	{[]string{"xkeysib-"}, 64, isHyphened, false}, // Brevo
	{[]string{"NRAK-", "NRRA-"}, 27, isAlnum, true},
	{[]string{"glsa_"}, 32, isWord, true},  // Grafana
	{[]string{"glc_"}, 50, isBase64, true}, // its cloud's
	{[]string{"phx_"}, 40, isAlnum, true},  // PostHog
	{[]string{"PMAK-"}, 50, isHyphened, false},
	{[]string{"dt0c01."}, 24, isAlnum, false}, // Dynatrace
	{[]string{"ntn_"}, 40, isAlnum, true},     // Notion
	{[]string{"secret_"}, 43, isAlnum, true},
	{[]string{"figd_", "figo_", "figu_"}, 36, isBase64URL, true},
	{[]string{"pat-na1-", "pat-eu1-"}, 36, isHyphened, true}, // HubSpot
	{[]string{"CFPAT-"}, 40, isBase64URL, false},             // Contentful
	{[]string{"tfp_"}, 40, isBase64URL, true},                // Typeform
	{[]string{"rdme_"}, 70, isAlnum, false},                  // ReadMe
	{[]string{"sk.eyJ"}, 60, isBase64URL, true},              // Mapbox

	// Keys of people.
	{[]string{"AGE-SECRET-KEY-1"}, 58, isUpperDigit, false},
	{[]string{"ops_eyJ"}, 200, isBase64, false}, // 1Password
}

// issuedPatterns returns the table as patterns, and those that need more than a class.
func issuedPatterns() []pattern {
	var all []pattern
	for _, family := range issuedTokens {
		for _, prefix := range family.prefixes {
			all = append(all, pattern{prefix: prefix, match: family.match, word: true})
		}
	}
	all = append(all,
		pattern{prefix: "ABIA", match: withDigit(16, isUpperDigit), word: true}, // AWS
		pattern{prefix: "ACCA", match: withDigit(16, isUpperDigit), word: true},
		pattern{prefix: "SG.", match: sendGrid, word: true},
		pattern{prefix: ":AA", match: telegram},
		pattern{prefix: "-us", match: mailchimp},
		pattern{prefix: ".atlasv1.", match: terraform},
		pattern{prefix: "LS0tLS1CRUdJTi", match: encodedKey},
		pattern{prefix: "machine ", match: netrc},
		pattern{prefix: "Private-Lines:", match: putty},
	)
	for digit := '0'; digit <= '9'; digit++ {
		all = append(all, pattern{prefix: string(digit) + "Q~", match: azureSecret})
	}
	for _, name := range []string{"ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey", "ecret_key", "ECRET_KEY", "ecretKey"} {
		all = append(all, pattern{prefix: name, match: awsSecret})
	}
	for _, name := range []string{`"auth"`, "_auth"} {
		all = append(all, pattern{prefix: name, match: encodedLogin})
	}
	return all
}

func (f issued) match(c *cursor) (start int, ok bool) {
	token := c.run(f.in, maxToken)
	if len(token) < f.n {
		return 0, false
	}
	return c.start, !f.mixed || isMixed(token[:min(len(token), 64)])
}

// isMixed reports whether capital letters, small ones and digits alternate as often as they do
// by chance. In a name of several words they do less.
func isMixed(token []byte) bool {
	changes := 0
	for i := 1; i < len(token); i++ {
		if kind(token[i]) != kind(token[i-1]) {
			changes++
		}
	}
	return 3*changes >= len(token)-1 && !isRepeated(token)
}

func kind(c byte) int {
	switch {
	case isUpper(c):
		return 1
	case isLower(c):
		return 2
	case isDigit(c):
		return 3
	}
	return 4
}

// isRepeated reports whether a token has so few different bytes that a person has made it up,
// such as a row of the letter x.
func isRepeated(token []byte) bool {
	different := map[byte]bool{}
	for _, c := range token {
		different[c] = true
	}
	return len(different) < 8
}

// sendGrid matches a token of three parts, of which SG is the first.
func sendGrid(c *cursor) (start int, ok bool) {
	if len(c.run(isBase64URL, 64)) < 16 || !c.literal(".") {
		return 0, false
	}
	return c.start, len(c.run(isBase64URL, maxToken)) >= 30
}

// telegram matches the token of a bot behind its number.
func telegram(c *cursor) (start int, ok bool) {
	digits := c.behind(isDigit, 12)
	return c.start + 1, digits >= 8 && len(c.run(isBase64URL, maxToken)) >= 33
}

// mailchimp matches a key of 32 hexadecimal digits before the name of a data center.
func mailchimp(c *cursor) (start int, ok bool) {
	if c.behind(isHex, 33) != 32 || len(c.run(isDigit, 3)) == 0 {
		return 0, false
	}
	return c.start - 32, true
}

// terraform matches a token of HCP Terraform, which begins with 14 letters and digits.
func terraform(c *cursor) (start int, ok bool) {
	n := c.behind(isAlnum, 14)
	return c.start - n, n == 14 && len(c.run(isBase64URL, maxToken)) >= 50
}

// azureSecret matches the secret of an application, which has Q~ behind a digit.
func azureSecret(c *cursor) (start int, ok bool) {
	n := c.behind(isToken68, 4)
	return c.start - n, n == 3 && len(c.run(isToken68, 64)) >= 31
}

// awsSecret matches the 40 characters of a secret access key behind its name.
func awsSecret(c *cursor) (start int, ok bool) {
	if len(c.run(isAssignment, 16)) == 0 {
		return 0, false
	}
	start = c.i
	key := c.run(isBase64, 41)
	return start, len(key) == 40 && slices.ContainsFunc(key, isDigit) && slices.ContainsFunc(key, isUpper) && slices.ContainsFunc(key, isLower) &&
		!isRepeated(key) && !bytes.Contains(key, []byte("EXAMPLE"))
}

// encodedLogin matches a user and a password in base64, as Docker and npm keep them.
func encodedLogin(c *cursor) (start int, ok bool) {
	if len(c.run(isAssignment, 16)) == 0 {
		return 0, false
	}
	start = c.i
	text := decoded(c.run(isBase64, 1024))
	at := bytes.IndexByte(text, ':')
	return start, at > 0 && len(text)-at > 6 && !slices.ContainsFunc(text, isControl)
}

// encodedKey matches a private key in PEM that is in base64 again, as in a kubeconfig.
func encodedKey(c *cursor) (start int, ok bool) {
	head := *c
	head.i = c.start
	if title := decoded(head.run(isBase64, 64)); !bytes.Contains(title, []byte("PRIVATE KEY")) {
		return 0, false
	}
	return c.start, len(c.run(isBase64, maxPEM)) >= 100
}

// decoded returns the bytes that base64 stands for, up to the last whole group of four.
func decoded(text []byte) []byte {
	text = bytes.TrimRight(text, "=")
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, _ := base64.RawStdEncoding.Decode(out, text)
	return out[:n]
}

// netrc matches the password of a line of .netrc, unless it stands for one.
func netrc(c *cursor) (start int, ok bool) {
	c.run(isVisible, 256)
	for _, word := range []string{"login", "password"} {
		if len(c.run(isBlank, 64)) == 0 || !c.literal(word) || len(c.run(isBlank, 64)) == 0 {
			return 0, false
		}
		if word == "login" {
			c.run(isVisible, 256)
		}
	}
	start = c.i
	password := c.run(isVisible, 256)
	return start, len(password) >= 8 && !bytes.ContainsAny(password, "<>{}$*[]") && !isRepeated(password) && slices.ContainsFunc(password, isDigit)
}

// putty matches the private part of a key of PuTTY.
func putty(c *cursor) (start int, ok bool) {
	c.run(isBlank, 8)
	c.run(isDigit, 4)
	skipLineEnds(c)
	start = c.i
	for {
		if len(c.run(isBase64, 256)) < 16 {
			break
		}
		end := c.i
		skipLineEnds(c)
		if next := *c; len(next.run(isBase64, 16)) < 16 {
			c.i = end
			break
		}
	}
	return start, c.i-start >= 40
}

// behind counts the bytes of a class that stand before the token, at most n.
func (c *cursor) behind(in func(byte) bool, n int) (count int) {
	for count < n && c.start-count > 0 && in(c.text[c.start-count-1]) {
		count++
	}
	return count
}

func isHex(c byte) bool        { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
func isPath(c byte) bool       { return isBase64URL(c) || c == '/' }
func isBase64Any(c byte) bool  { return isBase64(c) || isBase64URL(c) }
func isAssignment(c byte) bool { return isSeparator(c) || c == '>' || c == ',' }
func isControl(c byte) bool    { return c < ' ' || c > '~' }
func isVisible(c byte) bool    { return c > ' ' && c != '"' && c != '\'' && c != 0x7f }
