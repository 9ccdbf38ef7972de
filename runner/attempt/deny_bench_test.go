package attempt

import (
	"os"
	"testing"
)

// BenchmarkUnreadable follows the key places of a user who has none of them, as
// each session does.
func BenchmarkUnreadable(b *testing.B) {
	home := b.TempDir()
	d := DenyCredentials(func(name string) (string, bool) {
		if name == "HOME" {
			return home, true
		}
		return os.LookupEnv(name)
	})
	b.ReportAllocs()
	for b.Loop() {
		realPaths(d.Paths, d.Readable)
	}
}
