package file

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// Identifier implements [tracker.Config]: it accepts the name of the file, also with its
// folder or without its extension.
func (c *Config) Identifier(name string) string {
	name = filepath.Base(strings.TrimSpace(name))
	if cut := len(name) - len(extension); cut > 0 && strings.EqualFold(name[cut:], extension) {
		name = name[:cut]
	}
	if !isIssueName(name) {
		return ""
	}
	return name
}

// find implements [tracker.Adapter]'s Find. A file whose name is exactly the one asked for
// counts before one in other case.
func (f *folder) find(ctx context.Context, name string) (tracker.ID, error) {
	wanted := new(Config).Identifier(name)
	if wanted == "" {
		return "", nil
	}
	s, err := f.openSnapshot(ctx)
	if err != nil {
		return "", err
	}
	defer s.close()
	ids, err := s.identifiers()
	if err != nil {
		return "", err
	}
	var found tracker.ID
	for _, id := range ids {
		if !strings.EqualFold(id, wanted) || found != "" && id != wanted {
			continue
		}
		r, err := s.record(ctx, id)
		if err != nil {
			return "", err
		}
		if r != nil {
			found = tracker.ID(id)
		}
	}
	return found, nil
}
