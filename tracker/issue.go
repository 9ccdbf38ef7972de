package tracker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ID is the tracker's stable identifier of an issue. It is opaque and the key of
// every map of issues. People read [Issue.Identifier] instead.
type ID string

// Issue is one normalized issue (SPEC §4.1.1). The zero value of an optional
// field is the specification's null.
type Issue struct {
	ID          ID
	Identifier  string // name for people, e.g. ABC-123
	Title       string
	Description string
	Priority    *int // 1 is the most urgent; nil when unknown or not an integer
	State       string
	BranchName  string
	URL         string
	AssigneeID  string
	Labels      []string // lower case, trimmed
	BlockedBy   []Blocker
	NativeRef   map[string]string // provider ids, never a secret
	CreatedAt   time.Time
	UpdatedAt   time.Time
	// HasAttachments reports whether [Pictures.Attached] may find anything.
	HasAttachments bool

	// Dispatchable reports whether the adapter allows work on the issue. Its zero
	// value is false, so that an adapter which forgets to decide is safe.
	Dispatchable bool
	// WhyNot is the adapter's reason when Dispatchable is false, "" otherwise.
	WhyNot string
}

// Blocker is an issue that must be finished first. Any part may be unknown.
type Blocker struct {
	ID         ID
	Identifier string
	State      string
}

// Name returns the name by which people know the blocker.
func (b Blocker) Name() string {
	if b.Identifier != "" {
		return b.Identifier
	}
	if b.ID != "" {
		return string(b.ID)
	}
	return "an unnamed issue"
}

// MissingFields returns the names of the fields that an issue needs to be worked on
// (SPEC §8.2) and that this one lacks. Adapters treat such a record as malformed.
func (i Issue) MissingFields() []string {
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"id", string(i.ID)}, {"identifier", i.Identifier}, {"title", i.Title}, {"state", i.State},
	} {
		if strings.TrimSpace(field.value) == "" {
			missing = append(missing, field.name)
		}
	}
	return missing
}

// HasLabel reports whether the issue carries a label, which is in normal form.
func (i Issue) HasLabel(label string) bool { return slices.Contains(i.Labels, label) }

// ContentDigest returns a digest of the parts of an issue that a person decides: its text,
// state, labels, priority, assignee and blockers. Times, comments and the blockers' states are
// not part of it, so it changes when a person changes the issue and not when a bot comments on
// it.
func (i Issue) ContentDigest() string {
	blockers := make([]string, 0, len(i.BlockedBy))
	for _, b := range i.BlockedBy {
		blockers = append(blockers, b.Name())
	}
	sum := sha256.New()
	// Encoding to a hash cannot fail: every field is a plain value.
	_ = json.NewEncoder(sum).Encode([]any{
		i.Title, i.Description, NormalState(i.State), i.Priority, i.AssigneeID, i.Labels, blockers, i.Dispatchable,
	})
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// NormalState returns the form in which states are compared (SPEC §4.2).
func NormalState(state string) string { return strings.ToLower(strings.TrimSpace(state)) }

// NormalLabel returns the form in which labels are kept and compared.
func NormalLabel(label string) string { return strings.ToLower(strings.TrimSpace(label)) }
