package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const token = "ghp_0123456789abcdefghij"

// server is a GitHub that answers every request in one way.
type server struct {
	*httptest.Server
	requests atomic.Int32
}

func newServer(t *testing.T, status int, header map[string]string, body string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		for name, value := range header {
			w.Header().Set(name, strings.ReplaceAll(value, "{server}", s.URL))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Repo: "acme/shop", Token: token, APIURL: s.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport.Pause = time.Millisecond
	return c
}

// refused returns the error of a request that needs a permission.
func refused(t *testing.T, c *client.Client, p client.Permission) *transport.Error {
	t.Helper()
	_, err := c.Do(t.Context(), client.Request{Path: c.Path("/issues"), Permission: p})
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || strings.Contains(e.Error(), token) || strings.Contains(e.Error(), `""`) || len(e.Error()) > 220 {
		t.Fatalf("not an error fit for people: %v", err)
	}
	return e
}

func TestARefusalSaysWhatHappenedAndWhatToDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status     int
		header     map[string]string
		permission client.Permission
		want       string
	}{
		{401, nil, client.ReadIssues, `401 Unauthorized, GitHub says "no": the token is not valid: set GITHUB_TOKEN`},
		{403, nil, client.ReadIssues, "write `permissions: {issues: read}` in the workflow, or give a token that may"},
		{403, nil, client.WriteContents, "`permissions: {contents: write}`"},
		{403, nil, client.ReadProjects, "projects: read, which the token of a job cannot have"},
		{403, map[string]string{"X-Accepted-GitHub-Permissions": "issues=write,metadata=read; issues=read"}, client.ReadIssues, "`permissions: {issues: write, metadata: read}`"},
		{404, nil, client.ReadActions, "acme/shop is unknown or the token cannot see it: check GITHUB_REPOSITORY, and give the token actions: read"},
		{409, nil, client.WriteContents, "push a first commit"},
		{410, nil, client.ReadIssues, "issues are switched off in acme/shop"},
		{422, nil, client.WriteContents, `422 Unprocessable Entity, GitHub says "no": see GitHub's documentation of this status`},
		{301, map[string]string{"Location": "http://127.0.0.1:1/"}, client.ReadIssues, "renamed or moved: write its new name in GITHUB_REPOSITORY"},
		{502, nil, client.ReadIssues, "GitHub has a fault: try again later"},
		{599, nil, client.ReadIssues, `599, GitHub says "no": GitHub has a fault`},
	} {
		e := refused(t, newServer(t, test.status, test.header, `{"message": "no"}`).client(t), test.permission)
		if e.Kind != transport.Refused || client.Status(e) != test.status || !strings.Contains(e.Error(), test.want) {
			t.Errorf("%d: %v, want %q", test.status, e, test.want)
		}
	}
	for _, body := range []string{"", "{}", "<p>", `{"message": " "}`} {
		if e := refused(t, newServer(t, 418, nil, body).client(t), ""); e.Error() != "418 I'm a teapot: see GitHub's documentation of this status" {
			t.Errorf("%q: %v", body, e)
		}
	}
}

func TestARateLimitCarriesItsTime(t *testing.T) {
	t.Parallel()
	reset := strconv.FormatInt(time.Now().Add(30*time.Minute).Unix(), 10)
	for name, test := range map[string]struct {
		status     int
		header     map[string]string
		body       string
		from, upTo time.Duration
	}{
		"primary":                {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}, `{}`, 29 * time.Minute, 31 * time.Minute},
		"primary as 429":         {429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}, `{}`, 29 * time.Minute, 31 * time.Minute},
		"secondary with a time":  {403, map[string]string{"Retry-After": "7"}, `{}`, 7 * time.Second, 7 * time.Second},
		"secondary with a date":  {429, map[string]string{"Retry-After": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}, `{}`, 59 * time.Minute, time.Hour},
		"secondary without":      {403, nil, `{"documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`, time.Minute, time.Minute},
		"429 that says nothing":  {429, nil, `nonsense`, time.Minute, time.Minute},
		"primary without a time": {403, map[string]string{"X-RateLimit-Remaining": "0"}, `{}`, 0, 0},
	} {
		s := newServer(t, test.status, test.header, test.body)
		e := refused(t, s.client(t), client.ReadIssues)
		if e.Kind != transport.RateLimited || e.Wait < test.from || e.Wait > test.upTo || s.requests.Load() != 1 {
			t.Errorf("%s: %v, wait %v after %d requests, want %v to %v", name, e, e.Wait, s.requests.Load(), test.from, test.upTo)
		}
		if told := strings.Contains(e.Error(), "is used up until 2"); told != (test.upTo > 0) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// A plain missing permission is not a rate limit, whatever else the headers say.
func TestAMissingPermissionIsNoRateLimit(t *testing.T) {
	t.Parallel()
	header := map[string]string{"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1"}
	if e := refused(t, newServer(t, 403, header, `{"documentation_url": "https://docs.github.com/rest"}`).client(t), client.ReadIssues); e.Kind != transport.Refused {
		t.Errorf("%v", e)
	}
}

func TestAnAnswerThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, answer := range []struct{ media, body string }{
		{"application/json", `{"default_branch": `}, {"application/json", ``}, {"application/json", `7`}, {"text/html", `<p>Welcome`}, {"", `{}`},
	} {
		_, err := newServer(t, 200, map[string]string{"Content-Type": answer.media}, answer.body).client(t).Repository(t.Context())
		e, ok := errors.AsType[*transport.Error](err)
		if !ok || e.Kind != transport.Unreadable || !strings.Contains(e.Error(), "see that GITHUB_API_URL is the root") {
			t.Errorf("%s %q: %v", answer.media, answer.body, err)
		}
	}
}

