package worker

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestAPackIsKeptWhole copies one pack twice at once, as a session does that checks its work while it prepares
// the project.
func TestAPackIsKeptWhole(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p, err := openPacks(folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const content = "PACK and its objects"
	read := func(r io.Reader, n int64) {
		t.Helper()
		if _, err := io.CopyN(io.Discard, r, n); err != nil {
			t.Fatal(err)
		}
	}
	first, done := p.keep("pack-1.pack", strings.NewReader(content))
	read(first, 10)
	second, _ := p.keep("pack-1.pack", strings.NewReader(content))
	read(second, 2)
	read(first, int64(len(content)-10))
	if err := done(nil); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(folder + "/pack-1.pack"); err != nil || string(got) != content {
		t.Errorf("kept %q (%v)", got, err)
	}
	if names := p.names(); len(names) != 1 {
		t.Errorf("half a pack counts as kept: %q", names)
	}
}
