package github

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/tracker"
)

// speaks notes that a call says something in a conversation. Its text then ends with the
// agent's marker, whatever the token, so that it is not mistaken for the word of a
// person.
func speaks(_ Config, c *call) error {
	c.speaks = true
	return nil
}

// creates notes that a call creates what people are told of, which GitHub limits.
func creates(_ Config, c *call) error {
	c.creates = true
	return nil
}

// marksVerdict adds a text with the marker to a review whose verdict would count without
// a text.
func marksVerdict(_ Config, c *call) error {
	_, hasText := c.Body["body"]
	if event := c.Body["event"]; !hasText && event != nil && event != "COMMENT" {
		c.Body["body"] = ""
	}
	return nil
}

// changesComment lets checkOwn ask whether the agent posted the comment or review in the
// path, in every scope: to write into another one is to speak in the name of its author.
func changesComment(_ Config, c *call) error {
	c.changed = c.target.segments[len(c.target.segments)-1]
	return nil
}

// finishTexts makes the texts in the body of a call fit to be posted in the name of the
// token: harmless, and with a marker where people talk. A line that closes the issue of
// the session keeps doing so.
func (c *call) finishTexts() error { return c.finishTextsOf(c.Body) }

func (c *call) finishTextsOf(body map[string]any) error {
	for key, value := range body {
		var harmless func(string) string
		switch key {
		case "body":
			harmless = defuse.Body
		case "title", "commit_title":
			harmless = func(text string) string { return defuse.Title(text, "", c.issue.Identifier) }
		case "message", "commit_message":
			harmless = func(text string) string { return defuseMessage(text, c.issue.Identifier) }
		case "comments": // of a review
			if err := c.finishEach(value); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("body.%s must be text", key)
		}
		finished := defuse.KeepClosing(harmless(text), "#"+string(c.issue.ID))
		if finished == "" && strings.TrimSpace(text) != "" {
			return fmt.Errorf("nothing is left of body.%s when it is made harmless: write it without hidden parts", key)
		}
		if key == "body" && c.speaks && (finished != "" || body["event"] != nil && body["event"] != "COMMENT") {
			finished = strings.TrimSpace(finished + "\n\n" + tracker.CommentMarker(tracker.AgentKey))
		}
		body[key] = finished
	}
	return nil
}

// finishEach does the same for a list of bodies.
func (c *call) finishEach(value any) error {
	list, ok := value.([]any)
	for _, v := range list {
		body, isObject := v.(map[string]any)
		if ok = ok && isObject; !ok {
			break
		}
		if err := c.finishTextsOf(body); err != nil {
			return err
		}
	}
	if !ok {
		return fmt.Errorf("body.comments must be a list of objects")
	}
	return nil
}

// defuseMessage makes the message of a commit harmless.
func defuseMessage(message, own string) string {
	title, text, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimSpace(defuse.Message(defuse.Title(title, "", own), text))
}
