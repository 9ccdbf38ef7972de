package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// publishTime bounds a call of the tool besides the check of the work and the second look at it.
const publishTime = 10 * time.Minute

func (p *publication) tool() codex.Tool {
	return codex.Tool{
		Name: "deliver",
		Description: "Publish the work on this issue: all that git does not ignore, committed or not, less uncommitted files of more than 32 MiB and repositories inside it. Call it when the work is done and tested. " +
			"The answer is where it is, or what to fix before you call again. Do not push or open a pull request yourself.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","description":"what the work does, in one line"},` +
			`"body":{"type":"string","description":"why, how it was tested, and what to look at; Markdown for the people who review it"}},` +
			`"required":["title","body"],"additionalProperties":false}`),
		Timeout: p.check.bound() + p.look.bound() + publishTime,
		Call: func(ctx context.Context, arguments json.RawMessage) (string, bool) {
			text, ok := p.call(ctx, arguments)
			return p.redact(text), ok
		},
	}
}

func (p *publication) call(ctx context.Context, arguments json.RawMessage) (answer string, ok bool) {
	var input struct{ Title, Body *string }
	const advice = `call it with {"title": "...", "body": "..."}`
	if err := tracker.DecodeArguments(arguments, &input, advice); err != nil {
		return err.Error(), false
	}
	if input.Title == nil || input.Body == nil {
		return "title or body is missing: " + advice, false
	}
	var got Delivered
	var left string
	err := p.hold(ctx, func() error {
		p.words = words{*input.Title, *input.Body}
		err := p.publishHeld(ctx, mustPass)
		got, left = p.latest, p.leftInside()
		if list := p.leftOut(); list != "" {
			left += list + " If the work needs them, make them fit for Git and call deliver again."
		}
		return err
	})
	refused, isRefused := errors.AsType[*RefusedError](err)
	back, isBack := isSentBack(err)
	switch {
	case err == nil:
		p.done.Store(true)
		return published(got) + left + "\nEnd your turn. What you still change before that is published as well.", true
	case errors.Is(err, git.ErrNothingNew):
		p.done.Store(true)
		return "There is nothing new to publish." + left + " End your turn, or make what the issue asks for and call deliver again.", true
	case errors.Is(err, git.ErrMoved):
		p.done.Store(true)
		return "Nothing was published, because the branch or its base has moved: " + err.Error() + ". Your work is kept, and the next session has both: end your turn.", false
	case errors.Is(err, ErrPerson):
		return "Nothing was published: " + err.Error() + ". A person has to decide: end your turn.", false
	case isRefused:
		return "Nothing was published. The work is refused:\n\n" + refused.Reasons + "\nFix this and call deliver again.", false
	case isBack:
		return back + "\n\nFix the work and call deliver again.", false
	case errors.Is(err, git.ErrRejected):
		return "Nothing was published: " + err.Error() + ". If the reason is in the work, fix it and call deliver again; otherwise end your turn.", false
	case errors.Is(err, git.ErrRefused):
		return "Nothing was published: " + err.Error() + ". Fix this and call deliver again.", false
	}
	return "Nothing was published: " + err.Error() + ". It is tried again at the end of the session.", false
}

func published(d Delivered) string {
	text := "The work is published"
	if d.URL != "" {
		text += ": " + d.URL
	}
	if !d.Head.IsZero() {
		text += "\nHead: " + d.Head.String()
	}
	return text
}
