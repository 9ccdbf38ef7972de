package feedback

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

func TestTheOutputOfACheckBeginsWithWhatSaysMost(t *testing.T) {
	t.Parallel()
	plain := func(text string) string { return text }
	got := outputOf(client.FailedCheck{
		Summary: "1 test failed", Steps: []string{"Build", "Test"},
		Annotations: []client.Annotation{{Level: "FAILURE", Path: "cart.go", Line: 7, Title: "vet", Message: "unreachable"}},
		Log:         "FAIL cart_test.go\n",
	}, plain)
	want := "1 test failed\n\nFailed steps: Build, Test\n\nfailure cart.go:7: vet unreachable\n\nThe end of the log:\n\nFAIL cart_test.go"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := outputOf(client.FailedCheck{NoLog: "too many jobs failed"}, plain); got != "There is no log: too many jobs failed" {
		t.Errorf("got %q", got)
	}
}

// The agent is given at most maxOutput bytes, from the beginning on.
func TestTheEndOfALogHasTheRoomThatIsLeft(t *testing.T) {
	t.Parallel()
	plain := func(text string) string { return text }
	log := strings.Repeat("a line of a log\n", 4_000) + "the last line"
	short := client.FailedCheck{Summary: "1 test failed", Log: log}
	long := client.FailedCheck{Summary: "1 test failed", Log: log}
	for range 20 {
		long.Annotations = append(long.Annotations, client.Annotation{Level: "FAILURE", Path: "cart.go", Message: strings.Repeat("m", 2_000)})
	}
	for _, row := range []struct {
		check client.FailedCheck
		lines int // of the log
	}{{short, 900}, {long, 500}} {
		got := outputOf(row.check, plain)
		if n := strings.Count(got, "a line of a log\n"); n < row.lines || len(got) > maxOutput-50 {
			t.Errorf("%d bytes with %d lines of the log, want %d", len(got), n, row.lines)
		}
		if !strings.HasPrefix(got, "1 test failed") || !strings.HasSuffix(got, "the last line") {
			t.Errorf("%q ... %q", got[:50], got[len(got)-50:])
		}
	}
}

// A secret that is cut in half would not be recognized.
func TestSecretsInALogAreHiddenBeforeItIsCut(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-value"
	hide := func(text string) string { return strings.ReplaceAll(text, secret, "[hidden]") }
	for cut := range len(secret) {
		log := strings.Repeat("x", 50) + secret + strings.Repeat("y", maxReport-len(logTitle)-cut)
		if got := outputOf(client.FailedCheck{Log: log}, hide); strings.Contains(got, secret[len(secret)-3:]) && cut > 2 {
			t.Fatalf("a part of the secret is left: %q", got[:80])
		}
	}
}

func TestTheEndOfALogBeginsWithALine(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("line\n", 10_000)
	if got := lastBytes(log, 12); got != "line\nline\n" {
		t.Errorf("got %q", got)
	}
	if got := lastBytes("short", 12); got != "short" {
		t.Errorf("got %q", got)
	}
}

func TestAnAnswerToAnItemReplacesItsOwnAlone(t *testing.T) {
	t.Parallel()
	one := Item{Feedback: prompt.Feedback{Kind: prompt.FeedbackComment, Author: "kim", URL: "https://example.org/1"}}
	other := one
	other.URL = "https://example.org/2"
	if again := one; replyKey(one) != replyKey(again) || replyKey(one) == replyKey(other) {
		t.Errorf("keys %s and %s", replyKey(one), replyKey(other))
	}
}

func TestAnItemIsNamedWithoutMentioningAnybody(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ author, url, want string }{
		{"kim", "https://example.org/1#c2", "[kim](https://example.org/1#c2)"},
		{"kim", "", "kim"},
		{"", "", "somebody"},
		{"k](x)im", "https://example.org/1", "[k)(x)im](https://example.org/1)"},
		{"kim", "https://example.org/1) [x](y", "kim"},
	} {
		item := Item{Feedback: prompt.Feedback{Author: row.author, URL: row.url}}
		if got := reference(item); got != row.want {
			t.Errorf("%+v: %q", row, got)
		}
	}
}
