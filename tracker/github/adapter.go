package github

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/shurcooL/graphql"
	"golang.org/x/sync/errgroup"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// maxNodes is the number of nodes that GitHub returns for one query by id.
const maxNodes = 100

// Open connects to the repository; see [tracker.Config]. The adapter's Check and the
// first read check what only GitHub knows (the repository, its labels, the board).
// The methods and the tool are safe for concurrent use.
func (c *Config) Open(o tracker.Options, base *http.Client, log *slog.Logger) (tracker.Adapter, error) {
	cfg := *c
	cfg.Options = o
	r, err := newRepository(cfg, base.Transport, log)
	if err != nil {
		return tracker.Adapter{}, err
	}
	return tracker.Adapter{
		Reader: r, Writer: writer{r}, Conversation: conversation{r}, Pictures: Pictures(r.client), Tools: []tracker.Tool{r.readTool(), r.updateTool()}, Warnings: cfg.warnings(),
		Find: r.find, Check: r.checkSettings,
	}, nil
}

// repository implements the adapter for one repository. Its memory between reads is in the
// fields below mu, and all of it can be read from GitHub again.
type repository struct {
	cfg    Config
	client *client.Client
	log    *slog.Logger
	states stateSource
	trust  *trustChecker
	noting sync.Mutex // held while a note of an agent is set

	mu             sync.Mutex
	pages          map[string]*cachedPage    // answers for conditional requests, by address
	openPages      int                       // length of the list of open issues when it was last read; 0 before
	blockers       map[blockersKey][]*record // records of the issues that block an issue
	projectChecked bool                      // the board was checked
	stateLabelSeen bool                      // a label with the prefix of states was seen
	handOverSeen   bool                      // the state of the hand-over is known to exist
	labelSpellings map[string]spelling       // required labels as the repository writes them
	noDependencies bool                      // the server has no issue dependencies
	talks          map[int]talk              // long conversations, by the number of the issue
}

func newRepository(cfg Config, base http.RoundTripper, log *slog.Logger) (*repository, error) {
	cfg.StateBranch = cmp.Or(cfg.StateBranch, defaultStateBranch)
	if p := cfg.Project; p != nil && p.Owner == "" {
		owner, _, _ := strings.Cut(cfg.Repo, "/")
		cfg.Project = &Project{owner, p.Number, p.Field}
	}
	c, err := client.New(client.Config{
		Repo: cfg.Repo, APIURL: cfg.APIURL, Token: cfg.Token, Log: log, Content: cfg.Content,
		Names: client.Names{Repo: "tracker.provider.repo", APIURL: "tracker.provider.api_url", Token: "tracker.provider.api_key ($GITHUB_TOKEN)"},
	}, base)
	if err != nil {
		return nil, fmt.Errorf("github tracker: %w: %w", tracker.ErrInvalidConfig, err)
	}
	r := &repository{
		cfg: cfg, client: c, log: log, states: newStateSource(cfg),
		handOverSeen: slices.Contains([]string{"", stateOpen, stateClosed}, tracker.NormalState(cfg.HandOver)), // needs no label
		pages:        make(map[string]*cachedPage), blockers: make(map[blockersKey][]*record), labelSpellings: make(map[string]spelling), talks: make(map[int]talk),
	}
	r.trust = newTrustChecker(r)
	return r, nil
}

// nodeIDs returns a variable of the type [ID!]!.
func nodeIDs(ids []string) []graphql.ID {
	list := make([]graphql.ID, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list
}

// inParallel calls work for each index below n, a few at a time, and returns the
// first error, which cancels the others. It returns when all calls have ended.
func inParallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := range n {
		group.Go(func() error { return work(ctx, i) })
	}
	return group.Wait()
}
