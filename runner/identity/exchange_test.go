package identity

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
)

// jwt returns an unsigned token with these claims.
func jwt(claims string) string {
	return "eyJh." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2lnbmF0dXJl"
}

// jobProof is the identity token of the job in the tests.
var jobProof = jwt(`{"aud":"https://api.openai.com/v1","sub":"repo:acme/shop:ref:refs/heads/main","exp":4102444800}`)

// provider is GitHub's identity endpoint and the token endpoint of a provider.
type provider struct {
	asked, exchanged []string // queries and bodies
	endpoint         http.HandlerFunc
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/identity" {
		p.asked = append(p.asked, r.Header.Get("Authorization")+" "+r.URL.RawQuery)
		fmt.Fprintf(w, `{"count":1,"value":%q}`, jobProof)
		return
	}
	body, _ := io.ReadAll(r.Body)
	p.exchanged = append(p.exchanged, r.Header.Get("Content-Type")+" "+string(body))
	p.endpoint(w, r)
}

// inBubble calls f with an exchange of a provider, in a bubble of time.
func inBubble(t *testing.T, p *provider, f func(t *testing.T, e Exchange)) {
	trackertest.Bubble(t, p, func(t *testing.T, base http.RoundTripper) {
		e := Exchange{
			Config: Config{TokenURL: "http://127.0.0.1/token"}.ForOpenAI("idp_1", "sa_1"),
			Job:    Job{URL: "http://127.0.0.1/identity?api-version=2.0", Token: "request-token-123456"},
			Secret: func(string) {}, Base: base,
		}
		f(t, e)
	})
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestAJobExchangesItsIdentityForAToken(t *testing.T) {
	t.Parallel()
	p := &provider{endpoint: says(200, `{"access_token":"tok-1","token_type":"Bearer","expires_in":"600"}`)}
	inBubble(t, p, func(t *testing.T, e Exchange) {
		hidden := ""
		e.Secret = func(secret string) { hidden = secret }
		token, err := e.Issue(t.Context())
		if err != nil || token.Value != "tok-1" || token.Life != 10*time.Minute || token.Interval() != 4*time.Minute || hidden != jobProof {
			t.Fatalf("%+v, %v; hidden %q", token, err, hidden)
		}
		if want := "bearer request-token-123456 api-version=2.0&audience=https%3A%2F%2Fapi.openai.com%2Fv1"; p.asked[0] != want {
			t.Errorf("GitHub was asked %q", p.asked[0])
		}
		want := `application/json {"grant_type":"urn:ietf:params:oauth:grant-type:token-exchange","identity_provider_id":"idp_1","service_account_id":"sa_1","subject_token":"` +
			jobProof + `","subject_token_type":"urn:ietf:params:oauth:token-type:jwt"}`
		if p.exchanged[0] != want {
			t.Errorf("the provider was asked\n%s, want\n%s", p.exchanged[0], want)
		}
		e.Config = Config{TokenURL: e.TokenURL, Grant: JWTBearer, Fields: map[string]string{"scope": "models"}}
		if _, err := e.Issue(t.Context()); err != nil {
			t.Fatal(err)
		}
		want = "application/x-www-form-urlencoded assertion=" + jobProof + "&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&scope=models"
		if p.asked[1] != "bearer request-token-123456 api-version=2.0" || p.exchanged[1] != want {
			t.Errorf("without OpenAI: %q, %q", p.asked[1], p.exchanged[1])
		}
	})
}

func TestEachRefusalOfATokenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	claims := "(the job's token has the audience https://api.openai.com/v1 and the subject repo:acme/shop:ref:refs/heads/main)"
	for name, test := range map[string]struct {
		endpoint http.HandlerFunc
		job      func(*Exchange)
		category error
		want     string
	}{
		"no permission": {
			job: func(e *Exchange) { e.Job = Job{} }, category: ErrRefused,
			want: "add `id-token: write` to its permissions",
		},
		"half of it": {
			job: func(e *Exchange) { e.Job.Token = "" }, category: ErrRefused,
			want: "add `id-token: write` to its permissions",
		},
		"a wrong audience": {
			endpoint: says(400, `{"error":"invalid_grant","error_description":"The audience of `+jobProof+` is not accepted"}`), category: ErrRefused,
			want: `400 Bad Request: invalid_grant, The audience of *** is not accepted: let identity.audience be the audience of the identity provider ` + claims,
		},
		"an unknown provider": {
			endpoint: says(404, `{"error":{"code":"not_found","message":"No such identity_provider"}}`), category: ErrRefused,
			want: "404 Not Found: not_found, No such identity_provider: check the input openai-identity-provider " + claims,
		},
		"an unknown account": {
			endpoint: says(403, `{"error":"access_denied","message":"service account is disabled"}`), category: ErrRefused,
			want: "check the input openai-service-account",
		},
		"a refusal without words": {endpoint: says(401, `no`), category: ErrRefused, want: "401 Unauthorized: see the settings of the provider " + claims},
		"a broken server":         {endpoint: says(503, `{"error":"`+jobProof+`"}`), category: ErrUnavailable, want: "503 Service Unavailable"},
		"too many requests":       {endpoint: says(429, `{}`), category: ErrUnavailable, want: "try again later"},
		"a huge answer": {
			endpoint: says(200, `{"access_token":"`+strings.Repeat("x", 1<<20)+`"}`), category: ErrRefused,
			want: "the answer has more than 65536 bytes",
		},
		"a huge token": {
			endpoint: says(200, `{"access_token":"`+strings.Repeat("x", 20<<10)+`"}`), category: ErrRefused,
			want: "it has 20480 bytes, at most 16384 can be sent",
		},
		"no answer": {
			endpoint: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, category: ErrUnavailable,
			want: "no answer within 10s: see that 127.0.0.1 can be reached",
		},
		"a page":                {endpoint: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }, category: ErrRefused, want: "see that it is the address of a token endpoint"},
		"no token":              {endpoint: says(200, `{"token":"tok-1"}`), category: ErrRefused, want: "there is none"},
		"a token of two lines":  {endpoint: says(200, `{"access_token":"a\nb"}`), category: ErrRefused, want: "it is not one word"},
		"another type of token": {endpoint: says(200, `{"access_token":"tok-1","token_type":"DPoP"}`), category: ErrRefused, want: `a token of the type "DPoP"`},
		"a token of ten seconds": {
			endpoint: says(200, `{"access_token":"tok-1","expires_in":10}`), category: ErrRefused,
			want: "it lives for 10s, and a session needs 1m0s: let the provider give tokens that live longer",
		},
		"an address in the clear": {
			job: func(e *Exchange) { e.TokenURL = "http://provider.example/token" }, category: ErrRefused,
			want: "would send the token in the clear",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, &provider{endpoint: test.endpoint}, func(t *testing.T, e Exchange) {
				if test.job != nil {
					test.job(&e)
				}
				_, err := e.Issue(t.Context())
				if !errors.Is(err, test.category) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), jobProof) {
					t.Errorf("got  %v\nwant %v … %s", err, test.category, test.want)
				}
			})
		})
	}
}