func TestPagesThatDoNotFitTogetherAreAnError(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{
		"a loop":       "{server}/repos/acme/shop/labels?page=2",
		"another host": "https://api.example.org/repos/acme/shop/labels?page=2",
		"a prefix":     "{server}.example.org/labels",
	} {
		s := newServer(t, 200, map[string]string{"Link": fmt.Sprintf(`<%s>; rel="next"`, next)}, `[{"name": "bug"}]`)
		if labels, err := s.client(t).Issues.Labels(t.Context()); !errors.Is(err, client.ErrPages) {
			t.Errorf("%s: %d labels, %v", name, len(labels), err)
		}
	}
}

// Gitea ignores the question for one branch, and GitHub one that it cannot read.
func TestPullRequestsOfOtherBranchesAreNotTaken(t *testing.T) {
	t.Parallel()
	pull := func(number int, repo, branch string) string {
		return fmt.Sprintf(`{"number": %d, "state": "open", "head": {"ref": %q, "repo": {"full_name": %q}}}`, number, branch, repo)
	}
	answer := strings.Join([]string{
		pull(5, "acme/shop", "symphony/GH-70"), pull(4, "mallory/shop", "symphony/GH-7"), pull(3, "Acme/Shop", "symphony/GH-7"),
		pull(2, "acme/shop", "Symphony/GH-7"), pull(1, "acme/shop", "main"),
	}, ",")
	pulls, err := newServer(t, 200, nil, "["+answer+"]").client(t).Pulls.OfBranch(t.Context(), "symphony/GH-7")
	if err != nil || len(pulls) != 1 || pulls[0].GetNumber() != 3 {
		t.Errorf("%v, %v", pulls, err)
	}
}

func TestAQueryThatIsCancelledHasTheCause(t *testing.T) {
	t.Parallel()
	stop := errors.New("the tick is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	var answer struct{ Viewer struct{ Login string } }
	if err := newServer(t, 200, nil, `{}`).client(t).Query(ctx, client.ReadIssues, &answer, nil); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestASettingThatCannotBeRightIsNamed(t *testing.T) {
	t.Parallel()
	good := client.Config{Repo: "acme/shop", Token: token, APIURL: "https://ghe.example.org/api/v3/"}
	if _, err := client.New(good, nil); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		change func(*client.Config)
		want   string
	}{
		"no owner":              {func(c *client.Config) { c.Repo = "shop" }, "GITHUB_REPOSITORY is"},
		"a path":                {func(c *client.Config) { c.Repo = "acme/../shop" }, "GITHUB_REPOSITORY is"},
		"a parent":              {func(c *client.Config) { c.Repo = "acme/.." }, "write it as owner/name"},
		"an option":             {func(c *client.Config) { c.Repo = "-acme/shop" }, "write it as owner/name"},
		"a query":               {func(c *client.Config) { c.Repo = "acme/shop?x" }, "write it as owner/name"},
		"no token":              {func(c *client.Config) { c.Token = "" }, "set GITHUB_TOKEN"},
		"a token in the clear":  {func(c *client.Config) { c.APIURL = "http://ghe.example.org/api/v3" }, "in the clear: write the root of the REST API"},
		"a password in the URL": {func(c *client.Config) { c.APIURL = "https://me:" + token + "@ghe.example.org" }, "GITHUB_API_URL is not a plain URL"},
		"a query in the URL":    {func(c *client.Config) { c.APIURL = "https://ghe.example.org?x=1" }, "is not a plain URL"},
		"a fragment in the URL": {func(c *client.Config) { c.APIURL = "https://ghe.example.org#x" }, "is not a plain URL"},
		"no URL":                {func(c *client.Config) { c.APIURL = "ghe.example.org" }, "is not a plain URL"},
		"a name of its own": {func(c *client.Config) { c.Names.APIURL, c.APIURL = "tracker.provider.api_url", "file:///etc" },
			"tracker.provider.api_url is not a plain URL"},
	} {
		cfg := good
		test.change(&cfg)
		if _, err := client.New(cfg, nil); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// On an Enterprise server the GraphQL API is beside the REST API.
func TestTheGraphQLAPIIsFoundFromTheRootOfTheRESTAPI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"": "/graphql", "/api/v3": "/api/graphql"} {
		var got string
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Path }))
		c, err := client.New(client.Config{Repo: "acme/shop", Token: token, APIURL: s.URL + path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Viewer struct{ Login string } }
		if err := c.Query(t.Context(), client.ReadIssues, &answer, nil); err == nil || got != want {
			t.Errorf("%q: asked at %s, want %s (%v)", path, got, want, err)
		}
		s.Close()
	}
}
