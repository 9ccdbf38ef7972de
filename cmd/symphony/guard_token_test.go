package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// identityServer is GitHub's identity endpoint and the token endpoint of a provider.
type identityServer struct {
	*httptest.Server
	proof string

	mu     sync.Mutex
	issued int
	bodies []string // of the exchanges
	refuse string   // the error of the next exchanges; empty for tokens
}

func newIdentityServer(t *testing.T) *identityServer {
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"https://api.openai.com/v1","sub":"repo:acme/shop:ref:refs/heads/main"}`))
	s := &identityServer{proof: "eyJhbGciOiJub25lIn0." + claims + ".aWRlbnRpdHk"}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.URL.Path == "/identity" && r.Header.Get("Authorization") == "bearer request-token-of-the-job" && r.URL.Query().Get("audience") == "https://api.openai.com/v1":
			fmt.Fprintf(w, `{"value":%q}`, s.proof)
		case r.URL.Path == "/token" && s.refuse != "":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, s.refuse)
		case r.URL.Path == "/token":
			body, _ := io.ReadAll(r.Body)
			s.bodies = append(s.bodies, string(body))
			s.issued++
			fmt.Fprintf(w, `{"access_token":"tok-that-is-nowhere-%d","expires_in":3600}`, s.issued)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// jobWithIdentity returns a project in a job of Actions that may ask for an identity token.
func jobWithIdentity(p *project, s *identityServer) {
	p.env = append(p.env,
		"GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=schedule", "GITHUB_OUTPUT="+filepath.Join(p.dir, "outputs"), "GITHUB_STEP_SUMMARY="+filepath.Join(p.dir, "summary.md"),
		"ACTIONS_ID_TOKEN_REQUEST_URL="+s.URL+"/identity?api-version=2.0", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=request-token-of-the-job",
		"OPENAI_IDENTITY_PROVIDER_ID=idp_1", "OPENAI_SERVICE_ACCOUNT_ID=user-1", "CODEX_HOME=",
	)
	p.replace("codex:\n", "identity:\n  token_url: "+s.URL+"/token\nhooks:\n  before_run: env > hooked\n  env: [ACTIONS_ID_TOKEN_REQUEST_TOKEN]\ncodex:\n  model: gpt-5.5\n  env: [ACTIONS_ID_TOKEN_REQUEST_TOKEN]\n")
}

// TestAJobWorksWithoutAKey runs the real Codex with a model that wants tokens, and revokes the
// first one in the middle of a turn. Nothing but the program has one.
func TestAJobWorksWithoutAKey(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux proves who asks for a token")
	}
	p, m := realProject(t, map[string]string{"A-1": todo("Look")},
		lane("A-1",
			call("exec_command", map[string]string{"cmd": "env | tee environ; echo the command ran"}),
			handOver(), say("Done.")))
	s := newIdentityServer(t)
	jobWithIdentity(p, s)
	p.exe = filepath.Join(t.TempDir(), "symphony") // by its name it is the program, also when Codex starts it
	if err := os.Link(program(t), p.exe); err != nil {
		t.Skip(err)
	}
	secrets := []string{"tok-that-is-nowhere", s.proof, "request-token-of-the-job"}
	var mu sync.Mutex
	seen, program, tokens := map[string]bool{}, 0, []string(nil)
	lookAround := func() {
		for _, secret := range secrets {
			look(p.dir, secret, program, seen)
		}
	}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer tok-that-is-nowhere-")
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		tokens = append(tokens, token)
		revoked := token == "1" && len(tokens) > 1
		lookAround()
		mu.Unlock()
		if revoked || strings.HasPrefix(token, "Bearer") {
			http.Error(w, `{"error":{"message":"who are you?"}}`, http.StatusUnauthorized)
			return
		}
		m.ServeHTTP(w, r)
	}))
	defer model.Close()
	p.env = append(p.env, "OPENAI_BASE_URL="+model.URL+"/v1")

	var stdout bytes.Buffer
	cmd := p.command(context.Background(), "--once", "--logs", "logs")
	cmd.Stdout, cmd.Stderr = &stdout, &stdout
	mu.Lock()
	err := cmd.Start()
	if err == nil {
		program = cmd.Process.Pid
	}
	mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(p.read("issues/A-1.md"), "state: Review") {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if got := strings.Join(tokens, " "); got != "1 1 2 2" {
		t.Errorf("the requests carried the tokens %s", got)
	}
	want := `{"grant_type":"urn:ietf:params:oauth:grant-type:token-exchange","identity_provider_id":"idp_1","service_account_id":"user-1","subject_token":"` + s.proof +
		`","subject_token_type":"urn:ietf:params:oauth:token-type:jwt"}`
	if len(s.bodies) != 2 || s.bodies[0] != want {
		t.Errorf("the exchanges were %q", s.bodies)
	}
	if lookAround(); len(seen) > 0 {
		t.Errorf("a secret is in %v", seen)
	}
	for line := range strings.Lines(stdout.String()) {
		for _, secret := range secrets {
			if strings.Contains(line, secret) && !strings.HasPrefix(line, "::add-mask::") {
				t.Errorf("a secret is in what was printed: %s", line)
			}
		}
	}
	if text := p.read("workspaces/A-1/hooked") + p.read("workspaces/A-1/environ"); !strings.Contains(text, "HOME=") || strings.Contains(text, "ACTIONS_") || strings.Contains(text, "OPENAI_") {
		t.Errorf("the children see\n%s", text)
	}
}

