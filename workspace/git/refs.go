package git

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// formatPackedRefs returns references in the format of git's packed-refs.
func formatPackedRefs(refs map[string]ObjectID) string {
	var text strings.Builder
	text.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&text, "%s %s\n", refs[name], name)
	}
	return text.String()
}
