package github

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

// needIssues is the permission without which nothing can be read.
const needIssues = "the permission issues: read"

// Open connects to the repository; see [tracker.Config]. The adapter's Check and the
// first read check what only GitHub knows (the repository, its labels, the board).
// The methods and the tool are safe for concurrent use.
func (c *Config) Open(o tracker.Options, client *http.Client, log *slog.Logger) (tracker.Adapter, error) {
	cfg := *c
	cfg.Options = o
	r, err := newRepository(cfg, client, log)
	if err != nil {
		return tracker.Adapter{}, err
	}
	return tracker.Adapter{
		Reader: r, Tools: []tracker.Tool{r.tool()}, Warnings: cfg.warnings(),
		IDOf: func(identifier string) tracker.ID {
			if len(identifier) > 3 && strings.EqualFold(identifier[:3], "GH-") {
				identifier = identifier[3:]
			}
			return tracker.ID(identifier)
		},
		Check: r.checkSettings,
	}, nil
}

// repository implements the adapter for one repository. What it remembers between
// reads is in the fields below mu, and all of it can be read from GitHub again.
type repository struct {
	cfg    Config
	wire   *wire
	rest   library
	graph  *graphql.Client
	log    *slog.Logger
	states stateSource
	trust  *trustChecker

	mu             sync.Mutex
	pages          map[string]*cachedPage    // by address: answers for conditional requests
	openPages      int                       // length of the list of open issues when it was last read; 0 before
	blockers       map[blockersKey][]*record // what blocks an issue
	projectChecked bool                      // the board was checked
	stateLabelSeen bool                      // a label with the prefix of states was seen
	labelSpellings map[string]spelling       // required labels as the repository writes them
	noDependencies bool                      // the server knows of no dependencies
}

func newRepository(cfg Config, client *http.Client, log *slog.Logger) (*repository, error) {
	cfg.StateBranch = cmp.Or(cfg.StateBranch, defaultStateBranch)
	if p := cfg.Project; p != nil && p.Owner == "" {
		owner, _ := cfg.split()
		cfg.Project = &Project{owner, p.Number, p.Field}
	}
	w, err := newWire(cfg, client)
	if err != nil {
		return nil, err
	}
	r := &repository{
		cfg: cfg, wire: w, rest: newLibrary(w), log: log, states: newStateSource(cfg),
		graph: graphql.NewClient(w.graphql, &http.Client{Transport: graph{w}}),
		pages: make(map[string]*cachedPage), blockers: make(map[blockersKey][]*record), labelSpellings: make(map[string]spelling),
	}
	r.trust = newTrustChecker(r)
	return r, nil
}

// path returns an address below the repository, relative to the root of the API.
func (r *repository) path(format string, args ...any) string {
	return "repos/" + r.cfg.Repo + fmt.Sprintf(format, args...)
}

// send sends a request that no method of go-github fits, and returns the whole
// answer.
func (r *repository) send(ctx context.Context, op string, req *http.Request) (answer, error) {
	var body bytes.Buffer
	resp, err := r.rest.do(ctx, req, &body)
	if err != nil {
		return answer{}, r.failed(ctx, op, needIssues, err)
	}
	return answer{resp.StatusCode, resp.Header, body.Bytes()}, nil
}