// TestASlowExchangeIsAwaited has a provider that answers the second try.
func TestASlowExchangeIsAwaited(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	p := &provider{endpoint: func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			<-r.Context().Done()
			return
		}
		time.Sleep(9 * time.Second)
		_, _ = io.WriteString(w, `{"access_token":"tok-1"}`)
	}}
	inBubble(t, p, func(t *testing.T, e Exchange) {
		if token, err := e.Issue(t.Context()); err != nil || token.Life != unknownLife {
			t.Errorf("%+v, %v", token, err)
		}
	})
}

// issued returns a source whose tokens are numbered and live for ten minutes, and the number of
// the latest one.
func issued() (*Source, *int) {
	n := 0
	return NewSource(func(context.Context) (Token, error) {
		time.Sleep(time.Second)
		n++
		return newToken(fmt.Sprintf("tok-%d", n), 10*time.Minute, time.Now())
	}, func(string) {}), &n
}

func TestCallersShareATokenAndTheRequestForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, n := issued()
		ask := func(used, want string) {
			t.Helper()
			if token, err := s.Token(t.Context(), used); err != nil || token.Value != want {
				t.Errorf("after %q: %q, %v, want %q", used, token.Value, err, want)
			}
		}
		for range 5 {
			go ask("", "tok-1")
		}
		time.Sleep(2 * time.Second)
		ask("", "tok-1")
		ask("tok-1", "tok-2") // it was refused, or ends soon
		ask("tok-1", "tok-2") // in another session, too
		time.Sleep(5*time.Minute + time.Second)
		ask("", "tok-3") // less than half of the life of tok-2 is left
		if *n != 3 {
			t.Errorf("%d tokens were issued", *n)
		}
	})
}

func TestATokenThatNobodyGivesIsAwaitedForABoundedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSource(func(ctx context.Context) (Token, error) {
			<-ctx.Done()
			return Token{}, context.Cause(ctx)
		}, func(string) {})
		began := time.Now()
		_, err := s.Token(t.Context(), "")
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no token within 50s") || time.Since(began) != issueTime {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Token(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that leaves: %v", err)
		}
		time.Sleep(issueTime)
	})
}

func TestTheOutputOfACommandIsAToken(t *testing.T) {
	t.Parallel()
	refused := errors.New("not logged in")
	for text, want := range map[string]time.Duration{
		"tok\n": unknownLife,
		jwt(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(5*time.Minute).Unix())): 5 * time.Minute,
		jwt(`{"exp":4102444800}`): maxLife,
	} {
		token, err := Of(func(context.Context) (string, error) { return text, nil })(t.Context())
		if err != nil || token.Life > want || token.Life < want-2*time.Second {
			t.Errorf("%s: %+v, %v", text, token, err)
		}
	}
	if _, err := Of(func(context.Context) (string, error) { return "", refused })(t.Context()); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if _, err := Of(func(context.Context) (string, error) { return "Logged in.\ntok\n", nil })(t.Context()); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}
