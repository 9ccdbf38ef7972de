package github

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// maxNodes is the number of nodes that GitHub returns for one query by id.
const maxNodes = 100

// requestsAtOnce bounds the requests that one read makes at the same time.
const requestsAtOnce = 4

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

// repository implements the adapter for one repository. All that it remembers between reads can
// be read from GitHub again.
type repository struct {
	cfg    Config
	client *client.Client
	log    *slog.Logger
	states stateSource
	trust  *trustChecker
	noting sync.Mutex // held while a note of an agent is set

	pages          cache[string, *cachedPage]    // answers for conditional requests, by address
	blockers       cache[blockersKey, []*record] // records of the issues that block an issue
	labelSpellings cache[string, spelling]       // required labels as the repository writes them
	openPages      atomic.Int64                  // length of the list of open issues when it was last read; 0 before
	projectChecked atomic.Bool                   // the board was checked
	stateLabelSeen atomic.Bool                   // a label with the prefix of states was seen
	handOverSeen   atomic.Bool                   // the state of the hand-over is known to exist
	noDependencies atomic.Bool                   // the server has no issue dependencies

	mu    sync.Mutex
	talks map[int]talk // long conversations, by the number of the issue
}

const maxCached = 1000

// cache is a map of answers of GitHub, which can be read again. The zero value is empty. Any
// number of goroutines may use it.
type cache[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]V
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.of[key]
	return v, ok
}

func (c *cache[K, V]) put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= maxCached {
		c.of = map[K]V{}
	}
	c.of[key] = v
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
	r := &repository{cfg: cfg, client: c, log: log, states: newStateSource(cfg), talks: make(map[int]talk)}
	r.handOverSeen.Store(slices.Contains([]string{"", stateOpen, stateClosed}, tracker.NormalState(cfg.HandOver))) // these need no label
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