// TestEachRefusalOfAnIdentityIsExplained by validate and, if nothing has to be asked for it, before
// a run begins.
func TestEachRefusalOfAnIdentityIsExplained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env, from, to string // of WORKFLOW.md
		refuse        string
		want          string
		asked         bool // the provider is asked
	}{
		"no permission":               {env: "ACTIONS_ID_TOKEN_REQUEST_URL= ACTIONS_ID_TOKEN_REQUEST_TOKEN=", want: "add `id-token: write` to its permissions"},
		"no account":                  {env: "OPENAI_SERVICE_ACCOUNT_ID=", want: "the input openai-identity-provider is set without the input openai-service-account: set both, or neither"},
		"no provider":                 {env: "OPENAI_IDENTITY_PROVIDER_ID=", want: "the input openai-service-account is set without the input openai-identity-provider: set both, or neither"},
		"a key too":                   {env: "OPENAI_API_KEY=sk-0123456789abcdefghij", want: "and there is an API key too: remove openai-api-key"},
		"a command too":               {from: "identity:\n", to: "identity:\n  command: echo x\n", want: "the input openai-identity-provider is set, and WORKFLOW.md has identity.command: remove one of them"},
		"a provider of its own":       {from: "app-server", to: "app-server -c model_provider=mine", want: "and codex.command names a provider of its own"},
		"a sandbox of its own":        {from: "codex:\n", to: "codex:\n  thread_sandbox: read-only\n", want: "and the agent could get them: remove codex.thread_sandbox"},
		"a gateway that nobody names": {env: "OPENAI_SERVICE_ACCOUNT_ID= OPENAI_IDENTITY_PROVIDER_ID=", want: "which must not go to OpenAI: set OPENAI_BASE_URL to the gateway's address"},
		"a wrong audience":            {refuse: `{"error":"invalid_grant","error_description":"wrong audience"}`, want: "let identity.audience be the audience of the identity provider (the job's token has the audience https://api.openai.com/v1 and", asked: true},
		"an unknown provider":         {refuse: `{"error":{"message":"Unknown identity_provider_id"}}`, want: "check the input openai-identity-provider (", asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": todo("Never starts")})
			s := newIdentityServer(t)
			s.refuse = test.refuse
			jobWithIdentity(p, s)
			p.env = append(p.env, strings.Fields(test.env)...)
			if test.from != "" {
				p.replace(test.from, test.to)
			}
			if r := p.run("validate"); r.code == 0 || !strings.Contains(r.stdout, test.want) {
				t.Errorf("validate does not say %q:\n%s%s", test.want, r.stdout, r.stderr)
			}
			if r := p.run("--once"); !strings.Contains(r.stdout+r.stderr, test.want) || (r.code == exitUsage) == test.asked {
				t.Errorf("the run, with exit status %d, does not say %q:\n%s%s", r.code, test.want, r.stdout, r.stderr)
			}
			if c := p.read("issues/A-1.md"); strings.Contains(c, "parked") {
				t.Errorf("the issue pays for it:\n%s", c)
			}
		})
	}
}
