package publish

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// What makes a text harmless takes comments and invisible characters away, which may stand
// inside a secret.
func TestASecretThatBecomesOneWhenTheTextIsHarmlessIsHidden(t *testing.T) {
	t.Parallel()
	p := &Publisher{Secrets: redact.New(ourSecret)}
	for _, split := range []string{"<!-- -->", "\u200b", "\u00ad"} {
		w := Work{Incoming: &git.Incoming{}, Title: "hunter2" + strings.ReplaceAll(split, "<!-- -->", "\x00") + "-hunter2", Text: "a hunter2" + split + "-hunter2 b"}
		published := p.title(w) + p.body(w, delivery.Verdict{}, git.ObjectID{}, "")
		if split != "<!-- -->" { // in a message of git that is not a comment
			published += p.message(w, "title")
		}
		if strings.Contains(published, ourSecret) {
			t.Errorf("%q: %s", split, published)
		}
	}
}
