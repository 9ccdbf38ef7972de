package attempt

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// looks returns a lane in which the reviewer reads the change by a command and answers, once for
// each answer.
func looks(t testing.TB, answers ...string) codextest.Lane {
	t.Helper()
	lane := codextest.Lane{Match: regexp.MustCompile("You review a change")}
	for _, answer := range answers {
		lane.Replies = append(lane.Replies,
			runs(t, "cd work && git diff --stat HEAD~1 HEAD; cat cart.txt; echo x 2>&1 >planted || echo refused"),
			codextest.Reply{Items: []codextest.Item{codextest.Message{Text: answer}}})
	}
	return lane
}

// found returns an answer of the reviewer with one finding.
func found(severity, path, text string) string {
	answer, _ := json.Marshal(map[string]any{
		"verdict": "not_ready", "title": "Adds a cart", "summary": "There is a cart now.",
		"findings": []any{map[string]any{"path": path, "line": 1, "severity": severity, "text": text}},
	})
	return string(answer)
}

const nothingFound = `{"verdict":"ready","title":"Adds a cart","summary":"There is a cart now.","findings":[]}`

// newLookFixture returns a fixture with the real Codex in which work is read before it is published.
func newLookFixture(t *testing.T, look codextest.Lane, replies ...codextest.Reply) (*repositoryFixture, *codextest.Model) {
	t.Helper()
	of, m := newCodexFixture(t, look, codextest.Lane{Replies: replies})
	f := &repositoryFixture{fixture: of, deliver: func(Delivery) error { return nil }}
	f.dir = realPath(t, f.dir)
	account := f.job.Account
	f.inRepository()
	f.job.Account = account
	f.job.Repository.Review = &Review{Rounds: 1, Timeout: time.Minute}
	return f, m
}

func asks(t testing.TB) codextest.Reply {
	return calls(t, "deliver", map[string]string{"title": "Cart", "body": "It is there."})
}

func TestADefectThatTheSecondLookFindsIsNotDelivered(t *testing.T) {
	t.Parallel()
	for name, fork := range map[string]bool{"fresh": false, "fork": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, m := newLookFixture(t, looks(t, found("severe", "cart.txt", "the total is wrong"), nothingFound),
				runs(t, "echo total=1 > cart.txt"), asks(t), runs(t, "echo total=2 > cart.txt"), asks(t), done)
			f.job.Repository.Review.Fork = fork
			f.delivers()
			if len(f.deliveries) != 1 || f.deliveries[0].Receipt.Look != "`gpt-5.5` read this work and found nothing that must be fixed" || f.deliveries[0].Title != "Cart" {
				t.Fatalf("%+v", f.deliveries)
			}
			if got := f.git("origin.git", "show", f.branch.String()+":cart.txt"); got != "total=2" {
				t.Errorf("%q is delivered", got)
			}
			requests, reads, told := m.Requests(), 0, 0
			for _, r := range requests {
				body := string(r.Body)
				if strings.Contains(body, "You review a change") {
					reads++
					if strings.Contains(body, "planted") && strings.Contains(body, "function_call_output") && !strings.Contains(body, "refused") {
						t.Errorf("the reviewer can write: %.3000s", body)
					}
				} else if strings.Contains(body, "severe, in `cart.txt:1`: the total is wrong") {
					told++
				}
			}
			if reads != 4 || told != 3 {
				t.Errorf("%d requests of the reviewer, %d of the agent with the finding", reads, told)
			}
		})
	}
}

func TestTheAgentCanStandByItsWork(t *testing.T) {
	t.Parallel()
	f, m := newLookFixture(t, looks(t, found("severe", "cart.txt", "the total is wrong")), runs(t, "echo total=1 > cart.txt"), done, done)
	f.delivers()
	if len(f.deliveries) != 1 || !strings.Contains(f.deliveries[0].Receipt.Findings, "- **severe** `cart.txt:1` the total is wrong") {
		t.Fatalf("%+v", f.deliveries)
	}
	if got := f.deliveries[0]; got.Title != "Adds a cart" || got.Text != "There is a cart now." {
		t.Errorf("without the words of the agent: %q, %q", got.Title, got.Text)
	}
	if got := len(m.Requests()); got != 5 {
		t.Errorf("%d requests of the model", got)
	}
}

func TestAReviewerThatFailsHoldsNothingBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply codextest.Reply
		said  string
	}{
		"no JSON":      {done, "review_answer: it is not the JSON that was asked for"},
		"no answer":    {codextest.Reply{End: codextest.Hang}, "turn_timeout"},
		"other schema": {codextest.Reply{Items: []codextest.Item{codextest.Message{Text: `{"ok":true}`}}}, "review_answer: it has no verdict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := newLookFixture(t, codextest.Lane{Match: regexp.MustCompile("You review a change"), Replies: []codextest.Reply{test.reply}},
				runs(t, "echo total=1 > cart.txt"), done)
			if test.said == "turn_timeout" {
				f.job.Repository.Review.Timeout = 2 * time.Second
			}
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], test.said) {
				t.Errorf("%+v\n%.3000s", got, f.readLog())
			}
			if len(f.deliveries) != 1 || !strings.HasPrefix(f.deliveries[0].Receipt.Look, "none: ") || !strings.Contains(f.deliveries[0].Receipt.Look, test.said) {
				t.Errorf("%+v", f.deliveries)
			}
		})
	}
}

func TestWorkThatFailsItsCheckIsNotReadAgain(t *testing.T) {
	t.Parallel()
	f, m := newLookFixture(t, looks(t, nothingFound), runs(t, "echo total=1 > cart.txt"), done)
	f.job.Repository.Verify, f.job.Repository.VerifyRounds = []string{"false"}, 0
	f.session(t.Context())
	if len(f.deliveries) != 1 || !f.deliveries[0].Unproven || f.deliveries[0].Receipt.Look != "" || len(m.Requests()) != 2 {
		t.Errorf("%+v, %d requests", f.deliveries, len(m.Requests()))
	}
}

func TestTheReasonOfALookThatFailedIsHarmless(t *testing.T) {
	t.Parallel()
	l := secondLook{review: &Review{}, seen: git.ObjectID{1}, failed: "mv: cannot remove '@admin <!-- x'"}
	if got, _ := l.report(); strings.Contains(got, "@admin") || strings.Contains(got, "<!--") || !strings.HasPrefix(got, "none: mv") {
		t.Error(got)
	}
}
