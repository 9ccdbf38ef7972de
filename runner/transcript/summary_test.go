package transcript

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummariesReadWithinOneBoundAndUntilAnInterrupt(t *testing.T) {
	t.Parallel()
	const log = `{"t_ms":0,"session":{"began":"2026-03-01T12:00:00Z","issue_id":"7","identifier":"GH-7","title":"Carts","number":1,"run":"77"}}
{"t_ms":9,"outcome":{"class":"done"}}
`
	opened := 0
	open := func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(strings.NewReader(log)), nil
	}
	s := &Summaries{}
	sum := s.Of(t.Context(), open)
	if sum.Session.Identifier != "GH-7" || sum.Ended != "the session ended well" || s.read == 0 {
		t.Errorf("%+v after %d bytes", sum, s.read)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s.Of(ended, open); opened != 1 {
		t.Error("a log is opened after an interrupt")
	}
	s.read = maxSummarized
	want := Summary{Ended: "its log was not read: there is too much of all"}
	if diff := cmp.Diff(want, s.Of(t.Context(), open)); diff != "" || opened != 1 {
		t.Errorf("opened %d times (-want +got):\n%s", opened, diff)
	}
	s.read = 0
	broken := func() (io.ReadCloser, error) { return nil, errors.New("gone") }
	if diff := cmp.Diff(Summary{Ended: "its log cannot be read"}, s.Of(t.Context(), broken)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
