package attempt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/tracker"
)

// The bounds of the agent's texts for people.
const (
	maxReplies   = 50
	maxReply     = 10_000 // bytes
	maxQuestions = 5      // questions of one turn
	maxQuestion  = 2_000  // bytes, with its choices
	maxChoices   = 10
	replyTime    = time.Minute
)

// conversation holds the agent's texts for people during a session. The calls of a turn may run
// at the same time.
type conversation struct {
	job     *Job
	replied bool // the agent has answered an item of the feedback; guarded by posting

	mu      sync.Mutex
	asked   []string // questions of the present turn
	later   []string // ids of the items that the session was given while it worked
	replies int

	posting sync.Mutex // held while an answer is posted, because two answers to one item become one comment
}

func (c *conversation) replyTool() codex.Tool {
	return codex.Tool{
		Name: "reply",
		Description: "Answer one item of the feedback on this issue, where its author will read it. " +
			"resolve closes the thread of a review; do that only if you did what it asks for.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","description":"the number of the item"},` +
			`"text":{"type":"string","description":"what you did about it, or why not; Markdown"},` +
			`"resolve":{"type":"boolean","description":"the thread needs nothing more"}},` +
			`"required":["to","text"],"additionalProperties":false}`),
		Timeout: replyTime,
		Call: func(ctx context.Context, arguments json.RawMessage) (string, bool) {
			text, ok := c.callReply(ctx, arguments)
			return c.job.Redact(text), ok
		},
	}
}

func (c *conversation) callReply(ctx context.Context, arguments json.RawMessage) (answer string, ok bool) {
	var input struct {
		To, Text string
		Resolve  bool
	}
	const advice = `call it with {"to": "1", "text": "..."}`
	if err := tracker.DecodeArguments(arguments, &input, advice); err != nil {
		return err.Error(), false
	}
	ids := c.ids()
	for _, id := range ids {
		if id != strings.TrimSpace(input.To) {
			continue
		}
		switch {
		case strings.TrimSpace(input.Text) == "":
			return "the text is empty: " + advice, false
		case len(input.Text) > maxReply:
			return fmt.Sprintf("the text has %d bytes: shorten it to %d", len(input.Text), maxReply), false
		}
		if err := c.reserve(); err != nil {
			return err.Error(), false
		}
		c.posting.Lock()
		defer c.posting.Unlock()
		if err := c.job.Reply(ctx, id, input.Text, input.Resolve); err != nil {
			return "The answer was not posted: " + err.Error(), false
		}
		c.replied = true
		return "The answer is posted.", true
	}
	if len(ids) == 0 {
		return "there is no feedback to answer in this session", false
	}
	return fmt.Sprintf("there is no item %.20q: give one of %s", input.To, strings.Join(ids, ", ")), false
}

func (c *conversation) askTool() codex.Tool {
	return codex.Tool{
		Name: "ask",
		Description: "Ask the people of this issue for a decision that you cannot make and cannot go on without. " +
			"End your turn after it: a later session gets the answer.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"what you need to know, and why"},` +
			`"choices":{"type":"array","items":{"type":"string"},"description":"the answers that you see"}},` +
			`"required":["question"],"additionalProperties":false}`),
		Call: func(_ context.Context, arguments json.RawMessage) (string, bool) { return c.callAsk(arguments) },
	}
}

func (c *conversation) callAsk(arguments json.RawMessage) (answer string, ok bool) {
	var input struct {
		Question string
		Choices  []string
	}
	const advice = `call it with {"question": "..."}`
	if err := tracker.DecodeArguments(arguments, &input, advice); err != nil {
		return err.Error(), false
	}
	s := strings.TrimSpace(text.Lines(input.Question))
	switch {
	case s == "":
		return "the question is empty: " + advice, false
	case len(input.Choices) > maxChoices:
		return fmt.Sprintf("there are %d choices: give at most %d", len(input.Choices), maxChoices), false
	}
	for _, choice := range input.Choices {
		s += "\n- " + text.OneLine(choice, 300)
	}
	if len(s) > maxQuestion {
		return fmt.Sprintf("the question has %d bytes with its choices: shorten it to %d", len(s), maxQuestion), false
	}
	if !c.add(s) {
		return fmt.Sprintf("there are %d questions already: end your turn", maxQuestions), false
	}
	return "The question goes to the people of this issue. End your turn now: the answer comes in a later session.", true
}

func (c *conversation) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(itemIDs(c.job.Feedback), c.later)
}

func (c *conversation) addItems(items []prompt.Feedback) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.later = append(c.later, itemIDs(items)...)
}

func itemIDs(items []prompt.Feedback) (ids []string) {
	for _, f := range items {
		if f.ID != "" {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// add adds a question, and reports whether there was room for it.
func (c *conversation) add(question string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) == maxQuestions {
		return false
	}
	c.asked = append(c.asked, question)
	return true
}

func (c *conversation) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// reserve counts a reply, and fails if there were too many.
func (c *conversation) reserve() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replies == maxReplies {
		return fmt.Errorf("this session has posted %d answers: no more are posted", maxReplies)
	}
	c.replies++
	return nil
}
