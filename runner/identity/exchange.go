package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/transport"
)

// The settings of OpenAI's exchange; see the comment of the package.
const (
	OpenAIURL      = "https://auth.openai.com/oauth/token"
	OpenAIAudience = "https://api.openai.com/v1"
)

// The forms of [Config].
const (
	TokenExchange = "token-exchange" // RFC 8693
	JWTBearer     = "jwt-bearer"     // RFC 7523
	FormBody      = "form"
	JSONBody      = "json"
)

// Config is the section identity of WORKFLOW.md. The zero value gets no token.
type Config struct {
	Command  string            // prints a token, in place of the exchange
	TokenURL string            // token endpoint of the exchange
	Audience string            // audience of the job's identity token
	Grant    string            // TokenExchange or JWTBearer; empty for the first
	Body     string            // FormBody or JSONBody; empty for the first
	Fields   map[string]string // further fields of the request
}

// ForOpenAI returns the settings for an identity provider and a service account of OpenAI, as
// far as c does not set others.
func (c Config) ForOpenAI(provider, account string) Config {
	fields := map[string]string{"identity_provider_id": provider, "service_account_id": account}
	maps.Copy(fields, c.Fields)
	c.Fields = fields
	if c.TokenURL == "" {
		c.TokenURL = OpenAIURL
	}
	if c.Audience == "" {
		c.Audience = OpenAIAudience
	}
	if c.Body == "" {
		c.Body = JSONBody
	}
	return c
}

// Job is the access of a job of GitHub Actions to its identity token, which its environment has
// in variables of these names.
type Job struct {
	URL   string // ACTIONS_ID_TOKEN_REQUEST_URL
	Token string // ACTIONS_ID_TOKEN_REQUEST_TOKEN
}

// Exchange gets a token for the identity of a job.
type Exchange struct {
	Config
	Job    Job
	Secret func(string)      // gets the job's identity token before it is sent
	Base   http.RoundTripper // nil is http.DefaultTransport
}

const (
	requestTime = 10 * time.Second // for one try of a request
	maxAnswer   = 64 << 10
	maxSaid     = 160 // of a server's text, in runes
)

// Issue gets a token: see [NewSource].
func (e Exchange) Issue(ctx context.Context) (Token, error) {
	ctx = transport.Repeatable(ctx) // each answer is a new token, and the ones before stay as they are
	proof, err := e.proof(ctx)
	if err != nil {
		return Token{}, err
	}
	e.Secret(proof)
	return e.exchange(ctx, proof)
}

func (e Exchange) proof(ctx context.Context) (string, error) {
	const operation = "ask GitHub for the job's identity token"
	if e.Job.URL == "" || e.Job.Token == "" {
		return "", refused(operation, "the job may not have one: add `id-token: write` to its permissions, beside those that it needs; a pull request from a fork gets none")
	}
	address, err := url.Parse(e.Job.URL)
	if err != nil {
		return "", refused(operation, "ACTIONS_ID_TOKEN_REQUEST_URL is not a URL: leave it as the runner sets it")
	}
	query := address.Query()
	if e.Audience != "" {
		query.Set("audience", e.Audience)
	}
	address.RawQuery = query.Encode()
	var answer struct{ Value string }
	server, err := e.server(operation, e.Job.URL, "bearer "+e.Job.Token)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return "", refused(operation, "%w", err)
	}
	if err := e.send(server, request, &answer); err != nil {
		return "", failure(operation, err, "", "see that the job's permissions have id-token: write")
	}
	if answer.Value == "" {
		return "", refused(operation, "the answer has no token: see the status of GitHub Actions")
	}
	return answer.Value, nil
}

// server returns the way to a server, which gets at most one credential.
func (e Exchange) server(operation, address, authorization string) (*transport.Transport, error) {
	t, err := transport.New(address, authorization, e.Base)
	if err != nil {
		return nil, refused(operation, "its address %w", err)
	}
	t.Timeout, t.MaxAnswer = requestTime, maxAnswer
	return t, nil
}

func (e Exchange) send(t *transport.Transport, request *http.Request, answer any) error {
	request.Header.Set("Accept", "application/json")
	a, err := t.Do(request)
	if err != nil {
		return err
	}
	return a.Decode(answer)
}

