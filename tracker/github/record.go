package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// record is an issue as the REST API gives it. It is shared by reads that run
// at the same time and never changed.
type record struct {
	Number        int
	NodeID        string `json:"node_id"`
	URL           string `json:"html_url"`
	RepositoryURL string `json:"repository_url"`
	Title         string
	Body          string
	State         string
	User          *account
	Association   string `json:"author_association"`
	Assignee      *account
	Labels        []struct{ Name string }
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
	PullRequest   *struct{} `json:"pull_request"`
	// Dependencies is nil on a server that knows of none.
	Dependencies *dependencies `json:"issue_dependencies_summary"`
}

type account struct {
	Login string
	Type  string // User, Bot, Organization, …
}

type dependencies struct {
	BlockedBy      int `json:"blocked_by"` // open ones
	TotalBlockedBy int `json:"total_blocked_by"`
}

// check says why the record is no issue that could be worked on.
func (r *record) check() error {
	switch {
	case r == nil:
		return errors.New("it is null")
	case r.Number <= 0:
		return errors.New("it has no number")
	case r.NodeID == "":
		return errors.New("it has no node_id")
	case strings.TrimSpace(r.Title) == "":
		return errors.New("it has no title")
	case r.State != stateOpen && r.State != stateClosed:
		return fmt.Errorf("its state %q is neither %q nor %q", clip(r.State), stateOpen, stateClosed)
	}
	return nil
}

func (r *record) open() bool { return r.State == stateOpen }

// labels are the names in normal form, each once.
func (r *record) labels() []string {
	names := make([]string, 0, len(r.Labels))
	seen := make(map[string]bool, len(r.Labels))
	for _, l := range r.Labels {
		name := tracker.NormalLabel(l.Name)
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// decodeRecords reads a list. Records that are none are left out and explained.
func decodeRecords(op string, a answer) (records []*record, malformed []error, err error) {
	keep := func(r *record, err error) {
		if err == nil {
			err = r.check()
		}
		if err == nil {
			records = append(records, r)
			return
		}
		if r != nil && r.Number > 0 {
			err = fmt.Errorf("%s: %w", identifier(r.Number), err)
		}
		malformed = append(malformed, err)
	}
	var all []*record
	if err := a.decode(op, &all); err == nil {
		for _, r := range all {
			keep(r, nil)
		}
		return records, malformed, nil
	}
	// Something in there has the wrong type: find out what, record by record.
	var each []json.RawMessage
	if err := a.decode(op, &each); err != nil {
		return nil, nil, err
	}
	for _, raw := range each {
		r := new(record)
		keep(r, json.Unmarshal(raw, r))
	}
	return records, malformed, nil
}

// repository is owner/name of where the record is, by its address in the API.
func (r *record) repository() string {
	_, name, _ := strings.Cut(r.RepositoryURL, "/repos/")
	return name
}
