package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// publishTime is what a call of the tool may take besides the check of the work.
const publishTime = 10 * time.Minute

// tools returns the tracker's tools, bound to the issue of the session, and that of the
// repository.
func (a *attempt) tools() []codex.Tool {
	tools := make([]codex.Tool, 0, len(a.Tracker.Tools))
	for _, tool := range a.Tracker.Tools {
		tools = append(tools, codex.Tool{
			Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema, Timeout: tool.Timeout,
			Call: func(ctx context.Context, arguments json.RawMessage) (string, bool) {
				if a.holdsSecret(arguments) {
					return "the arguments hold a secret of this run, or what looks like one: nothing was sent. Leave it out", false
				}
				result := a.callTracker(ctx, tool, arguments)
				return a.Redact(result.Text), result.OK
			},
		})
	}
	if a.delivers() {
		tools = append(tools, a.deliverTool())
	}
	if a.setup() != nil {
		tools = append(tools, a.setupTool())
	}
	if a.CanAsk { // both from the first session on: a thread keeps the tools that it began with
		tools = append(tools, a.conversation.replyTool(), a.conversation.askTool())
	}
	return tools
}

// holdsSecret reports whether a text in the arguments of a tool holds a secret, before or
// after it is made harmless. The second check is needed because that removes characters
// that may be inside a secret.
func (a *attempt) holdsSecret(arguments json.RawMessage) bool {
	var value any
	if json.Unmarshal(arguments, &value) != nil {
		return false // the tool refuses it
	}
	return anyText(value, func(s string) bool {
		for _, sent := range []string{s, defuse.Body(s), text.Lines(s)} {
			if a.Redact(sent) != sent {
				return true
			}
		}
		return false
	})
}

// anyText reports whether is does so for a text in a value of JSON, names included.
func anyText(value any, is func(string) bool) bool {
	switch v := value.(type) {
	case string:
		return is(v)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return anyText(one, is) })
	case map[string]any:
		for name, one := range v {
			if is(name) || anyText(one, is) {
				return true
			}
		}
	}
	return false
}

// deliverTool returns the tool with which the agent publishes its work during a turn.
func (a *attempt) deliverTool() codex.Tool {
	return codex.Tool{
		Name: "deliver",
		Description: "Publish the work on this issue: all that git does not ignore, committed or not, less uncommitted files of more than 32 MiB and repositories inside it. Call it when the work is done and tested. " +
			"The answer is where it is, or what to fix before you call again. Do not push or open a pull request yourself.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","description":"what the work does, in one line"},` +
			`"body":{"type":"string","description":"why, how it was tested, and what to look at; Markdown for the people who review it"}},` +
			`"required":["title","body"],"additionalProperties":false}`),
		Timeout: a.proveTime() + publishTime,
		Call: func(ctx context.Context, arguments json.RawMessage) (string, bool) {
			text, ok := a.callDeliver(ctx, arguments)
			return a.Redact(text), ok
		},
	}
}

// callDeliver answers a call of the tool.
func (a *attempt) callDeliver(ctx context.Context, arguments json.RawMessage) (answer string, ok bool) {
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
	err := a.work.hold(ctx, func() error {
		a.work.words = words{*input.Title, *input.Body}
		err := a.publishHeld(ctx, mustPass)
		got, left = a.work.latest, a.work.leftInside()
		if list := a.work.leftOut(); list != "" {
			left += list + " If the work needs them, make them fit for Git and call deliver again."
		}
		return err
	})
	refused, isRefused := errors.AsType[*RefusedError](err)
	failed, isVerify := errors.AsType[*verifyError](err)
	switch {
	case err == nil:
		a.work.done.Store(true)
		return published(got) + left + "\nEnd your turn. What you still change before that is published as well.", true
	case errors.Is(err, git.ErrNothingNew):
		a.work.done.Store(true)
		return "There is nothing new to publish." + left + " End your turn, or make what the issue asks for and call deliver again.", true
	case errors.Is(err, git.ErrMoved):
		a.work.done.Store(true)
		return "Nothing was published, because the branch or its base has moved: " + err.Error() + ". Your work is kept, and the next session has both: end your turn.", false
	case errors.Is(err, ErrPerson):
		return "Nothing was published: " + err.Error() + ". A person has to decide: end your turn.", false
	case isRefused:
		return "Nothing was published. The work is refused:\n\n" + refused.Reasons + "\nFix this and call deliver again.", false
	case isVerify:
		return failed.text() + "\n\nFix the work and call deliver again.", false
	case errors.Is(err, git.ErrRefused):
		return "Nothing was published: " + err.Error() + ". Fix this and call deliver again.", false
	}
	return "Nothing was published: " + err.Error() + ". It is tried again at the end of the session.", false
}

// published returns the answer that tells the agent where its work is.
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
