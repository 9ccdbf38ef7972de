package schedule

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	maxTold     = 10_000 // entries that the state keeps
	maxTellings = 3      // tries to tell the same to a destination that refuses it
)

// Told says that a destination of notices was told of something that still holds, or that it
// held before the destination was known.
type Told struct {
	To     string `json:"to" bound:"keep whole=64"`    // name of the destination
	What   string `json:"what" bound:"keep whole=512"` // name of the event, and of what it is about
	Failed int    `json:"failed,omitempty"`            // tries that the destination refused
	Again  bool   `json:"again,omitempty"`             // the last try was refused, and another one is due
}

// SetTold replaces the entries by others in their order, of which it keeps maxTold. It changes
// nothing if they are the same.
func (r *Records) SetTold(told []Told) {
	slices.SortFunc(told, func(a, b Told) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.What, b.What)) })
	told = told[:min(len(told), maxTold)]
	if !slices.Equal(r.Told, told) {
		r.Told = told
	}
}

// NotTold says that a destination was not told after all: the next run tells it again, up to
// maxTellings times if it refuses.
type NotTold struct {
	To      string
	What    []string
	Refused bool // false if nothing was sent
}

// Apply changes the entries that there still are.
func (c NotTold) Apply(s *State, _ Policy) {
	s.Told = slices.Clone(s.Told)
	for i, t := range s.Told {
		if t.To == c.To && slices.Contains(c.What, t.What) {
			if c.Refused {
				s.Told[i].Failed++
			}
			s.Told[i].Again = s.Told[i].Failed < maxTellings
		}
	}
}

func (c NotTold) String() string {
	return fmt.Sprintf("%s was not told of %d changes", c.To, len(c.What))
}
