package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/secondlook"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// The second look, Repository.Review, reads the work that was harvested and has passed its check, in
// a clean checkout: what is read is what is delivered. It runs in the agent's process on a thread of
// its own, whose commands cannot write the work. Severe findings go back to the agent, a few times.
// A look that fails holds nothing back.

// Review says how work is read by a model before it is published.
type Review struct {
	Fork    bool          // the reviewer begins with a copy of the agent's conversation
	Rounds  int           // how often findings go back to the agent
	Timeout time.Duration // time for one look
	Rules   string        // path of a file with the first part of the prompt; empty for the default
}

const (
	// reviewFolder is the folder with the work, below the one where the reviewer's commands run.
	reviewFolder = "work"
	// reviewReserve is the time that a look leaves to the rest of a session with a deadline.
	reviewReserve = time.Minute
	// minReviewTime is the least time for which a look begins.
	minReviewTime = 30 * time.Second
)

// findingsError reports work that goes back to the agent with what the second look has found.
type findingsError struct{ text string }

func (e *findingsError) Error() string { return "read the work: the second look found severe problems" }

// secondLook reads work before it is published.
type secondLook struct {
	*filler
	review *Review        // nil for no looks
	issue  *tracker.Issue // the issue as the session began with it
	choice codex.Choice
	stopAt time.Time // time when the session is stopped; zero for never

	looks, sentBack int
	seen            git.ObjectID // the work that was read last
	answer          secondlook.Answer
	failed          string // why the last look has no answer; empty if it has one
}

func (a *attempt) newLook() *secondLook {
	l := &secondLook{filler: a.filler, issue: &a.Issue, choice: a.Codex.ForReview(), stopAt: a.StopAt}
	if a.Repository.delivers() {
		l.review = a.Repository.Review
	}
	return l
}

// folder returns the name of the folder with the work; empty if nobody reads it.
func (l *secondLook) folder() string {
	if l.review == nil {
		return ""
	}
	return reviewFolder
}

// take reads the work that was harvested as tip, unless it was read before. It fails with a
// [*findingsError] if the work goes back, and with the cause of ctx.
func (l *secondLook) take(ctx context.Context, work Work, tip git.ObjectID, said words) error {
	if l.review == nil || l.seen == tip {
		return nil
	}
	l.seen, l.answer, l.failed = tip, secondlook.Answer{}, ""
	limit := l.review.Timeout
	if !l.stopAt.IsZero() {
		limit = min(limit, time.Until(l.stopAt)-reviewReserve)
	}
	switch {
	case l.looks > l.review.Rounds:
		l.failed = fmt.Sprintf("the agent has changed the work again after %s", text.Count(l.looks, "look"))
		return nil
	case limit < min(minReviewTime, l.review.Timeout):
		l.failed = "the session had no time left for it"
		return nil
	}
	l.looks++
	answer, err := l.read(ctx, work, said, limit)
	if ctx.Err() != nil {
		l.seen = git.ObjectID{}
		return context.Cause(ctx)
	}
	if err != nil {
		l.failed = text.OneLine(l.redact(err.Error()), maxHookOutput)
		l.warn("the second look at the work failed, so it is published without one", err)
		return nil
	}
	l.answer = answer
	l.logger().InfoContext(ctx, "the second look is done", "findings", len(answer.Findings), "severe", len(answer.Severe()), "ready", answer.Ready)
	if len(answer.Severe()) > 0 && l.sentBack < l.review.Rounds {
		l.sentBack++
		return &findingsError{answer.ForAuthor()}
	}
	return nil
}

// report returns the sentence on the second look for a pull request and the list of findings; empty
// for none.
func (l *secondLook) report() (sentence, findings string) {
	switch {
	case l.review == nil || l.seen.IsZero():
		return "", ""
	case l.failed != "":
		return defuse.Body("none: " + l.failed), ""
	}
	reader := "a model"
	if l.choice.Model != "" {
		reader = named(codex.Choice{Model: l.choice.Model, Effort: l.choice.Effort})
	}
	return l.answer.ForPeople(reader)
}

