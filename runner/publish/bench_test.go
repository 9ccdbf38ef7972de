package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/workspace/git"
)

// The host's part of a delivery may take 150 ms: from the harvest, which the sandbox
// makes, to the push, which is the network's.
func BenchmarkDeliveryOf10FilesOf20000(b *testing.B) {
	f := newFixture(b)
	f.GitHub = nil
	var input bytes.Buffer
	for i := range 20_000 {
		text := strings.Repeat(fmt.Sprintf("line %d of a file that is as long as files are\n", i), 50)
		fmt.Fprintf(&input, "blob\nmark :%d\ndata %d\n%s\n", i+1, len(text), text)
	}
	input.WriteString("commit refs/heads/main\nmark :100000\ncommitter A <a@b> 1700000000 +0000\ndata 5\nlarge\n")
	for i := range 20_000 {
		fmt.Fprintf(&input, "M 100644 :%d d%03d/f%05d\n", i+1, i%200, i)
	}
	f.replaceHistory(input.String())
	w := f.session(func(folder string) {
		for i := range 10 {
			f.adds(filepath.Join(fmt.Sprintf("d%03d", i), fmt.Sprintf("f%05d", i)), "changed\n")(folder)
		}
	})
	pushing := errors.New("here the push would begin")
	w.Save = func(context.Context, Record) error { return pushing }
	from := git.From{Start: w.Incoming.Start, Base: w.Incoming.Base}
	before := processorTime(b)
	for b.Loop() {
		in, err := f.store.Receive(b.Context(), bytes.NewReader(f.harvested), from)
		f.check(err)
		w.Incoming = in
		r, err := f.Publish(b.Context(), w, now)
		if !errors.Is(err, pushing) || len(r.Verdict.Refusals) > 0 {
			b.Fatalf("got %+v, %v", r, err)
		}
		f.check(in.Close())
	}
	b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms")
}

// processorTime returns the processor time of this process and of its children that
// have ended, which says more than the clock beside other work.
func processorTime(b *testing.B) time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return sum
}