// exchange returns the token that the endpoint gives for a proof.
func (e Exchange) exchange(ctx context.Context, proof string) (Token, error) {
	operation := "exchange the job's identity token at " + text.Truncate(e.TokenURL, maxSaid)
	server, err := e.server(operation, e.TokenURL, "")
	if err != nil {
		return Token{}, err
	}
	body, media := e.body(proof)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.TokenURL, bytes.NewReader(body))
	if err != nil {
		return Token{}, refused(operation, "%w", err)
	}
	request.Header.Set("Content-Type", media)
	var answer struct {
		Token string      `json:"access_token"`
		Kind  string      `json:"token_type"`
		Life  json.Number `json:"expires_in"`
	}
	if err := e.send(server, request, &answer); err != nil {
		return Token{}, failure(operation, err, proof, "see the settings of the provider")
	}
	if answer.Kind != "" && !strings.EqualFold(answer.Kind, "Bearer") {
		return Token{}, refused(operation, "it gives a token of the type %q, and Codex sends bearer tokens only", text.OneLine(answer.Kind, maxSaid))
	}
	seconds, _ := answer.Life.Float64() // an absent life is not known
	token, err := newToken(answer.Token, time.Duration(min(seconds, maxLife.Seconds())*float64(time.Second)), time.Now())
	if err != nil {
		return Token{}, fmt.Errorf("%s: %w", operation, err)
	}
	return token, nil
}

func (e Exchange) body(proof string) (body []byte, media string) {
	fields := map[string]string{
		"grant_type":         "urn:ietf:params:oauth:grant-type:token-exchange",
		"subject_token":      proof,
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
	}
	if e.Grant == JWTBearer {
		fields = map[string]string{"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": proof}
	}
	maps.Copy(fields, e.Fields)
	if e.Body == JSONBody {
		body, _ = json.Marshal(fields) // strings always marshal
		return body, "application/json"
	}
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, value)
	}
	return []byte(form.Encode()), "application/x-www-form-urlencoded"
}

// failure returns the error of a request that failed. It shows the words of the server, without
// the proof that was sent, and the advice for them; other is the advice for a refusal without
// words.
func failure(operation string, err error, proof, other string) error {
	failed, ok := errors.AsType[*transport.Error](err)
	if !ok || failed.Err != nil && failed.Kind == transport.Unanswered {
		return fmt.Errorf("%s: %w: %w", operation, ErrUnavailable, err)
	}
	status := failed.Answer.Status
	switch {
	case failed.Kind == transport.Unreadable:
		return refused(operation, "%w: see that it is the address of a token endpoint", err)
	case failed.Kind == transport.NotSent:
		return refused(operation, "%w", err)
	case failed.Kind != transport.Refused || status >= 500 || status == http.StatusRequestTimeout:
		return fmt.Errorf("%s: %w: %w", operation, ErrUnavailable, err)
	}
	said := failed.Answer.Name()
	if words := wordsOf(failed.Answer, proof); words != "" {
		said += ": " + words
	}
	return refused(operation, "%s: %s", said, advice(said, proof, other))
}

// wordsOf returns the description of an error in an answer (RFC 6749, 5.2, and OpenAI's own
// form), in one line without the proof.
func wordsOf(a transport.Answer, proof string) string {
	var body struct {
		Error       any
		Description string `json:"error_description"`
		Message     string
	}
	if !a.IsJSON() || json.Unmarshal(a.Body, &body) != nil {
		return ""
	}
	var words []string
	switch e := body.Error.(type) {
	case string:
		words = append(words, e)
	case map[string]any:
		for _, name := range []string{"code", "message"} {
			if s, ok := e[name].(string); ok {
				words = append(words, s)
			}
		}
	}
	for _, s := range []string{body.Description, body.Message} {
		if s != "" {
			words = append(words, s)
		}
	}
	all := strings.Join(words, ", ")
	if proof != "" {
		all = strings.ReplaceAll(all, proof, "***")
	}
	return text.OneLine(all, maxSaid)
}

// advices holds the remedies for words in the message of a token endpoint. The first that
// matches counts.
var advices = []struct{ word, advice string }{
	{"audience", "let identity.audience be the audience of the identity provider"},
	{"service_account", "check the input openai-service-account"},
	{"service account", "check the input openai-service-account"},
	{"identity_provider", "check the input openai-identity-provider"},
	{"identity provider", "check the input openai-identity-provider"},
	{"mapping", "let a mapping of the provider admit this subject"},
	{"subject", "let a mapping of the provider admit this subject"},
	{"issuer", "let the provider accept the issuer of GitHub Actions"},
	{"provider", "check the input openai-identity-provider, or the fields of identity.fields"},
}

// advice returns the remedy for a refusal, with the claims of the proof that a provider looks
// at.
func advice(said, proof, other string) string {
	remedy := other
	for _, a := range advices {
		if strings.Contains(strings.ToLower(said), a.word) {
			remedy = a.advice
			break
		}
	}
	if c, ok := readClaims(proof); ok {
		remedy += fmt.Sprintf(" (the job's token has the audience %s and the subject %s)", text.OneLine(fmt.Sprint(c.Audience), maxSaid), text.OneLine(c.Subject, maxSaid))
	}
	return remedy
}