// aroundWork moves the files of a checkout into reviewFolder, where they cannot be written, and
// leaves .git beside it. The sandbox holds that in its place, and some folders, of which it makes
// copies.
const aroundWork = `set -e
to=$(mktemp -d ./.work-XXXXXX)
for f in * .*; do
  case $f in . | .. | .git | "${to#./}") continue ;; esac
  [ -e "$f" ] || [ -L "$f" ] || continue
  mv -- "$f" "$to/" 2>/dev/null || { rm -rf -- "$to/$f"; cp -R -- "$f" "$to/"; }
done
mv "$to" ` + reviewFolder + `
echo 'gitdir: ../.git' >` + reviewFolder + `/.git`

func (l *secondLook) read(ctx context.Context, work Work, said words, limit time.Duration) (secondlook.Answer, error) {
	rules, err := secondlook.ReadRules(l.review.Rules)
	if err != nil {
		return secondlook.Answer{}, err
	}
	folder, err := l.workspaces.Scratch(l.here.Workspace)
	if err != nil {
		return secondlook.Answer{}, err
	}
	defer func() {
		if err := l.workspaces.RemoveScratch(folder); err != nil {
			l.warn("the folder of a second look was not removed", err)
		}
	}()
	at := scratchPlace(folder)
	checkout := l.filler.checkout
	about := work.About()
	checkout.Aside, checkout.Submodules, checkout.Head = nil, nil, about.Tip
	reader := *l.filler
	reader.preparation = &preparation{core: l.core} // nobody builds the work here
	if err := reader.fillScratch(ctx, at, checkout, work); err != nil {
		return secondlook.Answer{}, err
	}
	moved, err := l.run(ctx, at, git.Command{Args: []string{"bash", "-c", aroundWork}}, "preparing the second look", checkoutTime, nil)
	if err == nil && moved.ExitCode != 0 {
		err = fmt.Errorf("%w: its files cannot be moved: %s", errCheckout, l.brief(moved.Stderr))
	}
	if err != nil {
		return secondlook.Answer{}, err
	}
	set := l.variables(at.room, codex.Network{})
	set["HOME"], set["TMPDIR"] = folder.Path, folder.Path
	answer, err := l.session.Review(ctx, codex.Review{
		Dir: folder.Path, Set: set, Fork: l.review.Fork, Choice: l.choice, Timeout: limit, Schema: secondlook.Schema,
		Prompt: secondlook.Prompt(rules, secondlook.Work{
			Identifier: l.issue.Identifier, Title: l.redact(l.issue.Title), Description: l.redact(l.issue.Description),
			Base: about.MergeBase.String(), Tip: about.Tip.String(), Folder: reviewFolder, Said: l.redact(said.text), Forked: l.review.Fork,
		}),
	})
	if err != nil {
		return secondlook.Answer{}, err
	}
	return l.parse(ctx, work, answer)
}

// parse reads an answer. Its findings may be about files of the work, and files that it removes.
func (l *secondLook) parse(ctx context.Context, work Work, answer string) (secondlook.Answer, error) {
	named := map[string]bool{} // by the findings; whether there is such a file
	if _, err := secondlook.Parse(answer, func(path string) bool { named[path] = false; return true }); err != nil {
		return secondlook.Answer{}, err
	}
	about := work.About()
	for _, commit := range []git.ObjectID{about.Tip, about.MergeBase} {
		files, err := work.Files(ctx, commit, func(path string) bool { _, is := named[path]; return is })
		if err != nil {
			return secondlook.Answer{}, err
		}
		for path := range files {
			named[path] = true
		}
	}
	return secondlook.Parse(answer, func(path string) bool { return named[path] })
}

// bound returns a bound of the time that take takes.
func (l *secondLook) bound() time.Duration {
	if l.review == nil {
		return 0
	}
	return l.review.Timeout + 2*checkoutTime
}

// isSentBack reports whether an error sends work back to the agent, with the text that it gets.
func isSentBack(err error) (string, bool) {
	if failed, ok := errors.AsType[*verifyError](err); ok {
		return failed.text(), true
	}
	if found, ok := errors.AsType[*findingsError](err); ok {
		return found.text, true
	}
	return "", false
}
