package github

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/symphony-runner/symphony/tracker"
)

// needIssues is the permission without which nothing can be read.
const needIssues = "the permission issues: read"

// Open connects to the repository. It sends nothing: what only GitHub knows (the
// repository, the board, its states) is checked by the first read. The methods
// and the tool may be used at the same time; nothing is to be closed. Redirects
// are never followed, whatever client says.
func Open(cfg Config, client *http.Client, log *slog.Logger) (tracker.Adapter, error) {
	if cfg.Repo == "" || cfg.Token == "" || cfg.APIURL == "" {
		return tracker.Adapter{}, fmt.Errorf("github tracker: %w: repository, token and API must be set: make the Config by ConfigFrom",
			tracker.ErrInvalidConfig)
	}
	r := newRepository(cfg, client, log)
	return tracker.Adapter{
		Reader: r, Tools: []tracker.Tool{r.tool()}, SecretEnv: []string{"GITHUB_TOKEN"}, Warnings: cfg.warnings(),
	}, nil
}

// repository is the adapter.
type repository struct {
	cfg    Config
	client *client
	log    *slog.Logger
	states states
	trust  *gate

	mu        sync.Mutex
	pages     map[string]*page          // by URL: answers for conditional requests
	openPages int                       // length of the list of open issues when it was last read; 0 before
	blockers  map[blockersKey][]*record // what blocks an issue
	boardSeen bool                      // the board was checked
	noBlock   bool                      // the server knows of no dependencies
}

func newRepository(cfg Config, hc *http.Client, log *slog.Logger) *repository {
	r := &repository{
		cfg: cfg, client: newClient(cfg, hc), log: log, states: newStates(cfg),
		pages: make(map[string]*page), blockers: make(map[blockersKey][]*record),
	}
	r.trust = newGate(r)
	return r
}

// url is an address below the repository.
func (r *repository) url(path string) string { return r.client.api + "/repos/" + r.cfg.Repo + path }

// listURL asks in the order of creation, in which a new issue moves no other.
func (r *repository) listURL(state string) string {
	return r.url("/issues?state=" + state + "&sort=created&direction=asc&per_page=100")
}

func (r *repository) IssuesByState(ctx context.Context, names []string) ([]tracker.Issue, error) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[tracker.NormalState(name)] = true
	}
	list := r.states.list(wanted)
	if list == "" {
		return nil, nil
	}
	op := fmt.Sprintf("list the %s issues of %s", list, r.cfg.Repo)
	if list == listAll {
		op = "list the issues of " + r.cfg.Repo
	}
	records, err := r.list(ctx, op, list)
	if err != nil {
		return nil, err
	}
	return r.issues(ctx, records, wanted)
}

// list reads one list of the repository, without its pull requests.
func (r *repository) list(ctx context.Context, op, list string) ([]*record, error) {
	var records []*record
	pages, err := r.walk(ctx, op, r.listURL(list), list == listOpen, func(rec *record) {
		if rec.PullRequest == nil {
			records = append(records, rec)
		}
	})
	if err != nil {
		return nil, err
	}
	if list == listOpen {
		r.mu.Lock()
		r.openPages = pages
		r.mu.Unlock()
	}
	return records, nil
}

func (r *repository) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	numbers := distinct(ids)
	if len(numbers) == 0 {
		return nil, nil
	}
	found, err := r.find(ctx, numbers)
	if err != nil {
		return nil, err
	}
	var records []*record
	for _, n := range numbers {
		if found[n] != nil {
			records = append(records, found[n])
		}
	}
	return r.issues(ctx, records, nil)
}

// distinct are the numbers among the ids, each once. Anything else is the id of
// no issue.
func distinct(ids []tracker.ID) []int {
	var numbers []int
	seen := make(map[int]bool, len(ids))
	for _, id := range ids {
		n, err := strconv.Atoi(string(id))
		if err != nil || n <= 0 || strconv.Itoa(n) != string(id) || seen[n] {
			continue
		}
		seen[n] = true
		numbers = append(numbers, n)
	}
	return numbers
}

// find reads issues by number. Where the list of open issues is known to have no
// more pages than there are numbers it is asked first, because it answers for
// all of them, and for nothing when it has not changed. Each of the rest is
// asked for by itself.
func (r *repository) find(ctx context.Context, numbers []int) (map[int]*record, error) {
	found := make(map[int]*record, len(numbers))
	r.mu.Lock()
	pages := r.openPages
	r.mu.Unlock()
	op := "read issues of " + r.cfg.Repo
	listed := pages > 0 && pages <= len(numbers)
	if listed {
		records, err := r.list(ctx, op, listOpen)
		if err != nil {
			return nil, err
		}
		for _, rec := range records {
			found[rec.Number] = rec
		}
	}
	var rest []int
	for _, n := range numbers {
		if found[n] == nil {
			rest = append(rest, n)
		}
	}
	single := make([]*record, len(rest))
	err := together(ctx, len(rest), func(ctx context.Context, i int) (err error) {
		single[i], err = r.one(ctx, rest[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	missing := false
	for i, n := range rest {
		found[n] = single[i]
		missing = missing || single[i] == nil
	}
	if missing && !listed {
		// A token that has lost the repository must not look like issues that are gone.
		if _, err := r.page(ctx, op, r.listURL(listOpen), true); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// one reads an issue; nil is not visible.
func (r *repository) one(ctx context.Context, n int) (*record, error) {
	op, at := fmt.Sprintf("read %s of %s", identifier(n), r.cfg.Repo), r.url(fmt.Sprintf("/issues/%d", n))
	known, etag := r.known(at), ""
	if known != nil {
		etag = known.etag
	}
	a, err := r.client.do(ctx, request{op: op, method: http.MethodGet, url: at, etag: etag})
	if err != nil {
		return nil, err
	}
	switch a.status {
	case http.StatusOK:
	case http.StatusNotModified:
		if known == nil {
			return nil, r.unexpected(op, needIssues, a)
		}
		return known.records[0], nil
	case http.StatusNotFound, http.StatusGone:
		return nil, nil
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		r.log.Info("issue transferred", "issue_id", n, "repository", r.cfg.Repo)
		return nil, nil
	default:
		return nil, r.unexpected(op, needIssues, a)
	}
	rec := new(record)
	if err := a.decode(op, rec); err != nil {
		return nil, err
	}
	if rec.PullRequest != nil {
		return nil, nil
	}
	err = rec.check()
	if err == nil && rec.Number != n {
		err = fmt.Errorf("it says that it is %s", identifier(rec.Number))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w: look at it on GitHub", op, tracker.ErrResponse, err)
	}
	if tag := a.header.Get("ETag"); tag != "" {
		r.keep(at, &page{etag: tag, records: []*record{rec}})
	}
	return rec, nil
}

func identifier(n int) string { return fmt.Sprintf("GH-%d", n) }
