package file

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/tracker"
	"gopkg.in/yaml.v3"
)

// frontMatter holds the keys that this adapter knows; other keys belong to people.
// Nodes keep the text as written: 1.0 stays text, and so does a date.
type frontMatter struct {
	Title      yaml.Node
	State      yaml.Node
	Priority   yaml.Node
	Labels     yaml.Node
	BlockedBy  yaml.Node `yaml:"blocked_by"`
	CreatedAt  yaml.Node `yaml:"created_at"`
	UpdatedAt  yaml.Node `yaml:"updated_at"`
	AssigneeID yaml.Node `yaml:"assignee_id"`
	BranchName yaml.Node `yaml:"branch_name"`
	URL        yaml.Node
}

// parse returns the issue of a file (SPEC §4.1.1, §11.3). Its error has the fault of a
// malformed file and the remedy. The blockers have no state yet.
func parse(id string, content []byte, modified time.Time) (tracker.Issue, error) {
	if len(content) > maxSize {
		return tracker.Issue{}, fmt.Errorf("it is larger than %d bytes: shorten it", maxSize)
	}
	doc, err := splitDocument(content)
	if err != nil {
		return tracker.Issue{}, err
	}
	m, err := readFrontMatter(doc.frontMatter)
	if err != nil {
		return tracker.Issue{}, err
	}
	labels, err := list(m.Labels, tracker.NormalLabel)
	if err != nil {
		return tracker.Issue{}, fmt.Errorf("labels: %w", err)
	}
	blockers, err := list(m.BlockedBy, strings.TrimSpace)
	if err != nil {
		return tracker.Issue{}, fmt.Errorf("blocked_by: %w", err)
	}
	issue := tracker.Issue{
		ID:           tracker.ID(id),
		Identifier:   id,
		Title:        line(m.Title),
		Description:  doc.description(),
		State:        line(m.State),
		BranchName:   line(m.BranchName),
		URL:          line(m.URL),
		AssigneeID:   line(m.AssigneeID),
		Labels:       labels,
		CreatedAt:    parseTime(m.CreatedAt),
		UpdatedAt:    parseTime(m.UpdatedAt),
		Dispatchable: true,
	}
	if issue.Title == "" {
		issue.Title = heading(issue.Description)
	}
	if missing := issue.MissingFields(); len(missing) > 0 {
		return tracker.Issue{}, fmt.Errorf("it has no %s: write it in the front matter", strings.Join(missing, " and no "))
	}
	if priority, err := strconv.Atoi(line(m.Priority)); err == nil {
		issue.Priority = &priority
	}
	for _, blocker := range blockers {
		issue.BlockedBy = append(issue.BlockedBy, tracker.Blocker{ID: tracker.ID(blocker), Identifier: blocker})
	}
	if issue.UpdatedAt.IsZero() {
		issue.UpdatedAt = modified.UTC()
	}
	return issue, nil
}

// Bounds of the front matter: yaml.v3 compares the keys of a map in pairs.
const (
	maxFrontMatter = 64 << 10 // bytes
	maxKeys        = 500
)

func readFrontMatter(text []byte) (m frontMatter, err error) {
	if len(text) > maxFrontMatter {
		return m, fmt.Errorf("its front matter is larger than %d bytes: shorten it", maxFrontMatter)
	}
	// The empty line replaces the one that opens the front matter, so that YAML's
	// line numbers are the file's.
	var root yaml.Node
	err = yaml.Unmarshal([]byte("\n"+toValidText(text)), &root)
	if err == nil && len(root.Content) > 0 && len(root.Content[0].Content) > 2*maxKeys {
		return m, fmt.Errorf("its front matter has more than %d keys: remove some", maxKeys)
	}
	if err == nil && len(root.Content) > 0 {
		err = root.Decode(&m)
	}
	if err != nil {
		return m, fmt.Errorf("its front matter cannot be read: %w: correct it", err)
	}
	return m, nil
}

// scalar returns the text of a single value; empty for null, an absent value and
// anything else.
func scalar(n yaml.Node) string {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// resolve returns the node that an alias stands for, or the node itself.
func resolve(n yaml.Node) yaml.Node {
	if n.Kind == yaml.AliasNode {
		return *n.Alias
	}
	return n
}

func line(n yaml.Node) string { return strings.Join(strings.Fields(scalar(n)), " ") }

// list returns a list of scalars, or one scalar split at commas: each once, in its
// normal form. Anything else is an error rather than an empty list, because work
// would start too early if a blocker were lost.
func list(n yaml.Node, normal func(string) string) ([]string, error) {
	n = resolve(n)
	var items []string
	switch n.Kind {
	case 0: // absent
	case yaml.ScalarNode:
		items = strings.Split(scalar(n), ",")
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if resolve(*item).Kind != yaml.ScalarNode {
				return nil, errors.New("an entry is not plain text: write [one, two]")
			}
			items = append(items, scalar(*item))
		}
	default:
		return nil, errors.New("it is not a list: write [one, two]")
	}
	var kept []string
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		if item = normal(item); item != "" && !seen[item] {
			seen[item] = true
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// parseTime returns the time that a text holds, or the zero time if it is empty or has
// another form.
func parseTime(n yaml.Node) time.Time {
	text := line(n)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// firstHeading matches a Markdown heading of the first level.
var firstHeading = lazy.Regexp(`(?m)^#[ \t]+(\S.*)$`)

func heading(text string) string {
	match := firstHeading().FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return strings.TrimSpace(match[1])
}
